// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbena::engine::memory {

/// A protection domain, by its number; 0 is none.
using DomainId = std::uint32_t;

/// The low eight bits of a key, which a consumer may choose for a type 2 window; the rest says which region it is.
/// Source: ibv_inc_rkey (rdma-core libibverbs/verbs.h).
inline constexpr std::uint32_t kVariantMask = 0xff;

/// Memory that a key stands for.
struct Region {
  enum class Kind : std::uint8_t {
    registered,
    null,  ///< reads as zeros, swallows what is written (ibv_alloc_null_mr(3))
    window_type_1,
    window_type_2,
  };

  std::uint32_t key = 0;  ///< both lkey and rkey
  Kind kind = Kind::registered;
  DomainId domain = 0;
  bool valid = true;  ///< false: a window that isn't bound, or what was invalidated
  unsigned access = 0;  ///< IBV_ACCESS_*
  std::uint64_t address = 0;  ///< what requests call its first byte: the iova
  std::uint64_t length = 0;   ///< bytes
  std::byte* host = nullptr;  ///< its first byte in this process; null of a null region

  // Of a window alone.
  Region* lies_in = nullptr;      ///< the region it is bound to
  std::uint32_t queue_pair = 0;   ///< type 2: that it was bound on

  /// Windows that are bound to this region.
  std::uint32_t windows = 0;

  bool window() const noexcept { return kind == Kind::window_type_1 || kind == Kind::window_type_2; }
  /// Whether `bytes` from `from` lie within; without overflow, whatever the numbers.
  bool holds(std::uint64_t from, std::uint64_t bytes) const noexcept {
    return from >= address && from - address <= length && bytes <= length - (from - address);
  }
};

}  // namespace verbena::engine::memory
