// SPDX-License-Identifier: Apache-2.0 OR MIT
// What becomes of work that is posted in each state.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/state/moves.hpp"
#include "cases/steps.hpp"
#include "verbena/errno_family.hpp"

namespace conform {

namespace {

using verbena::QpType;

std::size_t head(QpType type) {
  return type == QpType::ud ? kGrhBytes : 0;
}

/// The states that the row names, or all of these.
std::vector<ibv_qp_state> states(Case& c, std::initializer_list<ibv_qp_state> all) {
  if (c.has("state")) return {state_of(c.with("state"))};
  return all;
}

/// Refused with an errno, and `bad` is the work request.
template <class T>
bool post_refused(Case& c, int error, const T* bad, const T& wr, const std::string& what) {
  if (!c.refused(error, what)) return false;
  if (bad == &wr) return true;
  Finding found;
  found.seen = Seen::refused;
  found.error = std::string(verbena::errno_name(error));
  found.text = fmt::format("{} was refused, and bad_wr {} instead of naming the work request", what,
                           bad == nullptr ? "is NULL" : "points elsewhere");
  c.finding(std::move(found));
  return false;
}

void send_before_rts(Case& c, QpType type, ibv_qp_state state) {
  Loop loop(c, small(type), false);
  End& a = loop.a();
  End& b = loop.b();
  bring(c, loop, b, a, IBV_QPS_RTR);
  bring(c, loop, a, b, state);
  if (type == QpType::ud) address(c, loop);
  const std::string what = fmt::format("a send of {} in {}", verbena::name(type), state_name(state));
  a.memory->clear();
  std::fill_n(a.data(), kBytes, std::uint8_t{1});
  std::fill_n(a.data() + kBytes, kBytes, std::uint8_t{2});
  ibv_sge early = a.sge(0, kBytes);
  ibv_send_wr wr = send_of(loop, a, early, 1);
  ibv_send_wr* bad = nullptr;
  const int error = a.way->post_send(a.qp.raw(), wr, bad);  // before `bad` is read
  post_refused(c, error, bad, wr, what);

  climb(c, loop, a, b, IBV_QPS_RTS);
  for (std::uint64_t id = 10; id < 12; ++id) {
    c.need(c.accepted(loop.receive(b, id, (id - 10) * 200, head(type) + kBytes), "ibv_post_recv"));
  }
  c.need(c.accepted(loop.send(a, 2, kBytes, kBytes), "ibv_post_send in RTS"));
  const std::optional<ibv_wc> received = next(c, b.recv_cq.raw());
  if (!c.completed(received, IBV_WC_SUCCESS, "the receive of what was sent in RTS")) return;
  const bool right = b.data()[head(type)] == 2 && quiet(c, b.recv_cq.raw(), std::chrono::milliseconds(20));
  c.holds(right, Seen::data, fmt::format("{} was carried out once the queue pair was in RTS", what));
  if (!right) return;
  const std::optional<ibv_wc> sent = next(c, a.send_cq.raw());
  if (c.completed(sent, IBV_WC_SUCCESS, "the send in RTS")) c.equal(sent->wr_id, std::uint64_t{2}, "wr_id of the send");
}

void before_rts_refused(Case& c) {
  for (const QpType type : c.qp_types()) {
    for (const ibv_qp_state state : states(c, {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR})) {
      send_before_rts(c, type, state);
    }
  }
}

void receive_in_reset_refused(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    ibv_sge sge = loop.a().sge(0, head(type) + kBytes);
    ibv_recv_wr wr{};
    wr.wr_id = 1;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    ibv_recv_wr* bad = nullptr;
    const int error = loop.a().way->post_recv(loop.a().qp.raw(), wr, bad);  // before `bad` is read
    post_refused(c, error, bad, wr, fmt::format("a receive of {} in RESET", verbena::name(type)));
    bring(c, loop, loop.a(), loop.b(), IBV_QPS_INIT);
    c.accepted(loop.a().way->post_recv(loop.a().qp.raw(), wr, bad),
               fmt::format("a receive of {} in INIT", verbena::name(type)));
  }
}

void receive_from_init_on(Case& c) {
  for (const QpType type : c.qp_types()) {
    for (const ibv_qp_state state : states(c, {IBV_QPS_INIT, IBV_QPS_RTR})) {
      Loop loop(c, small(type), false);
      End& a = loop.a();
      End& b = loop.b();
      bring(c, loop, b, a, state);
      const std::string what = fmt::format("a receive of {} posted in {}", verbena::name(type), state_name(state));
      c.need(c.accepted(loop.receive(b, 7, 0, head(type) + kBytes), what));
      climb(c, loop, b, a, IBV_QPS_RTR);
      bring(c, loop, a, b, IBV_QPS_RTS);
      if (type == QpType::ud) address(c, loop);
      a.memory->fill(3);
      c.need(c.accepted(loop.send(a, 8, 0, kBytes), "ibv_post_send"));
      const std::optional<ibv_wc> received = next(c, b.recv_cq.raw());
      if (!c.completed(received, IBV_WC_SUCCESS, what)) continue;
      c.equal(received->wr_id, std::uint64_t{7}, fmt::format("wr_id of {}", what));
      c.holds(std::equal(a.data(), a.data() + kBytes, b.data() + head(type)), Seen::data,
              fmt::format("{} got other bytes", what));
      c.completed(next(c, a.send_cq.raw()), IBV_WC_SUCCESS, "the send");
    }
  }
}

void send_in_err_flushed(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    bring_both(c, loop);
    change(c, loop.a(), IBV_QPS_ERR);
    const std::string what = fmt::format("a send of {} in ERR", verbena::name(type));
    if (!c.accepted(loop.send(loop.a(), 5, 0, kBytes), what)) continue;
    const std::optional<ibv_wc> wc = soon(c, loop.a().send_cq.raw());
    if (completed_soon(c, wc, IBV_WC_WR_FLUSH_ERR, what))
      c.equal(wc->wr_id, std::uint64_t{5}, fmt::format("wr_id of {}", what));
    c.holds(quiet(c, loop.a().send_cq.raw(), std::chrono::milliseconds(10)), Seen::completion,
            fmt::format("{} completed twice", what));
  }
}

