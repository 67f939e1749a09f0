// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include <infiniband/verbs.h>

namespace conform {

// FLUSH came to verbs with rdma-core 45; these are its numbers, so that this builds with older headers too.
// rdma-core libibverbs/verbs.h ibv_access_flags, ibv_wc_opcode, ibv_wr_opcode, ibv_placement_type,
// ibv_selectivity_level
inline constexpr unsigned kAccessFlushGlobal = 1U << 8;
inline constexpr unsigned kAccessFlushPersistent = 1U << 9;
inline constexpr auto kWrFlush = static_cast<ibv_wr_opcode>(14);
inline constexpr auto kWcFlush = static_cast<ibv_wc_opcode>(8);
inline constexpr std::uint8_t kFlushGlobal = 1U << 0;
inline constexpr std::uint8_t kFlushPersistent = 1U << 1;
inline constexpr std::uint8_t kFlushRange = 0;
inline constexpr std::uint8_t kFlushMr = 1;

/// ibv_wr_flush; false where the headers that this was built with lack it.
template <class Builder>
bool build_flush(Builder* builder, std::uint32_t rkey, std::uint64_t remote, std::size_t length, std::uint8_t type,
                 std::uint8_t level) {
  if constexpr (requires { builder->wr_flush; }) {
    builder->wr_flush(builder, rkey, remote, length, type, level);
    return true;
  } else {
    return false;
  }
}

}  // namespace conform
