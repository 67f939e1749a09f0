// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/mman.h>

#include <algorithm>
#include <string>

#include "cases/bodies.hpp"
#include "cases/mr/target.hpp"

namespace conform {

namespace {

constexpr unsigned kWrite = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
constexpr unsigned kRead = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;

/// ibv_rereg_mr itself in both columns; its code: 0, or enum ibv_rereg_mr_err_code.
int rereg(Case& c, ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length, unsigned access) {
  int code = 0;
  const int error = c.verbs().rereg_mr(mr, flags, pd, address, length, access, code);
  return code != 0 ? code : -error;
}

bool changed(Case& c, int code, const std::string& what) {
  return c.holds(code == 0, Seen::refused, "ibv_rereg_mr " + what + " returned " + std::to_string(code));
}

/// A write through the region arrives; the region is what it was, or is to be.
void writes(Case& c, Loop& loop, const Target& of, const std::string& when) {
  loop.a().memory->fill(static_cast<std::uint32_t>(when.size()));
  const Before before(of.memory);
  c.need(works(c, loop, {.address = of.address(), .rkey = of.rkey(), .length = 64}, "an RDMA WRITE " + when));
  before.only(c, of.first(), loop.a().data(), 64, "an RDMA WRITE " + when);
}

void access(Case& c) {
  Loop loop(c, open_to_all(c));
  Target of = target(c, loop.b(), {.access = kRead});
  c.need(changed(c, rereg(c, of.mr.raw(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kWrite), "to write access"));
  writes(c, loop, of, "after the change to write access");
  if (!c.native(verbena::Feature::rdma_read)) return;
  denied(c, loop, {.opcode = IBV_WR_RDMA_READ, .address = of.address(), .rkey = of.rkey(), .length = 8},
         "an RDMA READ after the change to write access");
  Loop again(c, open_to_all(c));
  Target other = target(c, again.b(), {.access = kWrite});
  writes(c, again, other, "before the change to read access");
  c.need(
      changed(c, rereg(c, other.mr.raw(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kRead), "to read access"));
  c.need(works(c, again, {.opcode = IBV_WR_RDMA_READ, .address = other.address(), .rkey = other.rkey(), .length = 8},
               "an RDMA READ after the change to read access"));
  denied(c, again, {.address = other.address(), .rkey = other.rkey(), .length = 8},
         "an RDMA WRITE after the change to read access", {}, &other.memory);
}

void domain(Case& c) {
  Loop first(c, open_to_all(c));
  Loop second(c, open_to_all(c));
  Target of = target(c, first.b(), {.access = kWrite});
  writes(c, first, of, "in its first domain");
  c.need(changed(c, rereg(c, of.mr.raw(), IBV_REREG_MR_CHANGE_PD, second.b().pd.raw(), nullptr, 0, 0),
                 "to another domain"));
  writes(c, second, of, "in its second domain");
  denied(c, first, {.address = of.address(), .rkey = of.rkey(), .length = 8}, "an RDMA WRITE in the domain it has left",
         {}, &of.memory);
  // The region goes before the domain that it is in.
  c.accepted(of.mr.destroy(), "ibv_dereg_mr of a region in its second domain");
}

void translation(Case& c) {
  Loop loop(c, open_to_all(c));
  const std::size_t page = c.verbs().page_size();
  Target of = target(c, loop.b(), {.pages = 4, .length = page, .access = kWrite});
  writes(c, loop, of, "to its first range");
  of.offset = 2 * page;
  of.length = 2 * page;
  c.need(changed(c, rereg(c, of.mr.raw(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, of.first(), of.length, 0),
                 "to another range"));
  c.holds(of.mr->addr == of.first(), Seen::value, "addr of the region is not that of the new range");
  c.equal(of.mr->length, of.length, "length of the region");
  writes(c, loop, of, "to its second range");
  const Before before(of.memory);
  c.need(works(c, loop, {.address = of.address() + 2 * page - 64, .rkey = of.rkey(), .length = 64},
               "an RDMA WRITE to the end of the second range"));
  before.only(c, of.first() + 2 * page - 64, loop.a().data(), 64, "an RDMA WRITE to the end of the second range");
  denied(c, loop, {.address = of.memory.address(), .rkey = of.rkey(), .length = 8}, "an RDMA WRITE to the first range",
         {}, &of.memory);
}

/// A wrong call, and the region as before.
void refused_input(Case& c, int flags, ibv_pd* pd, bool with_address, std::size_t length, unsigned access_flags,
                   const std::string& what) {
  c.needs_queue_pairs();
  LoopShape shape = open_to_all(c);
  Loop loop(c, shape);
  Target of = target(c, loop.b(), {.access = kWrite});
  const int code = rereg(c, of.mr.raw(), flags, pd, with_address ? of.first() : nullptr, length, access_flags);
  if (c.holds(code != 0, Seen::accepted, "ibv_rereg_mr " + what))
    c.equal(code, static_cast<int>(IBV_REREG_MR_ERR_INPUT), "the answer of ibv_rereg_mr " + what);
  c.holds(of.mr->addr == of.first() && of.mr->length == of.length, Seen::value, "addr or length of the region changed");
  writes(c, loop, of, "after the refusal");
}

void unknown_rereg_flag(Case& c) {
  refused_input(c, 1 << 7, nullptr, false, 0, 0, "with an unknown flag");
  refused_input(c, IBV_REREG_MR_CHANGE_ACCESS | 1 << 7, nullptr, false, 0, kRead, "with a known and an unknown flag");
}

void translation_needs_range(Case& c) {
  refused_input(c, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, true, 0, 0, "with CHANGE_TRANSLATION and length 0");
  refused_input(c, IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, false, 4096, 0,
                "with CHANGE_TRANSLATION and address NULL");
}

void access_needs_flag(Case& c) {
  refused_input(c, 0, nullptr, false, 0, kRead, "with access flags and without CHANGE_ACCESS");
}

void no_flag(Case& c) {
  Loop loop(c, open_to_all(c));
  Target of = target(c, loop.b(), {.access = kWrite});
  c.holds(rereg(c, of.mr.raw(), 0, nullptr, nullptr, 0, 0) != 0, Seen::accepted, "ibv_rereg_mr with flags 0");
  c.accepted(of.mr.destroy(), "ibv_dereg_mr after the refusal");
}

struct PinnedForReading {
  PinnedForReading(Case& c, const End& end) : memory(c.verbs().page_size(), c.verbs().page_size()) {
    memory.fill(4);
    mprotect(memory.data(), memory.size(), PROT_READ);
    mr = c.made(end.way->mr(end.pd.raw(),
                            {.address = memory.data(), .length = memory.size(), .access = IBV_ACCESS_REMOTE_READ}),
                "ibv_reg_mr of read-only memory for reading");
  }
  Memory memory;
  Object<ibv_mr> mr;
};

void widen_read_only(Case& c) {
  Loop loop(c, open_to_all(c));
  PinnedForReading pinned(c, loop.b());
  const int code = rereg(c, pinned.mr.raw(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kWrite);
  if (c.holds(code != 0, Seen::accepted, "ibv_rereg_mr to write access of a region pinned for reading")) return;
  // Whether the flag alone was taken, or the bytes can be written.
  const Before before(pinned.memory);
  loop.a().memory->fill(9);
  if (post(loop, {.address = pinned.memory.address(), .rkey = pinned.mr->rkey, .length = 8}) == 0)
    next(c, loop.a().send_cq.raw());
  before.unchanged(c, "an RDMA WRITE to read-only memory");
}

/// Refused by the library, and refused by the driver for memory that isn't there.
void failed_still_released(Case& c) {
  Loop loop(c, open_to_all(c));
  const std::size_t page = c.verbs().page_size();
  {
    Target of = target(c, loop.b(), {.access = kWrite});
    c.holds(rereg(c, of.mr.raw(), 1 << 7, nullptr, nullptr, 0, 0) != 0, Seen::accepted,
            "ibv_rereg_mr with an unknown flag");
    c.accepted(of.mr.destroy(), "ibv_dereg_mr after a refusal of the call");
  }
  Target of = target(c, loop.b(), {.access = kWrite});
  const Memory guarded(page, page);
  // The page behind may not be touched.
  c.holds(rereg(c, of.mr.raw(), IBV_REREG_MR_CHANGE_TRANSLATION, nullptr, guarded.data() + page, page, 0) != 0,
          Seen::accepted, "ibv_rereg_mr to memory that may not be touched");
  c.accepted(of.mr.destroy(), "ibv_dereg_mr after a refusal of the memory");
}

void rereg_native(Case& c) {
  const verbena::Support support = c.contract().feature(verbena::Feature::rereg_mr).support;
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  Object<ibv_mr> mr =
      c.made(c.way().mr(pd.raw(), {.address = memory.data(), .length = memory.size(), .access = kRead}), "ibv_reg_mr");
  const int code = rereg(c, mr.raw(), IBV_REREG_MR_CHANGE_ACCESS, nullptr, nullptr, 0, kWrite);
  if (support == verbena::Support::native) changed(c, code, "where the contract says native");
  if (support == verbena::Support::absent)
    c.holds(code != 0, Seen::accepted, "ibv_rereg_mr where the contract says absent");
  c.holds(mr->addr == memory.data() && mr->length == memory.size(), Seen::value,
          "addr or length of the region changed");
  c.accepted(mr.destroy(), "ibv_dereg_mr after ibv_rereg_mr");
}

}  // namespace

Bodies mr_rereg_bodies() {
  static constexpr Body kBodies[] = {
      {"mr.rereg.access", access},
      {"mr.rereg.pd", domain},
      {"mr.rereg.translation", translation},
      {"mr.rereg.unknown_flag", unknown_rereg_flag},
      {"mr.rereg.translation_needs_range", translation_needs_range},
      {"mr.rereg.access_needs_flag", access_needs_flag},
      {"mr.rereg.no_flag_refused", no_flag},
      {"mr.rereg.widen_read_only_refused", widen_read_only},
      {"mr.rereg.failed_still_released", failed_still_released},
      {"mr.rereg.native", rereg_native},
  };
  return kBodies;
}

}  // namespace conform