void receive_in_err_flushed(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    bring_both(c, loop);
    const std::size_t bytes = head(type) + kBytes;
    c.need(c.accepted(loop.receive(loop.a(), 4, 0, bytes), "ibv_post_recv in RTS"));
    change(c, loop.a(), IBV_QPS_ERR);
    // So that what is posted next does not come along while the queue is still being flushed.
    c.need(c.completed(next(c, loop.a().recv_cq.raw()), IBV_WC_WR_FLUSH_ERR, "a receive posted before ERR"));
    c.need(c.holds(quiet(c, loop.a().recv_cq.raw(), std::chrono::milliseconds(20)), Seen::completion,
                   "a receive completed twice"));
    const std::string what = fmt::format("a receive of {} in ERR", verbena::name(type));
    if (!c.accepted(loop.receive(loop.a(), 5, 0, bytes), what)) continue;
    const std::optional<ibv_wc> wc = soon(c, loop.a().recv_cq.raw());
    if (completed_soon(c, wc, IBV_WC_WR_FLUSH_ERR, what))
      c.equal(wc->wr_id, std::uint64_t{5}, fmt::format("wr_id of {}", what));
  }
}

void receives_before_rts(Case& c) {
  Loop loop(c, small(QpType::rc), false);
  End& a = loop.a();
  End& b = loop.b();
  bring(c, loop, b, a, IBV_QPS_RTR);
  bring(c, loop, a, b, IBV_QPS_RTS);
  c.need(carries(c, loop, a, b, 21, "a send to a peer in RTR"));

  a.memory->fill(4);
  b.memory->clear();
  c.need(c.accepted(loop.write(a, b, 22, 0, kBytes), "ibv_post_send of an RDMA WRITE"));
  c.need(c.completed(next(c, a.send_cq.raw()), IBV_WC_SUCCESS, "an RDMA WRITE to a peer in RTR"));
  c.holds(std::equal(a.data(), a.data() + kBytes, b.data()), Seen::no_data, "an RDMA WRITE wrote other bytes");

  b.memory->fill(5);
  c.need(c.accepted(loop.read(a, b, 23, 0, kBytes), "ibv_post_send of an RDMA READ"));
  c.need(c.completed(next(c, a.send_cq.raw()), IBV_WC_SUCCESS, "an RDMA READ of a peer in RTR"));
  c.holds(std::equal(a.data(), a.data() + kBytes, b.data()), Seen::no_data, "an RDMA READ read other bytes");
  c.in_state(b.qp.raw(), IBV_QPS_RTR, "after it served its peer");
}

