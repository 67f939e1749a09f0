// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/work.hpp"
#include "verbena/timers.hpp"

// Receives that are too short or not there, and peers that do not answer.
namespace conform {

namespace {

using verbena::QpType;
using Clock = std::chrono::steady_clock;

constexpr std::uint8_t kRnr = 12;  // 0.64 ms

LoopShape patient(std::uint8_t rnr_retry, std::uint8_t min_rnr_timer = kRnr) {
  LoopShape shape;
  shape.terms.rnr_retry = rnr_retry;
  shape.terms.min_rnr_timer = min_rnr_timer;
  return shape;
}

/// A message of twice the receive's bytes; gives the two completions.
void too_long(Case& c, Loop& loop, std::optional<ibv_wc>& sent, std::optional<ibv_wc>& received) {
  loop.a().memory->fill(1);
  std::memset(loop.b().data(), kOld, 4096);
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kBytes), "ibv_post_recv"));
  c.need(c.accepted(loop.send(loop.a(), 2, 0, 2 * kBytes), "ibv_post_send"));
  received = next(c, loop.b().recv_cq.raw());
  sent = next(c, loop.a().send_cq.raw());
}

void receive_too_short(Case& c) {
  Loop loop(c, {});
  std::optional<ibv_wc> sent, received;
  too_long(c, loop, sent, received);
  fails(c, received, "a receive that is too short for its message", {IBV_WC_LOC_LEN_ERR});
  untouched(c, loop.b().data() + kBytes, 1024, kOld, "behind a receive that is too short");
}

void sender_is_told(Case& c) {
  Loop loop(c, {});
  std::optional<ibv_wc> sent, received;
  too_long(c, loop, sent, received);
  fails(c, sent, "a message longer than its receive", {IBV_WC_REM_INV_REQ_ERR});
}

