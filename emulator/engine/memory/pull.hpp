// SPDX-License-Identifier: Apache-2.0 OR MIT
// Bytes from the memory of another process, in one copy.
#pragma once

#include <atomic>
#include <cstdint>

#include <sys/types.h>

#include "engine/memory/copy.hpp"

namespace verbena::engine::memory {

/// A process, and a word of its memory that says that it still is that one: numbers of processes are used again.
struct Owner {
  pid_t process = 0;
  std::uint64_t witness_at = 0;  ///< an address there
  std::uint64_t witness = 0;     ///< what lies there
};

/// What of it is lent: not 0 means that it isn't any more. Null: nobody takes it back.
using Withdrawn = const std::atomic<std::uint32_t>*;

/// Copies `bytes` bytes, beginning `to_offset` and `from_offset` bytes into the pieces; `from` are addresses of the
/// owner. 0, or why not: EPERM (this process may not read that one: process_vm_readv(2), ptrace(2)), ESRCH (it is
/// gone), EFAULT (there is no such memory), ECANCELED (it was taken back while it was read), ENOSYS (the kernel has no
/// such call).
///
/// The last word, up to eight bytes, becomes visible in one release store after all else, and only where nothing went
/// wrong. Before it the kernel copies upwards, page by page, without a word on order: who spins on the last word is
/// served as by copy_in_order(), who spins on one in the middle need not be.
int pull(const Owner& owner, Pieces to, std::uint64_t to_offset, Pieces from, std::uint64_t from_offset,
         std::uint64_t bytes, Withdrawn withdrawn) noexcept;

}  // namespace verbena::engine::memory
