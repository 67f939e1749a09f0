// SPDX-License-Identifier: Apache-2.0 OR MIT
// A second life of a queue pair, through RESET.
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/state/moves.hpp"

namespace conform {

namespace {

using verbena::QpType;

constexpr std::size_t kRecycled = 32;

Terms second_life() {
  Terms terms;
  terms.psn = 0x777777;
  return terms;
}

/// Some devices take the completions of an earlier life out of the queue, others leave them: none is looked at here.
void empty_queues(Case& c, End& end) {
  for (ibv_cq* cq : {end.send_cq.raw(), end.recv_cq.raw()}) {
    for (;;) {
      ibv_wc wc{};
      if (c.way().poll(cq, 1, &wc) != 1) break;
    }
  }
}

void reset_empties_queues(Case& c) {
  for (const QpType type : c.qp_types()) {
    const std::size_t head = type == QpType::ud ? kGrhBytes : 0;
    const std::string of = std::string(verbena::name(type));
    Loop loop(c, small(type), false);
    End& a = loop.a();
    End& b = loop.b();
    bring_both(c, loop);
    // An RC send waits for a receive of the peer's; receives wait in any case.
    a.memory->fill(1);
    for (std::uint64_t id = 1; id <= 3; ++id) c.need(c.accepted(loop.send(a, id, 0, kRecycled), "ibv_post_send"));
    for (std::uint64_t id = 11; id <= 18; ++id) {
      c.need(c.accepted(loop.receive(a, id, 0, head + kRecycled), "ibv_post_recv"));
    }
    change(c, a, IBV_QPS_RESET);
    change(c, b, IBV_QPS_RESET);
    empty_queues(c, a);
    empty_queues(c, b);
    bring_both(c, loop, second_life(), second_life());
    c.holds(quiet(c, a.send_cq.raw(), std::chrono::milliseconds(10)), Seen::completion,
            fmt::format("a send of {} from before RESET completed after it", of));

    const std::size_t depth = loop.shape().cap.max_send_wr;
    const std::size_t receives = loop.shape().cap.max_recv_wr;
    for (std::size_t at = 0; at < receives; ++at) {
      c.need(c.accepted(loop.receive(b, 100 + at, at * 128, head + kRecycled),
                        fmt::format("receive {} of {} to a queue of {} after RESET", at, receives, of)));
      c.need(c.accepted(loop.receive(a, 200 + at, 0, head + kRecycled),
                        fmt::format("receive {} of {} to a queue of {} after RESET", at, receives, of)));
    }
    const std::size_t count = std::min(depth, receives);
    a.memory->fill(2);
    for (std::size_t at = 0; at < count; ++at) {
      c.need(c.accepted(loop.send(a, 300 + at, at * kRecycled, kRecycled),
                        fmt::format("send {} of {} to a queue of {} after RESET", at, depth, of)));
    }
    for (std::size_t at = 0; at < count; ++at) {
      const std::optional<ibv_wc> sent = next(c, a.send_cq.raw());
      c.need(c.completed(sent, IBV_WC_SUCCESS, "a send after RESET"));
      c.equal(sent->wr_id, std::uint64_t{300 + at}, fmt::format("wr_id of send {} after RESET", at));
      const std::optional<ibv_wc> received = next(c, b.recv_cq.raw());
      c.need(c.completed(received, IBV_WC_SUCCESS, "a receive after RESET"));
      c.equal(received->wr_id, std::uint64_t{100 + at}, fmt::format("wr_id of receive {} after RESET", at));
      const std::uint8_t* message = a.data() + at * kRecycled;
      c.holds(std::equal(message, message + kRecycled, b.data() + at * 128 + head), Seen::data,
              fmt::format("message {} of {} after RESET arrived with other bytes", at, of));
    }
    c.need(c.accepted(loop.send(b, 400, 0, kRecycled), "ibv_post_send of the peer"));
    const std::optional<ibv_wc> first = next(c, a.recv_cq.raw());
    if (c.completed(first, IBV_WC_SUCCESS, "the first receive after RESET")) {
      c.equal(first->wr_id, std::uint64_t{200}, fmt::format("wr_id of the first receive of {} after RESET", of));
    }
  }
}

void new_peer(Case& c) {
  Loop one(c, small(QpType::rc), false);
  Loop two(c, small(QpType::rc), false);
  bring_both(c, one);
  c.need(carries(c, one, one.a(), one.b(), 1, "with the first peer"));
  change(c, one.a(), IBV_QPS_RESET);
  Terms other;
  other.psn = 0x31;
  bring_pair(c, one, one.a(), two.b(), second_life(), other);
  carries(c, one, one.a(), two.b(), 2, "to the second peer");
  carries(c, one, two.b(), one.a(), 3, "from the second peer");
}

void after_error(Case& c) {
  Loop loop(c, small(QpType::rc), false);
  bring_both(c, loop);
  c.need(carries(c, loop, loop.a(), loop.b(), 1, "before the error"));
  for (End* end : {&loop.a(), &loop.b()}) {
    change(c, *end, IBV_QPS_ERR);
    change(c, *end, IBV_QPS_RESET);
    empty_queues(c, *end);
  }
  bring_both(c, loop, second_life(), Terms{});
  carries(c, loop, loop.a(), loop.b(), 2, "after ERR and RESET");
  carries(c, loop, loop.b(), loop.a(), 3, "back, after ERR and RESET");
}

}  // namespace

Bodies state_recycle_bodies() {
  static constexpr Body kBodies[] = {
      {"state.recycle.reset_empties_queues", reset_empties_queues},
      {"state.recycle.new_peer", new_peer},
      {"state.recycle.after_error", after_error},
  };
  return kBodies;
}

}  // namespace conform
