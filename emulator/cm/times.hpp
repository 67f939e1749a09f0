// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace verbena::emulator::cm {

/// Of 4.096 us * 2^code, as the kernel rounds it. Source: linux drivers/infiniband/core/cm.c cm_convert_to_ms.
constexpr std::chrono::milliseconds milliseconds_of(unsigned code) noexcept {
  return std::chrono::milliseconds(1U << (std::max(code & 31U, 8U) - 8U));
}

/// How long a sender waits for an acknowledgement, as a code: there and back, and what the other end needs.
/// Source: linux drivers/infiniband/core/cm.c cm_ack_timeout.
constexpr std::uint8_t ack_timeout(unsigned ack_delay, unsigned packet_life_time) noexcept {
  unsigned timeout = packet_life_time + 1;
  if (timeout >= ack_delay) {
    timeout += ack_delay >= timeout - 1 ? 1U : 0U;
  } else {
    timeout = ack_delay + (timeout >= ack_delay - 1 ? 1U : 0U);
  }
  return static_cast<std::uint8_t>(std::min(timeout, 31U));
}

/// What rdma_cm asks of the communication manager. Source: linux drivers/infiniband/core/cma.c CMA_CM_RESPONSE_TIMEOUT,
/// CMA_MAX_CM_RETRIES, CMA_CM_MRA_SETTING, CMA_IBOE_PACKET_LIFETIME (16; 18 in older kernels).
struct Times {
  std::uint8_t response_timeout = 20;  ///< 4.096 us * 2^n, as those below
  std::uint8_t retries = 15;
  std::uint8_t service_timeout = 24;
  std::uint8_t packet_life_time = 16;
};

}  // namespace verbena::emulator::cm