/// The short receive may be used up by it or left for the next one; the fitting one is found by its bytes.
void ud_receive_too_short(Case& c) {
  Loop loop(c, {.type = QpType::ud});
  loop.a().memory->fill(1);
  std::memset(loop.b().data(), kOld, 8192);
  constexpr std::size_t kFit = 20;
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kGrhBytes + kFit), "ibv_post_recv"));
  c.need(c.accepted(loop.receive(loop.b(), 2, 4096, kGrhBytes + kFit), "ibv_post_recv"));
  c.need(c.accepted(loop.send(loop.a(), 3, 0, 1000), "ibv_post_send of a datagram that does not fit"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a datagram that does not fit");
  c.need(c.accepted(loop.send(loop.a(), 4, 2000, kFit), "ibv_post_send of a datagram that fits"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a datagram that fits");
  std::optional<ibv_wc> received = next(c, loop.b().recv_cq.raw());
  if (received && received->status != IBV_WC_SUCCESS) received = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of a datagram that fits"));
  c.equal(received->byte_len, kGrhBytes + kFit, "byte_len");
  const std::size_t at = received->wr_id == 1 ? 0 : 4096;
  same_bytes(c, loop.b().data() + at + kGrhBytes, loop.a().data() + 2000, kFit, "a datagram that fits");
  untouched(c, loop.b().data() + kGrhBytes + kFit, 1024, kOld, "behind the first receive");
  untouched(c, loop.b().data() + 4096 + kGrhBytes + kFit, 1024, kOld, "behind the second receive");
}

/// One byte more than max_msg_sz. Where both buffers can be had, rights and bounds are right, so that the length alone
/// is wrong; else one region is gathered several times and the target is too small as well.
void write_too_long_refused(Case& c) {
  ibv_port_attr attr{};
  c.need(c.accepted(c.verbs().query_port(c.context(), c.port(), attr), "ibv_query_port"));
  const std::uint64_t length = std::uint64_t{attr.max_msg_sz} + 1;
  constexpr std::uint64_t kMost = std::uint64_t{64} << 20;
  LoopShape shape;
  shape.cap.max_send_sge = c.within(verbena::Field::max_send_sge, 32);
  shape.bytes = static_cast<std::size_t>(std::min(length, kMost));
  Loop loop(c, shape);
  SendWork work{.opcode = IBV_WR_RDMA_WRITE, .wr_id = 1, .remote = loop.b().remote(0), .rkey = loop.b().rkey()};
  const std::uint64_t each =
      std::max<std::uint64_t>(shape.bytes, (length + loop.a().cap.max_send_sge - 1) / loop.a().cap.max_send_sge);
  for (std::uint64_t rest = length; rest > 0;) {
    const std::uint64_t piece = std::min({rest, each, std::uint64_t{0xffffffffU}});
    work.sges.push_back(loop.a().sge(0, static_cast<std::size_t>(piece)));
    rest -= piece;
  }
  if (length > kMost) c.note("max_msg_sz is more memory than is used here: bounds are exceeded as well");
  if (post(loop.a(), work) != 0) return;
  fails(c, next(c, loop.a().send_cq.raw()), "a write of " + std::to_string(length) + " bytes, one above max_msg_sz");
}

void rnr_waits_for_receive(Case& c) {
  Loop loop(c, patient(7));
  loop.a().memory->fill(1);
  c.need(c.accepted(loop.send(loop.a(), 2, 0, kBytes), "ibv_post_send"));
  c.need(c.holds(quiet(c, loop.a().send_cq.raw(), std::chrono::milliseconds(300)), Seen::completion,
                 "a send to a peer without a receive completed"));
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kBytes), "ibv_post_recv"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send that waited for a receive");
  c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive that a send waited for"));
  same_bytes(c, loop.b().data(), loop.a().data(), kBytes, "a send that waited for a receive");
}

/// How long it took to fail.
double rnr_fails(Case& c, const LoopShape& shape, const std::string& what) {
  Loop loop(c, shape);
  const auto begun = Clock::now();
  c.need(c.accepted(loop.send(loop.a(), 2, 0, kBytes), "ibv_post_send"));
  const auto wc = next(c, loop.a().send_cq.raw());
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
  c.need(fails(c, wc, what, {IBV_WC_RNR_RETRY_EXC_ERR}));
  return ms;
}

void rnr_exhausted(Case& c) {
  for (const std::uint8_t retries : {std::uint8_t{1}, std::uint8_t{6}}) {
    rnr_fails(c, patient(retries), "a send to a peer without a receive, rnr_retry " + std::to_string(retries));
  }
}

/// At once: the longest RNR timer is never waited for. A busy host can make one try slow, and so the best of three
/// counts.
void rnr_zero(Case& c) {
  constexpr std::uint8_t kCode = 0;  // 655.36 ms
  const double timer = verbena::duration(verbena::RnrTimerCode{kCode}).count();
  double best = timer;
  for (int count = 0; count < 3 && best >= timer; ++count) {
    best = std::min(best, rnr_fails(c, patient(0, kCode), "a send to a peer without a receive, rnr_retry 0"));
  }
  c.holds(best < timer, Seen::value, "with rnr_retry 0 each of three sends took longer than one RNR timer");
}

void rnr_timer_is_least_wait(Case& c) {
  constexpr std::uint8_t kRetries = 3;
  constexpr std::uint8_t kCode = 22;  // 20.48 ms
  Loop loop(c, patient(kRetries, kCode));
  const auto begun = Clock::now();
  c.need(c.accepted(loop.send(loop.a(), 2, 0, kBytes), "ibv_post_send"));
  const auto wc = next(c, loop.a().send_cq.raw());
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
  c.need(fails(c, wc, "a send to a peer without a receive", {IBV_WC_RNR_RETRY_EXC_ERR}));
  const double least = kRetries * verbena::duration(verbena::RnrTimerCode{kCode}).count();
  c.holds(ms >= least, Seen::value,
          "rnr_retry 3 ended after " + std::to_string(ms) + " ms, before three RNR timers of 20.48 ms");
}

void rnr_write_needs_none(Case& c) {
  Loop loop(c, patient(1));
  loop.a().memory->fill(1);
  c.need(c.accepted(loop.write(loop.a(), loop.b(), 2, 0, kBytes), "ibv_post_send"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a write to a peer without a receive");
  // Its bytes are there when a send behind it is received.
  c.need(c.accepted(loop.receive(loop.b(), 1, 4096, kBytes), "ibv_post_recv"));
  c.need(c.accepted(loop.send(loop.a(), 3, 0, kBytes), "ibv_post_send"));
  c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a send behind it"));
  same_bytes(c, loop.b().data(), loop.a().data(), kBytes, "a write to a peer without a receive");
}

void rnr_write_imm_needs_one(Case& c) {
  Loop loop(c, patient(7));
  loop.a().memory->fill(1);
  c.need(c.accepted(post(loop.a(), SendWork{.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                                            .wr_id = 2,
                                            .sges = {loop.a().sge(0, kBytes)},
                                            .remote = loop.b().remote(0),
                                            .rkey = loop.b().rkey(),
                                            .imm = 5}),
                    "ibv_post_send"));
  c.need(c.holds(quiet(c, loop.a().send_cq.raw(), std::chrono::milliseconds(100)), Seen::completion,
                 "a write with immediate to a peer without a receive completed"));
  c.need(c.accepted(loop.receive(loop.b(), 1, 4096, kBytes), "ibv_post_recv"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a write with immediate that waited");
  const auto received = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of a write with immediate"));
  c.equal(received->imm_data, 5U, "imm_data");
  same_bytes(c, loop.b().data(), loop.a().data(), kBytes, "a write with immediate that waited");
}

void unreliable_dropped(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type});
    const std::size_t head = head_of(type);
    loop.a().memory->fill(1);
    c.need(c.accepted(loop.send(loop.a(), 2, 0, kBytes), "ibv_post_send"));
    c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send that finds no receive");
    c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::completion, "a send that found no receive completed at the peer");
    c.need(c.accepted(loop.receive(loop.b(), 1, 0, head + kBytes), "ibv_post_recv"));
    c.need(c.accepted(loop.send(loop.a(), 3, 1024, kBytes), "ibv_post_send"));
    c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send that finds a receive");
    c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of the second send"));
    same_bytes(c, loop.b().data() + head, loop.a().data() + 1024, kBytes, "the second send");
    c.in_state(loop.b().qp.raw(), IBV_QPS_RTS, "the receiver after a lost message");
  }
}

/// Connected to a number that nobody has: that of a queue pair which is gone.
void connect_to_nobody(Case& c, Loop& loop, const Terms& terms) {
  std::uint32_t gone = 0;
  {
    QpShape shape;
    shape.send_cq = loop.b().send_cq.raw();
    shape.recv_cq = loop.b().recv_cq.raw();
    const Object<ibv_qp> other = c.made(loop.b().way->qp(loop.b().pd.raw(), shape), "ibv_create_qp");
    gone = other->qp_num;
  }
  End& end = loop.a();
  PathTo path = loop.path(end, loop.b());
  path.qp_num = gone;
  const Move init = to_init(QpType::rc, end.port, terms);
  const Move rtr = to_rtr(QpType::rc, path, terms);
  const Move rts = to_rts(QpType::rc, terms);
  c.need(c.accepted(end.way->modify(end.qp.raw(), init.attr, init.mask), "ibv_modify_qp to INIT"));
  c.need(c.accepted(end.way->modify(end.qp.raw(), rtr.attr, rtr.mask), "ibv_modify_qp to RTR"));
  c.need(c.accepted(end.way->modify(end.qp.raw(), rts.attr, rts.mask), "ibv_modify_qp to RTS"));
}

Terms impatient(std::uint8_t timeout, std::uint8_t retry_cnt) {
  Terms terms;
  terms.timeout = timeout;
  terms.retry_cnt = retry_cnt;
  return terms;
}

void retry_no_peer(Case& c) {
  Loop loop(c, {}, false);
  connect_to_nobody(c, loop, impatient(10, 1));
  c.need(c.accepted(loop.send(loop.a(), 2, 0, kBytes), "ibv_post_send"));
  fails(c, next(c, loop.a().send_cq.raw()), "a send to a number that nobody has", {IBV_WC_RETRY_EXC_ERR});
}

void retry_not_before_timeout(Case& c) {
  constexpr std::uint8_t kCode = 13;  // 33.6 ms
  constexpr std::uint8_t kRetries = 2;
  Loop loop(c, {}, false);
  connect_to_nobody(c, loop, impatient(kCode, kRetries));
  const auto begun = Clock::now();
  c.need(c.accepted(loop.send(loop.a(), 2, 0, kBytes), "ibv_post_send"));
  const auto wc = next(c, loop.a().send_cq.raw());
  const double ms = std::chrono::duration<double, std::milli>(Clock::now() - begun).count();
  c.need(fails(c, wc, "a send to a number that nobody has", {IBV_WC_RETRY_EXC_ERR}));
  const double least = (kRetries + 1) * verbena::duration(verbena::AckTimeoutCode{kCode}).count();
  c.holds(ms >= least, Seen::value,
          "retries ended after " + std::to_string(ms) + " ms, before " + std::to_string(least) + " ms");
}

/// An acknowledgement that never comes, without a fabric that loses it: nobody is there.
void retry_timeout_zero_waits(Case& c) {
  Loop loop(c, {}, false);
  connect_to_nobody(c, loop, impatient(0, 1));
  c.need(c.accepted(loop.send(loop.a(), 2, 0, kBytes), "ibv_post_send"));
  c.holds(quiet(c, loop.a().send_cq.raw(), std::chrono::milliseconds(400)), Seen::completion,
          "with timeout 0 a send that nobody acknowledges completed");
}

void retry_peer_in_reset(Case& c) {
  LoopShape shape;
  shape.terms = impatient(10, 1);
  Loop loop(c, shape);
  const Move reset = to(IBV_QPS_RESET);
  if (c.through_verbena() && c.contract().is(verbena::Behaviour::recycle_through_reset, verbena::Choice::no))
    c.denied("recycle_through_reset", "the contract says that a queue pair is of no use after RESET, and refuses that");
  c.need(c.accepted(loop.b().way->modify(loop.b().qp.raw(), reset.attr, reset.mask), "ibv_modify_qp to RESET"));
  c.need(c.accepted(loop.send(loop.a(), 2, 0, kBytes), "ibv_post_send"));
  fails(c, next(c, loop.a().send_cq.raw()), "a send to a peer in RESET", {IBV_WC_RETRY_EXC_ERR});
}

}  // namespace

Bodies error_waits_bodies() {
  static constexpr Body kBodies[] = {
      {"error.length.receive_too_short", receive_too_short},
      {"error.length.sender_is_told", sender_is_told},
      {"error.length.ud_receive_too_short", ud_receive_too_short},
      {"error.length.write_too_long_refused", write_too_long_refused},
      {"error.rnr.waits_for_receive", rnr_waits_for_receive},
      {"error.rnr.exhausted", rnr_exhausted},
      {"error.rnr.zero_fails_at_once", rnr_zero},
      {"error.rnr.timer_is_least_wait", rnr_timer_is_least_wait},
      {"error.rnr.write_needs_none", rnr_write_needs_none},
      {"error.rnr.write_imm_needs_one", rnr_write_imm_needs_one},
      {"error.rnr.unreliable_dropped", unreliable_dropped},
      {"error.retry.no_peer", retry_no_peer},
      {"error.retry.not_before_timeout", retry_not_before_timeout},
      {"error.retry.timeout_zero_waits", retry_timeout_zero_waits},
      {"error.retry.peer_in_reset", retry_peer_in_reset},
  };
  return kBodies;
}

}  // namespace conform
