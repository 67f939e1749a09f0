// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cerrno>
#include <limits>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "rig/beyond.hpp"
#include "rig/events.hpp"
#include "rig/traffic.hpp"

namespace conform {

namespace {

using verbena::Cap;
using verbena::Field;

/// The largest depth that a case asks for: 64 MiB of entries of 64 bytes each.
constexpr std::uint64_t kMostEntries = 1U << 20;

void at_least_asked(Case& c) {
  for (const std::uint32_t wish : {1U, 2U, 3U, 63U, 64U, 65U, 255U, 1000U}) {
    const std::uint32_t asked = c.within(Field::cqe, wish);
    const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = asked}), "ibv_create_cq");
    c.holds(cq->cqe >= static_cast<int>(asked), Seen::value,
            "a completion queue has fewer entries than were asked for: " + std::to_string(cq->cqe) + " of " +
                std::to_string(asked));
  }
}

void any_number(Case& c) {
  for (const std::uint32_t wish : {3U, 7U, 100U, 127U, 129U, 1023U}) {
    const std::uint32_t asked = c.within(Field::cqe, wish);
    const Object<ibv_cq> cq = c.way().cq({.cqe = asked});
    const std::string what = "a completion queue of " + std::to_string(asked) + " entries";
    if (!c.accepted(cq, what)) continue;
    c.holds(cq->cqe >= static_cast<int>(asked), Seen::value, what + " reports " + std::to_string(cq->cqe));
  }
}

void least_depth(Case& c) {
  // A driver whose least depth is above 1 is asked for 1 all the same: it may round up, and must not refuse.
  const Object<ibv_cq> cq = c.made(c.other_way().cq({.cqe = 1}), "ibv_create_cq of one entry");
  Loop loop(c, {.b = {.recv_cq = cq.raw()}});
  for (std::uint64_t wr_id = 1; wr_id <= 3; ++wr_id) carries(c, loop, "a queue of one entry", wr_id);
}

/// What the device declares, or what fits the memory that a case may take.
std::uint32_t declared_depth(Case& c) {
  const std::uint64_t most = c.caps()[Cap::max_cqe].value_or(c.contract().domain(Field::cqe).largest_grant());
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(most, kMostEntries));
}

void max_cqe(Case& c) {
  const std::uint32_t most = declared_depth(c);
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = most}), "ibv_create_cq of max_cqe entries");
  c.holds(cq->cqe >= static_cast<int>(most), Seen::value,
          "max_cqe is " + std::to_string(most) + " and the queue made with it has " + std::to_string(cq->cqe));
}

void above_max_refused(Case& c) {
  const std::uint64_t most = c.caps()[Cap::max_cqe].value_or(0);
  if (most >= std::numeric_limits<std::int32_t>::max()) {
    c.note("max_cqe is the largest number that ibv_create_cq takes");
    return;
  }
  if (c.through_verbena() && most > kMostEntries) {
    // It comes back as max_cqe, and so is made.
    c.note("a queue of max_cqe entries takes more memory than a case may");
    return;
  }
  Beyond beyond(c);
  beyond.refused(c.way().cq({.cqe = static_cast<std::uint32_t>(most + 1)}), "ibv_create_cq of max_cqe + 1 entries");
}

/// Verbena's requests have no negative numbers, so both columns ask by the verb itself.
void negative_refused(Case& c) {
  for (const int cqe : {-1, std::numeric_limits<int>::min()}) {
    const verbena::Made<ibv_cq> cq = c.verbs().create_cq(c.context(), cqe, nullptr, nullptr, 0);
    c.refused(cq ? 0 : cq.error, "ibv_create_cq of " + std::to_string(cqe) + " entries");
    c.holds(cq || !cq.errno_missing, Seen::refused, "ibv_create_cq of a negative depth left errno unset");
    if (cq) c.verbs().destroy_cq(cq.handle);
  }
}

void zero_answered(Case& c) {
  const Object<ibv_cq> cq = c.other_way().cq({.cqe = 0});
  if (!cq) {
    c.holds(cq.error() != 0, Seen::refused, "ibv_create_cq of depth 0 gave neither a queue nor an errno");
    return;
  }
  Loop loop(c, {.b = {.recv_cq = cq.raw()}});
  carries(c, loop, "a queue asked for with depth 0");
}

/// Through Verbena a depth of 0 is always made, and raised; raw it is as the contract says.
void depth_zero(Case& c) {
  const Object<ibv_cq> cq = c.way().cq({.cqe = 0});
  if (!c.through_verbena() && !cq) {
    c.holds(c.contract().domain(Field::cqe).min > 0, Seen::refused,
            "the contract allows a depth of 0, and the device refuses it");
    return;
  }
  if (c.accepted(cq, "ibv_create_cq of depth 0")) {
    c.holds(cq->cqe >= 1, Seen::value, "a queue asked for with depth 0 reports no entry");
  }
}

