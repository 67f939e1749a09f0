// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>
#include <memory>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "rig/rdma.hpp"

namespace conform {

namespace {

/// The verb itself in both columns: a Pd of Verbena's lives as long as what stands on it.
bool busy(Case& c, ibv_pd* pd, const std::string& under) {
  return c.refused(c.verbs().dealloc_pd(pd), "ibv_dealloc_pd under " + under, {EBUSY});
}

void many_distinct(Case& c) {
  std::vector<Object<ibv_pd>> domains;
  for (int count = 0; count < 8; ++count) domains.push_back(c.made(c.way().pd(), "ibv_alloc_pd"));
  for (std::size_t one = 0; one < domains.size(); ++one) {
    for (std::size_t other = 0; other < one; ++other) {
      c.holds(domains[one].raw() != domains[other].raw() && domains[one]->handle != domains[other]->handle, Seen::value,
              "two protection domains are one");
    }
  }
  for (Object<ibv_pd>& domain : domains) c.accepted(domain.destroy(), "ibv_dealloc_pd of one of eight");
}

/// A domain with a region alone is busy; and after the same call on the domain of two ends, theirs carry data.
void busy_with_mr(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  const Object<ibv_mr> mr =
      c.made(c.way().mr(pd.raw(), {.address = memory.data(), .length = memory.size()}), "ibv_reg_mr");
  c.need(busy(c, pd.raw(), "a memory region"));
  if (c.qp_types().empty()) return;
  LoopShape shape{.type = c.qp_types().front()};
  shape.a.pd = pd.raw();
  Loop loop(c, shape);
  c.need(busy(c, pd.raw(), "a memory region and a queue pair"));
  // The region of before the refusal gives the bytes.
  ibv_sge sge{memory.address(), 64, mr->lkey};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kGrhBytes + 64), "ibv_post_recv"));
  c.need(c.accepted(loop.post(loop.a(), wr), "ibv_post_send"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send of the region after the refusal");
}

void busy_with_qp(Case& c) {
  for (const verbena::QpType type : c.qp_types()) {
    const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
    const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = c.within(verbena::Field::cqe, 4)}), "ibv_create_cq");
    QpShape lone;
    lone.type = type;
    lone.send_cq = cq.raw();
    Object<ibv_qp> qp = c.made(c.way().qp(pd.raw(), lone), "ibv_create_qp");
    c.need(busy(c, pd.raw(), "a queue pair"));
    c.accepted(qp.destroy(), "ibv_destroy_qp after the refusal");
    LoopShape shape{.type = type};
    shape.a.pd = pd.raw();
    Loop loop(c, shape);
    c.need(busy(c, pd.raw(), "a connected queue pair"));
    c.need(c.accepted(loop.receive(loop.b(), 1, 0, kGrhBytes + 64), "ibv_post_recv"));
    c.need(c.accepted(loop.send(loop.a(), 2, 0, 64), "ibv_post_send"));
    c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "a message of the queue pair after the refusal");
  }
}

void busy_with_srq(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_srq> srq =
      c.made(c.way().srq(pd.raw(), {.max_wr = 4, .max_sge = 1, .srq_limit = 0}), "ibv_create_srq");
  c.need(busy(c, pd.raw(), "a shared receive queue"));
  if (c.qp_types().empty()) return;
  LoopShape shape{.type = verbena::QpType::rc};
  shape.b.pd = pd.raw();
  shape.b.srq = srq.raw();
  shape.same_device = true;
  if (!c.native(verbena::Feature::rc)) shape.type = verbena::QpType::ud;
  Loop loop(c, shape);
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kGrhBytes + 64), "ibv_post_srq_recv after the refusal"));
  c.need(c.accepted(loop.send(loop.a(), 2, 0, 64), "ibv_post_send"));
  c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS,
              "a message to the shared receive queue after the refusal");
}

void busy_with_ah(Case& c) {
  c.needs_queue_pairs();  // whose path is the address
  const verbena::QpType type = c.native(verbena::Feature::ud) ? verbena::QpType::ud : verbena::QpType::rc;
  // By plain verbs in both columns: where the domain goes all the same, nobody may free it again.
  const std::unique_ptr<Way> raw = raw_way(c.device(), c.ground().verbs);
  verbena::Verbs* verbs = &c.verbs();
  const verbena::Made<ibv_pd> made = verbs->alloc_pd(c.context());
  c.need(c.accepted(made.error, "ibv_alloc_pd"));
  Object<ibv_pd> pd(made.handle, [verbs, handle = made.handle] { return verbs->dealloc_pd(handle); });
  LoopShape shape{.type = type};
  shape.a.pd = pd.raw();
  Object<ibv_ah> ah;
  {
    Loop paths(c, {.type = type}, false);
    ah = c.made(raw->ah(pd.raw(), paths.path(paths.a(), paths.b()).address), "ibv_create_ah");
  }
  c.need(c.refused(pd.destroy(), "ibv_dealloc_pd under an address handle", {EBUSY}));
  if (type != verbena::QpType::ud) return;
  Loop loop(c, shape);
  ibv_sge sge = loop.a().sge(0, 64);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.ud = {ah.raw(), loop.b().qp->qp_num, loop.b().qkey};
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kGrhBytes + 64), "ibv_post_recv"));
  ibv_send_wr* bad = nullptr;
  c.need(c.accepted(c.way().post_send(loop.a().qp.raw(), wr, bad), "ibv_post_send"));
  c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "a datagram by the address handle after the refusal");
}

