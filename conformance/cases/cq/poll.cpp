// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <future>
#include <map>
#include <set>
#include <string>

#include "cases/bodies.hpp"
#include "rig/events.hpp"
#include "rig/traffic.hpp"

namespace conform {

namespace {

void empty(Case& c) {
  const Object<ibv_cq> cq = c.made(c.way().cq({}), "ibv_create_cq");
  std::array<ibv_wc, 4> completions{};
  for (int round = 0; round < 3; ++round) {
    c.equal(c.way().poll(cq.raw(), 1, completions.data()), 0, "ibv_poll_cq for 1 of an empty queue");
    c.equal(c.way().poll(cq.raw(), 4, completions.data()), 0, "ibv_poll_cq for 4 of an empty queue");
  }
}

void batch(Case& c) {
  Loop loop(c, {.cap = {32, 32, 1, 1, 0}});
  constexpr int kCount = 5;
  for (const int wanted : {1, 3, 5, 8}) {
    c.need(deliver(c, loop, kCount));
    // A message back, so that what came before it has been written to the queue.
    c.accepted(loop.receive(loop.a(), 90, 0, kMessageBytes), "ibv_post_recv");
    c.accepted(loop.send(loop.b(), 91, 0, kMessageBytes), "ibv_post_send");
    c.need(c.completed(next(c, loop.a().recv_cq.raw()), IBV_WC_SUCCESS, "a message back"));
    c.completed(next(c, loop.b().send_cq.raw()), IBV_WC_SUCCESS, "the send back");
    std::array<ibv_wc, 8> completions{};
    int left = kCount;
    while (left > 0) {
      const int must = std::min(left, wanted);
      const int is = c.way().poll(loop.b().recv_cq.raw(), wanted, completions.data());
      if (!c.equal(is, must, "ibv_poll_cq for " + std::to_string(wanted) + " with " + std::to_string(left))) break;
      left -= is;
    }
    c.equal(c.way().poll(loop.b().recv_cq.raw(), wanted, completions.data()), 0, "ibv_poll_cq of the emptied queue");
  }
}

void removed_once(Case& c) {
  Loop loop(c);
  constexpr std::uint32_t kCount = 12;
  for (std::uint64_t first : {100U, 200U, 300U}) {
    c.need(deliver(c, loop, kCount, first));
    std::map<std::uint64_t, int> seen;
    for (const ibv_wc& wc : next(c, loop.b().recv_cq.raw(), kCount)) ++seen[wc.wr_id];
    c.equal(seen.size(), std::size_t{kCount}, "the number of distinct completions");
    for (const auto& [wr_id, times] : seen) {
      c.equal(times, 1, "how often the completion of work request " + std::to_string(wr_id) + " was polled");
    }
    c.holds(quiet(c, loop.b().recv_cq.raw(), std::chrono::milliseconds(10)), Seen::completion,
            "a completion came that no work request stands for");
  }
}

void order_of_queue(Case& c) {
  Loop loop(c, {.cap = {32, 32, 1, 1, 0}});
  constexpr std::uint64_t kCount = 20;
  for (std::uint64_t wr_id = 0; wr_id < kCount; ++wr_id) {
    c.need(c.accepted(loop.receive(loop.b(), wr_id, 0, kMessageBytes), "ibv_post_recv"));
  }
  for (std::uint64_t wr_id = 0; wr_id < kCount; ++wr_id) {
    c.need(c.accepted(loop.send(loop.a(), wr_id, 0, kMessageBytes), "ibv_post_send"));
  }
  for (End* end : {&loop.a(), &loop.b()}) {
    ibv_cq* cq = end == &loop.a() ? end->send_cq.raw() : end->recv_cq.raw();
    const std::string what = end == &loop.a() ? "send" : "receive";
    const auto found = next(c, cq, kCount);
    c.equal(found.size(), std::size_t{kCount}, "the number of " + what + " completions");
    for (std::size_t index = 0; index < found.size(); ++index) {
      if (!c.equal(found[index].wr_id, index, "wr_id of " + what + " completion " + std::to_string(index))) break;
    }
  }
}

void shared_by_queues(Case& c) {
  const Object<ibv_cq> at_a = c.made(c.way().cq({.cqe = 64}), "ibv_create_cq");
  const Object<ibv_cq> at_b = c.made(c.other_way().cq({.cqe = 64}), "ibv_create_cq");
  std::deque<Loop> loops;
  for (int count = 0; count < 3; ++count) {
    loops.emplace_back(c, LoopShape{.a = {.send_cq = at_a.raw(), .recv_cq = at_a.raw()},
                                    .b = {.send_cq = at_b.raw(), .recv_cq = at_b.raw()}});
  }
  std::map<std::uint64_t, std::uint32_t> sender;
  std::map<std::uint64_t, std::uint32_t> receiver;
  std::uint64_t wr_id = 0;
  for (int round = 0; round < 2; ++round) {
    for (Loop& loop : loops) {
      // Forth on all, and back on all: the first message of a connection comes from a.
      End& from = round == 0 ? loop.a() : loop.b();
      End& to = round == 0 ? loop.b() : loop.a();
      ++wr_id;
      sender[wr_id] = from.qp->qp_num;
      receiver[1000 + wr_id] = to.qp->qp_num;
      c.need(c.accepted(loop.receive(to, 1000 + wr_id, 0, kMessageBytes), "ibv_post_recv"));
      c.need(c.accepted(loop.send(from, wr_id, 0, kMessageBytes), "ibv_post_send"));
    }
    for (ibv_cq* cq : {at_a.raw(), at_b.raw()}) {
      for (const ibv_wc& wc : next(c, cq, loops.size())) {
        const auto& known = wc.wr_id > 1000 ? receiver : sender;
        c.need(c.holds(known.contains(wc.wr_id), Seen::completion, "a completion names no work request"));
        c.equal(wc.qp_num, known.at(wc.wr_id), "qp_num of the completion of work request " + std::to_string(wc.wr_id));
      }
    }
  }
}

void separate_queues(Case& c) {
  Loop loop(c);
  constexpr std::uint64_t kCount = 4;
  for (const bool back : {false, true}) {
    End& from = back ? loop.b() : loop.a();
    End& to = back ? loop.a() : loop.b();
    for (std::uint64_t wr_id = 0; wr_id < kCount; ++wr_id) {
      c.need(c.accepted(loop.receive(to, 500 + wr_id, 0, kMessageBytes), "ibv_post_recv"));
      c.need(c.accepted(loop.send(from, wr_id, 0, kMessageBytes), "ibv_post_send"));
    }
    for (const ibv_wc& wc : next(c, from.send_cq.raw(), kCount)) {
      c.holds(wc.wr_id < kCount, Seen::completion, "a receive completed in the queue for sends");
    }
    for (const ibv_wc& wc : next(c, to.recv_cq.raw(), kCount)) {
      c.holds(wc.wr_id >= 500, Seen::completion, "a send completed in the queue for receives");
    }
  }
  for (End* end : {&loop.a(), &loop.b()}) {
    c.holds(quiet(c, end->send_cq.raw(), std::chrono::milliseconds(5)) &&
                quiet(c, end->recv_cq.raw(), std::chrono::milliseconds(5)),
            Seen::completion, "more completions than work requests");
  }
}

/// The verb itself in both columns: a Cq of Verbena's lives as long as its queue pairs.
void busy_with_qp(Case& c) {
  Loop loop(c);
  c.refused(c.verbs().destroy_cq(loop.b().recv_cq.raw()), "ibv_destroy_cq of a queue that a queue pair uses");
  carries(c, loop, "after the refused ibv_destroy_cq");
}

void after_qp(Case& c) {
  Object<ibv_cq> cq = c.made(c.other_way().cq({.cqe = 64}), "ibv_create_cq");
  {
    Loop loop(c, {.b = {.recv_cq = cq.raw()}});
    c.need(deliver(c, loop, 8));
  }
  c.accepted(cq.destroy(), "ibv_destroy_cq with entries left");
}

void waits_for_acks(Case& c) {
  const Object<ibv_comp_channel> channel = c.made(c.other_way().channel(), "ibv_create_comp_channel");
  Object<ibv_cq> cq = c.made(c.other_way().cq({.channel = channel.raw()}), "ibv_create_cq");
  std::optional<CqRaised> raised;
  {
    Loop loop(c, {.b = {.recv_cq = cq.raw()}});
    c.accepted(arm(cq.raw()), "ibv_req_notify_cq");
    c.need(carries(c, loop, "a message"));
    raised = take_event(c, channel.raw());
  }
  c.need(c.holds(raised.has_value(), Seen::no_event, "no event came"));
  ibv_cq* raw = cq.raw();
  std::future<int> destroyed = std::async(std::launch::async, [&] { return cq.destroy(); });
  c.holds(destroyed.wait_for(kQuietSpan) == std::future_status::timeout, Seen::accepted,
          "ibv_destroy_cq returned before the event was acknowledged");
  c.verbs().ack_cq_events(raw, 1);
  c.accepted(destroyed.get(), "ibv_destroy_cq after the event was acknowledged");
}

}  // namespace

Bodies cq_poll_bodies() {
  static constexpr Body kBodies[] = {
      {"cq.poll.empty", empty},
      {"cq.poll.batch", batch},
      {"cq.poll.removed_once", removed_once},
      {"cq.poll.order_of_queue", order_of_queue},
      {"cq.poll.shared_by_queues", shared_by_queues},
      {"cq.poll.separate_queues", separate_queues},
      {"cq.destroy.busy_with_qp", busy_with_qp},
      {"cq.destroy.after_qp", after_qp},
      {"cq.destroy.waits_for_acks", waits_for_acks},
  };
  return kBodies;
}

}  // namespace conform