void depth_at_limit(Case& c) {
  const std::uint64_t limit = c.contract().domain(Field::cqe).largest_grant();
  const auto asked = static_cast<std::uint32_t>(std::min(limit, kMostEntries));
  for (const std::uint32_t depth : {asked - 1, asked}) {
    if (depth != asked && asked > 100000) continue;  // two of that size cost seconds, and show no more than one
    const Object<ibv_cq> cq = c.way().cq({.cqe = depth});
    if (!c.accepted(cq, "ibv_create_cq of " + std::to_string(depth) + " entries")) continue;
    c.holds(cq->cqe >= static_cast<int>(depth), Seen::value, "a queue at the limit has fewer entries than asked for");
  }
  if (asked == limit && c.through_verbena()) {
    Beyond beyond(c);
    const Object<ibv_cq> cq = c.way().cq({.cqe = asked + 1});
    c.holds(!cq || beyond.adjusted(), Seen::accepted, "one entry above the limit was granted without a word");
  }
}

void reported_depth(Case& c) {
  const verbena::Choice choice = c.contract().behaviour(verbena::Behaviour::cqe_reported).choice;
  for (const std::uint32_t wish : {1U, 2U, 16U, 100U}) {
    const std::uint32_t asked = c.within(Field::cqe, wish);
    const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = asked}), "ibv_create_cq");
    if (choice == verbena::Choice::unset) continue;
    const std::uint32_t least = choice == verbena::Choice::one_less_possible ? asked - 1 : asked;
    c.holds(cq->cqe >= static_cast<int>(least), Seen::value,
            "cqe is " + std::to_string(cq->cqe) + " where " + std::to_string(asked) + " were asked for");
  }
}

void each_vector(Case& c) {
  const int vectors = c.context()->num_comp_vectors;
  c.need(c.holds(vectors >= 1, Seen::value, "num_comp_vectors is less than 1"));
  // All of them, or of very many the first, the last and some between: each costs a connection.
  std::vector<int> chosen;
  for (int vector = 0; vector < vectors; vector += std::max(1, vectors / 8)) chosen.push_back(vector);
  if (chosen.back() != vectors - 1) chosen.push_back(vectors - 1);
  for (const int vector : chosen) {
    const Object<ibv_comp_channel> channel = c.made(c.other_way().channel(), "ibv_create_comp_channel");
    const Object<ibv_cq> cq =
        c.made(c.other_way().cq({.cqe = 16, .channel = channel.raw(), .comp_vector = vector}), "ibv_create_cq");
    Loop loop(c, {.b = {.recv_cq = cq.raw()}});
    c.accepted(arm(cq.raw()), "ibv_req_notify_cq");
    carries(c, loop, "vector " + std::to_string(vector));
    c.holds(next_event(c, channel.raw()).has_value(), Seen::no_event,
            "vector " + std::to_string(vector) + " raised no event");
  }
}

void vector_above_refused(Case& c) {
  c.refused(c.way().cq({.comp_vector = c.context()->num_comp_vectors}), "ibv_create_cq with vector num_comp_vectors",
            {EINVAL});
}

void vector_negative_refused(Case& c) {
  const verbena::Made<ibv_cq> cq = c.verbs().create_cq(c.context(), 16, nullptr, nullptr, -1);
  c.refused(cq ? 0 : cq.error, "ibv_create_cq with vector -1", {EINVAL});
  if (cq) c.verbs().destroy_cq(cq.handle);
}

void context_kept(Case& c) {
  int place = 0;
  const Object<ibv_comp_channel> channel = c.made(c.other_way().channel(), "ibv_create_comp_channel");
  const Object<ibv_cq> cq = c.made(c.other_way().cq({.channel = channel.raw(), .cq_context = &place}), "ibv_create_cq");
  c.holds(cq->cq_context == &place, Seen::value, "cq_context is not the pointer given");
  c.holds(cq->channel == channel.raw(), Seen::value, "channel is not the one given");
  Loop loop(c, {.b = {.recv_cq = cq.raw()}});
  for (std::uint64_t wr_id = 1; wr_id <= 2; ++wr_id) {
    c.accepted(arm(cq.raw()), "ibv_req_notify_cq");
    carries(c, loop, "a message", wr_id);
    const auto raised = next_event(c, channel.raw());
    if (!c.holds(raised.has_value(), Seen::no_event, "no event came")) return;
    c.holds(raised->context == &place, Seen::value, "the event's context is not the pointer given at creation");
    c.holds(raised->cq == cq.raw(), Seen::value, "the event names another completion queue");
  }
}

}  // namespace

Bodies cq_create_bodies() {
  static constexpr Body kBodies[] = {
      {"cq.create.at_least_asked", at_least_asked},
      {"cq.create.depth_any_number", any_number},
      {"cq.create.least_depth", least_depth},
      {"cq.create.max_cqe", max_cqe},
      {"cq.create.above_max_refused", above_max_refused},
      {"cq.create.negative_refused", negative_refused},
      {"cq.create.zero_answered", zero_answered},
      {"cq.create.depth_zero", depth_zero},
      {"cq.create.depth_at_limit", depth_at_limit},
      {"cq.create.reported_depth", reported_depth},
      {"cq.create.each_vector", each_vector},
      {"cq.create.vector_above_refused", vector_above_refused},
      {"cq.create.vector_negative_refused", vector_negative_refused},
      {"cq.create.context_kept", context_kept},
  };
  return kBodies;
}

}  // namespace conform
