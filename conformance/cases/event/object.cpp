// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>
#include <chrono>
#include <future>
#include <string>

#include "cases/bodies.hpp"
#include "cases/srq/pool.hpp"
#include "rig/events.hpp"
#include "rig/traffic.hpp"

namespace conform {

namespace {

using verbena::Feature;

void nonblocking(Case& c) {
  const AsyncEvents events(c);  // takes what there is, and makes the descriptor non-blocking
  for (int round = 0; round < 2; ++round) {
    ibv_async_event event{};
    const int error = c.verbs().get_async_event(c.context(), event);
    if (error == 0) c.verbs().ack_async_event(event);
    c.refused(error, "ibv_get_async_event without an event", {EAGAIN});
    if (error != 0) c.equal(error, EAGAIN, "errno of ibv_get_async_event");
  }
}

/// Sends whose completions are more than the queue of a has room for, until the queue says so. A post that is refused
/// comes from a queue pair that the overflow has ended.
void overflow(Case& c, Loop& loop, const Object<ibv_cq>& cq) {
  const std::uint32_t count = 2 * static_cast<std::uint32_t>(cq->cqe) + 4;
  for (std::uint32_t index = 0; index < count; ++index) {
    c.need(c.accepted(loop.receive(loop.b(), index, 0, kMessageBytes), "ibv_post_recv"));
    if (loop.send(loop.a(), index, 0, kMessageBytes) != 0) return;
    if (index < static_cast<std::uint32_t>(cq->cqe)) {
      c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "a receive before the overflow"));
    }
  }
}

LoopShape overflowing(const Object<ibv_cq>& cq) {
  const std::uint32_t count = 2 * static_cast<std::uint32_t>(cq->cqe) + 8;
  return {.cap = {count, count, 1, 1, 0}, .a = {.send_cq = cq.raw()}};
}

/// Whether the queue pair can be drained through SQD, and by whom it is moved.
bool drains(Case& c) {
  return c.native(Feature::sqd) && !c.contract().is(verbena::Behaviour::rts_driven_by, verbena::Choice::rdma_cm);
}

int to_sqd(Case& c, End& end, bool notify) {
  Move move = to(IBV_QPS_SQD);
  move.attr.en_sqd_async_notify = notify ? 1 : 0;
  move.mask |= IBV_QP_EN_SQD_ASYNC_NOTIFY;
  return c.way().modify(end.qp.raw(), move.attr, move.mask);
}

void names_object(Case& c) {
  {
    const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = 2}), "ibv_create_cq");
    const Object<ibv_cq> other = c.made(c.way().cq({.cqe = 2}), "ibv_create_cq");
    AsyncEvents events(c);
    Loop loop(c, overflowing(cq));
    overflow(c, loop, cq);
    c.holds(events.next(IBV_EVENT_CQ_ERR, cq.raw()), Seen::no_event, "no event names the queue that overflowed");
  }
  if (c.native(Feature::srq) && c.native(Feature::srq_limit_event)) {
    const Pool pool(c);
    const Pool other(c);
    AsyncEvents events(c, c.other().raw());
    Loop loop(c, {.b = pool.given()});
    pool.fill(4);
    c.need(c.accepted(c.other_way().arm_srq_limit(pool.srq(), 3), "ibv_modify_srq"));
    consume(c, loop, 2);
    c.holds(events.next(IBV_EVENT_SRQ_LIMIT_REACHED, pool.srq()), Seen::no_event,
            "no event names the shared receive queue that ran low");
  }
  if (drains(c)) {
    Loop loop(c);
    Loop other(c);
    AsyncEvents events(c);
    c.need(c.accepted(to_sqd(c, loop.a(), true), "ibv_modify_qp to SQD"));
    c.holds(events.next(IBV_EVENT_SQ_DRAINED, loop.a().qp.raw()), Seen::no_event,
            "no event names the queue pair that was drained");
  }
}

void destroy_waits(Case& c) {
  Loop loop(c);
  AsyncEvents events(c);
  c.need(carries(c, loop, "before the move to SQD"));
  c.need(c.accepted(to_sqd(c, loop.a(), true), "ibv_modify_qp to SQD"));
  std::optional<ibv_async_event> event = events.take(IBV_EVENT_SQ_DRAINED, loop.a().qp.raw());
  c.need(c.holds(event.has_value(), Seen::no_event, "no IBV_EVENT_SQ_DRAINED"));
  std::future<int> destroyed = std::async(std::launch::async, [&] { return loop.a().qp.destroy(); });
  c.holds(destroyed.wait_for(kQuietSpan) == std::future_status::timeout, Seen::accepted,
          "ibv_destroy_qp returned before the event was acknowledged");
  c.verbs().ack_async_event(*event);
  c.accepted(destroyed.get(), "ibv_destroy_qp after the event was acknowledged");
}

void unread_is_dropped(Case& c) {
  AsyncEvents events(c);
  ibv_cq* gone = nullptr;
  {
    const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = 2}), "ibv_create_cq");
    gone = cq.raw();
    Loop loop(c, overflowing(cq));
    overflow(c, loop, cq);
    const auto within = static_cast<int>(c.ground().completion_within.count() / 5);
    c.need(c.holds(c.verbs().wait_readable(c.context()->async_fd, within) == 0, Seen::no_event,
                   "an overflow raised no event"));
  }
  // A new queue may lie where the old one was; then its address says nothing, but there is none.
  c.holds(events.none(IBV_EVENT_CQ_ERR, gone), Seen::event,
          "an event of a completion queue that is destroyed was returned");
}

