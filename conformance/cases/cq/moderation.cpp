// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>
#include <chrono>
#include <string>

#include "cases/bodies.hpp"
#include "rig/events.hpp"
#include "rig/traffic.hpp"

namespace conform {

namespace {

using verbena::Field;

/// ibv_modify_cq as such, in both columns: raw values are what these cases are about.
int moderate(Case& c, ibv_cq* cq, std::uint16_t count, std::uint16_t period,
             std::uint32_t mask = IBV_CQ_ATTR_MODERATE) {
  ibv_modify_cq_attr attr{};
  attr.attr_mask = mask;
  attr.moderate.cq_count = count;
  attr.moderate.cq_period = period;
  return c.verbs().modify_cq(cq, attr);
}

/// A period that is longer than a message or ten take, within what the contract allows.
std::uint16_t long_period(Case& c) {
  return static_cast<std::uint16_t>(std::min(c.within(Field::cq_period, 60000), 65535U));
}

void count(Case& c) {
  Loop loop(c, {.channels = true});
  const auto n = static_cast<std::uint16_t>(std::min(c.within(Field::cq_count, 4), 65535U));
  c.need(c.accepted(moderate(c, loop.b().recv_cq.raw(), n, long_period(c)), "ibv_modify_cq"));
  c.need(c.accepted(arm(loop.b().recv_cq.raw()), "ibv_req_notify_cq"));
  c.need(deliver(c, loop, n));
  c.holds(next_event(c, loop.b().channel.raw()).has_value(), Seen::no_event,
          std::to_string(n) + " completions raised no event with a count of " + std::to_string(n));
}

void period(Case& c) {
  Loop loop(c, {.channels = true});
  const auto n = static_cast<std::uint16_t>(std::min(c.within(Field::cq_count, 64), 65535U));
  const auto microseconds = static_cast<std::uint16_t>(c.within(Field::cq_period, 1000));
  c.need(c.accepted(moderate(c, loop.b().recv_cq.raw(), n, microseconds), "ibv_modify_cq"));
  c.need(c.accepted(arm(loop.b().recv_cq.raw()), "ibv_req_notify_cq"));
  c.need(deliver(c, loop, 1));
  c.holds(next_event(c, loop.b().channel.raw()).has_value(), Seen::no_event,
          "one completion raised no event though the period was over");
}

void off(Case& c) {
  Loop loop(c, {.channels = true});
  const auto n = static_cast<std::uint16_t>(std::min(c.within(Field::cq_count, 64), 65535U));
  c.need(c.accepted(moderate(c, loop.b().recv_cq.raw(), n, long_period(c)), "ibv_modify_cq"));
  c.need(c.accepted(moderate(c, loop.b().recv_cq.raw(), 0, 0), "ibv_modify_cq to count 0 and period 0"));
  c.need(c.accepted(arm(loop.b().recv_cq.raw()), "ibv_req_notify_cq"));
  c.need(deliver(c, loop, 1));
  c.holds(next_event(c, loop.b().channel.raw()).has_value(), Seen::no_event,
          "the first completion raised no event after moderation was taken away");
}

void empty_mask_refused(Case& c) {
  const Object<ibv_cq> cq = c.made(c.way().cq({}), "ibv_create_cq");
  c.refused(moderate(c, cq.raw(), 1, 1, 0), "ibv_modify_cq with attr_mask 0", {EINVAL});
}

void unknown_mask_refused(Case& c) {
  const Object<ibv_cq> cq = c.made(c.way().cq({}), "ibv_create_cq");
  c.refused(moderate(c, cq.raw(), 1, 1, 1U << 30), "ibv_modify_cq with an unknown bit");
  c.refused(moderate(c, cq.raw(), 1, 1, IBV_CQ_ATTR_MODERATE | 1U << 30), "ibv_modify_cq with an unknown bit beside");
}

void moderation_native(Case& c) {
  const Object<ibv_cq> cq = c.made(c.way().cq({}), "ibv_create_cq");
  const int error = moderate(c, cq.raw(), 1, 1);
  switch (c.contract().feature(verbena::Feature::cq_moderation).support) {
    case verbena::Support::native:
      c.accepted(error, "ibv_modify_cq, which the contract calls native");
      break;
    case verbena::Support::unknown:
      c.note(error == 0 ? "moderation is taken" : "moderation is refused");
      break;
    default:
      c.refused(error, "ibv_modify_cq, which the contract calls absent");
  }
  std::array<ibv_wc, 1> completions{};
  c.equal(c.way().poll(cq.raw(), 1, completions.data()), 0, "ibv_poll_cq after ibv_modify_cq");
}

void period_at_limit(Case& c) {
  const Object<ibv_cq> cq = c.made(c.way().cq({}), "ibv_create_cq");
  if (!c.native(verbena::Feature::cq_moderation)) {
    const int error = moderate(c, cq.raw(), 1, 1);
    if (error == 0) c.note("moderation is taken, and the contract doesn't call it native");
    if (error != 0) c.absent("no moderation");
    return;
  }
  const verbena::Domain& domain = c.contract().domain(Field::cq_period);
  const auto most = static_cast<std::uint16_t>(std::min<std::uint64_t>(domain.max, 65535));
  c.accepted(moderate(c, cq.raw(), 1, most), "ibv_modify_cq with a period of " + std::to_string(most));
  if (domain.known && most < 65535) {
    const int error = moderate(c, cq.raw(), 1, static_cast<std::uint16_t>(most + 1));
    if (error == 0)
      c.note("a period of " + std::to_string(most + 1) + " is taken too, and nothing says what it became");
  }
}

}  // namespace

Bodies cq_moderation_bodies() {
  static constexpr Body kBodies[] = {
      {"cq.moderation.count", count},
      {"cq.moderation.period", period},
      {"cq.moderation.off", off},
      {"cq.moderation.empty_mask_refused", empty_mask_refused},
      {"cq.moderation.unknown_mask_refused", unknown_mask_refused},
      {"cq.moderation.native", moderation_native},
      {"cq.moderation.period_at_limit", period_at_limit},
  };
  return kBodies;
}

}  // namespace conform
