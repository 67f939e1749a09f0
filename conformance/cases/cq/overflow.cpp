// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <map>
#include <string>

#include "cases/bodies.hpp"
#include "rig/events.hpp"
#include "rig/traffic.hpp"

namespace conform {

namespace {

using verbena::Field;

/// Fills `cq`, the receives' queue of b, with `count` completions and polls them all; nothing may overflow.
void fill(Case& c, Loop& loop, ibv_cq* cq, std::uint32_t count, AsyncEvents& events) {
  c.need(deliver(c, loop, count));
  const auto found = next(c, cq, count);
  c.equal(found.size(), std::size_t{count}, "completions polled of a queue that was filled");
  for (std::size_t index = 0; index < found.size(); ++index) {
    if (!c.equal(found[index].wr_id, index + 1, "wr_id of completion " + std::to_string(index))) break;
  }
  c.holds(events.none(IBV_EVENT_CQ_ERR, cq, std::chrono::milliseconds(10)), Seen::event,
          "IBV_EVENT_CQ_ERR was raised for a queue that was not overfilled");
}

void none_at_depth(Case& c) {
  for (const std::uint32_t asked : {4U, 16U}) {
    const Object<ibv_cq> cq = c.made(c.other_way().cq({.cqe = asked}), "ibv_create_cq");
    AsyncEvents events(c, c.other().raw());
    const auto depth = static_cast<std::uint32_t>(cq->cqe);
    // A driver that rounds very far up is believed up to 1024 entries.
    const std::uint32_t count = std::min(depth, 1024U);
    Loop loop(c, {.cap = {16, count, 1, 1, 0}, .b = {.recv_cq = cq.raw()}});
    fill(c, loop, cq.raw(), count, events);
  }
}

/// As many as were granted, however odd the number.
void depth_granted_holds(Case& c) {
  for (const std::uint32_t wish : {1U, 7U, 100U}) {
    const std::uint32_t asked = c.within(Field::cqe, wish);
    const Object<ibv_cq> cq = c.made(c.other_way().cq({.cqe = asked}), "ibv_create_cq");
    AsyncEvents events(c, c.other().raw());
    Loop loop(c, {.cap = {16, asked, 1, 1, 0}, .b = {.recv_cq = cq.raw()}});
    for (int round = 0; round < 2; ++round) fill(c, loop, cq.raw(), asked, events);
  }
}

/// Sends whose completions nobody takes, more than the queue says it holds. The receives are polled, so that the end is
/// seen without touching the queue that overflows. Returns whether IBV_EVENT_CQ_ERR came.
bool overfill(Case& c, Loop& loop, ibv_cq* cq, AsyncEvents& events) {
  const std::uint32_t count = 2 * static_cast<std::uint32_t>(cq->cqe) + 4;
  bool raised = false;
  for (std::uint32_t index = 0; index < count && !raised; ++index) {
    c.need(c.accepted(loop.receive(loop.b(), index, 0, kMessageBytes), "ibv_post_recv"));
    // A send that is refused comes from a queue pair that the overflow has brought to ERR.
    if (loop.send(loop.a(), index, 0, kMessageBytes) != 0) break;
    if (index < static_cast<std::uint32_t>(cq->cqe)) {
      c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "a receive before the overflow"));
    } else {
      raised = events.next(IBV_EVENT_CQ_ERR, cq, std::chrono::milliseconds(20));
    }
  }
  return raised || events.next(IBV_EVENT_CQ_ERR, cq);
}

/// A queue pair holds as many sends as overflow the queue with room to spare.
LoopShape overflowing(ibv_cq* cq) {
  const std::uint32_t count = 2 * static_cast<std::uint32_t>(cq->cqe) + 8;
  return {.cap = {count, count, 1, 1, 0}, .a = {.send_cq = cq}};
}

void event(Case& c) {
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = 4}), "ibv_create_cq");
  AsyncEvents events(c);
  Loop loop(c, overflowing(cq.raw()));
  c.holds(overfill(c, loop, cq.raw(), events), Seen::no_event, "an overflow raised no IBV_EVENT_CQ_ERR");
}

/// The contract says how an overflow shows: by the event alone, or by the queue pair's own end as well.
void raises_event(Case& c) {
  const verbena::Choice choice = c.contract().behaviour(verbena::Behaviour::cq_overflow).choice;
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = 4}), "ibv_create_cq");
  AsyncEvents events(c);
  Loop loop(c, overflowing(cq.raw()));
  const bool raised = overfill(c, loop, cq.raw(), events);
  if (choice == verbena::Choice::unknown) {
    c.note(raised ? "IBV_EVENT_CQ_ERR was raised" : "no IBV_EVENT_CQ_ERR was raised");
    return;
  }
  c.holds(raised, Seen::no_event, "an overflow raised no IBV_EVENT_CQ_ERR");
}

void others_unhurt(Case& c) {
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = 4}), "ibv_create_cq");
  AsyncEvents events(c);
  Loop other(c);
  c.need(carries(c, other, "before the overflow"));
  Loop loop(c, overflowing(cq.raw()));
  overfill(c, loop, cq.raw(), events);
  for (std::uint64_t wr_id = 1; wr_id <= 4; ++wr_id) carries(c, other, "after the overflow of another queue", wr_id);
}

void ring_reused(Case& c) {
  const Object<ibv_cq> at_a = c.made(c.way().cq({.cqe = 4}), "ibv_create_cq");
  const Object<ibv_cq> at_b = c.made(c.other_way().cq({.cqe = 4}), "ibv_create_cq");
  AsyncEvents events(c);
  Loop loop(c, {.a = {.send_cq = at_a.raw()}, .b = {.recv_cq = at_b.raw()}});
  for (std::uint64_t first = 0; first < 40; first += 4) {
    c.need(deliver(c, loop, 4, first));
    const auto found = next(c, at_b.raw(), 4);
    c.need(c.equal(found.size(), std::size_t{4}, "completions of one round"));
    for (std::size_t index = 0; index < 4; ++index) {
      c.need(c.equal(found[index].wr_id, first + index, "wr_id of a completion"));
      c.need(c.completed(found[index], IBV_WC_SUCCESS, "a receive"));
    }
  }
  c.holds(quiet(c, at_b.raw(), std::chrono::milliseconds(5)), Seen::completion, "a completion was repeated");
  c.holds(events.none(IBV_EVENT_CQ_ERR, nullptr, std::chrono::milliseconds(5)), Seen::event,
          "IBV_EVENT_CQ_ERR was raised for a queue that was polled in time");
}

}  // namespace

Bodies cq_overflow_bodies() {
  static constexpr Body kBodies[] = {
      {"cq.overflow.none_at_depth", none_at_depth},
      {"cq.create.depth_granted_holds", depth_granted_holds},
      {"cq.overflow.event", event},
      {"cq.overflow.raises_event", raises_event},
      {"cq.overflow.others_unhurt", others_unhurt},
      {"cq.overflow.ring_reused", ring_reused},
  };
  return kBodies;
}

}  // namespace conform
