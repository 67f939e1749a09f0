// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>
#include <string>

#include "cases/bodies.hpp"
#include "rig/events.hpp"
#include "rig/traffic.hpp"

namespace conform {

namespace {

/// Two ends whose completion queues raise events, and what is asked of them most.
struct Ringing {
  explicit Ringing(Case& c, const LoopShape& shape = {}) : c_(c), loop(c, with_channels(shape)) {}

  static LoopShape with_channels(LoopShape shape) {
    shape.channels = true;
    return shape;
  }
  void armed(const Object<ibv_cq>& cq, bool solicited_only = false) {
    c_.need(c_.accepted(arm(cq.raw(), solicited_only), "ibv_req_notify_cq"));
  }
  /// One message whose receive completes at b and is polled.
  void message(unsigned flags = 0) {
    c_.need(deliver(c_, loop, 1, ++count_, flags));
    c_.need(c_.completed(next(c_, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive"));
  }
  bool rings(End& end, std::string_view what) {
    const auto raised = next_event(c_, end.channel.raw());
    return c_.holds(raised.has_value(), Seen::no_event, std::string(what) + ": no event was raised");
  }
  bool silent(End& end, std::string_view what) {
    return c_.holds(no_event(c_, end.channel.raw()), Seen::event, std::string(what) + ": an event was raised");
  }

  Case& c_;
  Loop loop;
  std::uint64_t count_ = 0;
};

void one_shot(Case& c) {
  Ringing r(c);
  r.armed(r.loop.b().recv_cq);
  r.message();
  r.message();
  r.rings(r.loop.b(), "two completions after one arming");
  r.silent(r.loop.b(), "two completions after one arming raised one event, and then");
}

void not_unasked(Case& c) {
  Ringing r(c);
  r.message();
  r.message(IBV_SEND_SOLICITED);
  r.silent(r.loop.b(), "completions in a queue that was not armed");
  r.silent(r.loop.a(), "send completions in a queue that was not armed");
  r.armed(r.loop.b().recv_cq);
  r.message();
  r.rings(r.loop.b(), "once it was armed");
}

void armed_twice(Case& c) {
  Ringing r(c);
  r.armed(r.loop.b().recv_cq);
  r.armed(r.loop.b().recv_cq);
  r.message();
  r.rings(r.loop.b(), "armed twice");
  r.silent(r.loop.b(), "armed twice, one completion raised one event, and then");
}

void later_completion(Case& c) {
  Ringing r(c);
  c.need(deliver(c, r.loop, 2));  // these lie unpolled
  r.armed(r.loop.b().recv_cq);
  c.need(deliver(c, r.loop, 1, 3));
  r.rings(r.loop.b(), "a completion behind two that lie unpolled");
  c.equal(next(c, r.loop.b().recv_cq.raw(), 3).size(), std::size_t{3}, "the number of completions");
}

void solicited_only(Case& c) {
  Ringing r(c);
  r.armed(r.loop.b().recv_cq, true);
  r.message();
  c.need(r.silent(r.loop.b(), "a receive that was not solicited"));
  r.message(IBV_SEND_SOLICITED);
  r.rings(r.loop.b(), "a receive that was solicited");
}

void solicited_write_imm(Case& c) {
  Ringing r(c);
  r.armed(r.loop.b().recv_cq, true);
  for (const unsigned flags : {0U, static_cast<unsigned>(IBV_SEND_SOLICITED)}) {
    c.need(c.accepted(r.loop.receive(r.loop.b(), 1, 0, kMessageBytes), "ibv_post_recv"));
    ibv_sge sge = r.loop.a().sge(0, 8);
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
    wr.send_flags = IBV_SEND_SIGNALED | flags;
    wr.wr.rdma = {r.loop.b().remote(1024), r.loop.b().rkey()};
    c.need(c.accepted(r.loop.post(r.loop.a(), wr), "ibv_post_send of a WRITE with immediate"));
    c.need(c.completed(next(c, r.loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the WRITE with immediate"));
    c.need(c.completed(next(c, r.loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "its receive"));
    if (flags == 0) {
      r.silent(r.loop.b(), "a WRITE with immediate that was not solicited");
    } else {
      r.rings(r.loop.b(), "a WRITE with immediate that was solicited");
    }
  }
}

void solicited_not_for_sends(Case& c) {
  Ringing r(c);
  r.armed(r.loop.a().send_cq, true);
  r.message();
  r.message(IBV_SEND_SOLICITED);
  r.silent(r.loop.a(), "successful sends");
}

/// A receive that is flushed, and a send with a key that nobody gave out.
void solicited_and_errors(Case& c) {
  Ringing r(c);
  r.message();
  r.armed(r.loop.a().send_cq, true);
  r.armed(r.loop.a().recv_cq, true);
  c.need(c.accepted(r.loop.receive(r.loop.a(), 70, 0, kMessageBytes), "ibv_post_recv"));
  ibv_sge sge = r.loop.a().sge(0, 8);
  sge.lkey ^= 0xffffff00U;
  ibv_send_wr wr{};
  wr.wr_id = 71;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  c.need(c.accepted(r.loop.post(r.loop.a(), wr), "ibv_post_send with a wrong key"));
  const auto sent = next(c, r.loop.a().send_cq.raw());
  c.need(c.holds(sent && sent->status != IBV_WC_SUCCESS, Seen::completion, "a send with a wrong key did not fail"));
  // Where the failure left the queue pair in RTS, it is moved; where it is in ERR already, this changes nothing.
  const Move err = to(IBV_QPS_ERR);
  c.way().modify(r.loop.a().qp.raw(), err.attr, err.mask);
  const auto received = next(c, r.loop.a().recv_cq.raw());
  c.need(c.completed(received, IBV_WC_WR_FLUSH_ERR, "the receive behind it"));
  bool send_rang = false;
  bool receive_rang = false;
  for (int count = 0; count < 2; ++count) {
    const auto raised = next_event(c, r.loop.a().channel.raw());
    if (!raised) break;
    send_rang = send_rang || raised->cq == r.loop.a().send_cq.raw();
    receive_rang = receive_rang || raised->cq == r.loop.a().recv_cq.raw();
  }
  c.holds(send_rang, Seen::no_event, "a send that failed raised no event");
  c.holds(receive_rang, Seen::no_event, "a receive that was flushed raised no event");
}

void solicited_then_any(Case& c) {
  Ringing r(c);
  r.armed(r.loop.b().recv_cq, true);
  r.armed(r.loop.b().recv_cq, false);
  r.message();
  r.rings(r.loop.b(), "a receive that was not solicited, armed for all at last");
}

void channel_shared(Case& c) {
  Ringing r(c);  // both queues of an end are on its one channel
  for (int round = 0; round < 2; ++round) {
    ibv_cq* expected = nullptr;
    if (round == 0) {
      r.armed(r.loop.a().send_cq);
      r.armed(r.loop.a().recv_cq);
      r.message();
      expected = r.loop.a().send_cq.raw();
    } else {
      c.need(c.accepted(r.loop.receive(r.loop.a(), 5, 0, kMessageBytes), "ibv_post_recv"));
      c.need(c.accepted(r.loop.send(r.loop.b(), 6, 0, kMessageBytes), "ibv_post_send"));
      c.need(c.completed(next(c, r.loop.a().recv_cq.raw()), IBV_WC_SUCCESS, "the receive"));
      expected = r.loop.a().recv_cq.raw();
    }
    const auto raised = next_event(c, r.loop.a().channel.raw());
    if (!c.holds(raised.has_value(), Seen::no_event, "no event was raised")) return;
    c.holds(raised->cq == expected, Seen::value, "the event names the other completion queue");
  }
}

void nonblocking(Case& c) {
  const Object<ibv_comp_channel> channel = c.made(c.way().channel(), "ibv_create_comp_channel");
  const Object<ibv_cq> cq = c.made(c.way().cq({.channel = channel.raw()}), "ibv_create_cq");
  c.accepted(arm(cq.raw()), "ibv_req_notify_cq");
  c.need(c.accepted(c.verbs().set_nonblocking(channel->fd, true), "O_NONBLOCK on the channel"));
  ibv_cq* named = nullptr;
  void* context = nullptr;
  for (int round = 0; round < 2; ++round) {
    const int error = c.verbs().get_cq_event(channel.raw(), &named, &context);
    c.refused(error, "ibv_get_cq_event without an event", {EAGAIN});
    // Verbena has no call of its own here, so the errno is looked at in both columns.
    if (error != 0) c.equal(error, EAGAIN, "errno of ibv_get_cq_event");
  }
}

void channel_busy(Case& c) {
  Ringing r(c);
  c.refused(c.verbs().destroy_comp_channel(r.loop.b().channel.raw()), "ibv_destroy_comp_channel while in use");
  r.armed(r.loop.b().recv_cq);
  r.message();
  r.rings(r.loop.b(), "after the refused ibv_destroy_comp_channel");
}

void events_native(Case& c) {
  if (c.contract().feature(verbena::Feature::cq_events).support == verbena::Support::absent) {
    const Object<ibv_comp_channel> channel = c.way().channel();
    if (channel) c.refused(c.way().cq({.channel = channel.raw()}), "a completion queue with a channel");
    return;
  }
  Ringing r(c);
  for (int round = 0; round < 3; ++round) {
    r.armed(r.loop.b().recv_cq);
    r.message();
    c.need(r.rings(r.loop.b(), "a completion that was asked for"));
  }
  r.silent(r.loop.b(), "three events for three completions, and then");
}

}  // namespace

Bodies cq_event_bodies() {
  static constexpr Body kBodies[] = {
      {"cq.event.one_shot", one_shot},
      {"cq.event.not_unasked", not_unasked},
      {"cq.event.armed_twice", armed_twice},
      {"cq.event.later_completion", later_completion},
      {"cq.event.solicited_only", solicited_only},
      {"cq.event.solicited_write_imm", solicited_write_imm},
      {"cq.event.solicited_not_for_sends", solicited_not_for_sends},
      {"cq.event.solicited_and_errors", solicited_and_errors},
      {"cq.event.solicited_then_any", solicited_then_any},
      {"cq.event.channel_shared", channel_shared},
      {"cq.event.nonblocking", nonblocking},
      {"cq.event.channel_busy", channel_busy},
      {"cq.events.native", events_native},
  };
  return kBodies;
}

}  // namespace conform
