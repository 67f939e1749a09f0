// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include "verbena/request.hpp"

namespace conform {

/// Attributes and mask of one ibv_modify_qp.
struct Move {
  ibv_qp_attr attr{};
  int mask = 0;
};

/// How one end reaches the other.
struct PathTo {
  std::uint32_t qp_num = 0;
  std::uint32_t psn = 0;  ///< of the first packet that the other end sends
  ibv_ah_attr address{};
  ibv_mtu mtu = IBV_MTU_1024;
};

/// What an end asks of a connection.
struct Terms {
  unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  std::uint32_t psn = 0x1234;
  std::uint32_t qkey = 0x11111111;
  std::uint16_t pkey_index = 0;
  std::uint8_t max_rd_atomic = 1;
  std::uint8_t max_dest_rd_atomic = 1;
  std::uint8_t min_rnr_timer = 1;  ///< code: 0.01 ms
  std::uint8_t timeout = 14;       ///< code: 67 ms
  std::uint8_t retry_cnt = 7;
  std::uint8_t rnr_retry = 7;
};

/// The attributes that a type must be given on its way up, and no other: InfiniBand specification, volume 1, modify
/// queue pair; Linux core/verbs.c qp_state_table.
Move to_init(verbena::QpType type, std::uint8_t port, const Terms& terms = {});
Move to_rtr(verbena::QpType type, const PathTo& path, const Terms& terms = {});
Move to_rts(verbena::QpType type, const Terms& terms = {});
Move to(ibv_qp_state state);

}  // namespace conform
