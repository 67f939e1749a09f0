// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <infiniband/verbs.h>

#include "cm/messages.hpp"
#include "engine/queues/address.hpp"
#include "engine/transport/time.hpp"

namespace verbena::emulator::cm {

/// Named as in linux include/rdma/ib_cm.h enum ib_cm_state.
enum class State : std::uint8_t {
  idle,
  req_sent,
  mra_req_received,
  req_received,
  mra_req_sent,
  rep_received,
  mra_rep_sent,
  rep_sent,
  mra_rep_received,
  established,
  dreq_sent,
  dreq_received,
  timewait,
  sidr_req_sent,
  sidr_req_received,
};

/// One end of a connection as the communication manager sees it, or of a question about a service. The agent owns it.
struct Connection {
  State state = State::idle;
  std::uint32_t local_id = 0;
  std::uint32_t remote_id = 0;  ///< 0 while it isn't known
  std::uint64_t remote_guid = 0;
  std::uint64_t service = 0;
  std::uint64_t transaction = 0;
  ibv_qp_type type = IBV_QPT_RC;
  engine::queues::Address to{};  ///< where its messages go
  void* user = nullptr;          ///< whose connection it is
  std::optional<std::uint64_t> other;  ///< who the other end is, where the net can tell (Net::who)

  std::uint32_t local_qpn = 0;
  std::uint32_t remote_qpn = 0;
  std::uint32_t sq_psn = 0;
  std::uint32_t rq_psn = 0;
  std::uint8_t initiator_depth = 0;
  std::uint8_t responder_resources = 0;
  std::uint8_t retry_count = 0;
  std::uint8_t rnr_retry_count = 0;
  std::uint8_t path_mtu = IBV_MTU_1024;
  std::uint8_t ack_timeout = 0;      ///< 4.096 us * 2^n
  std::uint8_t service_timeout = 0;  ///< of the MRA that a duplicate gets, likewise

  // What was sent and has no answer yet.
  Mad under_way{};
  std::chrono::milliseconds patience{};
  std::uint8_t retries = 0;  ///< as many as there may be
  std::uint8_t retries_left = 0;
  std::optional<engine::transport::Time> deadline;
};

}  // namespace verbena::emulator::cm
