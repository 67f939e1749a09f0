// SPDX-License-Identifier: Apache-2.0 OR MIT
// Whether a request may touch memory, and where that memory is.
#pragma once

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>
#include <tl/expected.hpp>

#include "engine/memory/fault.hpp"
#include "engine/memory/key_table.hpp"
#include "engine/memory/region.hpp"

namespace verbena::engine::memory {

/// The first byte, in this process; null where the memory is a null region's.
using Place = tl::expected<std::byte*, Fault>;

/// What a work request of this process names by its lkey. An SGE of no bytes is allowed whatever its key, as no byte is
/// touched (rxe_mr.c copy_data passes over it).
Place local(const KeyTable& keys, const ibv_sge& sge, DomainId domain, bool written) noexcept;

/// Who asks for remote access: the queue pair that received the request.
struct Asker {
  DomainId domain = 0;
  std::uint32_t queue_pair = 0;
  bool windows_bound = true;  ///< false: a window's key is good for all of the region that it lies in
};

/// What a request of the other end names by its rkey. `access` is one of IBV_ACCESS_REMOTE_READ, _WRITE and _ATOMIC, or
/// of the FLUSH ones. A request of no bytes is the caller's to let pass: its key isn't looked at (IBTA volume 1, C9-88;
/// rxe_resp.c check_rkey).
Place remote(const KeyTable& keys, std::uint32_t rkey, std::uint64_t address, std::uint64_t bytes, unsigned access,
             const Asker& asker) noexcept;

}  // namespace verbena::engine::memory
