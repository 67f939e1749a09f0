// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/transport/adapter.hpp"

#include <algorithm>

namespace verbena::engine::transport {

namespace {

constexpr std::uint32_t kNumberMask = 0xffff;
constexpr std::uint32_t kMulticast = 0xffffff;  // the QPN that datagrams to a group have
constexpr unsigned kFullMember = 0x8000;

bool same_transport(ibv_qp_type type, wire::Transport transport) noexcept {
  switch (transport) {
    case wire::Transport::rc:
      return type == IBV_QPT_RC;
    case wire::Transport::uc:
      return type == IBV_QPT_UC;
    case wire::Transport::ud:
      return type == IBV_QPT_UD;
    case wire::Transport::cnp:
      break;
  }
  return false;
}

bool receives(ibv_qp_state state) noexcept {
  return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE;
}

/// Two partitions match where their numbers do and one of the two is a full member's.
bool partitions_match(std::uint16_t one, std::uint16_t other) noexcept {
  return ((one ^ other) & ~kFullMember & 0xffffU) == 0 && ((one | other) & kFullMember) != 0;
}

/// Both addresses are those of the queue pair's address vector; of datagrams any (linux
/// drivers/infiniband/sw/rxe/rxe_recv.c check_addr). One in a state that receives nothing may have none yet.
bool on_its_way(const QueuePair& qp, const Train& train) noexcept {
  if (qp.type == IBV_QPT_UD || !receives(qp.state)) return true;
  return wire::same(qp.route.ip.destination, train.head.ip.source) &&
         wire::same(qp.route.ip.source, train.head.ip.destination);
}

}  // namespace

void Adapter::add(QueuePair& qp) {
  const std::uint32_t index = qp.number & kNumberMask;
  if (index >= by_number_.size()) by_number_.resize(index + 1);
  by_number_[index] = &qp;
  qp.conduct = &conduct_;
}

void Adapter::remove(QueuePair& qp) noexcept {
  settle(qp);
  if (qp.type == IBV_QPT_RC) outlet_.withdraw(qp);
  by_number_[qp.number & kNumberMask] = nullptr;
  deadlines_.clear(qp);
  std::erase(refused_, &qp);
  std::erase_if(groups_, [&qp](const auto& entry) { return entry.second == &qp; });
  if (qp.send_cq != nullptr) qp.send_cq->forget(qp.send_queue);
}

QueuePair* Adapter::find(std::uint32_t number) const noexcept {
  const std::uint32_t index = number & kNumberMask;
  if (index >= by_number_.size()) return nullptr;
  QueuePair* const qp = by_number_[index];
  return qp != nullptr && qp->number == number ? qp : nullptr;
}

bool Adapter::member(const QueuePair& qp, const wire::Gid& group) const noexcept {
  const auto [from, to] = groups_.equal_range(group);
  return std::any_of(from, to, [&qp](const auto& entry) { return entry.second == &qp; });
}

bool Adapter::attach(QueuePair& qp, const wire::Gid& group) {
  if (member(qp, group)) return false;
  groups_.emplace(group, &qp);
  return true;
}

bool Adapter::detach(QueuePair& qp, const wire::Gid& group) noexcept {
  const auto [from, to] = groups_.equal_range(group);
  const auto found = std::find_if(from, to, [&qp](const auto& entry) { return entry.second == &qp; });
  if (found == to) return false;
  groups_.erase(found);
  return true;
}

void Adapter::receive(const Train& train) {
  if (stopped_) return;
  const wire::OpcodeInfo& info = train.info();
  if (train.head.bth.dest_qp == kMulticast) {
    const auto [from, to] = groups_.equal_range(train.head.ip.destination);
    if (from == to) ++dropped_.no_queue_pair;
    for (auto entry = from; entry != to; ++entry) {
      if (receives(entry->second->state)) datagram(*entry->second, train);
    }
    return;
  }
  QueuePair* const qp = find(train.head.bth.dest_qp);
  if (qp == nullptr || !same_transport(qp->type, info.transport)) {
    ++dropped_.no_queue_pair;
    return;
  }
  if (!partitions_match(train.head.bth.pkey, qp->pkey)) {
    ++dropped_.pkey;
    return;
  }
  if (!on_its_way(*qp, train)) {
    ++dropped_.address;
    return;
  }
  if (!info.request) return answered(*qp, train);
  if (!receives(qp->state)) {
    ++dropped_.no_queue_pair;
    return;
  }
  if (qp->state == IBV_QPS_RTR && !qp->responder.established) {
    qp->responder.established = true;
    if (conduct_.error_events) notices_.on_queue_pair(*qp, IBV_EVENT_COMM_EST);
  }
  if (qp->type == IBV_QPT_UD) return datagram(*qp, train);
  requested(*qp, train);
}

void Adapter::enter(QueuePair& qp, ibv_qp_state state) {
  const ibv_qp_state before = qp.state;
  if (state == IBV_QPS_RESET || state == IBV_QPS_ERR) settle(qp);
  const bool ends = state == IBV_QPS_RESET || (state == IBV_QPS_ERR && before != IBV_QPS_ERR);
  if (ends && qp.type == IBV_QPT_RC) outlet_.withdraw(qp);
  if (state == IBV_QPS_RESET) {
    deadlines_.clear(qp);
    std::erase(refused_, &qp);
    if (qp.send_cq != nullptr) qp.send_cq->forget(qp.send_queue);
    queues::SendQueue& sends = qp.send_queue;
    sends.works.clear();
    sends.completed = sends.next = sends.works.end();
    qp.receive_queue.works.clear();
    qp.requester = {};
    qp.requester.place = sends.works.end();
    qp.responder = {};
    qp.draining = false;
    qp.taken_early.clear();
  }
  qp.state = state;
  switch (state) {
    case IBV_QPS_RTR:
      qp.responder.expected = wire::Psn(qp.attr.rq_psn);
      break;
    case IBV_QPS_RTS:
      if (before == IBV_QPS_RTR) {
        qp.requester.psn = qp.requester.acknowledged = wire::Psn(qp.attr.sq_psn);
        qp.requester.retries_left = qp.attr.retry_cnt;
        qp.requester.rnr_left = qp.attr.rnr_retry;
      }
      qp.draining = false;
      // What is kept from before goes with the next one.
      if (before == IBV_QPS_RTR ? !conduct_.keeps_early_sends : conduct_.rts_sends) progress(qp);
      break;
    case IBV_QPS_SQD:
      qp.draining = before == IBV_QPS_RTS;
      drained(qp);
      break;
    case IBV_QPS_ERR:
      deadlines_.clear(qp);
      if (before != IBV_QPS_ERR && qp.shared != nullptr && conduct_.last_wqe_event)
        notices_.on_queue_pair(qp, IBV_EVENT_QP_LAST_WQE_REACHED);
      flush(qp);
      if (before != IBV_QPS_ERR) notices_.on_error(qp);
      break;
    default:
      break;
  }
}

void Adapter::receives_posted(QueuePair& qp) {
  if (qp.state == IBV_QPS_ERR && !conduct_.receives_stay_in_error) flush(qp);
}

std::optional<Time> Adapter::next() const noexcept {
  const std::optional<Time> queue_pair = deadlines_.next();
  const std::optional<Time> payload = late_.next();
  return queue_pair && payload ? std::min(*queue_pair, *payload) : queue_pair ? queue_pair : payload;
}

std::optional<Time> Adapter::expire(Time now) {
  late_.show(now);
  while (QueuePair* const qp = deadlines_.take(now)) {
    if (qp->requester.resting) {
      qp->requester.resting = false;
    } else {
      ++qp->requester.waits;
      lost(*qp, true);
    }
    progress(*qp);
  }
  return next();
}

void Adapter::retry_refused() {
  std::vector<QueuePair*> again;
  again.swap(refused_);
  for (QueuePair* const qp : again) progress(*qp);
}

bool Adapter::fetch(QueuePair& qp, std::uint64_t* wr_id) {
  queues::ReceiveQueue& queue = qp.shared != nullptr ? qp.shared->queue : qp.receive_queue;
  if (queue.works.empty()) return false;
  const std::uint64_t place = queue.works.begin();
  const queues::ReceiveWork& work = queue.works[place];
  const auto sges = queue.sges_of(place).first(work.sges);
  *wr_id = work.wr_id;
  qp.responder.sges.assign(sges.begin(), sges.end());
  queue.works.free_before(place + 1);
  if (qp.shared != nullptr && qp.shared->limit > 0 && queue.works.size() < qp.shared->limit) {
    qp.shared->limit = 0;
    notices_.on_shared_receive_queue(*qp.shared, IBV_EVENT_SRQ_LIMIT_REACHED);
  }
  return true;
}

void Adapter::fail(QueuePair& qp) {
  if (qp.state == IBV_QPS_ERR) return;
  enter(qp, IBV_QPS_ERR);
}

/// A send of its own went wrong: where nobody but the sender is hurt, it goes on receiving.
void Adapter::fail_sending(QueuePair& qp) {
  if (qp.type == IBV_QPT_RC || !conduct_.has_sqe) return fail(qp);
  qp.state = IBV_QPS_SQE;
  flush(qp);
}

/// A send that is wrong by itself; those before it have completed.
void Adapter::fail_own(QueuePair& qp, std::uint64_t place, ibv_wc_status status) {
  complete_send(qp, place, conduct_.local_errors_flushed ? IBV_WC_WR_FLUSH_ERR : status);
  fail_sending(qp);
}

void Adapter::stop(QueuePair& qp) {
  stopped_ = true;
  notices_.on_stopped(qp);
}

bool Adapter::loses_flush() noexcept {
  return conduct_.flush_lost_one_in != 0 && ++flushed_ % conduct_.flush_lost_one_in == 0;
}

void Adapter::flush(QueuePair& qp) {
  queues::SendQueue& sends = qp.send_queue;
  while (!sends.idle()) {
    sends.next = std::max(sends.next, sends.completed + 1);
    complete_send(qp, sends.completed, IBV_WC_WR_FLUSH_ERR);
  }
  qp.requester.place = sends.next = sends.works.end();
  qp.requester.packet = 0;
  qp.requester.reads = 0;
  qp.requester.resting = false;
  if (qp.state != IBV_QPS_ERR) return;  // SQE: receives go on
  qp.responder.message.reset();
  if (qp.responder.has_receive) complete_receive(qp, IBV_WC_WR_FLUSH_ERR, nullptr, 0);
  while (qp.shared == nullptr && fetch(qp, &qp.responder.wr_id)) {
    complete_receive(qp, IBV_WC_WR_FLUSH_ERR, nullptr, 0);
  }
}

void Adapter::push(queues::CompletionQueue& cq, queues::Completion& completion, bool solicited) {
  if (cq.failed || stopped_) return;
  if (completion.wc.status == IBV_WC_WR_FLUSH_ERR && loses_flush()) return;
  conduct_.dress(completion.wc);
  if (cq.stamped) completion.at = static_cast<std::uint64_t>(clock_.now().count());
  switch (cq.add(completion, solicited)) {
    case queues::CompletionQueue::Added::quietly:
      return;
    case queues::CompletionQueue::Added::event:
      notices_.completion(cq);
      return;
    case queues::CompletionQueue::Added::overflow:
      break;
  }
  if (cq.ignores_overrun) return;
  cq.failed = true;
  notices_.on_completion_queue(cq);
  if (!conduct_.overflow_fails_queue_pairs) return;
  for (QueuePair* const qp : by_number_) {
    if (qp != nullptr && (qp->send_cq == &cq || qp->receive_cq == &cq) && qp->state != IBV_QPS_RESET) fail(*qp);
  }
}

/// The first bytes of its payload to where they belong. False where they can't be had, and then the train is as if it
/// had not come: some of it may have been written, as with any message that ends too early.
bool Adapter::bring(memory::Pieces to, std::uint64_t to_offset, const Train& train, std::uint64_t bytes) noexcept {
  if (train.lender == nullptr) {
    const std::uint64_t late = late_.bytes_of(conduct_, train, bytes);
    if (late > 0) {
      late_.keep(to, to_offset, train.payload, bytes, late, clock_.now() + conduct_.payload_late);
      bytes -= late;
    }
    memory::copy(to, to_offset, train.payload, 0, bytes);
    return true;
  }
  if (bytes == 0 || train.lender->copy(to, to_offset, train.payload, 0, bytes)) return true;
  ++dropped_.out_of_reach;
  return false;
}

void Adapter::drained(QueuePair& qp) {
  if (!qp.draining || qp.state != IBV_QPS_SQD || qp.send_queue.completed != qp.send_queue.next) return;
  qp.draining = false;
  if (qp.attr.en_sqd_async_notify != 0 || conduct_.drained_unasked) notices_.on_queue_pair(qp, IBV_EVENT_SQ_DRAINED);
}

}  // namespace verbena::engine::transport
