// SPDX-License-Identifier: Apache-2.0 OR MIT
// What the contract says of moves and of what follows them, shown on the device: the proofs of quirk rules.
#include <cerrno>
#include <chrono>
#include <set>
#include <string>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/events.hpp"
#include "rig/traffic.hpp"
#include "verbena/timers.hpp"
#include "verbena/transition.hpp"

namespace conform {

namespace {

using verbena::Behaviour;
using verbena::Choice;
using verbena::QpType;
using Clock = std::chrono::steady_clock;

Choice says(const Case& c, Behaviour flag) {
  return c.contract().behaviour(flag).choice;
}

int move(Way& way, End& end, const Move& to_where) {
  return way.modify(end.qp.raw(), to_where.attr, to_where.mask);
}

void rts_driven_by(Case& c) {
  Loop loop(c);  // by whom the contract names
  c.in_state(loop.a().qp.raw(), IBV_QPS_RTS, "a connected queue pair");
  carries(c, loop, "a connected queue pair");
}

/// An end in RTR, and how it goes on.
Move in_rtr(Case& c, Loop& loop) {
  End& a = loop.a();
  c.need(c.accepted(move(c.way(), a, to_init(QpType::rc, a.port)), "ibv_modify_qp to INIT"));
  c.need(c.accepted(move(c.way(), a, to_rtr(QpType::rc, loop.path(a, loop.b()))), "ibv_modify_qp to RTR"));
  return to_rts(QpType::rc);
}

void rtr_to_rts_attributes(Case& c) {
  Loop loop(c, {}, false);
  Move rts = in_rtr(c, loop);
  const bool also = says(c, Behaviour::rtr_to_rts_also_needs) == Choice::min_rnr_timer;
  if (also) {
    if (!c.through_verbena()) {
      c.refused(move(c.way(), loop.a(), rts),
                "ibv_modify_qp to RTS without min_rnr_timer, which the contract requires");
    }
    rts.attr.min_rnr_timer = 12;
    rts.mask |= IBV_QP_MIN_RNR_TIMER;
  }
  c.accepted(move(c.way(), loop.a(), rts), "ibv_modify_qp to RTS with what the contract names");
  c.in_state(loop.a().qp.raw(), IBV_QPS_RTS, "after it");
}

void superfluous_attributes(Case& c) {
  Loop loop(c, {}, false);
  Move init = to_init(QpType::rc, loop.a().port);
  init.attr.sq_psn = 1;
  init.mask |= IBV_QP_SQ_PSN;
  const int error = c.verbs().modify_qp(loop.a().qp.raw(), init.attr, init.mask);
  if (says(c, Behaviour::superfluous_attributes) == Choice::ignored) {
    c.accepted(error, "ibv_modify_qp to INIT with an attribute too many, which the contract says is ignored");
  } else {
    c.refused(error, "ibv_modify_qp to INIT with an attribute too many, which the contract says is refused");
  }
}

void recycle_through_reset(Case& c) {
  if (says(c, Behaviour::recycle_through_reset) != Choice::yes) {
    c.note("the contract doesn't promise that a queue pair can be used again");
    return;
  }
  Loop loop(c);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    carries(c, loop, "round " + std::to_string(round), round);
    for (End* end : {&loop.a(), &loop.b()}) {
      c.need(c.accepted(move(*end->way, *end, to(IBV_QPS_ERR)), "ibv_modify_qp to ERR"));
      c.need(c.accepted(move(*end->way, *end, to(IBV_QPS_RESET)), "ibv_modify_qp to RESET"));
    }
    loop.connect();
  }
  carries(c, loop, "after three rounds");
}

void reset_to_reset(Case& c) {
  if (says(c, Behaviour::noop_reset) != Choice::harmless) {
    c.note("the contract doesn't call RESET to RESET harmless");
    return;
  }
  Loop loop(c, {}, false);
  for (End* end : {&loop.a(), &loop.b()}) {
    c.need(c.accepted(move(*end->way, *end, to(IBV_QPS_RESET)), "ibv_modify_qp from RESET to RESET"));
  }
  loop.connect();
  carries(c, loop, "after RESET to RESET");
}

void reset_leaves_completions(Case& c) {
  const Choice removes = says(c, Behaviour::reset_removes_completions);
  if (removes != Choice::yes && removes != Choice::no) {
    c.note("the contract doesn't say what becomes of completions");
    return;
  }
  Loop loop(c);
  c.need(deliver(c, loop, 3));
  End& b = loop.b();
  c.need(c.accepted(move(c.other_way(), b, to(IBV_QPS_ERR)), "ibv_modify_qp to ERR"));
  c.need(c.accepted(move(c.other_way(), b, to(IBV_QPS_RESET)), "ibv_modify_qp to RESET"));
  ibv_wc found[4] = {};
  const int count = c.other_way().poll(b.recv_cq.raw(), 4, found);
  c.equal(count, removes == Choice::yes ? 0 : 3, "completions of before the RESET that are still in the queue");
}

void rts_to_sqd(Case& c) {
  const verbena::Support support = c.contract().feature(verbena::Feature::sqd).support;
  if (support == verbena::Support::unknown) return c.note("the contract doesn't know whether there is SQD");
  Loop loop(c);
  c.need(carries(c, loop, "before SQD"));
  const int error = move(c.way(), loop.a(), to(IBV_QPS_SQD));
  if (support != verbena::Support::native) {
    c.refused(error, "ibv_modify_qp to SQD, which the contract calls absent");
    return;
  }
  c.need(c.accepted(error, "ibv_modify_qp to SQD"));
  c.in_state(loop.a().qp.raw(), IBV_QPS_SQD, "after the move to SQD");
  // Back, once it is drained.
  const auto end = Clock::now() + c.ground().completion_within;
  int back = EBUSY;
  while (back != 0 && Clock::now() < end) back = move(c.way(), loop.a(), to(IBV_QPS_RTS));
  c.need(c.accepted(back, "ibv_modify_qp from SQD to RTS"));
  carries(c, loop, "after SQD", 2);
}

/// Two ends of which b is no more, so that what a sends is never acknowledged.
void lose_peer(Case& c, Loop& loop) {
  c.need(carries(c, loop, "before the peer is gone"));
  c.need(c.accepted(loop.b().qp.destroy(), "ibv_destroy_qp of the peer"));
  c.need(c.accepted(loop.send(loop.a(), 5, 0, 8), "ibv_post_send"));
}

void timeout_honoured(Case& c) {
  const Choice choice = says(c, Behaviour::ack_timeout);
  if (choice == Choice::ignored || choice == Choice::not_applicable || choice == Choice::unknown) {
    c.note("the contract doesn't say that the ack timeout is honoured");
    return;
  }
  Terms terms;
  terms.timeout = 10;  // 4 ms
  terms.retry_cnt = 3;
  Loop loop(c, {.terms = terms});
  lose_peer(c, loop);
  // A timer may run up to four times as long as asked for; the rest is for hosts that are busy.
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_RETRY_EXC_ERR, "a send to a peer that is gone");
}

