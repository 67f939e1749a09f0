// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "cases/bodies.hpp"
#include "cases/mr/target.hpp"

namespace conform {

namespace {

using verbena::Feature;
using verbena::Support;

constexpr unsigned kOnDemand =
    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_ON_DEMAND;

void remapped_pages(Case& c) {
  Loop loop(c, open_to_all(c));
  const Target of = target(c, loop.b(), {.pages = 2, .access = kOnDemand});
  const Rdma read{.opcode = IBV_WR_RDMA_READ, .address = of.address(), .rkey = of.rkey(), .length = 64};
  c.need(works(c, loop, read, "a READ of an on-demand region"));
  c.holds(std::equal(of.first(), of.first() + 64, loop.a().data()), Seen::no_data, "other bytes were read");
  void* again =
      mmap(of.memory.data(), of.memory.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  c.need(c.holds(again == of.memory.data(), Seen::refused, "mapping memory anew"));
  std::memset(of.memory.data(), 0x6b, of.memory.size());
  c.need(works(c, loop, read, "a READ after the memory was mapped anew"));
  c.holds(std::equal(of.first(), of.first() + 64, loop.a().data()), Seen::data,
          "a READ after the memory was mapped anew brought the old bytes");
}

void unmapped_access(Case& c) {
  Loop loop(c, open_to_all(c));
  const std::size_t page = c.verbs().page_size();
  const Target of = target(c, loop.b(), {.pages = 3, .access = kOnDemand});
  c.need(works(c, loop, {.address = of.address(), .rkey = of.rkey(), .length = 64},
               "an RDMA WRITE into an on-demand region"));
  const void* taken = mmap(of.memory.data() + page, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
  c.need(c.accepted(taken != MAP_FAILED ? 0 : errno, "mmap"));
  denied(c, loop, {.address = of.address() + page, .rkey = of.rkey(), .length = 64},
         "an RDMA WRITE into a page that is not mapped");
}

void implicit_covers_all(Case& c) {
  Loop loop(c, open_to_all(c));
  const Object<ibv_mr> all = c.made(
      loop.a().way->mr(
          loop.a().pd.raw(),
          {.address = nullptr, .length = ~std::size_t{0}, .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND}),
      "ibv_reg_mr of the whole address space on demand");
  Memory later(c.verbs().page_size(), c.verbs().page_size());
  later.fill(5);
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, 500), "ibv_post_recv"));
  c.need(c.accepted(send_of(loop, loop.a(), later.address() + 3, 500, all->lkey), "a send of later memory"));
  c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive"));
  c.holds(std::equal(later.data() + 3, later.data() + 503, loop.b().data()), Seen::no_data, "other bytes arrived");
}

void ops_as_declared(Case& c) {
  ibv_device_attr_ex attr{};
  c.need(c.accepted(c.verbs().query_device_ex(c.context(), nullptr, attr), "ibv_query_device_ex"));
  const std::uint32_t ops = attr.odp_caps.per_transport_caps.rc_odp_caps;
  Loop loop(c, open_to_all(c));
  const Target near = target(c, loop.a(), {.access = kOnDemand});
  const Target far = target(
      c, loop.b(), {.access = kOnDemand | (c.native(Feature::fetch_add) ? unsigned{IBV_ACCESS_REMOTE_ATOMIC} : 0U)});
  if ((ops & (IBV_ODP_SUPPORT_SEND | IBV_ODP_SUPPORT_RECV)) != 0) {
    const bool send = (ops & IBV_ODP_SUPPORT_SEND) != 0;
    const bool receive = (ops & IBV_ODP_SUPPORT_RECV) != 0;
    const int posted =
        receive ? receive_into(loop, loop.b(), far.address(), 64, far.lkey()) : loop.receive(loop.b(), 1, 0, 64);
    c.need(c.accepted(posted, "ibv_post_recv"));
    c.need(c.accepted(send ? send_of(loop, loop.a(), near.address(), 64, near.lkey()) : loop.send(loop.a(), 1, 0, 64),
                      "ibv_post_send"));
    c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send on demand");
    c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "a receive on demand");
  }
  const Rdma at{.address = far.address(), .rkey = far.rkey(), .length = 64};
  if ((ops & IBV_ODP_SUPPORT_WRITE) != 0) works(c, loop, at, "an RDMA WRITE on demand");
  if ((ops & IBV_ODP_SUPPORT_READ) != 0)
    works(c, loop, {.opcode = IBV_WR_RDMA_READ, .address = far.address(), .rkey = far.rkey(), .length = 64},
          "a READ on demand");
  if ((ops & IBV_ODP_SUPPORT_ATOMIC) != 0 && c.native(Feature::fetch_add))
    works(c, loop, {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .address = far.address(), .rkey = far.rkey(), .length = 8},
          "a fetch-and-add on demand");
}

