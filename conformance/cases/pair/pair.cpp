// SPDX-License-Identifier: Apache-2.0 OR MIT
// Two devices that differ: what both have works between them, in both directions.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/state/moves.hpp"
#include "cases/steps.hpp"
#include "rig/cm_link.hpp"
#include "rig/work.hpp"

namespace conform {

namespace {

using verbena::Feature;
using verbena::Field;
using verbena::QpType;

std::shared_ptr<const verbena::Contract> contract_of(Case& c, const End& end) {
  const auto contract = end.device->contract(end.port);
  c.need(c.holds(contract.has_value(), Seen::refused, "a device gives no contract"));
  return *contract;
}

bool both_native(Case& c, Loop& loop, Feature feature) {
  return contract_of(c, loop.a())->native(feature) && contract_of(c, loop.b())->native(feature);
}

std::uint64_t most(Case& c, const End& end, Field field) {
  return contract_of(c, end)->domain(field).max;
}

ibv_device_attr asked(Case& c, const End& end) {
  ibv_device_attr attr{};
  c.need(c.accepted(c.verbs().query_device(end.device->raw(), attr), "ibv_query_device"));
  return attr;
}

std::string way_of(Loop& loop, const End& from) {
  return &from == &loop.a() ? "from the first device to the second" : "from the second device to the first";
}

LoopShape pair_rc(std::size_t bytes = 8192) {
  LoopShape shape;
  shape.type = QpType::rc;
  shape.bytes = bytes;
  shape.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  return shape;
}

/// One work request of that opcode; its bytes are where they must be afterwards, and a receive that it takes completes.
void carry(Case& c, Loop& loop, End& from, End& to, ibv_wr_opcode opcode, std::string_view name) {
  const std::string what = fmt::format("{} {}", name, way_of(loop, from));
  const bool takes_receive =
      opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  const bool reads = opcode == IBV_WR_RDMA_READ;
  (reads ? to : from).memory->fill(7);
  (reads ? from : to).memory->clear();
  if (takes_receive) c.need(c.accepted(loop.receive(to, 1, 0, kBytes), "ibv_post_recv"));
  SendWork work;
  work.opcode = opcode;
  work.wr_id = 2;
  work.sges = {from.sge(0, kBytes)};
  work.remote = to.remote(0);
  work.rkey = to.rkey();
  work.imm = 0x04030201;
  c.need(c.accepted(post(from, work), what));
  c.need(c.completed(next(c, from.send_cq.raw()), IBV_WC_SUCCESS, what));
  if (takes_receive)
    c.need(c.completed(next(c, to.recv_cq.raw()), IBV_WC_SUCCESS, fmt::format("the receive of {}", what)));
  same_bytes(c, (reads ? from : to).data(), (reads ? to : from).data(), kBytes, what);
}

void add(Case& c, End& from, std::uint64_t address, std::uint32_t rkey, std::uint64_t value, ibv_wr_opcode opcode,
         std::uint64_t swap = 0) {
  SendWork work;
  work.opcode = opcode;
  work.wr_id = 3;
  work.sges = {from.sge(128, 8)};
  work.remote = address;
  work.rkey = rkey;
  work.compare_add = value;
  work.swap = swap;
  c.need(c.accepted(post(from, work), "ibv_post_send of an atomic"));
}

/// FLUSH and ATOMIC WRITE have no work request of ibv_post_send, and what invalidates or binds carries no data.
void opcodes_common_work(Case& c) {
  LoopShape shape = pair_rc();
  {
    Loop probe(c, shape, false);
    if (both_native(c, probe, Feature::fetch_add)) shape.access |= IBV_ACCESS_REMOTE_ATOMIC;
  }
  shape.terms.access = shape.access;
  Loop loop(c, shape);
  for (End* from : {&loop.a(), &loop.b()}) {
    End& to = from == &loop.a() ? loop.b() : loop.a();
    for (const auto& [feature, opcode, name] :
         {std::tuple(Feature::send, IBV_WR_SEND, "a send"),
          std::tuple(Feature::send_with_imm, IBV_WR_SEND_WITH_IMM, "a send with immediate data"),
          std::tuple(Feature::rdma_write, IBV_WR_RDMA_WRITE, "an RDMA WRITE"),
          std::tuple(Feature::rdma_write_with_imm, IBV_WR_RDMA_WRITE_WITH_IMM, "an RDMA WRITE with immediate data"),
          std::tuple(Feature::rdma_read, IBV_WR_RDMA_READ, "an RDMA READ")}) {
      if (both_native(c, loop, feature)) carry(c, loop, *from, to, opcode, name);
    }
    std::uint64_t target = 40;
    if (both_native(c, loop, Feature::fetch_add)) {
      std::memcpy(to.data(), &target, sizeof target);
      add(c, *from, to.remote(0), to.rkey(), 2, IBV_WR_ATOMIC_FETCH_AND_ADD);
      c.need(c.completed(next(c, from->send_cq.raw()), IBV_WC_SUCCESS, "a fetch-and-add " + way_of(loop, *from)));
      std::memcpy(&target, to.data(), sizeof target);
      c.equal(target, std::uint64_t{42}, "the target of a fetch-and-add " + way_of(loop, *from));
    }
    if (both_native(c, loop, Feature::compare_swap)) {
      target = 42;
      std::memcpy(to.data(), &target, sizeof target);
      add(c, *from, to.remote(0), to.rkey(), 42, IBV_WR_ATOMIC_CMP_AND_SWP, 99);
      c.need(c.completed(next(c, from->send_cq.raw()), IBV_WC_SUCCESS, "a compare-and-swap " + way_of(loop, *from)));
      std::memcpy(&target, to.data(), sizeof target);
      c.equal(target, std::uint64_t{99}, "the target of a compare-and-swap " + way_of(loop, *from));
    }
  }
}

void mtu_smaller_works(Case& c) {
  Loop loop(c, pair_rc(1U << 16));
  const std::size_t bytes = 3 * std::size_t{loop.mtu()} + 5;
  for (End* from : {&loop.a(), &loop.b()}) {
    End& to = from == &loop.a() ? loop.b() : loop.a();
    from->memory->fill(3);
    to.memory->clear();
    c.need(c.accepted(loop.receive(to, 1, 0, bytes), "ibv_post_recv"));
    c.need(c.accepted(loop.send(*from, 2, 0, bytes), "ibv_post_send"));
    c.need(
        c.completed(next(c, from->send_cq.raw()), IBV_WC_SUCCESS, "a message of four packets " + way_of(loop, *from)));
    const std::optional<ibv_wc> wc = next(c, to.recv_cq.raw());
    c.need(c.completed(wc, IBV_WC_SUCCESS, "the receive of four packets " + way_of(loop, *from)));
    c.equal(wc->byte_len, static_cast<std::uint32_t>(bytes), "bytes of the receive");
    same_bytes(c, to.data(), from->data(), bytes, "a message of four packets " + way_of(loop, *from));
  }
}

void rd_atomic_smaller_works(Case& c) {
  int depth = 128;
  LoopShape shape = pair_rc(1U << 16);
  {
    Loop probe(c, shape, false);
    for (const End* end : {&probe.a(), &probe.b()}) {
      const ibv_device_attr attr = asked(c, *end);
      depth = std::min({depth, attr.max_qp_init_rd_atom, attr.max_qp_rd_atom});
      depth = std::min(depth, static_cast<int>(std::min<std::uint64_t>(most(c, *end, Field::max_rd_atomic), 128)));
      depth = std::min(depth, static_cast<int>(std::min<std::uint64_t>(most(c, *end, Field::max_dest_rd_atomic), 128)));
    }
  }
  c.need(c.holds(depth >= 1, Seen::value, "a device has native RDMA READs, and none at a time"));
  shape.terms.max_rd_atomic = static_cast<std::uint8_t>(depth);
  shape.terms.max_dest_rd_atomic = static_cast<std::uint8_t>(depth);
  shape.cap.max_send_wr = static_cast<std::uint32_t>(depth);
  shape.cqe = static_cast<std::uint32_t>(depth);
  Loop loop(c, shape);
  for (End* end : {&loop.a(), &loop.b()}) end->memory->fill(end == &loop.a() ? 1 : 2);
  const auto place = [](int at) { return static_cast<std::size_t>(at) * 256; };
  for (int at = 0; at < depth; ++at) {
    for (End* from : {&loop.a(), &loop.b()}) {
      End& to = from == &loop.a() ? loop.b() : loop.a();
      SendWork work;
      work.opcode = IBV_WR_RDMA_READ;
      work.wr_id = static_cast<std::uint64_t>(at);
      work.sges = {from->sge(place(at), 100)};
      work.remote = to.remote(place(at) + 128);
      work.rkey = to.rkey();
      c.need(c.accepted(post(*from, work), fmt::format("RDMA READ {} of {}", at, depth)));
    }
  }
  for (End* from : {&loop.a(), &loop.b()}) {
    End& to = from == &loop.a() ? loop.b() : loop.a();
    for (int at = 0; at < depth; ++at) {
      const std::string what = fmt::format("RDMA READ {} of {} at a time {}", at, depth, way_of(loop, *from));
      c.need(c.completed(next(c, from->send_cq.raw()), IBV_WC_SUCCESS, what));
      same_bytes(c, from->data() + place(at), to.data() + place(at) + 128, 100, what);
    }
  }
}

/// Within 256 MiB, so that a host with little memory has it; the sentence allows that.
/// Memory and time permitting: of more than 16 MiB, so much.
void msg_size_smaller_works(Case& c) {
  std::uint64_t bytes = 16U << 20;
  {
    Loop probe(c, pair_rc(), false);
    for (const End* end : {&probe.a(), &probe.b()}) {
      ibv_port_attr port{};
      c.need(c.accepted(c.verbs().query_port(end->device->raw(), end->port, port), "ibv_query_port"));
      bytes = std::min<std::uint64_t>(bytes, port.max_msg_sz);
    }
  }
  const auto length = static_cast<std::size_t>(bytes);
  Loop loop(c, pair_rc(length));
  for (End* from : {&loop.a(), &loop.b()}) {
    End& to = from == &loop.a() ? loop.b() : loop.a();
    from->memory->fill(4);
    to.memory->clear();
    c.need(c.accepted(loop.write(*from, to, 1, 0, length), "ibv_post_send of an RDMA WRITE"));
    c.need(c.completed(next_within(c, from->send_cq.raw(), std::chrono::seconds(50)), IBV_WC_SUCCESS,
                       fmt::format("an RDMA WRITE of {} bytes {}", length, way_of(loop, *from))));
    same_bytes(c, to.data(), from->data(), length, fmt::format("{} bytes {}", length, way_of(loop, *from)));
  }
}

/// Each end with as many SGEs as its own device takes.
void sge_unlike_limits(Case& c) {
  Loop loop(c, pair_rc(1U << 16), false);
  for (End* end : {&loop.a(), &loop.b()}) {
    QpShape shape;
    shape.type = QpType::rc;
    shape.send_cq = end->send_cq.raw();
    shape.recv_cq = end->recv_cq.raw();
    const auto limit = [&](Field field) {
      return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(most(c, *end, field), 1, 64));
    };
    shape.cap = {4, 4, limit(Field::max_send_sge), limit(Field::max_recv_sge), 0};
    end->qp = Object<ibv_qp>();
    end->qp = c.made(end->way->qp(end->pd.raw(), shape, &end->cap), "ibv_create_qp with all the SGEs there are");
  }
  loop.connect();
  for (End* from : {&loop.a(), &loop.b()}) {
    End& to = from == &loop.a() ? loop.b() : loop.a();
    const std::size_t out = std::min<std::size_t>(from->cap.max_send_sge, 64);
    const std::size_t in = std::min<std::size_t>(to.cap.max_recv_sge, 64);
    const std::size_t bytes = out * in;  // divisible by both
    from->memory->fill(5);
    to.memory->clear();
    SendWork work;
    ReceiveWork scatter;
    work.wr_id = 1;
    scatter.wr_id = 2;
    for (std::size_t at = 0; at < out; ++at) work.sges.push_back(from->sge(at * 512, bytes / out));
    for (std::size_t at = 0; at < in; ++at) scatter.sges.push_back(to.sge(at * 512, bytes / in));
    c.need(c.accepted(post(to, scatter), "ibv_post_recv"));
    const std::string what =
        fmt::format("a message gathered from {} and scattered over {} SGEs {}", out, in, way_of(loop, *from));
    c.need(c.accepted(post(*from, work), what));
    c.need(c.completed(next(c, from->send_cq.raw()), IBV_WC_SUCCESS, what));
    c.need(c.completed(next(c, to.recv_cq.raw()), IBV_WC_SUCCESS, what));
    for (std::size_t at = 0; at < bytes; ++at) {
      const std::uint8_t is = to.data()[at / (bytes / in) * 512 + at % (bytes / in)];
      const std::uint8_t must = from->data()[at / (bytes / out) * 512 + at % (bytes / out)];
      if (!c.holds(is == must, Seen::data, fmt::format("{}: byte {} is another", what, at))) return;
    }
  }
}

void imm_byte_order(Case& c) {
  constexpr std::uint8_t kImm[4] = {0x11, 0x22, 0x33, 0x44};
  Loop loop(c, pair_rc());
  for (End* from : {&loop.a(), &loop.b()}) {
    End& to = from == &loop.a() ? loop.b() : loop.a();
    c.need(c.accepted(loop.receive(to, 1, 0, kBytes), "ibv_post_recv"));
    SendWork work;
    work.opcode = IBV_WR_SEND_WITH_IMM;
    work.sges = {from->sge(0, kBytes)};
    std::memcpy(&work.imm, kImm, sizeof work.imm);
    c.need(c.accepted(post(*from, work), "ibv_post_send with immediate data"));
    c.need(c.completed(next(c, from->send_cq.raw()), IBV_WC_SUCCESS, "a send with immediate data"));
    const std::optional<ibv_wc> wc = next(c, to.recv_cq.raw());
    c.need(c.completed(wc, IBV_WC_SUCCESS, "the receive of immediate data"));
    c.holds((wc->wc_flags & IBV_WC_WITH_IMM) != 0, Seen::value, "a receive without IBV_WC_WITH_IMM");
    c.holds(std::memcmp(&wc->imm_data, kImm, sizeof kImm) == 0, Seen::value,
            "immediate data arrived with other bytes " + way_of(loop, *from));
  }
}

/// Both devices add to a word of the second one's memory: one over the Loop, the other over two queue pairs of its own.
void atomic_mixed(Case& c) {
  LoopShape shape = pair_rc(4096);
  shape.access |= IBV_ACCESS_REMOTE_ATOMIC;
  shape.terms.access = shape.access;
  Loop loop(c, shape);
  LoopShape beside = shape;
  beside.b.pd = loop.b().qp->pd;
  Loop target(c, beside, false);
  Loop source(c, shape, false);
  bring_pair(c, source, source.b(), target.b(), shape.terms, shape.terms);
  loop.b().memory->clear();
  constexpr std::uint64_t kRounds = 100;
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    add(c, loop.a(), loop.b().remote(0), loop.b().rkey(), 1, IBV_WR_ATOMIC_FETCH_AND_ADD);
    add(c, source.b(), loop.b().remote(0), loop.b().rkey(), 1, IBV_WR_ATOMIC_FETCH_AND_ADD);
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a fetch-and-add of the other device"));
    c.need(c.completed(next(c, source.b().send_cq.raw()), IBV_WC_SUCCESS, "a fetch-and-add of the device itself"));
  }
  std::uint64_t sum = 0;
  std::memcpy(&sum, loop.b().data(), sizeof sum);
  c.equal(sum, 2 * kRounds, "the word that both devices added to");
}

