// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/qp/shape.hpp"
#include "cases/steps.hpp"
#include "rig/events.hpp"

namespace conform {

namespace {

using verbena::Feature;
using verbena::QpType;
using verbena::SendOps;

/// RESET, INIT, RTR, RTS, SQD and ERR, as far as the caller moves the queue pair.
void any_state(Case& c) {
  for (const QpType type : c.qp_types()) {
    const std::string name(verbena::name(type));
    for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) {
      const bool middle = state == IBV_QPS_INIT || state == IBV_QPS_RTR || state == IBV_QPS_SQD;
      if (by_cm(c) && middle) continue;  // rdma_cm passes through them
      if (state == IBV_QPS_SQD && !c.native(Feature::sqd)) continue;
      const bool connected = state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_ERR;
      Loop loop(c, {.type = type}, connected);
      End& a = loop.a();
      if (state == IBV_QPS_INIT || state == IBV_QPS_RTR) {
        const Move init = to_init(type, a.port);
        c.need(c.accepted(c.way().modify(a.qp.raw(), init.attr, init.mask), "ibv_modify_qp to INIT"));
      }
      if (state == IBV_QPS_RTR) {
        const Move rtr = to_rtr(type, loop.path(a, loop.b()));
        c.need(c.accepted(c.way().modify(a.qp.raw(), rtr.attr, rtr.mask), "ibv_modify_qp to RTR"));
      }
      if (state == IBV_QPS_SQD || state == IBV_QPS_ERR) {
        const Move move = to(state);
        c.need(c.accepted(c.way().modify(a.qp.raw(), move.attr, move.mask), "ibv_modify_qp to SQD or ERR"));
      }
      a.ah.destroy();
      c.accepted(a.qp.destroy(), name + ": ibv_destroy_qp in state " + std::to_string(state));
    }
  }
}

void with_work_outstanding(Case& c) {
  for (const QpType type : c.qp_types()) {
    const std::string name(verbena::name(type));
    Loop loop(c, {.type = type});
    End& a = loop.a();
    const std::size_t head = type == QpType::ud ? kGrhBytes : 0;
    for (std::uint64_t wr_id = 1; wr_id <= 6; ++wr_id) {
      c.need(c.accepted(loop.receive(a, wr_id, 0, head + 64), "ibv_post_recv"));
      // The peer has no receive: over TCP it would end the connection, elsewhere RC waits and the others lose them.
      if (!by_cm(c)) c.need(c.accepted(loop.send(a, 100 + wr_id, 0, 32), "ibv_post_send"));
    }
    a.ah.destroy();
    c.accepted(a.qp.destroy(), name + ": ibv_destroy_qp with work outstanding");
    for (ibv_cq* cq : {a.send_cq.raw(), a.recv_cq.raw()}) {
      // What was in the queue when the call returned may stay there; no more may come.
      ibv_wc wc{};
      while (c.way().poll(cq, 1, &wc) == 1) {
      }
      c.holds(quiet(c, cq, std::chrono::milliseconds(20)), Seen::completion,
              name + ": a completion came after ibv_destroy_qp had returned");
    }
  }
}

void peer_survives(Case& c) {
  for (const bool reset : {true, false}) {
    Loop loop(c);
    c.need(carries(c, loop, "before the destruction"));
    c.need(c.accepted(loop.a().qp.destroy(), "ibv_destroy_qp of one end"));
    // Through Verbena a queue pair that is of no use after RESET is not moved there.
    const bool refused =
        c.through_verbena() && c.contract().is(verbena::Behaviour::recycle_through_reset, verbena::Choice::no);
    if (reset && !by_cm(c) && !refused) {
      const Move move = to(IBV_QPS_RESET);
      c.accepted(c.other_way().modify(loop.b().qp.raw(), move.attr, move.mask), "ibv_modify_qp of the peer to RESET");
    }
    c.accepted(loop.b().qp.destroy(), "ibv_destroy_qp of the peer");
  }
  Loop after(c);
  carries(c, after, "a new pair after it");
}

ibv_qp_init_attr_ex extended(const Stand& stand, std::uint64_t ops) {
  ibv_qp_init_attr_ex init{};
  init.send_cq = init.recv_cq = stand.cq.raw();
  init.cap = kLeast;
  init.qp_type = IBV_QPT_RC;
  init.pd = stand.pd.raw();
  init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.send_ops_flags = ops;
  return init;
}

/// ibv_create_qp_ex as such in both columns; what is made is destroyed. A positive errno or 0.
int create_ex(Case& c, ibv_qp_init_attr_ex init) {
  const verbena::Made<ibv_qp> qp = c.verbs().create_qp_ex(c.context(), init);
  if (!qp) {
    c.holds(!qp.errno_missing, Seen::refused, "ibv_create_qp_ex left errno unset");
    return qp.error;
  }
  c.verbs().destroy_qp(qp.handle);
  return 0;
}

void ops_refused(Case& c) {
  const Stand stand(c);
  for (const std::uint64_t op : {SendOps::kRdmaWrite, SendOps::kRdmaRead, SendOps::kFetchAdd, SendOps::kBindMw}) {
    ibv_qp_init_attr_ex init = extended(stand, SendOps::kSend | op);
    init.qp_type = IBV_QPT_UD;
    c.refused(create_ex(c, init), "ibv_create_qp_ex of a UD queue pair with operation " + std::to_string(op));
  }
  ibv_qp_init_attr_ex init = extended(stand, SendOps::kSend);
  init.qp_type = IBV_QPT_UD;
  c.accepted(create_ex(c, init), "ibv_create_qp_ex of a UD queue pair with SEND");
}

void needs_pd(Case& c) {
  const Stand stand(c);
  ibv_qp_init_attr_ex init = extended(stand, SendOps::kSend);
  c.need(c.accepted(create_ex(c, init), "ibv_create_qp_ex"));
  init.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  init.pd = nullptr;
  c.refused(create_ex(c, init), "ibv_create_qp_ex without a domain", {EINVAL});
}

void unknown_flag_refused(Case& c) {
  const Stand stand(c);
  ibv_qp_init_attr_ex init = extended(stand, SendOps::kSend);
  init.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
  init.create_flags = 1U << 30;
  c.refused(create_ex(c, init), "ibv_create_qp_ex with a creation flag that nobody knows");
}

/// The XRC verbs have no place in the Verbs table; the type has none in Verbena's requests.
void xrc_target_needs_domain(Case& c) {
  const Stand stand(c);
  ibv_qp_init_attr_ex init{};
  init.qp_type = IBV_QPT_XRC_RECV;
  init.comp_mask = IBV_QP_INIT_ATTR_PD;
  init.pd = stand.pd.raw();
  c.refused(create_ex(c, init), "ibv_create_qp_ex of an XRC target without an XRC domain", {EINVAL});
}

struct Op {
  Feature feature;
  std::uint64_t bit;
  std::string_view name;
};
constexpr Op kOps[] = {
    {Feature::send, SendOps::kSend, "SEND"},
    {Feature::send_with_imm, SendOps::kSendWithImm, "SEND with immediate"},
    {Feature::rdma_write, SendOps::kRdmaWrite, "RDMA WRITE"},
    {Feature::rdma_write_with_imm, SendOps::kRdmaWriteWithImm, "RDMA WRITE with immediate"},
    {Feature::rdma_read, SendOps::kRdmaRead, "RDMA READ"},
    {Feature::compare_swap, SendOps::kCompareSwap, "compare and swap"},
    {Feature::fetch_add, SendOps::kFetchAdd, "fetch and add"},
};

/// Builds one work request of that kind; the local bytes are eight.
void build(ibv_qp_ex* qp, Loop& loop, const Op& op) {
  End& b = loop.b();
  switch (op.bit) {
    case SendOps::kSend:
      ibv_wr_send(qp);
      break;
    case SendOps::kSendWithImm:
      ibv_wr_send_imm(qp, 0x11223344);
      break;
    case SendOps::kRdmaWrite:
      ibv_wr_rdma_write(qp, b.rkey(), b.remote(512));
      break;
    case SendOps::kRdmaWriteWithImm:
      ibv_wr_rdma_write_imm(qp, b.rkey(), b.remote(512), 0x11223344);
      break;
    case SendOps::kRdmaRead:
      ibv_wr_rdma_read(qp, b.rkey(), b.remote(512));
      break;
    case SendOps::kCompareSwap:
      ibv_wr_atomic_cmp_swp(qp, b.rkey(), b.remote(512), 7, 9);
      break;
    default:
      ibv_wr_atomic_fetch_add(qp, b.rkey(), b.remote(512), 5);
  }
  ibv_wr_set_sge(qp, loop.a().mr->lkey, loop.a().memory->address(), 8);
}

LoopShape with_ops(Case& c, std::uint64_t ops) {
  LoopShape shape;
  shape.ops = SendOps{ops};
  if (c.native(Feature::fetch_add)) {
    shape.access |= IBV_ACCESS_REMOTE_ATOMIC;
    shape.terms.access |= IBV_ACCESS_REMOTE_ATOMIC;
  }
  return shape;
}

std::uint64_t native_ops(Case& c) {
  std::uint64_t ops = 0;
  for (const Op& op : kOps) ops |= c.native(op.feature) ? op.bit : 0;
  return ops;
}

/// Each operation that the contract calls native, built and completed on a queue pair that named them all.
void builds_each(Case& c) {
  Loop loop(c, with_ops(c, native_ops(c)));
  ibv_qp_ex* qp = ibv_qp_to_qp_ex(loop.a().qp.raw());
  c.need(c.holds(qp != nullptr, Seen::refused, "ibv_qp_to_qp_ex of a queue pair with send_ops_flags"));
  std::uint64_t wr_id = 40;
  for (const Op& op : kOps) {
    if (!c.native(op.feature)) continue;
    const bool takes_receive =
        op.bit == SendOps::kSend || op.bit == SendOps::kSendWithImm || op.bit == SendOps::kRdmaWriteWithImm;
    const std::string name(op.name);
    const std::uint64_t mine = 0x0102030405060708;
    std::uint64_t theirs = 7;
    std::memcpy(loop.a().data(), &mine, sizeof mine);
    std::memset(loop.b().data(), 0, 1024);
    std::memcpy(loop.b().data() + 512, &theirs, sizeof theirs);
    if (takes_receive) c.need(c.accepted(loop.receive(loop.b(), wr_id, 0, 64), "ibv_post_recv"));
    ibv_wr_start(qp);
    qp->wr_id = ++wr_id;
    qp->wr_flags = IBV_SEND_SIGNALED;
    build(qp, loop, op);
    if (!c.accepted(ibv_wr_complete(qp), name + ": ibv_wr_complete")) return;
    const auto wc = next(c, loop.a().send_cq.raw());
    if (!c.completed(wc, IBV_WC_SUCCESS, name)) return;
    c.equal(wc->wr_id, wr_id, name + ": wr_id");
    if (takes_receive) c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, name + ": the receive"));
    std::uint64_t here = 0;
    std::memcpy(&here, loop.a().data(), sizeof here);
    std::memcpy(&theirs, loop.b().data() + (op.bit == SendOps::kSend || op.bit == SendOps::kSendWithImm ? 0 : 512),
                sizeof theirs);
    if (op.bit == SendOps::kRdmaRead) {
      c.holds(here == 7, Seen::no_data, name + ": the bytes of the peer did not come");
    } else if (op.bit == SendOps::kCompareSwap || op.bit == SendOps::kFetchAdd) {
      c.holds(here == 7 && theirs == (op.bit == SendOps::kCompareSwap ? 9U : 12U), Seen::no_data,
              name + ": the atomic did not do its work");
    } else {
      c.holds(theirs == mine, Seen::no_data, name + ": the bytes did not arrive");
    }
  }
}