void on_demand_native(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  const Object<ibv_mr> mr = c.way().mr(
      pd.raw(),
      {.address = memory.data(), .length = memory.size(), .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ON_DEMAND});
  const Support support = c.contract().feature(Feature::on_demand_paging).support;
  if (support == Support::native) c.accepted(mr, "ibv_reg_mr on demand, native by the contract,");
  if (support != Support::absent) return;
  // Verbena may pin instead, and says so.
  if (c.through_verbena() && mr)
    c.holds(!c.way().adjustments().empty(), Seen::accepted, "IBV_ACCESS_ON_DEMAND was dropped unseen");
  else
    c.refused(mr, "ibv_reg_mr on demand, absent by the contract,", {EOPNOTSUPP, ENOSYS, EPROTONOSUPPORT, EINVAL});
}

// ibv_advise_mr, by the plain verb in both columns.

int advise(Case& c, const Object<ibv_pd>& pd, const Target& of, ibv_advise_mr_advice advice, std::uint32_t flags,
           std::uint64_t from, std::uint32_t length) {
  ibv_sge sge{of.address() + from, length, of.lkey()};
  return c.verbs().advise_mr(pd.raw(), advice, flags, &sge, 1);
}

struct Advised {
  explicit Advised(Case& c, unsigned access = kOnDemand) {
    end.way = &c.way();
    end.pd = c.made(c.way().pd(), "ibv_alloc_pd");
    of = std::make_unique<Target>(target(c, end, {.pages = 2, .access = access}));
  }
  End end;
  std::unique_ptr<Target> of;
};

void prefetch(Case& c) {
  const Advised one(c);
  for (const auto advice : {IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE}) {
    c.accepted(
        advise(c, one.end.pd, *one.of, advice, IBV_ADVISE_MR_FLAG_FLUSH, 0, static_cast<std::uint32_t>(one.of->length)),
        "ibv_advise_mr of a mapped range with the flush flag");
  }
}

void out_of_bounds(Case& c) {
  const Advised one(c);
  c.equal(advise(c, one.end.pd, *one.of, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH, 64,
                 static_cast<std::uint32_t>(one.of->length)),
          EFAULT, "ibv_advise_mr of a range beyond the region");
}

void unknown_advice_flag(Case& c) {
  const Advised one(c);
  c.equal(advise(c, one.end.pd, *one.of, IBV_ADVISE_MR_ADVICE_PREFETCH, IBV_ADVISE_MR_FLAG_FLUSH | 1U << 20, 0, 64),
          EINVAL, "ibv_advise_mr with an unknown flag");
}

void write_needs_writable(Case& c) {
  const Advised one(c, IBV_ACCESS_ON_DEMAND | IBV_ACCESS_REMOTE_READ);
  c.equal(advise(c, one.end.pd, *one.of, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH, 0, 64), EPERM,
          "ibv_advise_mr with PREFETCH_WRITE of a region without write access");
}

}  // namespace

Bodies mr_on_demand_bodies() {
  static constexpr Body kBodies[] = {
      {"mr.odp.remapped_pages_seen", remapped_pages},
      {"mr.odp.unmapped_access_fails", unmapped_access},
      {"mr.odp.implicit_covers_all", implicit_covers_all},
      {"mr.odp.ops_as_declared", ops_as_declared},
      {"mr.register.on_demand", on_demand_native},
      {"mr.advise.prefetch", prefetch},
      {"mr.advise.out_of_bounds", out_of_bounds},
      {"mr.advise.unknown_flag", unknown_advice_flag},
      {"mr.advise.write_needs_writable", write_needs_writable},
  };
  return kBodies;
}

}  // namespace conform
