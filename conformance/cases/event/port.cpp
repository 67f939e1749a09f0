// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <deque>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "rig/events.hpp"
#include "rig/link.hpp"
#include "rig/opened.hpp"
#include "rig/traffic.hpp"

namespace conform {

namespace {

/// The next port event of that kind, whose port is the case's.
bool port_event(Case& c, AsyncEvents& events, ibv_event_type type) {
  std::optional<ibv_async_event> event = events.take(type, nullptr);
  if (!event) return false;
  c.equal(event->element.port_num, static_cast<int>(c.port()), "the port that the event names");
  c.verbs().ack_async_event(*event);
  return true;
}

void err(Case& c) {
  Link link(c);
  AsyncEvents events(c);
  c.need(c.accepted(link.set_up(false), "taking the interface down"));
  c.holds(port_event(c, events, IBV_EVENT_PORT_ERR), Seen::no_event, "no IBV_EVENT_PORT_ERR when the link went down");
}

void active(Case& c) {
  Link link(c);
  c.need(c.accepted(link.set_up(false), "taking the interface down"));
  AsyncEvents events(c);
  c.need(c.accepted(link.set_up(true), "bringing the interface up"));
  c.holds(port_event(c, events, IBV_EVENT_PORT_ACTIVE), Seen::no_event,
          "no IBV_EVENT_PORT_ACTIVE when the link came up");
}

void every_context(Case& c) {
  const Opened one(c);
  const Opened other(c);
  Link link(c);
  std::deque<AsyncEvents> all;
  for (ibv_context* context : {c.context(), one.raw(), other.raw()}) all.emplace_back(c, context);
  c.need(c.accepted(link.set_up(false), "taking the interface down"));
  for (AsyncEvents& events : all) {
    c.holds(port_event(c, events, IBV_EVENT_PORT_ERR), Seen::no_event, "a context got no IBV_EVENT_PORT_ERR");
  }
}

void traffic_resumes(Case& c) {
  Loop loop(c, {.terms = {.timeout = 16, .retry_cnt = 7}});
  Link link(c);
  c.need(carries(c, loop, "before the link went down"));
  c.need(c.accepted(link.set_up(false), "taking the interface down"));
  loop.a().memory->fill(5);
  for (std::uint64_t wr_id = 10; wr_id < 14; ++wr_id) {
    c.need(c.accepted(loop.receive(loop.b(), wr_id, 1024, kMessageBytes), "ibv_post_recv"));
    c.need(c.accepted(loop.send(loop.a(), wr_id, 0, kMessageBytes), "ibv_post_send while the link is down"));
  }
  quiet(c, loop.a().send_cq.raw(), std::chrono::milliseconds(20));
  c.need(c.accepted(link.set_up(true), "bringing the interface up"));
  for (std::uint64_t wr_id = 10; wr_id < 14; ++wr_id) {
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send that waited for the link"));
  }
  for (std::uint64_t wr_id = 10; wr_id < 14; ++wr_id) {
    const auto wc = next(c, loop.b().recv_cq.raw());
    c.need(c.completed(wc, IBV_WC_SUCCESS, "a receive once the link was back"));
    c.equal(wc->wr_id, wr_id, "wr_id");
  }
}

void gid_change(Case& c) {
  Link link(c);
  AsyncEvents events(c);
  constexpr std::uint32_t kAddress = 0x0a4d0063;  // 10.77.0.99
  c.need(c.accepted(link.add_address(kAddress), "adding an address"));
  c.holds(port_event(c, events, IBV_EVENT_GID_CHANGE), Seen::no_event, "no IBV_EVENT_GID_CHANGE for a new address");
  c.need(c.accepted(link.remove_address(kAddress), "removing the address"));
  c.holds(port_event(c, events, IBV_EVENT_GID_CHANGE), Seen::no_event, "no IBV_EVENT_GID_CHANGE for a removed address");
}

}  // namespace

Bodies event_port_bodies() {
  static constexpr Body kBodies[] = {
      {"event.port.err", err},
      {"event.port.active", active},
      {"event.port.every_context", every_context},
      {"event.port.traffic_resumes", traffic_resumes},
      {"event.gid.change", gid_change},
  };
  return kBodies;
}

}  // namespace conform