void busy_with_mw(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_mw> mw = c.made(c.way().mw(pd.raw(), IBV_MW_TYPE_1), "ibv_alloc_mw");
  c.need(busy(c, pd.raw(), "a memory window"));
  if (!c.native(verbena::Feature::rc)) return;
  LoopShape shape = open_to_all(c);
  shape.access |= IBV_ACCESS_MW_BIND;
  shape.b.pd = pd.raw();
  shape.same_device = true;
  Loop loop(c, shape);
  ibv_mw_bind bind{};
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {loop.b().mr.raw(), loop.b().remote(0), 64, IBV_ACCESS_REMOTE_WRITE};
  c.need(c.accepted(ibv_bind_mw(loop.b().qp.raw(), mw.raw(), &bind), "ibv_bind_mw after the refusal"));
  c.need(c.completed(next(c, loop.b().send_cq.raw()), IBV_WC_SUCCESS, "a bind after the refusal"));
  works(c, loop, {.address = loop.b().remote(0), .rkey = mw->rkey, .length = 8}, "a write through the window");
}

/// For each kind of object that the contract has: refused with it, granted without it.
void free_after_children(Case& c) {
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = c.within(verbena::Field::cqe, 4)}), "ibv_create_cq");
  const auto goes = [&](const std::string& kind, auto make) {
    const verbena::Made<ibv_pd> pd = c.verbs().alloc_pd(c.context());
    c.need(c.accepted(pd.error, "ibv_alloc_pd"));
    {
      auto child = make(pd.handle);
      if (!c.accepted(child, "making " + kind)) {
        c.verbs().dealloc_pd(pd.handle);
        return;
      }
      c.need(busy(c, pd.handle, kind));
      c.accepted(child.destroy(), "destroying " + kind);
    }
    c.accepted(c.verbs().dealloc_pd(pd.handle), "ibv_dealloc_pd after " + kind + " is gone");
  };
  // Made by plain verbs in both columns: a Pd that Verbena has adopted would still be known to it when it is gone.
  const std::unique_ptr<Way> raw = raw_way(c.device(), c.ground().verbs);
  goes("a memory region", [&](ibv_pd* pd) { return raw->mr(pd, {.address = memory.data(), .length = memory.size()}); });
  for (const verbena::QpType type : c.qp_types()) {
    goes("a queue pair", [&](ibv_pd* pd) {
      QpShape shape;
      shape.type = type;
      shape.send_cq = cq.raw();
      return raw->qp(pd, shape);
    });
  }
  if (c.native(verbena::Feature::srq)) {
    goes("a shared receive queue",
         [&](ibv_pd* pd) { return raw->srq(pd, {.max_wr = 2, .max_sge = 1, .srq_limit = 0}); });
  }
  if (c.native(verbena::Feature::memory_window_1)) {
    goes("a memory window", [&](ibv_pd* pd) { return raw->mw(pd, IBV_MW_TYPE_1); });
  }
  if (c.native(verbena::Feature::user_ah) && !c.qp_types().empty()) {
    Loop loop(c, {.type = c.qp_types().front()}, false);
    const ibv_ah_attr attr = loop.path(loop.a(), loop.b()).address;
    goes("an address handle", [&](ibv_pd* pd) { return raw->ah(pd, attr); });
  }
}

}  // namespace

Bodies pd_bodies() {
  static constexpr Body kBodies[] = {
      {"pd.alloc.many_distinct", many_distinct},
      {"pd.dealloc.busy_with_mr", busy_with_mr},
      {"pd.dealloc.busy_with_qp", busy_with_qp},
      {"pd.dealloc.busy_with_srq", busy_with_srq},
      {"pd.dealloc.busy_with_ah", busy_with_ah},
      {"pd.dealloc.busy_with_mw", busy_with_mw},
      {"pd.dealloc.free_after_children", free_after_children},
  };
  return kBodies;
}

}  // namespace conform
