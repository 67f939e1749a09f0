// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/events.hpp"

#include <algorithm>

#include "rig/event_element.hpp"
#include "verbena/errno_family.hpp"

namespace conform {

namespace {

using Clock = std::chrono::steady_clock;

/// An event of a completion queue is raised with its completion, so it isn't waited for as long.
std::chrono::milliseconds event_within(const Case& c) {
  return c.ground().completion_within / 5;
}

/// Whether something can be read before `end`.
bool readable(Case& c, int descriptor, Clock::time_point end) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
  return c.verbs().wait_readable(descriptor, static_cast<int>(std::max<std::int64_t>(0, left.count()))) == 0;
}

std::optional<CqRaised> take_until(Case& c, ibv_comp_channel* channel, Clock::time_point end) {
  if (!readable(c, channel->fd, end)) return std::nullopt;
  CqRaised raised;
  if (c.verbs().get_cq_event(channel, &raised.cq, &raised.context) != 0) return std::nullopt;
  return raised;
}

/// What an event is about: the object, or null for one of a port or of the device.
const void* element_of(const ibv_async_event& event) {
  switch (kind_of(event.event_type)) {
    case ElementKind::cq:
      return event.element.cq;
    case ElementKind::qp:
      return event.element.qp;
    case ElementKind::srq:
      return event.element.srq;
    case ElementKind::port:
      break;
  }
  return nullptr;
}

}  // namespace

int arm(ibv_cq* cq, bool solicited_only) {
  return verbena::normalise_errno(cq->context->ops.req_notify_cq(cq, solicited_only ? 1 : 0));
}

std::optional<CqRaised> take_event(Case& c, ibv_comp_channel* channel) {
  return take_until(c, channel, Clock::now() + event_within(c));
}

std::optional<CqRaised> next_event(Case& c, ibv_comp_channel* channel) {
  const std::optional<CqRaised> raised = take_event(c, channel);
  if (raised) c.verbs().ack_cq_events(raised->cq, 1);
  return raised;
}

bool no_event(Case& c, ibv_comp_channel* channel, std::chrono::milliseconds span) {
  const std::optional<CqRaised> raised = take_until(c, channel, Clock::now() + span);
  if (raised) c.verbs().ack_cq_events(raised->cq, 1);
  return !raised;
}

AsyncEvents::AsyncEvents(Case& c, ibv_context* context) : case_(c), context_(context) {
  c.verbs().set_nonblocking(context_->async_fd, true);
  for (ibv_async_event event{}; c.verbs().get_async_event(context_, event) == 0;) c.verbs().ack_async_event(event);
}

std::optional<ibv_async_event> AsyncEvents::take(ibv_event_type type, const void* element,
                                                 std::optional<std::chrono::milliseconds> within) {
  const Clock::time_point end = Clock::now() + within.value_or(event_within(case_));
  while (readable(case_, context_->async_fd, end)) {
    ibv_async_event event{};
    if (case_.verbs().get_async_event(context_, event) != 0) continue;
    if (event.event_type == type && (element == nullptr || element_of(event) == element)) return event;
    case_.verbs().ack_async_event(event);
  }
  return std::nullopt;
}

bool AsyncEvents::next(ibv_event_type type, const void* element, std::optional<std::chrono::milliseconds> within) {
  std::optional<ibv_async_event> event = take(type, element, within);
  if (event) case_.verbs().ack_async_event(*event);
  return event.has_value();
}

}  // namespace conform
