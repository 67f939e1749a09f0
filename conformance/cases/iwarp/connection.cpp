// SPDX-License-Identifier: Apache-2.0 OR MIT
// How an iWARP connection comes to be, and how it ends.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/cm_link.hpp"
#include "rig/on_id.hpp"

namespace conform {

namespace {

using verbena::QpType;

/// One message, whole, from one end to the other.
bool passes(Case& c, Loop& loop, End& from, End& to, std::uint64_t wr_id, std::string_view what) {
  from.memory->fill(static_cast<std::uint32_t>(wr_id));
  to.memory->clear();
  c.need(c.accepted(loop.receive(to, wr_id, 0, kBytes), "ibv_post_recv"));
  c.need(c.accepted(loop.send(from, wr_id, 0, kBytes), "ibv_post_send"));
  return c.completed(next(c, from.send_cq.raw()), IBV_WC_SUCCESS, fmt::format("{}: the send", what)) &&
         c.completed(next(c, to.recv_cq.raw()), IBV_WC_SUCCESS, fmt::format("{}: the receive", what)) &&
         c.holds(std::equal(from.data(), from.data() + kBytes, to.data()), Seen::data,
                 fmt::format("{}: other bytes arrived", what));
}

void by_cm(Case& c) {
  Loop loop(c, small_rc(), false);  // for the two devices and the way between them
  CmLink link(c, loop);
  OnId caller(c, link.caller(), IBV_QPT_RC, kBytes);
  c.need(c.accepted(caller.receive(), "ibv_post_recv"));
  c.need(c.accepted(link.connect(link.terms(loop.a())), "rdma_connect"));
  c.need(c.holds(link.request().has_value(), Seen::no_event, "no RDMA_CM_EVENT_CONNECT_REQUEST came"));
  OnId called(c, link.answering(), IBV_QPT_RC, kBytes);
  c.need(c.accepted(called.receive(), "ibv_post_recv"));
  c.need(c.accepted(link.accept(link.terms(loop.b())), "rdma_accept"));
  c.need(told(c, link.dialler(), RDMA_CM_EVENT_ESTABLISHED, "the side that dialled"));
  c.need(told(c, link.listener(), RDMA_CM_EVENT_ESTABLISHED, "the side that accepted"));
  for (auto [from, to] : {std::pair(&caller, &called), std::pair(&called, &caller)}) {
    // A buffer that is both sent from and received into holds what the peer had.
    from->memory().fill(from == &caller ? 1 : 2);
    c.need(c.accepted(from->send(), "ibv_post_send"));
    c.need(c.completed(next(c, from->cq()), IBV_WC_SUCCESS, "a send on a queue pair of rdma_create_qp"));
    c.need(c.completed(next(c, to->cq()), IBV_WC_SUCCESS, "a receive on a queue pair of rdma_create_qp"));
    c.holds(std::equal(from->memory().data(), from->memory().data() + kBytes, to->memory().data()), Seen::data,
            "other bytes arrived");
  }
}

void rts_needs_connection(Case& c) {
  Loop loop(c, small_rc(), false);
  const CmLink link(c, loop);  // brings both to INIT, and connects nothing
  const Move rts = to_rts(QpType::rc);
  c.refused(loop.a().way->modify(loop.a().qp.raw(), rts.attr, rts.mask), "ibv_modify_qp to RTS without a connection");
  const Move bare = to(IBV_QPS_RTS);
  c.refused(loop.a().way->modify(loop.a().qp.raw(), bare.attr, bare.mask),
            "ibv_modify_qp to RTS without a connection, with IBV_QP_STATE alone");
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  c.need(c.accepted(c.verbs().query_qp(loop.a().qp.raw(), attr, IBV_QP_STATE, init), "ibv_query_qp"));
  c.holds(attr.qp_state != IBV_QPS_RTS, Seen::value, "a queue pair without a connection says that it is in RTS");
}

void active_sends_first(Case& c) {
  Loop loop(c, small_rc(), false);
  CmLink link(c, loop);
  link.establish();
  c.need(passes(c, loop, loop.a(), loop.b(), 1, "from the side that dialled"));
  c.need(passes(c, loop, loop.b(), loop.a(), 2, "from the side that accepted"));
  c.need(passes(c, loop, loop.a(), loop.b(), 3, "from the side that dialled, again"));
  passes(c, loop, loop.b(), loop.a(), 4, "from the side that accepted, again");
}

/// A transport may pad private data, never cut it.
bool begins_with(const std::vector<std::uint8_t>& is, std::span<const std::uint8_t> must) {
  return is.size() >= must.size() && std::equal(must.begin(), must.end(), is.begin());
}

void private_data(Case& c) {
  constexpr std::array<std::uint8_t, 20> kAsks{0xa0, 1,  2,  3,  4,  5,  6,  7,  8,  9,
                                               10,   11, 12, 13, 14, 15, 16, 17, 18, 0xa1};
  constexpr std::array<std::uint8_t, 12> kAnswers{0xb0, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 0xb1};
  Loop loop(c, small_rc(), false);
  CmLink link(c, loop);
  rdma_conn_param asks = link.terms(loop.a());
  asks.private_data = kAsks.data();
  asks.private_data_len = kAsks.size();
  c.need(c.accepted(link.connect(asks), "rdma_connect"));
  const std::optional<CmTold> request = link.request();
  c.need(c.holds(request.has_value(), Seen::no_event, "no RDMA_CM_EVENT_CONNECT_REQUEST came"));
  c.holds(begins_with(request->private_data, kAsks), Seen::value,
          fmt::format("private data of rdma_connect did not arrive: {} bytes came", request->private_data.size()));
  rdma_conn_param answers = link.terms(loop.b());
  answers.private_data = kAnswers.data();
  answers.private_data_len = kAnswers.size();
  c.need(c.accepted(link.accept(answers), "rdma_accept"));
  const std::optional<CmTold> established = link.dialler();
  c.need(told(c, established, RDMA_CM_EVENT_ESTABLISHED, "the side that dialled"));
  c.holds(begins_with(established->private_data, kAnswers), Seen::value,
          fmt::format("private data of rdma_accept did not arrive: {} bytes came", established->private_data.size()));
}

void reject_is_seen(Case& c) {
  constexpr std::array<std::uint8_t, 4> kWhy{0xc0, 1, 2, 0xc1};
  Loop loop(c, small_rc(), false);
  CmLink link(c, loop);
  c.need(c.accepted(link.connect(link.terms(loop.a())), "rdma_connect"));
  c.need(c.holds(link.request().has_value(), Seen::no_event, "no RDMA_CM_EVENT_CONNECT_REQUEST came"));
  c.need(c.accepted(link.reject(kWhy), "rdma_reject"));
  told(c, link.dialler(), RDMA_CM_EVENT_REJECTED, "the side that dialled, after rdma_reject");
}

/// In its own direction, and in the other one.
void both_told(Case& c) {
  for (const bool by_dialler : {true, false}) {
    Loop loop(c, small_rc(), false);
    CmLink link(c, loop);
    link.establish();
    c.need(passes(c, loop, loop.a(), loop.b(), 1, "before the disconnect"));
    c.need(c.accepted(link.disconnect(by_dialler), "rdma_disconnect"));
    const std::string_view who =
        by_dialler ? "the side that dialled disconnects" : "the side that accepted disconnects";
    told(c, link.dialler(), RDMA_CM_EVENT_DISCONNECTED, fmt::format("{}: the side that dialled", who));
    told(c, link.listener(), RDMA_CM_EVENT_DISCONNECTED, fmt::format("{}: the side that accepted", who));
  }
}

void flushes(Case& c) {
  Loop loop(c, small_rc(), false);
  CmLink link(c, loop);
  link.establish();
  c.need(passes(c, loop, loop.a(), loop.b(), 1, "before the disconnect"));
  constexpr std::uint64_t kCount = 3;
  for (End* end : {&loop.a(), &loop.b()}) {
    for (std::uint64_t id = 0; id < kCount; ++id) {
      c.need(c.accepted(loop.receive(*end, 10 + id, 0, kBytes), "ibv_post_recv"));
    }
  }
  c.need(c.accepted(link.disconnect(true), "rdma_disconnect"));
  for (End* end : {&loop.a(), &loop.b()}) {
    const std::string_view side = end == &loop.a() ? "the side that dialled" : "the side that accepted";
    for (std::uint64_t id = 0; id < kCount; ++id) {
      const std::optional<ibv_wc> wc = next(c, end->recv_cq.raw());
      if (!c.completed(wc, IBV_WC_WR_FLUSH_ERR, fmt::format("receive {} of {}", id, side))) break;
      c.equal(wc->wr_id, 10 + id, fmt::format("wr_id of receive {} of {}", id, side));
    }
    c.holds(quiet(c, end->recv_cq.raw(), std::chrono::milliseconds(20)), Seen::completion,
            fmt::format("a receive of {} completed twice", side));
  }
}

void delivered_before(Case& c) {
  Loop loop(c, small_rc(), false);
  CmLink link(c, loop);
  link.establish();
  End& a = loop.a();
  End& b = loop.b();
  constexpr std::size_t kCount = 8;
  constexpr std::size_t kLength = 1000;
  a.memory->fill(5);
  b.memory->clear();
  for (std::size_t at = 0; at < kCount; ++at) {
    c.need(c.accepted(loop.receive(b, at, at * kLength, kLength), "ibv_post_recv"));
  }
  for (std::size_t at = 0; at < kCount; ++at) {
    c.need(c.accepted(loop.send(a, at, at * kLength, kLength), "ibv_post_send"));
  }
  c.need(c.holds(next(c, a.send_cq.raw(), kCount).size() == kCount, Seen::no_completion, "a send did not complete"));
  c.need(c.accepted(link.disconnect(true), "rdma_disconnect"));
  bool ended = false;
  for (std::size_t at = 0; at < kCount; ++at) {
    const std::optional<ibv_wc> wc = next(c, b.recv_cq.raw());
    if (!c.holds(wc.has_value(), Seen::no_completion, fmt::format("receive {} did not complete", at))) return;
    if (wc->status != IBV_WC_SUCCESS) {
      ended = true;
      c.completed(wc, IBV_WC_WR_FLUSH_ERR, fmt::format("receive {}", at));
      continue;
    }
    c.holds(!ended, Seen::completion, fmt::format("receive {} succeeded behind one that was flushed", at));
    c.equal(wc->byte_len, static_cast<std::uint32_t>(kLength), fmt::format("bytes of receive {}", at));
    const std::uint8_t* sent = a.data() + wc->wr_id * kLength;
    c.holds(std::equal(sent, sent + kLength, b.data() + wc->wr_id * kLength), Seen::data,
            fmt::format("receive {} holds other bytes", at));
  }
}

/// What a side gives is what the other one is told at most, crosswise.
void depth_agreed(Case& c) {
  Loop loop(c, small_rc(), false);
  CmLink link(c, loop);
  rdma_conn_param asks = link.terms(loop.a());
  asks.initiator_depth = static_cast<std::uint8_t>(c.within(verbena::Field::max_rd_atomic, 4));
  asks.responder_resources = static_cast<std::uint8_t>(c.within(verbena::Field::max_dest_rd_atomic, 3));
  c.need(c.accepted(link.connect(asks), "rdma_connect"));
  const std::optional<CmTold> request = link.request();
  c.need(c.holds(request.has_value(), Seen::no_event, "no RDMA_CM_EVENT_CONNECT_REQUEST came"));
  const auto within = [&](unsigned is, unsigned most, std::string_view what) {
    c.holds(is <= most, Seen::value, fmt::format("{} is {}, and the peer gave {}", what, is, most));
  };
  within(request->responder_resources, asks.initiator_depth, "responder_resources of the request");
  within(request->initiator_depth, asks.responder_resources, "initiator_depth of the request");
  rdma_conn_param answers = link.terms(loop.b());
  answers.responder_resources = static_cast<std::uint8_t>(c.within(verbena::Field::max_dest_rd_atomic, 2));
  answers.initiator_depth = 1;
  c.need(c.accepted(link.accept(answers), "rdma_accept"));
  const std::optional<CmTold> established = link.dialler();
  c.need(told(c, established, RDMA_CM_EVENT_ESTABLISHED, "the side that dialled"));
  within(established->initiator_depth, answers.responder_resources, "initiator_depth of the answer");
  within(established->responder_resources, answers.initiator_depth, "responder_resources of the answer");
}

}  // namespace

Bodies iwarp_connection_bodies() {
  static constexpr Body kBodies[] = {
      {"iwarp.connect.by_cm", by_cm},
      {"iwarp.connect.rts_needs_connection", rts_needs_connection},
      {"iwarp.connect.active_sends_first", active_sends_first},
      {"iwarp.connect.private_data", private_data},
      {"iwarp.connect.reject_is_seen", reject_is_seen},
      {"iwarp.disconnect.both_told", both_told},
      {"iwarp.disconnect.flushes", flushes},
      {"iwarp.disconnect.delivered_before", delivered_before},
      {"iwarp.read.depth_agreed", depth_agreed},
  };
  return kBodies;
}

}  // namespace conform