/// Where both ports have one MTU, a datagram above it may not even leave.
void ud_above_peer_mtu(Case& c) {
  LoopShape shape;
  shape.type = QpType::ud;
  shape.bytes = 1U << 16;
  const auto other = c.other().contract(c.ground().other_port);
  if (!c.native(Feature::ud) || !other || !(*other)->native(Feature::ud))
    c.absent("not of both devices is it known that they have UD queue pairs");
  Loop loop(c, shape);
  ibv_port_attr ports[2]{};
  c.need(c.accepted(c.verbs().query_port(loop.a().device->raw(), loop.a().port, ports[0]), "ibv_query_port"));
  c.need(c.accepted(c.verbs().query_port(loop.b().device->raw(), loop.b().port, ports[1]), "ibv_query_port"));
  const bool forward = ports[0].active_mtu > ports[1].active_mtu;
  End& from = forward ? loop.a() : loop.b();
  End& to = forward ? loop.b() : loop.a();
  const std::size_t fits = verbena::mtu_bytes(ports[forward ? 1 : 0].active_mtu);
  for (std::uint64_t id = 1; id <= 3; ++id) {
    c.need(c.accepted(loop.receive(to, id, 0, kGrhBytes + 8192), "ibv_post_recv"));
  }
  const auto fitting = [&](std::uint64_t id) {
    c.need(c.accepted(loop.send(from, id, 0, fits), "ibv_post_send"));
    c.need(c.completed(next(c, from.send_cq.raw()), IBV_WC_SUCCESS, "a datagram that fits"));
    const std::optional<ibv_wc> wc = next(c, to.recv_cq.raw());
    c.need(c.completed(wc, IBV_WC_SUCCESS, "the receive of a datagram that fits"));
    c.equal(wc->byte_len, static_cast<std::uint32_t>(kGrhBytes + fits), "bytes of a datagram that fits");
  };
  fitting(1);
  if (loop.send(from, 2, 0, fits + 1) == 0) {
    c.holds(next(c, from.send_cq.raw()).has_value(), Seen::no_completion, "a datagram that is too long");
    c.holds(quiet(c, to.recv_cq.raw()), Seen::data, "a datagram longer than the peer's MTU was received");
  }
  fitting(3);
}