void create_with_qp_ex_native(Case& c) {
  const verbena::Support support = c.contract().feature(Feature::create_qp_ex).support;
  if (support == verbena::Support::native) {
    builds_each(c);
  } else if (support == verbena::Support::absent) {
    const Stand stand(c);
    c.refused(create_ex(c, extended(stand, SendOps::kSend)), "ibv_create_qp_ex with operations, which is absent");
    c.accepted(c.way().qp(stand.pd.raw(), stand.shape(QpType::rc)), "a plain queue pair after the refusal");
  }
}

}  // namespace

Bodies qp_lifetime_bodies() {
  static constexpr Body kBodies[] = {
      {"qp.destroy.any_state", any_state},
      {"qp.destroy.with_work_outstanding", with_work_outstanding},
      {"qp.destroy.peer_survives", peer_survives},
      {"qp.create_ex.ops_refused", ops_refused},
      {"qp.create_ex.ops_granted", builds_each},
      {"qp.create_ex.needs_pd", needs_pd},
      {"qp.create_ex.unknown_flag_refused", unknown_flag_refused},
      {"qp.create_ex.native", create_with_qp_ex_native},
      {"qp.create.xrc_target_needs_domain", xrc_target_needs_domain},
  };
  return kBodies;
}

}  // namespace conform
