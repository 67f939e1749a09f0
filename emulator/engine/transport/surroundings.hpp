// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the transport stands on, and whom it tells.
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include "engine/queues/completion_queue.hpp"
#include "engine/queues/receive_queue.hpp"
#include "engine/transport/train.hpp"

namespace verbena::engine::transport {

struct QueuePair;

/// The way out of a NIC: a fabric's end.
class Outlet {
public:
  virtual ~Outlet() = default;
  /// Takes the train, or says that there is no room now; then the sender asks again when it next makes progress. It may
  /// bring answers (Adapter::receive) before it returns. The payload is read before it returns.
  virtual bool send(const Train& train) noexcept = 0;
  /// Packets that a train of this queue pair may have: 1 where each is lost or doubled for itself.
  virtual std::uint32_t most_packets(const QueuePair& qp) const noexcept = 0;
  /// Packets that a queue pair may have sent that nobody has acknowledged.
  virtual std::uint32_t window() const noexcept = 0;
  /// The train itself reaches the other end within send(), or nobody: then an acknowledgement may be noted in it
  /// (Train::noted).
  virtual bool hands_over() const noexcept { return false; }

  // Payload that stays in its memory (Train::stays) may be read late. It isn't any more once these return, or what was
  // read isn't taken.
  /// None of what this queue pair sent, as it is reset, in error or gone: its works have completed without an answer.
  virtual void withdraw(const QueuePair& /*qp*/) noexcept {}
  /// None of this memory, as its region goes or is another one from now on.
  virtual void withdraw(const memory::Piece& /*memory*/) noexcept {}
};

/// What happens to a NIC's objects besides completions. Called while the NIC is locked.
class Notices {
public:
  virtual ~Notices() = default;
  /// One event of a completion channel is due.
  virtual void completion(queues::CompletionQueue& cq) noexcept = 0;
  virtual void on_queue_pair(QueuePair& qp, ibv_event_type event) noexcept = 0;
  virtual void on_completion_queue(queues::CompletionQueue& cq) noexcept = 0;  ///< IBV_EVENT_CQ_ERR
  virtual void on_shared_receive_queue(queues::SharedReceiveQueue& srq, ibv_event_type event) noexcept = 0;
  /// IBV_EVENT_DEVICE_FATAL: the NIC has stopped, while this queue pair was sending.
  virtual void on_stopped(QueuePair& /*qp*/) noexcept {}
  /// It is in ERR now, for whatever reason. The adapter is in the middle of it.
  virtual void on_error(QueuePair& /*qp*/) noexcept {}
};

}  // namespace verbena::engine::transport