void timeout_at_limit(Case& c) {
  const verbena::Domain& domain = c.contract().domain(verbena::Field::timeout);
  const auto most = static_cast<std::uint8_t>(std::min<std::uint64_t>(domain.max, 31));
  Loop loop(c, {.terms = {.timeout = most}});
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  c.need(c.accepted(c.way().query(loop.a().qp.raw(), attr, IBV_QP_TIMEOUT, init), "ibv_query_qp of the timeout"));
  // Whether it is queried back is a case of its own (state.attributes.queried_back), and some drivers don't.
  if (attr.timeout != 0) c.equal(static_cast<int>(attr.timeout), static_cast<int>(most), "timeout");
  carries(c, loop, "with the largest timeout");
}

void min_rnr_timer_honoured(Case& c) {
  if (says(c, Behaviour::min_rnr_timer) != Choice::honoured) {
    c.note("the contract doesn't say that min_rnr_timer is honoured");
    return;
  }
  Terms terms;
  terms.min_rnr_timer = 24;
  terms.rnr_retry = 1;
  Loop loop(c, {.terms = terms});
  const auto wait = verbena::duration(static_cast<verbena::RnrTimerCode>(terms.min_rnr_timer));
  const auto begun = Clock::now();
  c.need(c.accepted(loop.send(loop.a(), 1, 0, 8), "ibv_post_send"));
  const auto wc = next(c, loop.a().send_cq.raw());
  const auto took = Clock::now() - begun;
  c.completed(wc, IBV_WC_RNR_RETRY_EXC_ERR, "a send whose peer is never ready");
  // A driver that counts the kernel's ticks may be one short, of 10 ms at most.
  c.holds(took + std::chrono::milliseconds(10) >= wait, Seen::value,
          "the sender waited " + std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(took).count()) +
              " us for a peer that asked for " +
              std::to_string(std::chrono::duration_cast<std::chrono::microseconds>(wait).count()));
}

