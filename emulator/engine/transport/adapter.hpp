// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include <infiniband/verbs.h>
#include <tl/expected.hpp>

#include "engine/memory/copy.hpp"
#include "engine/memory/key_table.hpp"
#include "engine/transport/conduct.hpp"
#include "engine/transport/deadlines.hpp"
#include "engine/transport/late_payload.hpp"
#include "engine/transport/queue_pair.hpp"
#include "engine/transport/surroundings.hpp"
#include "engine/transport/time.hpp"
#include "engine/transport/train.hpp"

namespace verbena::engine::transport {

/// What arrived and wasn't for anyone, or wasn't taken.
struct Dropped {
  std::uint64_t no_queue_pair = 0;   ///< no such number, of another transport, or in a state that receives nothing
  std::uint64_t pkey = 0;            ///< another partition
  std::uint64_t address = 0;         ///< RC and UC: from or to another address than its address vector has
  std::uint64_t qkey = 0;            ///< of a datagram
  std::uint64_t no_receive = 0;      ///< UC or UD, and no receive was posted
  std::uint64_t out_of_order = 0;    ///< UC: of a message whose beginning was lost
  std::uint64_t too_long = 0;        ///< UD: more than the MTU, or more than the receive holds
  std::uint64_t stray_answer = 0;    ///< an acknowledgement of nothing that is under way
  std::uint64_t out_of_reach = 0;   ///< RC: its payload lies in memory that was taken back, or its process is gone
  std::uint64_t refused = 0;         ///< UC: a request that RC would have refused by a NAK
};

/// The transport of one NIC: RC, UC and UD over whatever fabric. It has no thread and takes no lock: one thread at a
/// time calls it, and each call does what can be done now. Source of what it does, where nothing else is said: the
/// InfiniBand specification, volume 1, chapter 9, as linux drivers/infiniband/sw/rxe/rxe_req.c, rxe_comp.c and
/// rxe_resp.c have it.
class Adapter {
public:
  Adapter(memory::KeyTable& keys, Outlet& outlet, Clock& clock, Notices& notices) noexcept
      : keys_(keys), outlet_(outlet), clock_(clock), notices_(notices) {}
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;

  /// How it departs from the specification; before the first queue pair.
  void conduct(const Conduct& conduct) noexcept { conduct_ = conduct; }
  /// Nothing moves on it any more, and nothing will (Conduct::stops_after).
  bool stopped() const noexcept { return stopped_; }
  /// Nothing is written to this memory any more, late as it may be (Conduct::payload_late).
  void withdraw(const memory::Piece& memory) noexcept { late_.drop(memory); }

  /// From here on packets find it by its number, whose low 16 bits no other has.
  void add(QueuePair& qp);
  void remove(QueuePair& qp) noexcept;
  QueuePair* find(std::uint32_t number) const noexcept;

  /// Datagrams to that group are the queue pair's too. False where it was of the group already.
  bool attach(QueuePair& qp, const wire::Gid& group);
  std::size_t members(const wire::Gid& group) const noexcept { return groups_.count(group); }
  bool member(const QueuePair& qp, const wire::Gid& group) const noexcept;
  /// False where it was not.
  bool detach(QueuePair& qp, const wire::Gid& group) noexcept;

  /// The queue pair is in that state from now on; attributes were set before. What goes with it is done: RESET forgets,
  /// ERR flushes, RTS goes on sending.
  void enter(QueuePair& qp, ibv_qp_state state);

  /// Sends what was posted and may be sent.
  void progress(QueuePair& qp);
  /// Receives were posted, here or to the shared queue: in ERR they are flushed.
  void receives_posted(QueuePair& qp);
  /// Something for this NIC arrived.
  void receive(const Train& train);
  /// For a fabric that has many packets at once: from here on no request is acknowledged by itself, and at the end the
  /// last one of each queue pair is, for all before it. What says more than that is sent at once: answers to READs and
  /// atomics, and refusals.
  void begin_batch() noexcept { batching_ = true; }
  void end_batch();
  /// Requests were taken that nobody was told of: end_batch() is due.
  bool owes() const noexcept { return !owing_.empty(); }
  /// Does what is due; the next moment when something will be.
  std::optional<Time> expire(Time now);
  /// When something will be due.
  std::optional<Time> next() const noexcept;
  /// Everybody whom the fabric had no room for.
  void retry_refused();

