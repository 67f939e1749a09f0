// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "rig/traffic.hpp"

namespace conform {

namespace {

/// As many as are wanted, or as the contract counts: two a pair.
std::uint32_t pairs(const Case& c, std::uint32_t wanted) {
  const verbena::Domain& domain = c.contract().domain(verbena::Field::max_qp);
  return domain.known ? static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, domain.max / 2)) : wanted;
}

/// Small ends on shared domains and completion queues, so that many cost little.
struct Many {
  Many(Case& c, std::uint32_t count)
      : pd_a(c.made(c.way().pd(), "ibv_alloc_pd")),
        pd_b(c.made(c.other_way().pd(), "ibv_alloc_pd")),
        cq_a(c.made(c.way().cq({.cqe = c.within(verbena::Field::cqe, 8 * count)}), "ibv_create_cq")),
        cq_b(c.made(c.other_way().cq({.cqe = c.within(verbena::Field::cqe, 8 * count)}), "ibv_create_cq")) {
    for (std::uint32_t index = 0; index < count; ++index) {
      loops.emplace_back(c, LoopShape{.cap = {4, 4, 1, 1, 0},
                                      .bytes = 256,
                                      .a = {.pd = pd_a.raw(), .send_cq = cq_a.raw(), .recv_cq = cq_a.raw()},
                                      .b = {.pd = pd_b.raw(), .send_cq = cq_b.raw(), .recv_cq = cq_b.raw()}});
    }
  }
  Object<ibv_pd> pd_a, pd_b;
  Object<ibv_cq> cq_a, cq_b;
  std::deque<Loop> loops;
};

/// One message on each, its bytes its own; each completes at its own queue pair.
void one_each(Case& c, Many& many) {
  std::map<std::uint32_t, std::uint32_t> owner;
  for (std::uint32_t index = 0; index < many.loops.size(); ++index) {
    Loop& loop = many.loops[index];
    std::memcpy(loop.a().data(), &index, sizeof index);
    owner[loop.b().qp->qp_num] = index;
    c.need(c.accepted(loop.receive(loop.b(), index, 64, 8), "ibv_post_recv"));
    c.need(c.accepted(loop.send(loop.a(), index, 0, 8), "ibv_post_send"));
  }
  for (ibv_cq* cq : {many.cq_a.raw(), many.cq_b.raw()}) {
    std::set<std::uint64_t> seen;
    for (const ibv_wc& wc : next(c, cq, many.loops.size())) {
      c.need(c.completed(wc, IBV_WC_SUCCESS, "a message of one of many queue pairs"));
      if (!c.holds(seen.insert(wc.wr_id).second, Seen::completion, "a completion came twice")) return;
      if (cq == many.cq_b.raw() && !c.equal(owner[wc.qp_num], static_cast<std::uint32_t>(wc.wr_id), "the queue pair"))
        return;
    }
    c.equal(seen.size(), many.loops.size(), "work requests that completed");
  }
  for (std::uint32_t index = 0; index < many.loops.size(); ++index) {
    std::uint32_t here = 0;
    std::memcpy(&here, many.loops[index].b().data() + 64, sizeof here);
    if (!c.equal(here, index, "the bytes that arrived")) return;
  }
}

void many_carry(Case& c) {
  Many many(c, pairs(c, 256));
  one_each(c, many);
}

void one_cq_for_many(Case& c) {
  Many many(c, pairs(c, 32));
  for (int round = 0; round < 3; ++round) one_each(c, many);
}

/// 10,000 rounds, or on a slow host as many as 3 seconds hold and 500 at least; fewer are noted.
class Rounds {
public:
  explicit Rounds(Case& c) : case_(c) {}
  bool more() {
    if (done_ == 10000) return false;
    if (done_ >= 500 && std::chrono::steady_clock::now() - begun_ > std::chrono::seconds(3)) {
      case_.note(std::to_string(done_) + " rounds were all that there was time for");
      return false;
    }
    ++done_;
    return true;
  }

private:
  Case& case_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  int done_ = 0;
};

void qp_churn(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_cq> cq = c.made(c.way().cq({}), "ibv_create_cq");
  QpShape shape;
  shape.send_cq = cq.raw();
  const auto batch = [&](std::uint32_t count) {
    std::vector<Object<ibv_qp>> all;
    for (std::uint32_t index = 0; index < count; ++index) {
      all.push_back(c.made(c.way().qp(pd.raw(), shape), "ibv_create_qp"));
    }
  };
  // Devices say of themselves how many are left, or always the same; both must be as before.
  ibv_device_attr before{};
  ibv_device_attr after{};
  batch(16);
  c.need(c.accepted(c.verbs().query_device(c.context(), before), "ibv_query_device"));
  for (Rounds rounds(c); rounds.more();) {
    Object<ibv_qp> qp = c.made(c.way().qp(pd.raw(), shape), "ibv_create_qp");
    c.need(c.accepted(qp.destroy(), "ibv_destroy_qp"));
  }
  c.need(c.accepted(c.verbs().query_device(c.context(), after), "ibv_query_device"));
  c.equal(after.max_qp, before.max_qp, "max_qp afterwards");
  batch(16);
}

