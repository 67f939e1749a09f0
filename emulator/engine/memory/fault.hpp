// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace verbena::engine::memory {

/// Why an access isn't allowed, in the order in which it is looked for. Which completion status or NAK it becomes is
/// the transport's business. Source: linux drivers/infiniband/sw/rxe/rxe_mr.c lookup_mr, mr_check_range; rxe_resp.c
/// check_rkey; rxe_mw.c rxe_lookup_mw; InfiniBand specification, volume 1, memory management.
enum class Fault : std::uint8_t {
  unknown_key,       ///< no region and no window has it; of one that is gone too
  invalidated,       ///< a window that isn't bound, or a region that was invalidated
  other_domain,      ///< of another protection domain than the queue pair
  other_queue_pair,  ///< a type 2 window that was bound on another queue pair
  not_local,         ///< a window's key where a local key is due
  access,            ///< the region doesn't allow it
  bounds,            ///< a byte outside the region
};

inline constexpr std::size_t kFaults = 7;

std::string_view name(Fault fault) noexcept;

}  // namespace verbena::engine::memory
