// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "cases/bodies.hpp"
#include "rig/beyond.hpp"
#include "rig/events.hpp"
#include "rig/traffic.hpp"

namespace conform {

namespace {

void in_order(Case& c, ibv_cq* cq, std::uint32_t count, std::string_view what) {
  const auto found = next(c, cq, count);
  c.equal(found.size(), std::size_t{count}, std::string(what) + ": the number of completions");
  for (std::size_t index = 0; index < found.size(); ++index) {
    if (!c.equal(found[index].wr_id, index + 1, std::string(what) + ": wr_id of a completion")) break;
  }
  c.holds(quiet(c, cq, std::chrono::milliseconds(5)), Seen::completion,
          std::string(what) + ": a completion came twice");
}

void grows(Case& c) {
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = 8}), "ibv_create_cq");
  for (const std::uint32_t depth : {9U, 32U, 100U, 1000U}) {
    if (!c.accepted(c.way().resize(cq.raw(), depth), "ibv_resize_cq to " + std::to_string(depth))) return;
    c.holds(cq->cqe >= static_cast<int>(depth), Seen::value,
            "cqe is " + std::to_string(cq->cqe) + " after ibv_resize_cq to " + std::to_string(depth));
  }
}

void keeps_entries(Case& c) {
  const Object<ibv_cq> cq = c.made(c.other_way().cq({.cqe = 16}), "ibv_create_cq");
  Loop loop(c, {.b = {.recv_cq = cq.raw()}});
  // Past the end of the ring and on, so that the entries that lie in it wrap around.
  for (const std::uint32_t depth : {64U, 20U, 200U}) {
    c.need(deliver(c, loop, 10));
    in_order(c, cq.raw(), 10, "before the resize");
    c.need(deliver(c, loop, 10));
    c.need(c.accepted(c.other_way().resize(cq.raw(), depth), "ibv_resize_cq to " + std::to_string(depth)));
    in_order(c, cq.raw(), 10, "after ibv_resize_cq to " + std::to_string(depth));
    carries(c, loop, "after ibv_resize_cq to " + std::to_string(depth));
  }
}

void grown_depth_usable(Case& c) {
  const Object<ibv_cq> cq = c.made(c.other_way().cq({.cqe = 4}), "ibv_create_cq");
  AsyncEvents events(c, c.other().raw());
  c.need(c.accepted(c.other_way().resize(cq.raw(), 40), "ibv_resize_cq to 40"));
  const auto depth = static_cast<std::uint32_t>(std::min(cq->cqe, 512));
  Loop loop(c, {.cap = {16, depth, 1, 1, 0}, .b = {.recv_cq = cq.raw()}});
  c.need(deliver(c, loop, depth));
  in_order(c, cq.raw(), depth, "a grown queue");
  c.holds(events.none(IBV_EVENT_CQ_ERR, cq.raw(), std::chrono::milliseconds(5)), Seen::event,
          "IBV_EVENT_CQ_ERR was raised for a grown queue that was not overfilled");
}

void below_unpolled_refused(Case& c) {
  const Object<ibv_cq> cq = c.made(c.other_way().cq({.cqe = 32}), "ibv_create_cq");
  Loop loop(c, {.b = {.recv_cq = cq.raw()}});
  c.need(deliver(c, loop, 12));
  // The verb itself, since Verbena fits a wish to what lies in the queue.
  c.refused(c.verbs().resize_cq(cq.raw(), 4), "ibv_resize_cq to 4 with 12 unpolled");
  in_order(c, cq.raw(), 12, "after the refused ibv_resize_cq");
  carries(c, loop, "after the refused ibv_resize_cq");
}