void mr_many(Case& c) {
  constexpr std::uint32_t kCount = 1024;
  constexpr std::size_t kBytes = 64;
  Loop loop(c);
  const Memory memory(kCount * kBytes, c.verbs().page_size());
  std::vector<Object<ibv_mr>> regions;
  std::set<std::uint32_t> keys;
  for (std::uint32_t index = 0; index < kCount; ++index) {
    regions.push_back(
        c.made(c.other_way().mr(loop.b().pd.raw(), {.address = memory.data() + index * kBytes,
                                                    .length = kBytes,
                                                    .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}),
               "ibv_reg_mr"));
    keys.insert(regions.back()->rkey);
  }
  c.equal(keys.size(), std::size_t{kCount}, "distinct keys of the regions");
  for (std::uint32_t index = 0; index < kCount; ++index) {
    std::memcpy(loop.a().data(), &index, sizeof index);
    ibv_sge sge = loop.a().sge(0, sizeof index);
    ibv_send_wr wr{};
    wr.wr_id = index;
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_WRITE;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {regions[index]->addr == nullptr ? 0 : memory.address() + index * kBytes, regions[index]->rkey};
    c.need(c.accepted(loop.post(loop.a(), wr), "ibv_post_send of a WRITE"));
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a WRITE"));
  }
  // A message behind them: where a WRITE completes as soon as it is sent, they have arrived by then.
  c.need(carries(c, loop, "a message behind the WRITEs"));
  for (std::uint32_t index = 0; index < kCount; ++index) {
    std::uint32_t here = 0;
    std::memcpy(&here, memory.data() + index * kBytes, sizeof here);
    if (!c.equal(here, index, "the bytes of region " + std::to_string(index))) return;
  }
}

/// VmPin of /proc/self/status, in KiB.
std::string pinned(Case& c) {
  std::string status;
  if (c.verbs().read_file("/proc/self/status", status) != 0) return {};
  const std::size_t at = status.find("VmPin:");
  return at == std::string::npos ? std::string() : status.substr(at, status.find('\n', at) - at);
}

void mr_churn(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Memory memory(4 * std::size_t{c.verbs().page_size()}, c.verbs().page_size());
  const std::string before = pinned(c);
  for (Rounds rounds(c); rounds.more();) {
    Object<ibv_mr> mr = c.made(c.way().mr(pd.raw(), {.address = memory.data(), .length = memory.size()}), "ibv_reg_mr");
    c.need(c.accepted(mr.destroy(), "ibv_dereg_mr"));
  }
  c.equal(pinned(c), before, "pinned memory afterwards");
}

/// Devices have more objects than a case can make in its time, so the end that is reached is that of the largest queue:
/// refused amid objects that must go on, many times over.
void leaves_the_rest(Case& c) {
  const verbena::Domain& domain = c.contract().domain(verbena::Field::max_qp);
  constexpr std::uint64_t kMost = 4096;
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_cq> cq = c.made(c.way().cq({}), "ibv_create_cq");
  Loop loop(c);
  c.need(carries(c, loop, "before the refusal"));
  QpShape shape;
  shape.send_cq = cq.raw();
  const bool reached = domain.known && domain.max <= kMost;
  if (!reached) c.note("the device has more queue pairs than a case can make: the refusal is that of one too large");
  std::vector<Object<ibv_qp>> all;
  for (std::uint64_t count = 0; count < (reached ? domain.max + 1 : 64); ++count) {
    Object<ibv_qp> qp = c.way().qp(pd.raw(), shape);
    if (!qp) break;
    all.push_back(std::move(qp));
  }
  if (!reached) {
    ibv_qp_init_attr init{};
    init.send_cq = init.recv_cq = cq.raw();
    init.qp_type = IBV_QPT_RC;
    init.cap = {0xffffffffU, 1, 1, 1, 0};
    const verbena::Made<ibv_qp> qp = c.verbs().create_qp(pd.raw(), init);
    c.refused(qp ? 0 : qp.error, "ibv_create_qp of 4294967295 sends");
  }
  carries(c, loop, "after the refusal", 2);
  c.accepted(all.back().destroy(), "ibv_destroy_qp");
  all.pop_back();
  all.push_back(c.made(c.way().qp(pd.raw(), shape), "ibv_create_qp in the place of one that was destroyed"));
  carries(c, loop, "after it", 3);
}

}  // namespace

Bodies scale_many_bodies() {
  static constexpr Body kBodies[] = {
      {"scale.qp.many_carry", many_carry}, {"scale.qp.one_cq_for_many", one_cq_for_many},
      {"scale.qp.churn", qp_churn},        {"scale.mr.many", mr_many},
      {"scale.mr.churn", mr_churn},        {"scale.refusal.leaves_the_rest", leaves_the_rest},
  };
  return kBodies;
}

}  // namespace conform
