// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include <infiniband/verbs.h>

#include "engine/memory/copy.hpp"
#include "engine/memory/region.hpp"
#include "engine/queues/address.hpp"
#include "engine/queues/completion_queue.hpp"
#include "engine/queues/receive_queue.hpp"
#include "engine/queues/send_queue.hpp"
#include "engine/transport/conduct.hpp"
#include "engine/transport/time.hpp"
#include "engine/transport/train.hpp"
#include "engine/wire/opcode.hpp"
#include "engine/wire/psn.hpp"

namespace verbena::engine::transport {

/// The half that sends requests and waits for their answers.
struct Requester {
  wire::Psn psn;                ///< of the next packet that was never sent
  wire::Psn acknowledged;       ///< the first packet that may not have arrived
  std::uint64_t place = 0;      ///< of the work that is sent next, or again
  std::uint32_t packet = 0;     ///< and which of its packets
  std::uint32_t reads = 0;      ///< READs and atomics that wait for their answers
  std::uint8_t retries_left = 0;
  std::uint8_t rnr_left = 0;
  bool repeated = false;        ///< all was sent again, and nothing new was heard since
  bool resting = false;         ///< the other end was not ready to receive; until the deadline
  bool rewound = false;         ///< works that were begun before are sent again
  std::uint32_t waits = 0;      ///< for an acknowledgement, one after the other, in vain
  bool sending = false;         ///< its loop is running further up the stack
  Train outgoing;               ///< what it sends now: made once, since clearing it costs more than filling it
};

/// A READ or an atomic that was answered and may be asked for again.
struct Answered {
  wire::Psn first;
  std::uint32_t packets = 1;
  wire::Opcode opcode{};
  std::uint64_t original = 0;  ///< of an atomic
};

/// The half that takes requests and answers them.
struct Responder {
  wire::Psn expected;
  std::uint32_t msn = 0;
  bool gap_told = false;       ///< one NAK for a gap, however many packets come behind it
  bool owes = false;           ///< requests were taken, and no answer sent since
  bool established = false;    ///< IBV_EVENT_COMM_EST was raised

  // The message that is under way.
  std::optional<wire::Operation> message;
  std::uint64_t offset = 0;    ///< bytes of it that have come
  std::uint64_t address = 0;   ///< of a WRITE
  std::uint32_t rkey = 0;
  std::uint32_t length = 0;    ///< of a WRITE: what its RETH says

  // The receive that it took.
  bool has_receive = false;
  std::uint64_t wr_id = 0;
  std::vector<ibv_sge> sges;

  std::deque<Answered> answered;
};

/// A queue pair as the transport sees it. Whoever made it owns it, and takes it out of the adapter before it goes.
struct QueuePair {
  std::uint32_t number = 0;
  ibv_qp_type type = IBV_QPT_RC;
  ibv_qp_state state = IBV_QPS_RESET;
  memory::DomainId domain = 0;
  bool signal_all = false;

  queues::SendQueue send_queue;
  queues::ReceiveQueue receive_queue;         ///< of no depth where there is a shared one
  queues::SharedReceiveQueue* shared = nullptr;
  queues::CompletionQueue* send_cq = nullptr;
  queues::CompletionQueue* receive_cq = nullptr;

  ibv_qp_attr attr{};          ///< as modify set them
  queues::Address route{};     ///< of a connected one
  std::uint16_t pkey = 0xffff;
  bool draining = false;       ///< in SQD, and has not said yet that it is drained
  const Conduct* conduct = &kToTheLetter;  ///< of the adapter that it was added to
  void* user = nullptr;        ///< the front's object

  Requester requester{};
  Responder responder{};
  std::optional<Time> deadline{};  ///< Deadlines' own

  std::vector<memory::Piece> gathered{};   ///< of what is being sent
  std::vector<memory::Piece> sliced{};     ///< the part of it that is
  std::vector<memory::Piece> scattered{};  ///< of what is being received
  std::map<std::uint64_t, std::vector<std::byte>> taken_early{};  ///< by place: bytes of fenced sends, where that is so

  std::uint32_t mtu() const noexcept { return 128U << attr.path_mtu; }
};

}  // namespace verbena::engine::transport