void retry_cnt_seven(Case& c) {
  const Choice choice = says(c, Behaviour::retry_cnt_seven);
  if (choice != Choice::seven && choice != Choice::infinite) {
    c.note("the contract doesn't say what a retry count of 7 means");
    return;
  }
  Terms terms;
  terms.timeout = 8;  // 1 ms
  terms.retry_cnt = 7;
  Loop loop(c, {.terms = terms});
  lose_peer(c, loop);
  if (choice == Choice::seven) {
    c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_RETRY_EXC_ERR, "a send to a peer that is gone");
  } else {
    c.holds(quiet(c, loop.a().send_cq.raw(), std::chrono::milliseconds(200)), Seen::completion,
            "a send to a peer that is gone completed, and the contract says that it never does");
  }
}

void rd_atomic_at_limit(Case& c) {
  const auto most = [&](verbena::Field field) {
    return static_cast<std::uint8_t>(std::min<std::uint64_t>(c.contract().domain(field).max, 255));
  };
  const std::uint8_t initiator = most(verbena::Field::max_rd_atomic);
  const std::uint8_t responder = most(verbena::Field::max_dest_rd_atomic);
  {
    Loop loop(c, {.terms = {.max_rd_atomic = initiator, .max_dest_rd_atomic = responder}});
    carries(c, loop, "with as many READs in flight as the contract allows");
  }
  if (by_cm(c) || c.through_verbena() || initiator == 255) return;
  Loop loop(c, {}, false);
  Move rts = in_rtr(c, loop);
  rts.attr.max_rd_atomic = static_cast<std::uint8_t>(initiator + 1);
  const int error = move(c.way(), loop.a(), rts);
  if (says(c, Behaviour::rd_atomic_over_limit) == Choice::refused) {
    c.refused(error, "max_rd_atomic above the limit, which the contract says is refused");
  } else if (says(c, Behaviour::rd_atomic_over_limit) == Choice::clamped) {
    c.accepted(error, "max_rd_atomic above the limit, which the contract says is clamped");
  }
}

