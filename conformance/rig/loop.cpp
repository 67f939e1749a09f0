// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/loop.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <thread>
#include <type_traits>
#include <utility>

#include "verbena/connect.hpp"
#include "verbena/transition.hpp"

namespace conform {

namespace {

using verbena::Field;
using verbena::GidEntry;
using verbena::QpType;

bool zero(const std::array<std::uint8_t, 16>& gid) {
  return std::all_of(gid.begin(), gid.end(), [](std::uint8_t byte) { return byte == 0; });
}

/// The address that a program would choose: RoCE v2 before v1, one of the interface's own addresses before one of link
/// scope; on InfiniBand the first.
const GidEntry* choose_gid(const verbena::Caps& caps, std::uint8_t port) {
  const verbena::PortCaps* found = caps.port(port);
  if (found == nullptr) return nullptr;
  const auto rank = [](const GidEntry& entry) {
    const bool link = entry.gid[0] == 0xfe && (entry.gid[1] & 0xc0) == 0x80;
    return (entry.type == verbena::GidType::roce_v2 ? 2 : 0) + (link ? 0 : 1);
  };
  const GidEntry* best = nullptr;
  for (const GidEntry& entry : found->gids) {
    if (zero(entry.gid)) continue;
    if (best == nullptr || rank(entry) > rank(*best)) best = &entry;
  }
  return best;
}

/// As verbena::connect_pair, on terms of the case's own.
int connect_on(verbena::Qp& one, verbena::Qp& other, const verbena::ConnectWish& wish,
               std::chrono::milliseconds within) {
  const auto facts_of_one = one.facts(wish);
  const auto facts_of_other = other.facts(wish);
  if (!facts_of_one) return facts_of_one.error().errno_value != 0 ? facts_of_one.error().errno_value : EINVAL;
  if (!facts_of_other) return facts_of_other.error().errno_value != 0 ? facts_of_other.error().errno_value : EINVAL;
  auto first = verbena::start_connect(one, *facts_of_other, within);
  auto second = verbena::start_connect(other, *facts_of_one, within);
  if (!first || !second) return EINVAL;
  for (bool first_done = false, second_done = false; !first_done || !second_done;) {
    const auto step = first_done ? verbena::Result<bool>(true) : first->progress();
    const auto other_step = second_done ? verbena::Result<bool>(true) : second->progress();
    for (const auto* result : {&step, &other_step}) {
      if (!*result) return result->error().errno_value != 0 ? result->error().errno_value : ETIMEDOUT;
    }
    first_done = *step;
    second_done = *other_step;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return 0;
}

/// What a case does not ask for is a wish, of which the contract may have less.
ibv_qp_cap within(const Case& c, const ibv_qp_cap& asked) {
  const ibv_qp_cap wish = LoopShape{}.cap;
  const auto of = [&c](Field field, std::uint32_t is, std::uint32_t left) {
    return is == left ? c.within(field, is) : is;
  };
  return {of(Field::max_send_wr, asked.max_send_wr, wish.max_send_wr),
          of(Field::max_recv_wr, asked.max_recv_wr, wish.max_recv_wr),
          of(Field::max_send_sge, asked.max_send_sge, wish.max_send_sge),
          of(Field::max_recv_sge, asked.max_recv_sge, wish.max_recv_sge), asked.max_inline_data};
}

verbena::QpTimers timers_of(const Terms& terms) {
  verbena::QpTimers timers;
  timers.ack_timeout = verbena::duration(static_cast<verbena::AckTimeoutCode>(terms.timeout));
  timers.min_rnr_timer = verbena::duration(static_cast<verbena::RnrTimerCode>(terms.min_rnr_timer));
  timers.retry_cnt = terms.retry_cnt;
  timers.rnr_retry = terms.rnr_retry;
  return timers;
}

}  // namespace

Loop::Loop(Case& c, const LoopShape& shape, bool connected) : case_(c), shape_(shape) {
  a_.way = &c.way();
  a_.device = &c.device();
  a_.port = c.ground().port;
  const bool two = c.ground().other && !shape_.same_device;
  b_.way = two ? &c.other_way() : &c.way();
  b_.device = two ? &c.other() : &c.device();
  b_.port = two ? c.ground().other_port : c.ground().port;
  shape_.cap = within(c, shape.cap);
  make(a_, false);
  make(b_, true);
  std::uint32_t most = shape_.mtu != 0 ? shape_.mtu : 4096;
  for (const End* end : {&a_, &b_}) {
    ibv_port_attr attr{};
    c.need(c.accepted(c.verbs().query_port(end->device->raw(), end->port, attr), "ibv_query_port"));
    most = std::min(most, verbena::mtu_bytes(attr.active_mtu));
  }
  mtu_ = most;
  if (connected) connect();
}

void Loop::make(End& end, bool second) {
  Case& c = case_;
  const Given& given = second ? shape_.b : shape_.a;
  // What is given is destroyed by who gave it.
  const auto borrowed = [](auto* raw) { return Object<std::remove_pointer_t<decltype(raw)>>(raw, nullptr); };
  end.pd = given.pd != nullptr ? borrowed(given.pd) : c.made(end.way->pd(), "ibv_alloc_pd");
  if (shape_.channels) end.channel = c.made(end.way->channel(), "ibv_create_comp_channel");
  const CqShape cq{.cqe = shape_.cqe, .channel = end.channel.raw()};
  end.send_cq = given.send_cq != nullptr ? borrowed(given.send_cq) : c.made(end.way->cq(cq), "ibv_create_cq");
  end.recv_cq = given.recv_cq != nullptr ? borrowed(given.recv_cq) : c.made(end.way->cq(cq), "ibv_create_cq");
  if (given.srq != nullptr) {
    end.srq = borrowed(given.srq);
  } else if (second && shape_.srq_wr != 0) {
    end.srq = c.made(
        end.way->srq(end.pd.raw(), {.max_wr = shape_.srq_wr, .max_sge = shape_.cap.max_recv_sge, .srq_limit = 0}),
        "ibv_create_srq");
  }
  end.memory.emplace(shape_.bytes + kGrhBytes, c.verbs().page_size());
  // No peer reaches the memory of a datagram queue pair, and a device without RDMA need not let it be asked for.
  constexpr unsigned kRemote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  const unsigned access = shape_.type == QpType::ud ? shape_.access & ~kRemote : shape_.access;
  end.mr =
      c.made(end.way->mr(end.pd.raw(), {.address = end.memory->data(), .length = end.memory->size(), .access = access}),
             "ibv_reg_mr");
  QpShape qp;
  qp.type = shape_.type;
  qp.cap = shape_.cap;
  // Beside a shared receive queue these count for nothing, and Verbena says so each time they are asked for.
  if (end.srq && end.way->through_verbena()) qp.cap.max_recv_wr = qp.cap.max_recv_sge = 0;
  qp.send_cq = end.send_cq.raw();
  qp.recv_cq = end.recv_cq.raw();
  qp.srq = end.srq.raw();
  qp.sq_sig_all = shape_.sq_sig_all;
  qp.ops = shape_.ops;
  end.qp = c.made(end.way->qp(end.pd.raw(), qp, &end.cap), "ibv_create_qp");
  end.qkey = shape_.terms.qkey;
}

PathTo Loop::path(const End& from, const End& to) const {
  PathTo path;
  path.qp_num = to.qp->qp_num;
  path.psn = shape_.terms.psn;
  path.mtu = verbena::mtu_within(mtu_).value_or(IBV_MTU_256);
  path.address.port_num = from.port;
  ibv_port_attr there{};
  case_.need(case_.accepted(case_.verbs().query_port(to.device->raw(), to.port, there), "ibv_query_port"));
  path.address.dlid = there.lid;
  const GidEntry* own = choose_gid(from.device->caps(), from.port);
  const GidEntry* peer = choose_gid(to.device->caps(), to.port);
  if (there.link_layer == IBV_LINK_LAYER_ETHERNET || (there.flags & IBV_QPF_GRH_REQUIRED) != 0) {
    case_.need(case_.holds(own != nullptr && peer != nullptr, Seen::value, "the GID table has no address to use"));
    path.address.is_global = 1;
  }
  // On InfiniBand for whoever asks for a GRH.
  if (own != nullptr && peer != nullptr) {
    path.address.grh.sgid_index = static_cast<std::uint8_t>(own->index);
    path.address.grh.hop_limit = 64;
    std::memcpy(path.address.grh.dgid.raw, peer->gid.data(), peer->gid.size());
  }
  return path;
}

void Loop::connect() {
  Case& c = case_;
  const bool by_cm = c.contract().is(verbena::Behaviour::rts_driven_by, verbena::Choice::rdma_cm);
  if (by_cm) c.needs_data();  // a device shell has no connection manager either
  if (by_cm || (c.through_verbena() && shape_.type != QpType::ud)) {
    // Through Verbena it is the one call that a program makes.
    verbena::Qp* one = a_.way->object(a_.qp.raw());
    verbena::Qp* other = b_.way->object(b_.qp.raw());
    c.need(c.holds(one != nullptr && other != nullptr, Seen::refused, "the queue pair could not be adopted"));
    verbena::ConnectWish wish;
    wish.access = shape_.access | shape_.terms.access;
    wish.max_rd_atomic = shape_.terms.max_rd_atomic;
    wish.max_dest_rd_atomic = shape_.terms.max_dest_rd_atomic;
    wish.mtu = mtu_;
    wish.qkey = shape_.terms.qkey;
    wish.pkey_index = shape_.terms.pkey_index;
    wish.timers = timers_of(shape_.terms);
    c.need(c.accepted(connect_on(*one, *other, wish, c.ground().completion_within), "connecting two queue pairs"));
    address_datagrams();
  } else {
    connect_by_states(shape_.terms, shape_.terms);
  }
}

void Loop::connect_by_states(const Terms& of_a, const Terms& of_b) {
  Case& c = case_;
  struct Half {
    End& from;
    End& to;
    const Terms& terms;
  };
  const Half sides[] = {{a_, b_, of_a}, {b_, a_, of_b}};
  for (const Half& side : sides) {
    const Move init = to_init(shape_.type, side.from.port, side.terms);
    c.need(c.accepted(side.from.way->modify(side.from.qp.raw(), init.attr, init.mask), "ibv_modify_qp to INIT"));
    const Move rtr = to_rtr(shape_.type, path(side.from, side.to), side.terms);
    c.need(c.accepted(side.from.way->modify(side.from.qp.raw(), rtr.attr, rtr.mask), "ibv_modify_qp to RTR"));
  }
  for (const Half& side : sides) {
    const Move rts = to_rts(shape_.type, side.terms);
    c.need(c.accepted(side.from.way->modify(side.from.qp.raw(), rts.attr, rts.mask), "ibv_modify_qp to RTS"));
  }
  address_datagrams();
}

void Loop::address_datagrams() {
  if (shape_.type != QpType::ud) return;
  for (auto [from, to] : {std::pair(&a_, &b_), std::pair(&b_, &a_)}) {
    from->ah = case_.made(from->way->ah(from->pd.raw(), path(*from, *to).address), "ibv_create_ah");
    from->peer_qp_num = to->qp->qp_num;
  }
}

int Loop::post(End& from, ibv_send_wr wr) {
  if (shape_.type == QpType::ud) {
    wr.wr.ud.ah = from.ah.raw();
    wr.wr.ud.remote_qpn = from.peer_qp_num;
    wr.wr.ud.remote_qkey = from.qkey;
  }
  ibv_send_wr* bad = nullptr;
  return from.way->post_send(from.qp.raw(), wr, bad);
}

int Loop::post(End& at, ibv_recv_wr wr) {
  ibv_recv_wr* bad = nullptr;
  if (at.srq) {
    const int error = at.srq->context->ops.post_srq_recv(at.srq.raw(), &wr, &bad);
    return error < 0 ? -error : error;
  }
  return at.way->post_recv(at.qp.raw(), wr, bad);
}

int Loop::send(End& from, std::uint64_t wr_id, std::size_t offset, std::size_t length, unsigned flags) {
  ibv_sge sge = from.sge(offset, length);
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = flags;
  return post(from, wr);
}

int Loop::receive(End& at, std::uint64_t wr_id, std::size_t offset, std::size_t length) {
  ibv_sge sge = at.sge(offset, length);
  ibv_recv_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  return post(at, wr);
}

int Loop::write(End& from, End& to, std::uint64_t wr_id, std::size_t offset, std::size_t length, unsigned flags) {
  ibv_sge sge = from.sge(offset, length);
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_WRITE;
  wr.send_flags = flags;
  wr.wr.rdma = {to.remote(offset), to.rkey()};
  return post(from, wr);
}

int Loop::read(End& from, End& to, std::uint64_t wr_id, std::size_t offset, std::size_t length, unsigned flags) {
  ibv_sge sge = from.sge(offset, length);
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_RDMA_READ;
  wr.send_flags = flags;
  wr.wr.rdma = {to.remote(offset), to.rkey()};
  return post(from, wr);
}

}  // namespace conform
