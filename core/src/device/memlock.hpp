// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string>

#include "verbena/verbs.hpp"

namespace verbena {

/// Memory of this process that cannot be paged out, in bytes (VmLck and VmPin of /proc/self/status).
struct LockedMemory {
  std::uint64_t locked = 0;  ///< by mlock
  std::uint64_t pinned = 0;  ///< for devices: what the kernel holds against RLIMIT_MEMLOCK when it registers memory
};

LockedMemory locked_memory(Verbs& verbs);

/// Why an ENOMEM came, as far as it can be told: the lock limit, what is locked already, what was needed (0: unknown),
/// and what to do. Source: linux drivers/infiniband/core/umem.c ib_umem_get compares pinned pages with RLIMIT_MEMLOCK
/// unless the process has CAP_IPC_LOCK, and answers ENOMEM.
std::string explain_no_memory(Verbs& verbs, std::uint64_t need_bytes);

/// `64 KiB`, `1.5 GiB`.
std::string bytes_text(std::uint64_t bytes);

}  // namespace verbena
