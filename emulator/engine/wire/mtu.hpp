// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

namespace verbena::engine::wire {

/// Payload bytes of a path MTU code (enum ibv_mtu: 1 is 256 bytes, 5 the largest); 0 for a code that isn't one.
constexpr std::uint32_t mtu_bytes(unsigned code) noexcept {
  return code >= 1 && code <= 5 ? 128U << code : 0;
}

/// The code whose payload is exactly `bytes`; 0 when there is none.
constexpr std::uint8_t mtu_code(std::uint32_t bytes) noexcept {
  for (std::uint8_t code = 1; code <= 5; ++code) {
    if (mtu_bytes(code) == bytes) return code;
  }
  return 0;
}

inline constexpr std::uint32_t kLargestMtu = mtu_bytes(5);

/// Packets that a message of `bytes` takes: at least one, since a message of nothing is a packet too. `mtu` isn't 0.
constexpr std::uint32_t packets_of(std::uint32_t bytes, std::uint32_t mtu) noexcept {
  return bytes == 0 ? 1 : (bytes - 1) / mtu + 1;
}

}  // namespace verbena::engine::wire