enum class Wrong : std::uint8_t { access, length, no_receive };

/// What the requester is told; its own device is the first one, or the second.
std::optional<ibv_wc> status_of(Case& c, bool forward, Wrong wrong) {
  LoopShape shape = pair_rc();
  shape.terms.rnr_retry = 0;
  Loop loop(c, shape);
  End& from = forward ? loop.a() : loop.b();
  End& to = forward ? loop.b() : loop.a();
  if (wrong == Wrong::length) c.need(c.accepted(loop.receive(to, 1, 0, kBytes / 2), "ibv_post_recv"));
  SendWork work;
  work.opcode = wrong == Wrong::access ? IBV_WR_RDMA_WRITE : IBV_WR_SEND;
  work.sges = {from.sge(0, kBytes)};
  work.remote = to.remote(0);
  work.rkey = unknown_key(to.rkey());
  c.need(c.accepted(post(from, work), "ibv_post_send"));
  return next(c, from.send_cq.raw());
}

/// The one that verbs name for it: where a device as responder brings about another, that is its departure from the
/// requirement about it alone, with whatever other device it shows.
void error_same_status(Case& c) {
  struct Told {
    Wrong wrong;
    ibv_wc_status status;
    const char* requirement;
    const char* what;
  };
  for (const Told& told :
       {Told{Wrong::access, IBV_WC_REM_ACCESS_ERR, "error.remote.bad_rkey", "a remote access error"},
        Told{Wrong::length, IBV_WC_REM_INV_REQ_ERR, "error.length.sender_is_told", "a message that is too long"},
        Told{Wrong::no_receive, IBV_WC_RNR_RETRY_EXC_ERR, "error.rnr.exhausted", "an exhausted RNR retry"}}) {
    for (const bool forward : {true, false}) {
      const std::optional<ibv_wc> wc = status_of(c, forward, told.wrong);
      c.about(told.requirement);
      c.completed(wc, told.status,
                  fmt::format("{} with the {} device as responder", told.what, forward ? "second" : "first"));
      c.about({});
    }
  }
}

