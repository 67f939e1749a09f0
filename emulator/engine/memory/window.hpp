// SPDX-License-Identifier: Apache-2.0 OR MIT
// Binding and invalidating. Source: linux drivers/infiniband/sw/rxe/rxe_mw.c rxe_check_bind_mw, rxe_do_bind_mw,
// rxe_invalidate_mw; ibv_bind_mw(3); InfiniBand specification, volume 1, memory windows.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include "engine/memory/key_table.hpp"

namespace verbena::engine::memory {

/// What a bind asks for.
struct Bind {
  std::uint32_t window = 0;  ///< its key, of any variant
  std::uint32_t rkey = 0;    ///< type 2: the key that it shall have, of which the low eight bits are free to choose
  std::uint32_t lkey = 0;    ///< of the region
  std::uint64_t address = 0;
  std::uint64_t length = 0;  ///< bytes; 0 unbinds a window of type 1
  unsigned access = 0;       ///< IBV_ACCESS_REMOTE_*, IBV_ACCESS_ZERO_BASED
  std::uint32_t queue_pair = 0;
  DomainId domain = 0;
};

enum class BindFault : std::uint8_t {
  none,
  no_window,        ///< the key is no window's, or of another domain
  bound,            ///< a type 2 window must be invalidated before it is bound again
  no_region,        ///< the lkey is no region's, or of another domain
  not_allowed,      ///< the region doesn't have IBV_ACCESS_MW_BIND
  not_writable,     ///< remote writes or atomics, and the region isn't written locally
  zero_based,       ///< a type 1 window, a region that is so itself, or an access that a window can't have
  bounds,
  no_bytes,         ///< a type 2 window can't be of none
  variant,          ///< type 2: the new key is that of another window, or of the same variant
};

/// A window is bound, and has the key that a type 2 one asked for; one of type 1 the next variant of its own.
BindFault bind(const KeyTable& keys, const Bind& asked) noexcept;

/// A type 2 window, or a region that came by a fast registration, has no memory any more until it is bound anew.
/// False where `rkey` is neither, or is bound to another queue pair, or of another domain.
/// `regions`: one of ibv_reg_mr is as good.
bool invalidate(const KeyTable& keys, std::uint32_t rkey, DomainId domain, std::uint32_t queue_pair,
                bool regions = false) noexcept;

/// As an unbind, whatever the type: before a window goes.
void release(Region& window) noexcept;

}  // namespace verbena::engine::memory