void access_flags_withdrawn(Case& c) {
  if (says(c, Behaviour::qp_access_flags) != Choice::honoured) {
    c.note("the contract doesn't say that rights can be taken back");
    return;
  }
  Loop loop(c);
  c.need(c.accepted(loop.write(loop.a(), loop.b(), 1, 0, 8), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a WRITE that is allowed"));
  ibv_qp_attr attr{};
  attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE;
  c.need(c.accepted(c.other_way().modify(loop.b().qp.raw(), attr, IBV_QP_ACCESS_FLAGS), "ibv_modify_qp of the rights"));
  loop.a().memory->fill(7);
  loop.b().memory->clear();
  c.need(c.accepted(loop.write(loop.a(), loop.b(), 2, 0, 8), "ibv_post_send"));
  const auto wc = next(c, loop.a().send_cq.raw());
  c.holds(!wc || wc->status != IBV_WC_SUCCESS, Seen::completion, "a WRITE that is allowed no more succeeded");
  for (int index = 0; index < 8; ++index) {
    if (!c.holds(loop.b().data()[index] == 0, Seen::data, "a WRITE that is allowed no more changed memory")) break;
  }
}

void path_mtu_over_port(Case& c) {
  Loop loop(c, {}, false);
  if (loop.mtu() >= 4096) {
    c.note("no path MTU is larger than the port's");
    return;
  }
  End& a = loop.a();
  c.need(c.accepted(move(c.way(), a, to_init(QpType::rc, a.port)), "ibv_modify_qp to INIT"));
  PathTo path = loop.path(a, loop.b());
  path.mtu = static_cast<ibv_mtu>(path.mtu + 1);
  Move rtr = to_rtr(QpType::rc, path);
  const int error = c.verbs().modify_qp(a.qp.raw(), rtr.attr, rtr.mask);
  switch (says(c, Behaviour::path_mtu_over_port)) {
    case Choice::refused:
      c.refused(error, "a path MTU above the port's, which the contract says is refused");
      break;
    case Choice::clamped:
    case Choice::unchecked:
      c.accepted(error, "a path MTU above the port's, which the contract says is let through");
      break;
    default:
      break;
  }
}

void flush_complete(Case& c) {
  if (says(c, Behaviour::flush_on_error) != Choice::complete) {
    c.note("the contract says that some completions may be lost");
    return;
  }
  Loop loop(c);
  c.need(carries(c, loop, "before the error"));
  End& b = loop.b();
  for (std::uint64_t wr_id = 1; wr_id <= 8; ++wr_id) {
    c.need(c.accepted(loop.receive(b, wr_id, 0, 64), "ibv_post_recv"));
  }
  c.need(c.accepted(move(c.other_way(), b, to(IBV_QPS_ERR)), "ibv_modify_qp to ERR"));
  std::set<std::uint64_t> seen;
  for (const ibv_wc& wc : next(c, b.recv_cq.raw(), 8)) {
    c.completed(wc, IBV_WC_WR_FLUSH_ERR, "a receive that was outstanding");
    seen.insert(wc.wr_id);
  }
  c.holds(seen.size() == 8, Seen::no_completion, std::to_string(seen.size()) + " of 8 receives were flushed");
}

}  // namespace

Bodies qp_moves_bodies() {
  static constexpr Body kBodies[] = {
      {"qp.modify.rts_driven_by", rts_driven_by},
      {"qp.modify.rtr_to_rts_attributes", rtr_to_rts_attributes},
      {"qp.modify.superfluous_attributes", superfluous_attributes},
      {"qp.modify.recycle_through_reset", recycle_through_reset},
      {"qp.modify.reset_to_reset", reset_to_reset},
      {"qp.modify.reset_leaves_completions", reset_leaves_completions},
      {"qp.modify.rts_to_sqd", rts_to_sqd},
      {"qp.modify.timeout_honoured", timeout_honoured},
      {"qp.modify.timeout_at_limit", timeout_at_limit},
      {"qp.modify.min_rnr_timer_honoured", min_rnr_timer_honoured},
      {"qp.modify.retry_cnt_seven", retry_cnt_seven},
      {"qp.modify.rd_atomic_at_limit", rd_atomic_at_limit},
      {"qp.modify.access_flags_withdrawn", access_flags_withdrawn},
      {"qp.modify.path_mtu_over_port", path_mtu_over_port},
      {"qp.error.flush_complete", flush_complete},
  };
  return kBodies;
}

}  // namespace conform
