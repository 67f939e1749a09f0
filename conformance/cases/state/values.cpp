// SPDX-License-Identifier: Apache-2.0 OR MIT
// Values of attributes at their limits and beyond.
#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>

#include "cases/bodies.hpp"
#include "cases/state/moves.hpp"

namespace conform {

namespace {

using verbena::Field;
using verbena::QpType;

/// A value that must be refused in a move which is right but for it, and one that must be taken in its place.
template <class Change>
void at_the_edge(Case& c, QpType type, ibv_qp_state from, ibv_qp_state to, const Change& change, unsigned right,
                 std::initializer_list<unsigned> wrong, std::string_view field, bool einval = false) {
  Loop loop(c, small(type), false);
  bring(c, loop, loop.a(), loop.b(), from);
  for (const unsigned value : wrong) {
    Move move = required_move(loop, loop.a(), loop.b(), from, to);
    change(move, value);
    const std::string what = fmt::format("{} to {} with {} {}", verbena::name(type), state_name(to), field, value);
    if (einval ? refuses(c, loop.a(), move, from, what, {EINVAL}) : refuses_or_lowers(c, loop.a(), move, from, what)) {
      if (state_now(c, loop.a()) == from) continue;
    }
    bring(c, loop, loop.a(), loop.b(), from);
  }
  Move move = required_move(loop, loop.a(), loop.b(), from, to);
  change(move, right);
  moves(c, loop.a(), move, to, fmt::format("{} to {} with {} {}", verbena::name(type), state_name(to), field, right));
}

void port_zero_refused(Case& c) {
  ibv_device_attr device{};
  c.need(c.accepted(c.verbs().query_device(c.context(), device), "ibv_query_device"));
  const unsigned above = device.phys_port_cnt + 1U;
  for (const QpType type : c.qp_types()) {
    at_the_edge(
        c, type, IBV_QPS_RESET, IBV_QPS_INIT,
        [](Move& move, unsigned value) { move.attr.port_num = static_cast<std::uint8_t>(value); }, c.port(), {0, above},
        "port_num", true);
  }
}

void av_port_must_match(Case& c) {
  const unsigned other = c.port() == 1 ? 2 : 1;
  for (const QpType type : c.qp_types()) {
    if (type == QpType::ud) continue;
    at_the_edge(
        c, type, IBV_QPS_INIT, IBV_QPS_RTR,
        [](Move& move, unsigned value) { move.attr.ah_attr.port_num = static_cast<std::uint8_t>(value); }, c.port(),
        {other}, "ah_attr.port_num", true);
  }
}

void path_mtu_zero_refused(Case& c) {
  for (const QpType type : c.qp_types()) {
    if (type == QpType::ud) continue;
    at_the_edge(
        c, type, IBV_QPS_INIT, IBV_QPS_RTR,
        [](Move& move, unsigned value) { move.attr.path_mtu = static_cast<ibv_mtu>(value); }, IBV_MTU_256, {0, 6},
        "path_mtu");
  }
}

void timeout_above_31_refused(Case& c) {
  at_the_edge(
      c, QpType::rc, IBV_QPS_RTR, IBV_QPS_RTS,
      [](Move& move, unsigned value) { move.attr.timeout = static_cast<std::uint8_t>(value); }, 31, {32, 255},
      "timeout");
}

void retry_cnt_three_bits(Case& c) {
  at_the_edge(
      c, QpType::rc, IBV_QPS_RTR, IBV_QPS_RTS,
      [](Move& move, unsigned value) { move.attr.retry_cnt = static_cast<std::uint8_t>(value); }, 7, {8, 255},
      "retry_cnt");
}

void rnr_retry_three_bits(Case& c) {
  at_the_edge(
      c, QpType::rc, IBV_QPS_RTR, IBV_QPS_RTS,
      [](Move& move, unsigned value) { move.attr.rnr_retry = static_cast<std::uint8_t>(value); }, 7, {8, 255},
      "rnr_retry");
}

void rd_atomic_zero(Case& c) {
  Terms terms;
  terms.max_rd_atomic = 0;
  terms.max_dest_rd_atomic = 0;
  Loop loop(c, small(QpType::rc), false);
  bring(c, loop, loop.a(), loop.b(), IBV_QPS_INIT);
  const Move rtr = required_move(loop, loop.a(), loop.b(), IBV_QPS_INIT, IBV_QPS_RTR, terms);
  c.need(moves(c, loop.a(), rtr, IBV_QPS_RTR, "rc to RTR with max_dest_rd_atomic 0"));
  const Move rts = required_move(loop, loop.a(), loop.b(), IBV_QPS_RTR, IBV_QPS_RTS, terms);
  moves(c, loop.a(), rts, IBV_QPS_RTS, "rc to RTS with max_rd_atomic 0");
}

/// What the device itself says, since that is what the sentence names; the contract may say less.
void rd_atomic_above_refused(Case& c) {
  ibv_device_attr device{};
  c.need(c.accepted(c.verbs().query_device(c.context(), device), "ibv_query_device"));
  const int most = device.max_qp_init_rd_atom;
  c.need(c.holds(most >= 0, Seen::value, "max_qp_init_rd_atom is negative"));
  if (most >= 255) return c.note("no attribute can hold more than this device takes");
  at_the_edge(
      c, QpType::rc, IBV_QPS_RTR, IBV_QPS_RTS,
      [](Move& move, unsigned value) { move.attr.max_rd_atomic = static_cast<std::uint8_t>(value); },
      static_cast<unsigned>(most), {static_cast<unsigned>(most) + 1, 255}, "max_rd_atomic");
}

void dest_rd_atomic_above_refused(Case& c) {
  ibv_device_attr device{};
  c.need(c.accepted(c.verbs().query_device(c.context(), device), "ibv_query_device"));
  const int most = device.max_qp_rd_atom;
  c.need(c.holds(most >= 0, Seen::value, "max_qp_rd_atom is negative"));
  if (most >= 255) return c.note("no attribute can hold more than this device takes");
  at_the_edge(
      c, QpType::rc, IBV_QPS_INIT, IBV_QPS_RTR,
      [](Move& move, unsigned value) { move.attr.max_dest_rd_atomic = static_cast<std::uint8_t>(value); },
      static_cast<unsigned>(most), {static_cast<unsigned>(most) + 1, 255}, "max_dest_rd_atomic");
}

void alt_path_on_roce_refused(Case& c) {
  for (const QpType type : c.qp_types()) {
    if (type == QpType::ud) continue;
    Loop loop(c, small(type), false);
    bring(c, loop, loop.a(), loop.b(), IBV_QPS_INIT);
    const int required = takes(type, IBV_QPS_INIT, IBV_QPS_RTR)->required;
    refuses(c, loop.a(), move_with(loop, loop.a(), loop.b(), IBV_QPS_RTR, required | IBV_QP_ALT_PATH), IBV_QPS_INIT,
            fmt::format("{} to RTR with an alternate path", verbena::name(type)), {EINVAL});
  }
}

/// Without CAP_NET_RAW in this thread's effective set while it lives, where it was there. The kernel then takes no more
/// write(2) on a context that was opened before (include/rdma/ib.h ib_safe_file_access compares credentials), so what
/// runs after it in the same process cannot post where a driver posts by that: the case is isolated.
class WithoutNetRaw {
public:
  WithoutNetRaw() {
    if (syscall(SYS_capget, &header_, data_) != 0) return;
    read_ = true;
    was_ = (data_[0].effective & kBit) != 0;
    if (was_) set(false);
  }
  WithoutNetRaw(const WithoutNetRaw&) = delete;
  WithoutNetRaw& operator=(const WithoutNetRaw&) = delete;
  ~WithoutNetRaw() {
    if (was_) set(true);
  }
  bool gone() const noexcept { return read_ && (data_[0].effective & kBit) == 0; }

private:
  static constexpr std::uint32_t kBit = 1U << CAP_NET_RAW;
  void set(bool on) {
    data_[0].effective = on ? data_[0].effective | kBit : data_[0].effective & ~kBit;
    if (syscall(SYS_capset, &header_, data_) != 0) data_[0].effective ^= kBit;
  }
  __user_cap_header_struct header_{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data_[2]{};
  bool read_ = false;
  bool was_ = false;
};

void controlled_qkey_refused(Case& c) {
  const WithoutNetRaw without;
  if (!without.gone()) c.blocked("no_privilege", "CAP_NET_RAW cannot be given up");
  at_the_edge(
      c, QpType::ud, IBV_QPS_RESET, IBV_QPS_INIT, [](Move& move, unsigned value) { move.attr.qkey = value; },
      0x7fffffff, {}, "qkey");
  Loop loop(c, small(QpType::ud), false);
  for (const std::uint32_t qkey : {0x80000000U, 0xffffffffU, 0x80010000U}) {
    if (loop.a().qp->state != IBV_QPS_RESET) renew(c, loop, loop.a());
    Move move = required_move(loop, loop.a(), loop.b(), IBV_QPS_RESET, IBV_QPS_INIT);
    move.attr.qkey = qkey;
    refuses(c, loop.a(), move, IBV_QPS_RESET, fmt::format("ud to INIT with qkey 0x{:x}", qkey), {EPERM});
  }
}

/// Ten messages each way, of three packets each.
void stream(Case& c, Loop& loop) {
  const std::size_t bytes = 2 * std::size_t{loop.mtu()} + 1;
  for (End* from : {&loop.a(), &loop.b()}) {
    End& to = from == &loop.a() ? loop.b() : loop.a();
    for (std::uint64_t count = 0; count < 10; ++count) {
      from->memory->fill(static_cast<std::uint32_t>(count + 1));
      to.memory->clear();
      c.need(c.accepted(loop.receive(to, count, 0, bytes), "ibv_post_recv"));
      c.need(c.accepted(loop.send(*from, count, 0, bytes), "ibv_post_send"));
      c.need(c.completed(next(c, from->send_cq.raw()), IBV_WC_SUCCESS, fmt::format("send {}", count)));
      c.need(c.completed(next(c, to.recv_cq.raw()), IBV_WC_SUCCESS, fmt::format("receive {}", count)));
      c.need(c.holds(std::equal(from->data(), from->data() + bytes, to.data()), Seen::data,
                     fmt::format("message {} arrived with other bytes", count)));
    }
  }
}

LoopShape streaming() {
  LoopShape shape;
  shape.type = QpType::rc;
  shape.mtu = 1024;
  return shape;
}

void psn_wraps(Case& c) {
  Loop loop(c, streaming(), false);
  Terms terms;
  terms.psn = 0xfffffe;
  bring_both(c, loop, terms, terms);
  stream(c, loop);
}

/// Refused on the way to RTR or RTS, or taken modulo 2^24; never another number.
void psn_24_bits(Case& c) {
  constexpr std::uint32_t kLow = 0x000005;
  constexpr std::uint32_t kHigh = 0x1000005;
  Loop loop(c, streaming(), false);
  Terms low;
  low.psn = kLow;
  for (End* end : {&loop.a(), &loop.b()}) bring(c, loop, *end, *end, IBV_QPS_INIT, low);
  const auto step = [&](End& end, End& peer, ibv_qp_state from, ibv_qp_state target, std::uint32_t psn) {
    Move move = required_move(loop, end, peer, from, target, low);
    move.attr.rq_psn = psn;
    move.attr.sq_psn = psn;
    return end.way->modify(end.qp.raw(), move.attr, move.mask);
  };
  if (step(loop.a(), loop.b(), IBV_QPS_INIT, IBV_QPS_RTR, kHigh) != 0) {
    c.in_state(loop.a().qp.raw(), IBV_QPS_INIT, "an rq_psn of 25 bits was refused");
    c.need(c.accepted(step(loop.a(), loop.b(), IBV_QPS_INIT, IBV_QPS_RTR, kLow), "ibv_modify_qp to RTR"));
  }
  if (step(loop.a(), loop.b(), IBV_QPS_RTR, IBV_QPS_RTS, kHigh) != 0) {
    c.in_state(loop.a().qp.raw(), IBV_QPS_RTR, "an sq_psn of 25 bits was refused");
    c.need(c.accepted(step(loop.a(), loop.b(), IBV_QPS_RTR, IBV_QPS_RTS, kLow), "ibv_modify_qp to RTS"));
  }
  c.need(c.accepted(step(loop.b(), loop.a(), IBV_QPS_INIT, IBV_QPS_RTR, kLow), "ibv_modify_qp to RTR"));
  c.need(c.accepted(step(loop.b(), loop.a(), IBV_QPS_RTR, IBV_QPS_RTS, kLow), "ibv_modify_qp to RTS"));
  stream(c, loop);
}

}  // namespace

Bodies state_values_bodies() {
  static constexpr Body kBodies[] = {
      {"state.value.port_zero_refused", port_zero_refused},
      {"state.value.av_port_must_match", av_port_must_match},
      {"state.value.path_mtu_zero_refused", path_mtu_zero_refused},
      {"state.value.timeout_above_31_refused", timeout_above_31_refused},
      {"state.value.retry_cnt_three_bits", retry_cnt_three_bits},
      {"state.value.rnr_retry_three_bits", rnr_retry_three_bits},
      {"state.value.psn_24_bits", psn_24_bits},
      {"state.value.psn_wraps", psn_wraps},
      {"state.value.rd_atomic_zero", rd_atomic_zero},
      {"state.value.rd_atomic_above_refused", rd_atomic_above_refused},
      {"state.value.dest_rd_atomic_above_refused", dest_rd_atomic_above_refused},
      {"state.value.alt_path_on_roce_refused", alt_path_on_roce_refused},
      {"state.value.controlled_qkey_refused", controlled_qkey_refused},
  };
  return kBodies;
}

}  // namespace conform