  const Dropped& dropped() const noexcept { return dropped_; }

private:
  // requester.cpp
  bool send_next(QueuePair& qp);
  bool begin(QueuePair& qp, queues::SendWork& work);
  bool send_packets(QueuePair& qp, queues::SendWork& work);
  bool send_datagram(QueuePair& qp, queues::SendWork& work);
  void do_local(QueuePair& qp, queues::SendWork& work);
  void take_fenced_early(QueuePair& qp);
  bool sink_is_good(QueuePair& qp, const queues::SendWork& work, std::uint64_t place) const noexcept;
  ibv_wc_status gather(QueuePair& qp, queues::SendWork& work, std::uint64_t place);
  void rewind(QueuePair& qp) noexcept;
  void watch(QueuePair& qp);

  // answers.cpp
  void answered(QueuePair& qp, const Train& train);
  bool may_be_meant(const QueuePair& qp, wire::Psn psn) const noexcept;
  void note(QueuePair& qp, wire::Psn last);
  bool acknowledge_before(QueuePair& qp, wire::Psn psn);
  void read_answer(QueuePair& qp, const Train& train);
  void lost(QueuePair& qp, bool in_silence);
  void heard(QueuePair& qp, wire::Psn psn);
  void retire(QueuePair& qp);
  void complete_send(QueuePair& qp, std::uint64_t place, ibv_wc_status status);

  // responder.cpp
  void requested(QueuePair& qp, const Train& train);
  void take(QueuePair& qp, const Train& train);
  void take_send(QueuePair& qp, const Train& train);
  void take_write(QueuePair& qp, const Train& train);
  void take_read(QueuePair& qp, const Train& train);
  void take_atomic(QueuePair& qp, const Train& train);
  void take_flush(QueuePair& qp, const Train& train);
  void take_atomic_write(QueuePair& qp, const Train& train);
  void again(QueuePair& qp, const Train& train);
  void take_rest(QueuePair& qp, const Train& train, std::uint32_t known);
  bool take_receive(QueuePair& qp);
  void advance(QueuePair& qp, const Train& train, std::uint32_t packets);
  void acknowledge(QueuePair& qp);
  bool note_for(QueuePair& qp, const Train& train) noexcept;
  void settle(QueuePair& qp);
  void not_ready(QueuePair& qp, wire::Psn psn);
  void refuse(QueuePair& qp, const Train& train, wire::NakCode code, ibv_wc_status receive_status,
              ibv_event_type event);
  void complete_receive(QueuePair& qp, ibv_wc_status status, const Train* train, std::uint64_t bytes);
  void remember(QueuePair& qp, const Answered& answered);

  // replies.cpp
  wire::Packet reply(const QueuePair& qp, wire::Opcode opcode, wire::Psn psn) const noexcept;
  void send_acknowledge(QueuePair& qp, wire::Psn psn, wire::Syndrome syndrome);
  void send_read_answer(QueuePair& qp, wire::Psn psn, std::byte* from, std::uint64_t bytes);
  void send_atomic_answer(QueuePair& qp, wire::Psn psn, std::uint64_t original);

  // datagrams.cpp
  void datagram(QueuePair& qp, const Train& train);

  // adapter.cpp
  bool fetch(QueuePair& qp, std::uint64_t* wr_id);
  void fail(QueuePair& qp);
  void fail_sending(QueuePair& qp);
  void fail_own(QueuePair& qp, std::uint64_t place, ibv_wc_status status);
  void stop(QueuePair& qp);
  bool loses_flush() noexcept;
  void flush(QueuePair& qp);
  void push(queues::CompletionQueue& cq, queues::Completion& completion, bool solicited);
  void drained(QueuePair& qp);
  bool bring(memory::Pieces to, std::uint64_t to_offset, const Train& train, std::uint64_t bytes) noexcept;

  memory::KeyTable& keys_;
  Outlet& outlet_;
  Clock& clock_;
  Notices& notices_;
  Deadlines deadlines_;
  Dropped dropped_;
  std::vector<QueuePair*> by_number_;  ///< by the low 16 bits
  std::multimap<wire::Gid, QueuePair*> groups_;
  std::vector<QueuePair*> owing_;  ///< an acknowledgement, at the end of the batch
  bool batching_ = false;
  std::vector<QueuePair*> refused_;  ///< by the fabric, which had no room
  Conduct conduct_;
  LatePayload late_;
  std::uint64_t begun_ = 0;  ///< sends
  std::uint32_t flushed_ = 0;  ///< works and receives
  bool stopped_ = false;
};

}  // namespace verbena::engine::transport