/// UC has nobody who would send again, so what came in INIT is gone for good.
void init_ignores_arrivals(Case& c) {
  Loop loop(c, small(QpType::uc), false);
  End& a = loop.a();
  End& b = loop.b();
  bring(c, loop, b, a, IBV_QPS_INIT);
  c.need(c.accepted(loop.receive(b, 1, 0, kBytes), "ibv_post_recv in INIT"));
  bring(c, loop, a, b, IBV_QPS_RTS);
  a.memory->fill(6);
  b.memory->clear();
  c.need(c.accepted(loop.send(a, 2, 0, kBytes), "ibv_post_send"));
  c.need(c.completed(next(c, a.send_cq.raw()), IBV_WC_SUCCESS, "the send to a peer in INIT"));
  c.holds(quiet(c, b.recv_cq.raw()), Seen::completion, "a receive completed in INIT");
  c.holds(std::all_of(b.data(), b.data() + kBytes, [](std::uint8_t byte) { return byte == 0; }), Seen::data,
          "bytes arrived in INIT");

  climb(c, loop, b, a, IBV_QPS_RTR);
  c.holds(quiet(c, b.recv_cq.raw(), std::chrono::milliseconds(20)), Seen::completion,
          "what came in INIT was received in RTR");
  a.memory->fill(7);
  c.need(c.accepted(loop.send(a, 3, 0, kBytes), "ibv_post_send"));
  if (c.completed(next(c, b.recv_cq.raw()), IBV_WC_SUCCESS, "the receive that INIT left unused")) {
    c.holds(std::equal(a.data(), a.data() + kBytes, b.data()), Seen::data, "the receive got other bytes");
  }
}

void rts_to_rts_access(Case& c) {
  Loop loop(c, small(QpType::rc), false);
  bring_both(c, loop);
  End& a = loop.a();
  End& b = loop.b();
  a.memory->fill(8);
  b.memory->clear();
  c.need(c.accepted(loop.write(a, b, 1, 0, kBytes), "ibv_post_send of an RDMA WRITE"));
  c.need(c.completed(next(c, a.send_cq.raw()), IBV_WC_SUCCESS, "an RDMA WRITE that is allowed"));
  Terms terms;
  terms.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
  const Move move = move_with(loop, b, a, IBV_QPS_RTS, IBV_QP_ACCESS_FLAGS, terms);
  c.need(moves(c, b, move, IBV_QPS_RTS, "taking the right to write away in RTS"));
  b.memory->clear();
  c.need(c.accepted(loop.write(a, b, 2, 0, kBytes), "ibv_post_send of an RDMA WRITE"));
  // The sentence leaves open by which of the two the responder says no.
  const std::optional<ibv_wc> wc = next(c, a.send_cq.raw());
  if (!wc || wc->status != IBV_WC_REM_INV_REQ_ERR) {
    c.completed(wc, IBV_WC_REM_ACCESS_ERR, "an RDMA WRITE that is no more allowed");
  }
  c.holds(std::all_of(b.data(), b.data() + kBytes, [](std::uint8_t byte) { return byte == 0; }), Seen::data,
          "an RDMA WRITE that is no more allowed wrote");
}

void rts_to_rts_qkey(Case& c) {
  Loop loop(c, small(QpType::ud), false);
  bring_both(c, loop);
  End& a = loop.a();
  End& b = loop.b();
  c.need(carries(c, loop, a, b, 31, "with the first Q_Key"));
  Terms terms;
  terms.qkey = 0x0badcafe;
  c.need(moves(c, b, move_with(loop, b, a, IBV_QPS_RTS, IBV_QP_QKEY, terms), IBV_QPS_RTS, "a new Q_Key in RTS"));
  c.need(c.accepted(loop.receive(b, 32, 0, kGrhBytes + kBytes), "ibv_post_recv"));
  c.need(c.accepted(loop.send(a, 33, 0, kBytes), "ibv_post_send"));
  c.need(c.completed(next(c, a.send_cq.raw()), IBV_WC_SUCCESS, "a datagram with the old Q_Key"));
  c.need(c.holds(quiet(c, b.recv_cq.raw()), Seen::data, "a datagram with the old Q_Key was received"));
  a.qkey = terms.qkey;
  c.need(c.accepted(loop.send(a, 34, 0, kBytes), "ibv_post_send"));
  c.completed(next(c, b.recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a datagram with the new Q_Key");
}

}  // namespace

Bodies state_posting_bodies() {
  static constexpr Body kBodies[] = {
      {"state.post_send.before_rts_refused", before_rts_refused},
      {"state.post_recv.in_reset_refused", receive_in_reset_refused},
      {"state.post_recv.from_init_on", receive_from_init_on},
      {"state.post_send.in_err_flushed", send_in_err_flushed},
      {"state.post_recv.in_err_flushed", receive_in_err_flushed},
      {"state.rtr.receives_before_rts", receives_before_rts},
      {"state.init.ignores_arrivals", init_ignores_arrivals},
      {"state.same.rts_to_rts_access", rts_to_rts_access},
      {"state.same.rts_to_rts_qkey", rts_to_rts_qkey},
  };
  return kBodies;
}

}  // namespace conform