void access_err(Case& c) {
  Loop loop(c);
  AsyncEvents events(c, c.other().raw());
  ibv_sge sge = loop.a().sge(0, 8);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = IBV_SEND_SIGNALED;
  // A key that is known, and bytes behind its region: some look no further where the key itself is not.
  wr.wr.rdma = {loop.b().remote(loop.b().memory->size()), loop.b().rkey()};
  c.need(c.accepted(loop.post(loop.a(), wr), "ibv_post_send of a WRITE behind the region"));
  next(c, loop.a().send_cq.raw());
  c.holds(events.next(IBV_EVENT_QP_ACCESS_ERR, loop.b().qp.raw()), Seen::no_event,
          "a remote access error raised no IBV_EVENT_QP_ACCESS_ERR for the responder");
}

void comm_est(Case& c) {
  Loop loop(c, {}, false);
  AsyncEvents events(c, c.other().raw());
  End& a = loop.a();
  End& b = loop.b();
  for (auto [from, peer] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    const Move init = to_init(verbena::QpType::rc, from->port);
    c.need(c.accepted(from->way->modify(from->qp.raw(), init.attr, init.mask), "ibv_modify_qp to INIT"));
    const Move rtr = to_rtr(verbena::QpType::rc, loop.path(*from, *peer));
    c.need(c.accepted(from->way->modify(from->qp.raw(), rtr.attr, rtr.mask), "ibv_modify_qp to RTR"));
  }
  const Move rts = to_rts(verbena::QpType::rc);
  c.need(c.accepted(a.way->modify(a.qp.raw(), rts.attr, rts.mask), "ibv_modify_qp to RTS"));
  c.need(carries(c, loop, "a message to a queue pair in RTR"));
  c.holds(events.next(IBV_EVENT_COMM_EST, b.qp.raw()), Seen::no_event,
          "the first message to a queue pair in RTR raised no IBV_EVENT_COMM_EST");
}

void sq_drained(Case& c) {
  Loop loop(c);
  AsyncEvents events(c);
  for (std::uint64_t wr_id = 1; wr_id <= 4; ++wr_id) {
    c.need(c.accepted(loop.receive(loop.b(), wr_id, 0, kMessageBytes), "ibv_post_recv"));
    c.need(c.accepted(loop.send(loop.a(), wr_id, 0, kMessageBytes), "ibv_post_send"));
  }
  c.need(c.accepted(to_sqd(c, loop.a(), true), "ibv_modify_qp to SQD"));
  c.holds(events.next(IBV_EVENT_SQ_DRAINED, loop.a().qp.raw()), Seen::no_event, "no IBV_EVENT_SQ_DRAINED");
  c.holds(events.none(IBV_EVENT_SQ_DRAINED, loop.a().qp.raw()), Seen::event, "a second IBV_EVENT_SQ_DRAINED");
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  c.need(c.accepted(c.way().query(loop.a().qp.raw(), attr, IBV_QP_STATE, init), "ibv_query_qp"));
  c.equal(attr.sq_draining, std::uint8_t{0}, "sq_draining after IBV_EVENT_SQ_DRAINED");
}

void sq_drained_not_unasked(Case& c) {
  Loop loop(c);
  AsyncEvents events(c);
  c.need(carries(c, loop, "before the move to SQD"));
  c.need(c.accepted(to_sqd(c, loop.a(), false), "ibv_modify_qp to SQD"));
  c.holds(events.none(IBV_EVENT_SQ_DRAINED, loop.a().qp.raw()), Seen::event,
          "IBV_EVENT_SQ_DRAINED without en_sqd_async_notify");
}

void last_wqe_reached(Case& c) {
  const Pool pool(c);
  Loop loop(c, {.b = pool.given()});
  pool.fill(4);
  AsyncEvents events(c, c.other().raw());
  const Move err = to(IBV_QPS_ERR);
  c.need(c.accepted(c.other_way().modify(loop.b().qp.raw(), err.attr, err.mask), "ibv_modify_qp to ERR"));
  c.holds(events.next(IBV_EVENT_QP_LAST_WQE_REACHED, loop.b().qp.raw()), Seen::no_event,
          "no IBV_EVENT_QP_LAST_WQE_REACHED");
  c.holds(events.none(IBV_EVENT_QP_LAST_WQE_REACHED, loop.b().qp.raw()), Seen::event,
          "a second IBV_EVENT_QP_LAST_WQE_REACHED");
}

}  // namespace

Bodies event_object_bodies() {
  static constexpr Body kBodies[] = {
      {"event.get.nonblocking", nonblocking},
      {"event.get.names_object", names_object},
      {"event.ack.destroy_waits", destroy_waits},
      {"event.ack.unread_is_dropped", unread_is_dropped},
      {"event.qp.access_err", access_err},
      {"event.qp.comm_est", comm_est},
      {"event.qp.sq_drained", sq_drained},
      {"event.qp.sq_drained_not_unasked", sq_drained_not_unasked},
      {"event.qp.last_wqe_reached", last_wqe_reached},
  };
  return kBodies;
}

}  // namespace conform
