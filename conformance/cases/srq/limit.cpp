// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>
#include <string>

#include "cases/bodies.hpp"
#include "cases/srq/pool.hpp"
#include "rig/events.hpp"

namespace conform {

namespace {

/// A pool with receives in it, one end that takes them, and the events of the device.
struct Watched {
  explicit Watched(Case& c, std::uint32_t depth = 16)
      : pool(c, {.max_wr = depth, .max_sge = 1, .srq_limit = 0}),
        loop(c, {.b = pool.given()}),
        events(c, c.other().raw()) {}

  bool silent() { return events.none(IBV_EVENT_SRQ_LIMIT_REACHED, pool.srq()); }
  bool raised() { return events.next(IBV_EVENT_SRQ_LIMIT_REACHED, pool.srq()); }

  Pool pool;
  Loop loop;
  AsyncEvents events;
};

void raised_once(Case& c) {
  Watched w(c);
  for (int round = 0; round < 2; ++round) {
    const auto have = static_cast<std::uint32_t>(round == 0 ? 0 : 2);
    w.pool.fill(8 - have);
    c.need(c.accepted(c.other_way().arm_srq_limit(w.pool.srq(), 4), "ibv_modify_srq of srq_limit"));
    consume(c, w.loop, 5);
    c.holds(w.raised(), Seen::no_event, "no event with 3 receives left and a limit of 4");
    consume(c, w.loop, 1);
    c.holds(w.silent(), Seen::event, "a second event though the limit was not set again");
  }
}

void not_above(Case& c) {
  Watched w(c);
  w.pool.fill(8);
  c.need(c.accepted(c.other_way().arm_srq_limit(w.pool.srq(), 4), "ibv_modify_srq of srq_limit"));
  consume(c, w.loop, 4);
  c.holds(w.silent(), Seen::event, "an event with 4 receives left and a limit of 4");
  consume(c, w.loop, 1);
  c.holds(w.raised(), Seen::no_event, "no event with 3 receives left and a limit of 4");
}

void disarmed_reads_zero(Case& c) {
  Watched w(c);
  w.pool.fill(4);
  c.need(c.accepted(c.other_way().arm_srq_limit(w.pool.srq(), 3), "ibv_modify_srq of srq_limit"));
  ibv_srq_attr now{};
  c.need(c.accepted(c.verbs().query_srq(w.pool.srq(), now), "ibv_query_srq"));
  c.equal(now.srq_limit, 3U, "srq_limit while it is armed");
  consume(c, w.loop, 2);
  c.need(c.holds(w.raised(), Seen::no_event, "no event with 2 receives left and a limit of 3"));
  c.need(c.accepted(c.verbs().query_srq(w.pool.srq(), now), "ibv_query_srq"));
  c.equal(now.srq_limit, 0U, "srq_limit after its event");
}

void zero_disarms(Case& c) {
  Watched w(c);
  w.pool.fill(6);
  c.need(c.accepted(c.other_way().arm_srq_limit(w.pool.srq(), 4), "ibv_modify_srq of srq_limit"));
  c.need(c.accepted(c.other_way().arm_srq_limit(w.pool.srq(), 0), "ibv_modify_srq of srq_limit 0"));
  consume(c, w.loop, 5);
  c.holds(w.silent(), Seen::event, "an event though the limit was set to 0");
}

void above_depth_refused(Case& c) {
  Watched w(c);
  std::uint32_t depth = w.pool.returned().max_wr;
  // Some round up without a word; the depth is then what a query says, where there is one.
  ibv_srq_attr now{};
  const bool queried = c.verbs().query_srq(w.pool.srq(), now) == 0;
  if (queried) depth = std::max(depth, now.max_wr);
  w.pool.fill(6);
  c.need(c.accepted(c.other_way().arm_srq_limit(w.pool.srq(), 4), "ibv_modify_srq of srq_limit"));
  c.refused(c.other_way().arm_srq_limit(w.pool.srq(), depth + 1), "ibv_modify_srq of srq_limit max_wr + 1");
  if (queried) {
    c.need(c.accepted(c.verbs().query_srq(w.pool.srq(), now), "ibv_query_srq"));
    c.equal(now.srq_limit, 4U, "srq_limit after one that was refused");
  }
  consume(c, w.loop, 2);
  c.holds(w.silent(), Seen::event, "the refused limit took the place of that before it");
  consume(c, w.loop, 1);
  c.holds(w.raised(), Seen::no_event, "the refused limit disarmed that before it");
}

/// ibv_modify_srq of max_wr: Verbena has no such call, so both columns use the verb.
int resize(Case& c, ibv_srq* srq, std::uint32_t depth) {
  ibv_srq_attr attr{};
  attr.max_wr = depth;
  return c.verbs().modify_srq(srq, attr, IBV_SRQ_MAX_WR);
}

void grows(Case& c) {
  Watched w(c, 8);
  w.pool.fill(8, 1);
  c.need(c.accepted(resize(c, w.pool.srq(), 40), "ibv_modify_srq to max_wr 40"));
  w.pool.fill(32, 9);
  for (std::uint64_t wr_id = 1; wr_id <= 40; ++wr_id) {
    c.need(message(c, w.loop));
    const auto wc = next(c, w.loop.b().recv_cq.raw());
    c.need(c.completed(wc, IBV_WC_SUCCESS, "a receive of a queue that was grown"));
    c.need(c.equal(wc->wr_id, wr_id, "wr_id of a receive of a queue that was grown"));
  }
}

void refused_without_cap(Case& c) {
  const bool declared = (c.caps()[verbena::Cap::device_cap_flags].value_or(0) & IBV_DEVICE_SRQ_RESIZE) != 0;
  Watched w(c, 8);
  w.pool.fill(4);
  const int error = resize(c, w.pool.srq(), 40);
  if (declared) {
    c.note("IBV_DEVICE_SRQ_RESIZE is set");
  } else {
    c.refused(error, "ibv_modify_srq of max_wr without IBV_DEVICE_SRQ_RESIZE");
  }
  consume(c, w.loop, 4);
}

void below_limit_refused(Case& c) {
  Watched w(c, 32);
  w.pool.fill(9);
  c.need(c.accepted(c.other_way().arm_srq_limit(w.pool.srq(), 8), "ibv_modify_srq of srq_limit"));
  c.refused(resize(c, w.pool.srq(), 4), "ibv_modify_srq to a max_wr below the limit");
  consume(c, w.loop, 1);
  c.holds(w.silent(), Seen::event, "an event with 8 receives left and a limit of 8");
  consume(c, w.loop, 1);
  c.holds(w.raised(), Seen::no_event, "no event with 7 receives left and a limit of 8");
  consume(c, w.loop, 7);
}

/// A queue pair on a shared queue that fails: the contract says whether the event comes.
void last_wqe_reached(Case& c) {
  Watched w(c);
  w.pool.fill(4);
  consume(c, w.loop, 1);
  const Move err = to(IBV_QPS_ERR);
  c.need(c.accepted(c.other_way().modify(w.loop.b().qp.raw(), err.attr, err.mask), "ibv_modify_qp to ERR"));
  const verbena::Choice choice = c.contract().behaviour(verbena::Behaviour::last_wqe_reached).choice;
  const bool raised = w.events.next(IBV_EVENT_QP_LAST_WQE_REACHED, w.loop.b().qp.raw(),
                                    choice == verbena::Choice::raised ? std::nullopt : std::optional(kQuietSpan));
  if (choice == verbena::Choice::raised) {
    c.holds(raised, Seen::no_event, "no IBV_EVENT_QP_LAST_WQE_REACHED, and the contract says that it is raised");
  } else if (choice == verbena::Choice::not_raised) {
    c.holds(!raised, Seen::event, "IBV_EVENT_QP_LAST_WQE_REACHED, and the contract says that it isn't raised");
  } else {
    c.note(raised ? "the event was raised" : "no event was raised");
  }
}

}  // namespace

Bodies srq_limit_bodies() {
  static constexpr Body kBodies[] = {
      {"srq.limit.raised_once", raised_once},
      {"srq.limit.not_above", not_above},
      {"srq.limit.disarmed_reads_zero", disarmed_reads_zero},
      {"srq.limit.zero_disarms", zero_disarms},
      {"srq.limit.above_depth_refused", above_depth_refused},
      {"srq.resize.grows", grows},
      {"srq.resize.refused_without_cap", refused_without_cap},
      {"srq.resize.below_limit_refused", below_limit_refused},
      {"srq.event.last_wqe_reached", last_wqe_reached},
  };
  return kBodies;
}

}  // namespace conform
