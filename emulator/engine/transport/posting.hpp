// SPDX-License-Identifier: Apache-2.0 OR MIT
// Work requests into the rings. What a queue pair is asked to do is judged here as far as every NIC judges it; the
// errno of a refusal, and what one driver takes more or less of, is the front's.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include "engine/queues/address.hpp"
#include "engine/queues/receive_queue.hpp"
#include "engine/transport/queue_pair.hpp"

namespace verbena::engine::transport {

enum class PostFault : std::uint8_t {
  none,
  full,          ///< as many wait as there may be
  state,         ///< RESET, or for sends any before RTS
  opcode,        ///< not one of this type of queue pair
  sges,          ///< more than the queue has room for
  inline_bytes,  ///< more than the queue has room for, or of what can't be inline
  bytes,         ///< of all SGEs: above 2^31, of a datagram above the MTU, of an atomic not 8
};

/// Why such a work request isn't taken, where it and those before it take `slots` slots. Its state isn't judged, and
/// nothing is changed.
PostFault judge_send(const QueuePair& qp, const ibv_send_wr& wr, std::uint32_t slots) noexcept;

/// One of the list; `wr.next` isn't looked at. `to` is where a datagram goes; not of the other types.
PostFault post_send(QueuePair& qp, const ibv_send_wr& wr, const queues::Address* to);
PostFault post_receive(queues::ReceiveQueue& queue, const ibv_recv_wr& wr);

}  // namespace verbena::engine::transport
