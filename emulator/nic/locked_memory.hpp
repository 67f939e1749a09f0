// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbena::emulator {

/// Has this process the capability (CAP_IPC_LOCK, CAP_NET_RAW, ...) in force?
bool capable(unsigned capability) noexcept;

/// How many pages the regions of this process hold, each region for itself, against RLIMIT_MEMLOCK: more than that may
/// be held with CAP_IPC_LOCK alone. Source: linux drivers/infiniband/core/umem.c ib_umem_get.
class LockedMemory {
public:
  /// False where that would be more than the process may lock; nothing is held then. `page` is the page size in bytes.
  bool take(const void* address, std::size_t bytes, std::size_t page) noexcept;
  void give(const void* address, std::size_t bytes, std::size_t page) noexcept;

private:
  std::uint64_t pages_ = 0;
};

}  // namespace verbena::emulator
