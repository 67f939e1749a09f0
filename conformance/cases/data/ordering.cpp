// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/work.hpp"

// The order in which work takes effect, fences, and how many READs are under way.
namespace conform {

namespace {

using verbena::Field;
using verbena::QpType;

void sends(Case& c) {
  constexpr std::uint64_t kMany = 48;
  for (const QpType type : c.qp_types()) {
    LoopShape shape;
    shape.type = type;
    shape.cap.max_send_wr = c.within(Field::max_send_wr, kMany);
    shape.cap.max_recv_wr = c.within(Field::max_recv_wr, kMany);
    Loop loop(c, shape);
    const std::uint64_t count = std::min<std::uint64_t>({kMany, shape.cap.max_send_wr, shape.cap.max_recv_wr});
    loop.a().memory->fill(1);
    for (std::uint64_t at = 0; at < count; ++at) {
      c.need(c.accepted(loop.receive(loop.b(), at, at * kBytes, kBytes), "ibv_post_recv"));
    }
    std::vector<SendWork> list;
    for (std::uint64_t at = 0; at < count; ++at) {
      list.push_back({.wr_id = at, .sges = {loop.a().sge(at * kBytes, kBytes)}});
    }
    c.need(c.accepted(post_list(loop.a(), list).error, "ibv_post_send"));
    for (std::uint64_t at = 0; at < count; ++at) {
      const auto received = next(c, loop.b().recv_cq.raw());
      c.need(c.completed(received, IBV_WC_SUCCESS, "a receive"));
      c.equal(received->wr_id, at, "the wr_id of a receive");
      const auto sent = next(c, loop.a().send_cq.raw());
      c.need(c.completed(sent, IBV_WC_SUCCESS, "a send"));
      c.equal(sent->wr_id, at, "the wr_id of a send");
    }
    same_bytes(c, loop.b().data(), loop.a().data(), count * kBytes, "sends in their order");
  }
}

SendWork write_of(Loop& loop, std::size_t from, std::size_t length, std::size_t to, std::uint64_t wr_id) {
  return {.opcode = IBV_WR_RDMA_WRITE,
          .wr_id = wr_id,
          .sges = {loop.a().sge(from, length)},
          .remote = loop.b().remote(to),
          .rkey = loop.b().rkey()};
}

SendWork read_of(Loop& loop, std::size_t to, std::size_t length, std::size_t from, std::uint64_t wr_id) {
  SendWork work = write_of(loop, to, length, from, wr_id);
  work.opcode = IBV_WR_RDMA_READ;
  return work;
}

/// Several packets of a write, looked at as soon as the send behind them was received.
void write_then_send(Case& c) {
  Loop loop(c, {});
  const std::size_t length = std::min<std::size_t>(8 * std::size_t{loop.mtu()}, 1U << 15);
  for (std::uint32_t round = 0; round < 16; ++round) {
    loop.a().memory->fill(round + 1);
    c.need(c.accepted(loop.receive(loop.b(), round, loop.shape().bytes - kBytes, kBytes), "ibv_post_recv"));
    const SendWork list[] = {write_of(loop, 0, length, 0, 1), {.wr_id = 2, .sges = {loop.a().sge(0, kBytes)}}};
    c.need(c.accepted(post_list(loop.a(), list).error, "ibv_post_send"));
    const auto received = next(c, loop.b().recv_cq.raw());
    const bool whole = std::memcmp(loop.a().data(), loop.b().data(), length) == 0;
    c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of a send behind a write"));
    c.need(c.holds(whole, Seen::no_data, "a send was received before the bytes of the write before it were there"));
    for (const ibv_wc& wc : next(c, loop.a().send_cq.raw(), 2)) c.completed(wc, IBV_WC_SUCCESS, "a write or a send");
  }
}

void writes_last_wins(Case& c) {
  Loop loop(c, {});
  const std::size_t length = 2 * std::size_t{loop.mtu()} + 5;
  for (std::uint32_t round = 0; round < 16; ++round) {
    loop.a().memory->fill(round + 1);
    const SendWork list[] = {write_of(loop, 0, length, 64, 1), write_of(loop, length, length, 64, 2)};
    c.need(c.accepted(post_list(loop.a(), list).error, "ibv_post_send"));
    for (const ibv_wc& wc : next(c, loop.a().send_cq.raw(), 2)) c.completed(wc, IBV_WC_SUCCESS, "a write");
    c.need(same_bytes(c, loop.b().data() + 64, loop.a().data() + length, length, "the later of two writes"));
  }
}

void read_after_write(Case& c) {
  Loop loop(c, {});
  const std::size_t length = 2 * std::size_t{loop.mtu()} + 5;
  for (std::uint32_t round = 0; round < 16; ++round) {
    loop.a().memory->fill(round + 1);
    std::memset(loop.a().data() + length, 0x5a, length);
    const SendWork list[] = {write_of(loop, 0, length, 64, 1), read_of(loop, length, length, 64, 2)};
    c.need(c.accepted(post_list(loop.a(), list).error, "ibv_post_send"));
    for (const ibv_wc& wc : next(c, loop.a().send_cq.raw(), 2)) c.completed(wc, IBV_WC_SUCCESS, "a write or a read");
    c.need(same_bytes(c, loop.a().data() + length, loop.a().data(), length, "a read behind a write"));
  }
}

/// A READ into a sink and a fenced send of that sink, in one list; the peer must get what was read.
void fenced_read(Case& c) {
  Loop loop(c, {});
  const std::size_t length = std::min<std::size_t>(16 * std::size_t{loop.mtu()}, 1U << 14);
  const std::size_t into = 1U << 15;
  for (std::uint32_t round = 0; round < 16; ++round) {
    loop.b().memory->fill(round + 1);
    std::memset(loop.a().data(), 0x5a, length);
    c.need(c.accepted(loop.receive(loop.b(), round, into, length), "ibv_post_recv"));
    const SendWork list[] = {
        read_of(loop, 0, length, 0, 1),
        {.wr_id = 2, .sges = {loop.a().sge(0, length)}, .flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE}};
    c.need(c.accepted(post_list(loop.a(), list).error, "ibv_post_send"));
    for (const ibv_wc& wc : next(c, loop.a().send_cq.raw(), 2)) c.completed(wc, IBV_WC_SUCCESS, "a read or a send");
    c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a fenced send"));
    c.need(same_bytes(c, loop.b().data() + into, loop.b().data(), length, "a fenced send of what was read before it"));
  }
}

void fence_after_read(Case& c) {
  fenced_read(c);
}

/// Where the contract says that a fence does not order, bytes of before may come, and nothing can be held against it.
void fence_orders(Case& c) {
  if (c.contract().is(verbena::Behaviour::fence_orders, verbena::Choice::no)) {
    c.note("the contract says that a fence does not order");
    return;
  }
  fenced_read(c);
}

void fence_after_atomic(Case& c) {
  LoopShape shape;
  shape.access |= IBV_ACCESS_REMOTE_ATOMIC;
  shape.terms.access |= IBV_ACCESS_REMOTE_ATOMIC;
  Loop loop(c, shape);
  for (std::uint64_t round = 0; round < 16; ++round) {
    std::uint64_t value = 0x1000 + round;
    std::memcpy(loop.b().data(), &value, sizeof value);
    std::memset(loop.a().data(), 0x5a, 8);
    c.need(c.accepted(loop.receive(loop.b(), round, 1024, 8), "ibv_post_recv"));
    const SendWork list[] = {{.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                              .wr_id = 1,
                              .sges = {loop.a().sge(0, 8)},
                              .remote = loop.b().remote(0),
                              .rkey = loop.b().rkey(),
                              .compare_add = 1},
                             {.wr_id = 2, .sges = {loop.a().sge(0, 8)}, .flags = IBV_SEND_SIGNALED | IBV_SEND_FENCE}};
    c.need(c.accepted(post_list(loop.a(), list).error, "ibv_post_send"));
    for (const ibv_wc& wc : next(c, loop.a().send_cq.raw(), 2)) c.completed(wc, IBV_WC_SUCCESS, "an atomic or a send");
    c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a fenced send"));
    std::uint64_t got = 0;
    std::memcpy(&got, loop.b().data() + 1024, sizeof got);
    c.holds(got == value, Seen::no_data, "a fenced send did not carry what the atomic before it returned");
  }
}

/// a's own window lets b write. A send that waits for a receive keeps the invalidation behind it from taking effect;
/// without receiver-not-ready (iWARP) there is nothing to wait for, and the order of completions is all that is seen.
void local_invalidate_waits(Case& c) {
  LoopShape shape;
  shape.access |= IBV_ACCESS_MW_BIND;
  Loop loop(c, shape);
  const Object<ibv_mw> window = c.made(loop.a().way->mw(loop.a().pd.raw(), IBV_MW_TYPE_2), "ibv_alloc_mw");
  const std::uint32_t key = ibv_inc_rkey(window->rkey);
  ibv_send_wr bind{};
  bind.wr_id = 1;
  bind.opcode = IBV_WR_BIND_MW;
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_mw.mw = window.raw();
  bind.bind_mw.rkey = key;
  bind.bind_mw.bind_info = {loop.a().mr.raw(), loop.a().memory->address(), 4096, IBV_ACCESS_REMOTE_WRITE};
  c.need(c.accepted(loop.post(loop.a(), bind), "ibv_post_send of a bind"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the bind"));
  if (iwarp(c)) {
    c.need(c.accepted(loop.receive(loop.b(), 9, 0, kBytes), "ibv_post_recv"));
  }
  const SendWork list[] = {{.wr_id = 2, .sges = {loop.a().sge(8192, kBytes)}},
                           {.opcode = IBV_WR_LOCAL_INV, .wr_id = 3, .invalidate = key}};
  c.need(c.accepted(post_list(loop.a(), list).error, "ibv_post_send of a send and a local invalidate"));
  const SendWork through{
      .opcode = IBV_WR_RDMA_WRITE, .wr_id = 4, .sges = {loop.b().sge(0, 8)}, .remote = loop.a().remote(0), .rkey = key};
  if (!iwarp(c)) {
    c.need(c.accepted(post(loop.b(), through), "ibv_post_send of a write"));
    c.need(c.completed(next(c, loop.b().send_cq.raw()), IBV_WC_SUCCESS,
                       "a write through the window while a local invalidate waits"));
    c.need(c.accepted(loop.receive(loop.b(), 9, 0, kBytes), "ibv_post_recv"));
  }
  for (const std::uint64_t wr_id : {2U, 3U}) {
    const auto wc = next(c, loop.a().send_cq.raw());
    c.need(c.completed(wc, IBV_WC_SUCCESS, wr_id == 2 ? "the send" : "the local invalidate"));
    c.equal(wc->wr_id, wr_id, "wr_id");
  }
  c.need(c.accepted(post(loop.b(), through), "ibv_post_send of a write"));
  const auto after = next(c, loop.b().send_cq.raw());
  if (!iwarp(c)) {
    c.holds(after && after->status != IBV_WC_SUCCESS, Seen::accepted, "a write through the invalidated key succeeded");
  }
}

/// That many READs in one list, each of its own bytes.
void many_reads(Case& c, Loop& loop, std::size_t count, std::size_t length) {
  loop.b().memory->fill(2);
  std::memset(loop.a().data(), 0x5a, loop.a().memory->size());
  std::vector<SendWork> list;
  for (std::size_t at = 0; at < count; ++at) list.push_back(read_of(loop, at * length, length, at * length, at));
  c.need(c.accepted(post_list(loop.a(), list).error, "ibv_post_send of " + std::to_string(count) + " reads"));
  const auto completions = next(c, loop.a().send_cq.raw(), count);
  c.need(c.holds(completions.size() == count, Seen::no_completion,
                 std::to_string(completions.size()) + " of " + std::to_string(count) + " reads completed"));
  for (std::size_t at = 0; at < count; ++at) {
    c.need(c.completed(completions[at], IBV_WC_SUCCESS, "one of many reads"));
    c.equal(completions[at].wr_id, at, "wr_id");
  }
  same_bytes(c, loop.a().data(), loop.b().data(), count * length, "many reads at once");
}

void more_than_depth(Case& c) {
  LoopShape shape;
  shape.cap.max_send_wr = c.within(Field::max_send_wr, 48);
  Loop loop(c, shape);
  many_reads(c, loop, std::min<std::size_t>(48, shape.cap.max_send_wr), 1000);
}

void full_depth(Case& c) {
  ibv_device_attr attr{};
  c.need(c.accepted(c.verbs().query_device(c.context(), attr), "ibv_query_device"));
  const int depth = std::clamp(std::min(attr.max_qp_rd_atom, attr.max_qp_init_rd_atom), 1, 255);
  LoopShape shape;
  shape.cap.max_send_wr = c.within(Field::max_send_wr, static_cast<std::uint32_t>(depth));
  shape.cqe = c.within(Field::cqe, static_cast<std::uint32_t>(depth));
  shape.bytes = 1U << 18;
  shape.terms.max_rd_atomic = static_cast<std::uint8_t>(depth);
  shape.terms.max_dest_rd_atomic = static_cast<std::uint8_t>(depth);
  Loop loop(c, shape);
  many_reads(c, loop, static_cast<std::size_t>(depth), 1000);
}

void no_responder_resources(Case& c) {
  Loop loop(c, {}, false);
  Terms none;
  none.max_dest_rd_atomic = 0;
  loop.connect_by_states({}, none);
  // The way there is open: a send arrives.
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kBytes), "ibv_post_recv"));
  c.need(c.accepted(loop.send(loop.a(), 2, 0, kBytes), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send"));
  c.need(c.accepted(loop.read(loop.a(), loop.b(), 3, 0, kBytes), "ibv_post_send of a read"));
  const auto wc = next(c, loop.a().send_cq.raw());
  if (c.holds(wc.has_value(), Seen::no_completion, "a read from a peer without responder resources did not complete")) {
    c.holds(wc->status != IBV_WC_SUCCESS, Seen::accepted, "a read from a peer without responder resources succeeded");
  }
}

void loopback_same_device(Case& c) {
  LoopShape shape;
  shape.same_device = true;
  Loop loop(c, shape);
  const std::size_t length = 3 * std::size_t{loop.mtu()} + 1;
  for (const bool back : {false, true}) {
    End& from = back ? loop.b() : loop.a();
    End& to = back ? loop.a() : loop.b();
    from.memory->fill(back ? 5 : 4);
    std::memset(to.data(), 0x5a, to.memory->size());
    c.need(c.accepted(loop.receive(to, 1, 0, length), "ibv_post_recv"));
    c.need(c.accepted(loop.send(from, 2, 0, length), "ibv_post_send"));
    c.need(c.completed(next(c, from.send_cq.raw()), IBV_WC_SUCCESS, "a send within a device"));
    c.need(c.completed(next(c, to.recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a send within a device"));
    same_bytes(c, to.data(), from.data(), length, "a send within a device");
  }
}

void loopback_to_itself(Case& c) {
  Loop loop(c, {}, false);
  End& end = loop.a();
  const Move init = to_init(QpType::rc, end.port);
  const Move rtr = to_rtr(QpType::rc, loop.path(end, end));
  const Move rts = to_rts(QpType::rc);
  c.need(c.accepted(end.way->modify(end.qp.raw(), init.attr, init.mask), "ibv_modify_qp to INIT"));
  c.need(c.accepted(end.way->modify(end.qp.raw(), rtr.attr, rtr.mask), "ibv_modify_qp to RTR, with its own number"));
  c.need(c.accepted(end.way->modify(end.qp.raw(), rts.attr, rts.mask), "ibv_modify_qp to RTS"));
  end.memory->fill(4);
  for (std::uint64_t round = 0; round < 3; ++round) {
    std::memset(end.data() + 4096, 0x5a, 200);
    c.need(c.accepted(loop.receive(end, 10 + round, 4096, 200), "ibv_post_recv"));
    c.need(c.accepted(loop.send(end, 20 + round, 0, 200), "ibv_post_send"));
    c.need(c.completed(next(c, end.send_cq.raw()), IBV_WC_SUCCESS, "a send to itself"));
    const auto received = next(c, end.recv_cq.raw());
    c.need(c.completed(received, IBV_WC_SUCCESS, "the receive of a send to itself"));
    c.equal(received->wr_id, 10 + round, "wr_id");
    same_bytes(c, end.data() + 4096, end.data(), 200, "a send to itself");
  }
}

}  // namespace

Bodies data_ordering_bodies() {
  static constexpr Body kBodies[] = {
      {"data.order.sends", sends},
      {"data.order.write_then_send", write_then_send},
      {"data.order.writes_last_wins", writes_last_wins},
      {"data.order.read_after_write", read_after_write},
      {"data.order.fence_after_read", fence_after_read},
      {"data.order.fence_after_atomic", fence_after_atomic},
      {"data.order.local_invalidate_waits", local_invalidate_waits},
      {"data.rd_atomic.more_than_depth", more_than_depth},
      {"data.rd_atomic.full_depth", full_depth},
      {"data.rd_atomic.no_responder_resources", no_responder_resources},
      {"data.loopback.same_device", loopback_same_device},
      {"data.loopback.to_itself", loopback_to_itself},
      {"data.post.fence_orders", fence_orders},
  };
  return kBodies;
}

}  // namespace conform
