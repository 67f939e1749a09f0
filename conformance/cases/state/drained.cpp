// SPDX-License-Identifier: Apache-2.0 OR MIT
// SQD, the state in which the send queue comes to rest, and SQE, in which an error left it.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/state/moves.hpp"
#include "cases/steps.hpp"

namespace conform {

namespace {

using verbena::QpType;

LoopShape connected() {
  LoopShape shape = small(QpType::rc);
  shape.bytes = 1U << 19;
  return shape;
}

/// A send for which the peer has no receive, so that it stays begun; the one before it shows that the queue runs. The
/// peer makes it wait for 164 ms at a time, in which what is asked next is answered.
void begin_stuck_send(Case& c, Loop& loop) {
  Terms slow;
  slow.min_rnr_timer = 28;
  bring_both(c, loop, Terms{}, slow);
  End& a = loop.a();
  c.need(carries(c, loop, a, loop.b(), 1, "a send before the one that waits"));
  c.need(c.accepted(loop.send(a, 2, 0, kBytes), "ibv_post_send"));
  c.need(c.holds(quiet(c, a.send_cq.raw(), std::chrono::milliseconds(30)), Seen::completion,
                 "a send completed to which there was no receive"));
}

/// That many sends of one byte each, whose values count up.
void post_counting(Case& c, Loop& loop, std::uint64_t first, std::size_t count) {
  for (std::size_t at = 0; at < count; ++at) {
    loop.a().data()[at] = static_cast<std::uint8_t>(first + at);
    c.need(c.accepted(loop.send(loop.a(), first + at, at, 1), "ibv_post_send in SQD"));
  }
}

void entered_from_rts(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    for (const int bit : {0, static_cast<int>(IBV_QP_EN_SQD_ASYNC_NOTIFY)}) {
      bring(c, loop, loop.a(), loop.b(), IBV_QPS_RTS);
      Move move = to(IBV_QPS_SQD);
      move.mask |= bit;
      moves(c, loop.a(), move, IBV_QPS_SQD,
            fmt::format("{} from RTS to SQD{}", verbena::name(type), bit != 0 ? " with en_sqd_async_notify" : ""));
    }
  }
}

void drains_then_stops(Case& c) {
  Loop loop(c, connected(), false);
  bring_both(c, loop);
  End& a = loop.a();
  End& b = loop.b();
  const std::size_t bytes = loop.shape().bytes;
  std::fill_n(a.data(), bytes, std::uint8_t{9});
  b.memory->clear();
  c.need(c.accepted(loop.write(a, b, 1, 0, bytes), "ibv_post_send of an RDMA WRITE"));
  const auto deadline = std::chrono::steady_clock::now() + c.ground().completion_within;
  const std::atomic_ref<std::uint8_t> first(b.data()[0]);
  while (first.load(std::memory_order_acquire) == 0) {
    c.need(c.holds(std::chrono::steady_clock::now() < deadline, Seen::no_data, "an RDMA WRITE does not begin"));
  }
  change(c, a, IBV_QPS_SQD);
  c.need(c.completed(next(c, a.send_cq.raw()), IBV_WC_SUCCESS, "an RDMA WRITE that was begun before SQD"));
  c.holds(b.data()[bytes - 1] == 9, Seen::no_data, "an RDMA WRITE that completed in SQD did not write its last byte");
  c.need(drains(c, a));

  for (std::uint64_t id = 0; id < 2; ++id) c.need(c.accepted(loop.receive(b, id, 0, kBytes), "ibv_post_recv"));
  post_counting(c, loop, 10, 2);
  c.holds(quiet(c, b.recv_cq.raw()), Seen::data, "a send posted in SQD was sent");
  c.holds(quiet(c, a.send_cq.raw(), std::chrono::milliseconds(5)), Seen::completion, "a send posted in SQD completed");
}

/// As drains_then_stops, for one that the peer lets wait, so that it must be sent again.
void drains_after_retry(Case& c) {
  Loop loop(c, connected(), false);
  begin_stuck_send(c, loop);
  change(c, loop.a(), IBV_QPS_SQD);
  c.need(c.accepted(loop.receive(loop.b(), 3, 0, kBytes), "ibv_post_recv"));
  c.need(completed_soon(c, soon(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send that had to wait when SQD came"));
  c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a send that had to wait when SQD came");
}

/// Without an ack timer, which might wake the queue in place of the move.
void resumes(Case& c) {
  Loop loop(c, connected(), false);
  Terms calm;
  calm.timeout = 0;
  bring_both(c, loop, calm, calm);
  End& a = loop.a();
  End& b = loop.b();
  c.need(carries(c, loop, a, b, 1, "before SQD"));
  change(c, a, IBV_QPS_SQD);
  c.need(drains(c, a));
  constexpr std::size_t kCount = 4;
  for (std::size_t at = 0; at < kCount + 1; ++at) {
    c.need(c.accepted(loop.receive(b, at, 100 + at, 1), "ibv_post_recv"));
  }
  post_counting(c, loop, 40, kCount);
  c.need(
      c.holds(quiet(c, b.recv_cq.raw(), std::chrono::milliseconds(20)), Seen::data, "a send posted in SQD was sent"));
  change(c, a, IBV_QPS_RTS);
  for (std::size_t at = 0; at < kCount; ++at) {
    const std::string what = fmt::format("send {} of those posted in SQD", at);
    const std::optional<ibv_wc> sent = soon(c, a.send_cq.raw());
    c.need(completed_soon(c, sent, IBV_WC_SUCCESS, what));
    c.equal(sent->wr_id, std::uint64_t{40 + at}, fmt::format("wr_id of {}", what));
    c.need(c.completed(next(c, b.recv_cq.raw()), IBV_WC_SUCCESS, fmt::format("the receive of {}", what)));
    c.holds(b.data()[100 + at] == 40 + at, Seen::data, fmt::format("{} arrived out of its order", what));
  }
  c.holds(quiet(c, b.recv_cq.raw(), std::chrono::milliseconds(20)), Seen::data, "a send posted in SQD arrived twice");
}

void still_receives(Case& c) {
  Loop loop(c, connected(), false);
  bring_both(c, loop);
  End& a = loop.a();
  End& b = loop.b();
  change(c, a, IBV_QPS_SQD);
  c.need(drains(c, a));
  c.need(carries(c, loop, b, a, 51, "a send to a peer in SQD"));
  b.memory->fill(10);
  a.memory->clear();
  c.need(c.accepted(loop.write(b, a, 52, 0, kBytes), "ibv_post_send of an RDMA WRITE"));
  c.need(c.completed(next(c, b.send_cq.raw()), IBV_WC_SUCCESS, "an RDMA WRITE to a peer in SQD"));
  c.holds(std::equal(b.data(), b.data() + kBytes, a.data()), Seen::no_data, "an RDMA WRITE wrote other bytes");
  a.memory->fill(11);
  c.need(c.accepted(loop.read(b, a, 53, 0, kBytes), "ibv_post_send of an RDMA READ"));
  c.need(c.completed(next(c, b.send_cq.raw()), IBV_WC_SUCCESS, "an RDMA READ of a peer in SQD"));
  c.holds(std::equal(b.data(), b.data() + kBytes, a.data()), Seen::no_data, "an RDMA READ read other bytes");
  c.in_state(a.qp.raw(), IBV_QPS_SQD, "after it served its peer");
}

bool draining(Case& c, const End& end) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  c.need(c.accepted(c.verbs().query_qp(end.qp.raw(), attr, IBV_QP_STATE, init), "ibv_query_qp"));
  return attr.sq_draining != 0;
}

void draining_is_seen(Case& c) {
  Loop loop(c, connected(), false);
  begin_stuck_send(c, loop);
  change(c, loop.a(), IBV_QPS_SQD);
  c.holds(draining(c, loop.a()), Seen::value, "sq_draining is 0 while a send is under way");
  c.need(c.accepted(loop.receive(loop.b(), 3, 0, kBytes), "ibv_post_recv"));
  c.need(completed_soon(c, soon(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send that was begun before SQD"));
  drains(c, loop.a());
}

void no_move_while_draining(Case& c) {
  Loop loop(c, connected(), false);
  begin_stuck_send(c, loop);
  change(c, loop.a(), IBV_QPS_SQD);
  refuses(c, loop.a(), to(IBV_QPS_RTS), IBV_QPS_SQD, "SQD to RTS while a send is under way");
}

void attributes_change(Case& c) {
  Loop loop(c, connected(), false);
  bring_both(c, loop);
  End& a = loop.a();
  End& b = loop.b();
  c.need(carries(c, loop, a, b, 61, "before SQD"));
  change(c, a, IBV_QPS_SQD);
  c.need(drains(c, a));
  Terms terms;
  terms.timeout = 12;
  terms.retry_cnt = 3;
  terms.rnr_retry = 0;
  terms.max_rd_atomic = static_cast<std::uint8_t>(c.within(verbena::Field::max_rd_atomic, 2));
  terms.max_dest_rd_atomic = static_cast<std::uint8_t>(c.within(verbena::Field::max_dest_rd_atomic, 4));
  constexpr int kBits =
      IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC;
  c.need(moves(c, a, move_with(loop, a, b, IBV_QPS_SQD, kBits, terms), IBV_QPS_SQD, "new timers and depths in SQD"));
  c.need(drains(c, a));
  change(c, a, IBV_QPS_RTS);
  ibv_qp_attr now{};
  ibv_qp_init_attr init{};
  c.need(c.accepted(a.way->query(a.qp.raw(), now, kBits | IBV_QP_STATE, init), "ibv_query_qp"));
  c.holds(now.timeout >= terms.timeout, Seen::value, "timeout that was set in SQD is smaller in RTS");
  c.equal(now.retry_cnt, terms.retry_cnt, "retry_cnt that was set in SQD");
  c.equal(now.rnr_retry, terms.rnr_retry, "rnr_retry that was set in SQD");
  c.holds(now.max_rd_atomic >= terms.max_rd_atomic, Seen::value, "max_rd_atomic that was set in SQD is smaller in RTS");
  c.holds(now.max_dest_rd_atomic >= terms.max_dest_rd_atomic, Seen::value,
          "max_dest_rd_atomic that was set in SQD is smaller in RTS");
  c.need(carries(c, loop, a, b, 62, "after SQD"));
  c.need(c.accepted(loop.send(a, 63, 0, kBytes), "ibv_post_send"));
  c.completed(next(c, a.send_cq.raw()), IBV_WC_RNR_RETRY_EXC_ERR,
              "a send without a receive, with rnr_retry 0 from SQD");
}

void err_from_sqd(Case& c) {
  Loop loop(c, connected(), false);
  bring_both(c, loop);
  c.need(carries(c, loop, loop.a(), loop.b(), 71, "before SQD"));
  change(c, loop.a(), IBV_QPS_SQD);
  c.need(drains(c, loop.a()));
  moves(c, loop.a(), to(IBV_QPS_ERR), IBV_QPS_ERR, "drained, from SQD to ERR");

  Loop other(c, connected(), false);
  begin_stuck_send(c, other);
  change(c, other.a(), IBV_QPS_SQD);
  c.need(moves(c, other.a(), to(IBV_QPS_ERR), IBV_QPS_ERR, "draining, from SQD to ERR"));
  c.completed(next(c, other.a().send_cq.raw()), IBV_WC_WR_FLUSH_ERR, "the send that was under way");
}

void reset_from_sqd(Case& c) {
  Loop loop(c, connected(), false);
  bring_both(c, loop);
  c.need(carries(c, loop, loop.a(), loop.b(), 81, "before SQD"));
  change(c, loop.a(), IBV_QPS_SQD);
  c.need(drains(c, loop.a()));
  moves(c, loop.a(), to(IBV_QPS_RESET), IBV_QPS_RESET, "drained, from SQD to RESET");
}

/// A send whose local key died fails where it is posted from, and nothing is on the wire.
bool into_sqe(Case& c, Loop& loop) {
  bring_both(c, loop);
  End& a = loop.a();
  c.need(carries(c, loop, a, loop.b(), 90, "before the error"));
  ibv_sge sge = a.sge(0, kBytes);
  {
    const Object<ibv_mr> gone = c.made(
        a.way->mr(a.pd.raw(), {.address = a.data(), .length = kBytes, .access = IBV_ACCESS_LOCAL_WRITE}), "ibv_reg_mr");
    sge.lkey = gone->lkey;
  }
  ibv_send_wr wr = send_of(loop, a, sge, 91);
  ibv_send_wr* bad = nullptr;
  c.need(c.accepted(a.way->post_send(a.qp.raw(), wr, bad), "ibv_post_send with a key that died"));
  const std::optional<ibv_wc> wc = next(c, a.send_cq.raw());
  c.need(c.holds(wc.has_value(), Seen::no_completion, "a send with a key that died did not complete"));
  c.need(c.holds(wc->status != IBV_WC_SUCCESS, Seen::completion, "a send with a key that died succeeded"));
  if (!c.in_state(a.qp.raw(), IBV_QPS_SQE,
                  fmt::format("{} after a send completed in error", verbena::name(loop.shape().type)))) {
    return false;
  }
  // A handle follows the moves that are asked for, and Verbena's own object what a query told.
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  return c.accepted(a.way->query(a.qp.raw(), attr, IBV_QP_STATE, init), "ibv_query_qp");
}

void sqe_send_error(Case& c) {
  for (const QpType type : c.qp_types()) {
    if (type == QpType::rc) continue;
    Loop loop(c, small(type), false);
    if (into_sqe(c, loop)) carries(c, loop, loop.b(), loop.a(), 92, "to a peer in SQE");
  }
}

void sqe_back_to_rts(Case& c) {
  for (const QpType type : c.qp_types()) {
    if (type == QpType::rc) continue;
    Loop loop(c, small(type), false);
    if (!into_sqe(c, loop)) continue;
    if (moves(c, loop.a(), to(IBV_QPS_RTS), IBV_QPS_RTS, "from SQE to RTS")) {
      carries(c, loop, loop.a(), loop.b(), 93, "after SQE");
    }
  }
}

void sqe_to_err(Case& c) {
  for (const QpType type : c.qp_types()) {
    if (type == QpType::rc) continue;
    Loop loop(c, small(type), false);
    if (into_sqe(c, loop)) moves(c, loop.a(), to(IBV_QPS_ERR), IBV_QPS_ERR, "from SQE to ERR");
  }
}

}  // namespace

Bodies state_drained_bodies() {
  static constexpr Body kBodies[] = {
      {"state.sqd.entered_from_rts", entered_from_rts},
      {"state.sqd.drains_then_stops", drains_then_stops},
      {"state.sqd.drains_after_retry", drains_after_retry},
      {"state.sqd.resumes", resumes},
      {"state.sqd.still_receives", still_receives},
      {"state.sqd.draining_is_seen", draining_is_seen},
      {"state.sqd.no_move_while_draining", no_move_while_draining},
      {"state.sqd.attributes_change", attributes_change},
      {"state.err.from_sqd", err_from_sqd},
      {"state.reset.from_sqd", reset_from_sqd},
      {"state.sqe.ud_send_error", sqe_send_error},
      {"state.sqe.back_to_rts", sqe_back_to_rts},
      {"state.sqe.to_err", sqe_to_err},
  };
  return kBodies;
}

}  // namespace conform