void resize_above_max_refused(Case& c) {
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = 8}), "ibv_create_cq");
  const int before = cq->cqe;
  const auto most = static_cast<std::uint32_t>(c.caps()[verbena::Cap::max_cqe].value_or(0));
  if (most == 0 || most >= 0x7fffffffU) {
    c.note("max_cqe is the largest number that ibv_resize_cq takes");
    return;
  }
  Beyond beyond(c);
  const int error = c.way().resize(cq.raw(), most + 1);
  if (c.through_verbena()) {
    c.holds(error != 0 || beyond.adjusted(), Seen::accepted, "more than max_cqe was granted without a word");
    return;
  }
  c.refused(error, "ibv_resize_cq to max_cqe + 1");
  c.equal(cq->cqe, before, "cqe after the refused ibv_resize_cq");
}

/// One thread, as the resize must not run beside a poll of the same program: messages are under way in both directions
/// of time, some polled, some lying there, when the queue changes its size.
void under_traffic(Case& c) {
  const Object<ibv_cq> cq = c.made(c.other_way().cq({.cqe = 64}), "ibv_create_cq");
  constexpr std::uint64_t kCount = 120;
  constexpr std::uint64_t kAhead = 16;
  Loop loop(c, {.cap = {32, 32, 1, 1, 0}, .b = {.recv_cq = cq.raw()}});
  std::map<std::uint64_t, int> seen;
  std::uint64_t posted = 0;
  std::uint64_t sent = 0;
  std::uint32_t round = 0;
  while (seen.size() < kCount) {
    for (; posted < kCount && posted - seen.size() < kAhead; ++posted) {
      c.need(c.accepted(loop.receive(loop.b(), posted, 0, kMessageBytes), "ibv_post_recv"));
      c.need(c.accepted(loop.send(loop.a(), posted, 0, kMessageBytes), "ibv_post_send"));
    }
    c.need(c.accepted(c.other_way().resize(cq.raw(), ++round % 2 == 0 ? 64 : 200), "ibv_resize_cq under traffic"));
    for (const std::uint64_t goal = std::min<std::uint64_t>(seen.size() + 5, posted); seen.size() < goal;) {
      const auto wc = next(c, cq.raw());
      c.need(c.completed(wc, IBV_WC_SUCCESS, "a receive under way while the queue was resized"));
      if (!c.equal(++seen[wc->wr_id], 1, "how often work request " + std::to_string(wc->wr_id) + " completed")) return;
    }
    for (; sent < posted && sent < seen.size(); ++sent) {
      c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send"));
    }
  }
  c.holds(quiet(c, cq.raw(), std::chrono::milliseconds(5)), Seen::completion, "more completions than messages");
}

void resize_native(Case& c) {
  const Object<ibv_cq> cq = c.made(c.other_way().cq({.cqe = 16}), "ibv_create_cq");
  Loop loop(c, {.b = {.recv_cq = cq.raw()}});
  c.need(deliver(c, loop, 8));
  const int before = cq->cqe;
  const int error = c.other_way().resize(cq.raw(), 64);
  switch (c.contract().feature(verbena::Feature::cq_resize).support) {
    case verbena::Support::native:
      c.accepted(error, "ibv_resize_cq, which the contract calls native");
      break;
    case verbena::Support::unknown:
      c.note(error == 0 ? "resizing is taken" : "resizing is refused");
      break;
    default:
      c.refused(error, "ibv_resize_cq, which the contract calls absent");
  }
  if (error != 0) c.equal(cq->cqe, before, "cqe after the refusal");
  in_order(c, cq.raw(), 8, "after ibv_resize_cq");
  carries(c, loop, "after ibv_resize_cq");
}

}  // namespace

Bodies cq_resize_bodies() {
  static constexpr Body kBodies[] = {
      {"cq.resize.grows", grows},
      {"cq.resize.keeps_entries", keeps_entries},
      {"cq.resize.grown_depth_usable", grown_depth_usable},
      {"cq.resize.below_unpolled_refused", below_unpolled_refused},
      {"cq.resize.above_max_refused", resize_above_max_refused},
      {"cq.resize.under_traffic", under_traffic},
      {"cq.resize.native", resize_native},
  };
  return kBodies;
}

}  // namespace conform