/// Dialled from either side. Librdmacm answers by an event, or by the errno of a call; this waits for either.
void transport_unlike_refused(Case& c) {
  for (const bool forward : {true, false}) {
    Loop loop(c, pair_rc(), false);
    End& dials = forward ? loop.a() : loop.b();
    const std::string what = way_of(loop, dials);
    CmLink link(c, loop, dials, forward ? loop.b() : loop.a());
    if (link.connect(link.terms(dials)) != 0) continue;
    const auto until = std::chrono::steady_clock::now() + std::chrono::minutes(2);
    std::optional<CmTold> event;
    while (!event && std::chrono::steady_clock::now() < until) event = link.dialler();
    c.holds(event.has_value(), Seen::no_event, "no event within two minutes after rdma_connect " + what);
    c.holds(!event || event->type != RDMA_CM_EVENT_ESTABLISHED, Seen::accepted,
            "devices of unlike transports are connected, " + what);
  }
}

}  // namespace

Bodies pair_bodies() {
  static constexpr Body kBodies[] = {
      {"pair.opcodes.common_work", opcodes_common_work},
      {"pair.mtu.smaller_works", mtu_smaller_works},
      {"pair.rd_atomic.smaller_works", rd_atomic_smaller_works},
      {"pair.msg_size.smaller_works", msg_size_smaller_works},
      {"pair.sge.unlike_limits", sge_unlike_limits},
      {"pair.imm.byte_order", imm_byte_order},
      {"pair.atomic.mixed", atomic_mixed},
      {"pair.ud.above_peer_mtu", ud_above_peer_mtu},
      {"pair.transport.unlike_refused", transport_unlike_refused},
      {"pair.error.same_status", error_same_status},
  };
  return kBodies;
}

}  // namespace conform
