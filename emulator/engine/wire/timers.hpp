// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

namespace verbena::engine::wire {

/// How long a requester waits for an acknowledgement: 4.096 us x 2^code, and zero for code 0, which means no timer.
/// Codes have five bits. Source: ibv_modify_qp(3), attribute timeout; linux drivers/infiniband/sw/rxe/rxe_qp.c
/// rxe_qp_from_attr.
constexpr std::chrono::nanoseconds ack_timeout(std::uint8_t code) noexcept {
  const unsigned bits = code & 0x1fU;
  return bits == 0 ? std::chrono::nanoseconds::zero() : std::chrono::nanoseconds(std::int64_t{4096} << bits);
}

/// How long a requester leaves a receiver alone that was not ready, by the five bits in an RNR NAK. Code 0 is the
/// longest. Source: linux include/rdma/ib_verbs.h enum ib_rnr_timeout, whose names are the milliseconds. The table in
/// drivers/infiniband/sw/rxe/rxe_comp.c (rnrnak_usec) has 61410 us at code 25, a slip of 30 us.
constexpr std::chrono::nanoseconds rnr_timer(std::uint8_t code) noexcept {
  constexpr std::array<std::uint16_t, 32> kTensOfMicroseconds{
      0,   1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,    64,    96,    128,   192,
      256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};
  const unsigned bits = code & 0x1fU;
  return std::chrono::microseconds(bits == 0 ? 655360 : kTensOfMicroseconds[bits] * 10);
}

}  // namespace verbena::engine::wire
