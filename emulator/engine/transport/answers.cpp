// SPDX-License-Identifier: Apache-2.0 OR MIT
// What comes back: acknowledgements, answers to READs and atomics, and refusals. Works complete in the order in which
// they were posted. Source: linux drivers/infiniband/sw/rxe/rxe_comp.c.
#include <cstring>

#include "engine/memory/access.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/transport/work_opcode.hpp"
#include "engine/wire/mtu.hpp"
#include "engine/wire/timers.hpp"

namespace verbena::engine::transport {

namespace {

constexpr std::uint8_t kForEver = 7;  // of rnr_retry: ibv_modify_qp(3)

std::uint64_t reversed(std::uint64_t word) noexcept {
  std::uint64_t other = 0;
  for (int byte = 0; byte < 8; ++byte) {
    other = (other << 8U) | (word & 0xffU);
    word >>= 8U;
  }
  return other;
}

ibv_wc_status status_of(wire::Syndrome syndrome) noexcept {
  switch (static_cast<wire::NakCode>(syndrome.code())) {
    case wire::NakCode::invalid_request:
      return IBV_WC_REM_INV_REQ_ERR;
    case wire::NakCode::remote_access_error:
      return IBV_WC_REM_ACCESS_ERR;
    case wire::NakCode::remote_operational_error:
      return IBV_WC_REM_OP_ERR;
    case wire::NakCode::psn_sequence_error:
      break;
  }
  return IBV_WC_BAD_RESP_ERR;
}

}  // namespace

/// Whether it waits for an answer of that number: behind all that was acknowledged, and before all that was sent.
bool Adapter::may_be_meant(const QueuePair& qp, wire::Psn psn) const noexcept {
  const bool expects = qp.state == IBV_QPS_RTS || qp.state == IBV_QPS_SQD;
  return expects && qp.send_queue.completed != qp.send_queue.next &&
         wire::distance(qp.requester.acknowledged, psn) >= 0 && wire::distance(psn, qp.requester.psn) > 0;
}

/// An acknowledgement that came without a packet, while its sender's loop runs.
void Adapter::note(QueuePair& qp, wire::Psn last) {
  if (may_be_meant(qp, last) && !acknowledge_before(qp, last + 1)) lost(qp, false);
}

void Adapter::answered(QueuePair& qp, const Train& train) {
  Requester& requester = qp.requester;
  queues::SendQueue& sends = qp.send_queue;
  const wire::Psn psn = train.first();
  if (!may_be_meant(qp, psn)) {
    ++dropped_.stray_answer;
    return;
  }
  if (wire::info(train.head.bth.opcode).operation != wire::Operation::acknowledge) {
    read_answer(qp, train);
    return progress(qp);
  }
  const wire::Syndrome syndrome = train.head.aeth.syndrome;
  switch (syndrome.kind()) {
    case wire::AckKind::ack:
      if (!acknowledge_before(qp, psn + 1)) lost(qp, false);
      break;
    case wire::AckKind::rnr_nak:
      if (requester.resting) break;
      if (!acknowledge_before(qp, psn)) {
        lost(qp, false);
        break;
      }
      if (sends.completed == sends.next) break;
      if (requester.rnr_left == 0) {
        complete_send(qp, sends.completed, IBV_WC_RNR_RETRY_EXC_ERR);
        fail(qp);
        break;
      }
      if (qp.attr.rnr_retry != kForEver) --requester.rnr_left;
      rewind(qp);
      requester.resting = true;
      deadlines_.set(qp, clock_.now() + wire::rnr_timer(syndrome.code()));
      break;
    case wire::AckKind::nak:
      if (!acknowledge_before(qp, psn) ||
          static_cast<wire::NakCode>(syndrome.code()) == wire::NakCode::psn_sequence_error) {
        lost(qp, false);
        break;
      }
      if (sends.completed == sends.next) break;
      complete_send(qp, sends.completed, status_of(syndrome));
      fail(qp);
      break;
    case wire::AckKind::reserved:
      ++dropped_.stray_answer;
      break;
  }
  progress(qp);
}

/// All before `psn` have arrived. False where that shows that the answer of a READ or an atomic was lost; what comes
/// before that one is done.
bool Adapter::acknowledge_before(QueuePair& qp, wire::Psn psn) {
  queues::SendQueue& sends = qp.send_queue;
  bool whole = true;
  for (std::uint64_t place = sends.completed; place != sends.next; ++place) {
    queues::SendWork& work = sends.works[place];
    if (work.done || work.packets == 0) continue;
    if (wire::distance(work.first + work.received, psn) <= 0) break;  // none of what is missing of it is meant
    if (wants_answer(work.opcode)) {
      psn = work.first + work.received;
      whole = false;
      break;
    }
    if (wire::distance(work.last(), psn) <= 0) break;  // not all of them
    work.done = true;
  }
  if (wire::distance(qp.requester.acknowledged, psn) > 0) heard(qp, psn);
  retire(qp);
  return whole;
}

void Adapter::read_answer(QueuePair& qp, const Train& train) {
  Requester& requester = qp.requester;
  queues::SendQueue& sends = qp.send_queue;
  if (!acknowledge_before(qp, train.first())) return lost(qp, false);
  std::uint64_t place = sends.completed;
  while (place != sends.next && sends.works[place].done) ++place;
  if (place == sends.next) return;
  queues::SendWork& work = sends.works[place];
  const wire::Psn expected = work.first + work.received;
  if (!wants_answer(work.opcode) || train.first() != expected) {
    ++dropped_.stray_answer;
    return;
  }
  if (place != sends.completed) return;  // a local one in between that waits for its turn

  ibv_wc_status status = IBV_WC_SUCCESS;
  const bool read = work.opcode == IBV_WR_RDMA_READ;
  const bool atomic = work.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || work.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  const bool atomic_answer = train.info().operation == wire::Operation::atomic;
  const std::uint32_t left = work.packets - work.received;
  const std::uint64_t offset = std::uint64_t{work.received} * qp.mtu();
  const std::uint64_t due = !read                  ? 0
                            : train.packets < left ? std::uint64_t{train.packets} * qp.mtu()
                                                   : work.bytes - offset;
  if (atomic != atomic_answer || train.packets > left || train.bytes != due ||
      (read && train.ends() != (train.packets == left))) {
    status = IBV_WC_BAD_RESP_ERR;
  } else if (read || atomic) {
    qp.scattered.clear();
    for (const ibv_sge& sge : sends.sges_of(place).first(work.sges)) {
      const memory::Place at = memory::local(keys_, sge, qp.domain, true);
      if (!at) status = IBV_WC_LOC_PROT_ERR;
      if (at && sge.length > 0) qp.scattered.push_back({*at, sge.length});
    }
  }
  if (status != IBV_WC_SUCCESS) {
    complete_send(qp, place, status);
    return fail(qp);
  }
  if (read) {
    if (!bring(qp.scattered, offset, train, train.bytes)) return;
  } else if (atomic) {
    std::uint64_t original = train.head.atomic_ack.original;
    if (conduct_.atomic_results_reversed) original = reversed(original);
    const memory::Piece piece{reinterpret_cast<std::byte*>(&original), sizeof original};
    memory::copy(qp.scattered, 0, {&piece, 1}, 0, sizeof original);
  }
  work.received += train.packets;
  heard(qp, work.first + work.received);
  if (work.received < work.packets) return;
  work.done = true;
  --requester.reads;
  retire(qp);
}

/// All before `psn` is known to have arrived, and that is news: retries are counted anew.
void Adapter::heard(QueuePair& qp, wire::Psn psn) {
  Requester& requester = qp.requester;
  requester.acknowledged = psn;
  requester.retries_left = qp.attr.retry_cnt;
  requester.rnr_left = qp.attr.rnr_retry;
  requester.repeated = false;
  requester.waits = 0;
  if (!requester.resting) deadlines_.clear(qp);
}

/// Something didn't arrive, there or here: all of it from there on once more. `in_silence`: the timer says so; else an
/// answer does, and what was under way behind the gap brings many of those.
void Adapter::lost(QueuePair& qp, bool in_silence) {
  Requester& requester = qp.requester;
  if (qp.send_queue.completed == qp.send_queue.next || requester.resting) return;
  if (requester.repeated && !in_silence) return;
  if (requester.retries_left == 0) {
    complete_send(qp, qp.send_queue.completed, IBV_WC_RETRY_EXC_ERR);
    return fail(qp);
  }
  if (!conduct_.retries_for_ever || qp.attr.retry_cnt != kForEver) --requester.retries_left;
  requester.repeated = true;
  deadlines_.clear(qp);
  rewind(qp);
}

/// Completes those at the head that are done.
void Adapter::retire(QueuePair& qp) {
  queues::SendQueue& sends = qp.send_queue;
  while (sends.completed != sends.next && sends.works[sends.completed].done) {
    complete_send(qp, sends.completed, IBV_WC_SUCCESS);
  }
  drained(qp);
}

void Adapter::complete_send(QueuePair& qp, std::uint64_t place, ibv_wc_status status) {
  queues::SendQueue& sends = qp.send_queue;
  const queues::SendWork& work = sends.works[place];
  sends.completed = place + 1;
  if (status != IBV_WC_SUCCESS || work.signalled) {
    queues::Completion completion;
    completion.wc.wr_id = work.wr_id;
    completion.wc.status = status;
    completion.wc.opcode = completion_opcode(work.opcode);
    completion.wc.byte_len = work.bytes;
    completion.wc.qp_num = qp.number;
    if (sends.freed_by_poll) {
      completion.queue = &sends;
      completion.frees_before = place + 1;
    }
    if (!sends.freed_by_poll) sends.works.free_before(place + 1);
    const bool elsewhere = status == IBV_WC_WR_FLUSH_ERR && conduct_.flushes_to_receive_cq;
    if (elsewhere) completion.queue = nullptr;
    push(elsewhere ? *qp.receive_cq : *qp.send_cq, completion, status != IBV_WC_SUCCESS && conduct_.errors_solicited);
    return;
  }
  if (!sends.freed_by_poll) sends.works.free_before(place + 1);
}

}  // namespace verbena::engine::transport
