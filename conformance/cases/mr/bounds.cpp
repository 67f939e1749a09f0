// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cerrno>
#include <string>

#include "cases/bodies.hpp"
#include "cases/mr/target.hpp"

namespace conform {

namespace {

constexpr TargetShape kInside{.pages = 3, .offset = 300, .length = 5000};

void first_and_last(Case& c) {
  Loop loop(c, open_to_all(c));
  const Target of = target(c, loop.b(), kInside);
  for (const std::size_t at : {std::size_t{0}, of.length - 1}) {
    loop.a().data()[0] = static_cast<std::uint8_t>(~of.first()[at]);
    const Before before(of.memory);
    const std::string what = "an RDMA WRITE of byte " + std::to_string(at);
    c.need(works(c, loop, {.address = of.address() + at, .rkey = of.rkey(), .length = 1}, what));
    before.only(c, of.first() + at, loop.a().data(), 1, what);
  }
}

/// `begin` is an offset in the region, which may be before it.
void remote_denied(Case& c, ibv_wr_opcode opcode, std::int64_t begin, std::size_t length, const char* what) {
  Loop loop(c, open_to_all(c));
  const Target of = target(c, loop.b(), kInside);
  loop.a().memory->fill(55);
  // What lies inside works, so that it is the bound that is refused.
  c.need(works(c, loop, {.opcode = opcode, .address = of.address() + 8, .rkey = of.rkey(), .length = 8},
               "a range inside"));
  denied(c, loop,
         {.opcode = opcode,
          .address = of.address() + static_cast<std::uint64_t>(begin),
          .rkey = of.rkey(),
          .length = length},
         what, {}, opcode == IBV_WR_RDMA_READ ? nullptr : &of.memory);
}

void remote_below(Case& c) {
  remote_denied(c, IBV_WR_RDMA_WRITE, -1, 1, "an RDMA WRITE of the byte before a region");
  remote_denied(c, IBV_WR_RDMA_WRITE, -1, 8, "an RDMA WRITE that begins one byte before a region");
}

void remote_above(Case& c) {
  const auto end = static_cast<std::int64_t>(kInside.length);
  remote_denied(c, IBV_WR_RDMA_WRITE, end, 1, "an RDMA WRITE of the byte behind a region");
  remote_denied(c, IBV_WR_RDMA_WRITE, end - 7, 8, "an RDMA WRITE that ends one byte behind a region");
}

void remote_read_above(Case& c) {
  remote_denied(c, IBV_WR_RDMA_READ, static_cast<std::int64_t>(kInside.length) - 7, 8,
                "an RDMA READ that ends one byte behind a region");
}

void wraparound(Case& c) {
  Loop loop(c, open_to_all(c));
  const Target of = target(c, loop.b(), kInside);
  denied(c, loop, {.address = ~std::uint64_t{0} - 15, .rkey = of.rkey(), .length = 1024},
         "an RDMA WRITE that passes the last address", {}, &of.memory);
  // From there to the region and past it.
  Loop again(c, open_to_all(c));
  const Target other = target(c, again.b(), kInside);
  denied(c, again, {.address = ~std::uint64_t{0}, .rkey = other.rkey(), .length = 2},
         "an RDMA WRITE from the last address to the first", {}, &other.memory);
}

void local_below(Case& c) {
  Loop loop(c, open_to_all(c));
  const Target of = target(c, loop.a(), kInside);
  local_key_denied(c, loop, of.address() - 1, 8, of.lkey(), "a send whose SGE begins one byte before its region");
}

void local_above(Case& c) {
  Loop loop(c, open_to_all(c));
  const Target of = target(c, loop.a(), kInside);
  local_key_denied(c, loop, of.address() + of.length - 7, 8, of.lkey(),
                   "a send whose SGE ends one byte behind its region");
}

void receive_above(Case& c) {
  Loop loop(c, open_to_all(c));
  const Target of = target(c, loop.b(), kInside);
  loop.a().memory->fill(91);
  const std::uint8_t behind = of.first()[of.length];
  if (loop.a().data()[7] == behind) loop.a().data()[7] = static_cast<std::uint8_t>(~behind);
  if (receive_into(loop, loop.b(), of.address() + of.length - 7, 8, of.lkey()) != 0) return;  // refused when posted
  c.need(c.accepted(loop.send(loop.a(), 1, 0, 8), "ibv_post_send"));
  const std::optional<ibv_wc> wc = next(c, loop.b().recv_cq.raw());
  c.holds(of.first()[of.length] == behind, Seen::data, "a receive changed the byte behind its region");
  if (!wc || wc->status == IBV_WC_SUCCESS)
    c.completed(wc, IBV_WC_LOC_PROT_ERR, "a receive whose SGE ends one byte behind its region");
}

// Regions whose remote addresses are not their own.

Object<ibv_mr> at_iova(const End& end, const Memory& memory, std::uint64_t iova) {
  return end.way->mr(end.pd.raw(), {.address = memory.data(),
                                    .length = memory.size(),
                                    .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
                                    .iova = iova});
}

constexpr std::uint64_t kIova = std::uint64_t{0x123} << 32;  // on a border of every page size

void iova_page_offset(Case& c) {
  const std::size_t page = c.verbs().page_size();
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Memory memory(2 * page, page);
  const auto region = [&](std::size_t offset, std::uint64_t iova) {
    return c.way().mr(pd.raw(), {.address = memory.data() + offset, .length = page, .iova = iova});
  };
  c.accepted(region(0, kIova), "ibv_reg_mr_iova of equal offsets in the page");
  c.accepted(region(64, kIova + 64), "ibv_reg_mr_iova of equal offsets in the page, 64");
  c.refused(region(0, kIova + 1), "ibv_reg_mr_iova with an iova one byte further in its page than the memory",
            {EINVAL});
  c.refused(region(64, kIova), "ibv_reg_mr_iova with an iova less far in its page than the memory", {EINVAL});
}

/// Whether a write, and a message behind it, arrived; what it did to memory is the caller's to judge.
bool went_through(Case& c, Loop& loop, const Rdma& rdma) {
  const auto succeeds = [&](ibv_cq* cq) {
    const std::optional<ibv_wc> wc = next(c, cq);
    return wc && wc->status == IBV_WC_SUCCESS;
  };
  const std::size_t behind = loop.shape().bytes;  // a byte of the room for a GRH
  return loop.receive(loop.b(), 1, behind, 1) == 0 && post(loop, rdma) == 0 && succeeds(loop.a().send_cq.raw()) &&
         loop.send(loop.a(), 2, behind, 1) == 0 && succeeds(loop.b().recv_cq.raw()) && succeeds(loop.a().send_cq.raw());
}

void remote_by(Case& c, std::uint64_t iova) {
  const std::size_t page = c.verbs().page_size();
  Loop loop(c, open_to_all(c));
  const Memory memory(2 * page, page);
  const Object<ibv_mr> mr = c.made(at_iova(loop.b(), memory, iova), "ibv_reg_mr_iova");
  loop.a().memory->fill(13);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{100}, page}) {
    const Before before(memory);
    const std::string what = "an RDMA WRITE to the iova of byte " + std::to_string(offset);
    const bool through = went_through(c, loop, {.address = iova + offset, .rkey = mr->rkey, .length = 64});
    c.need(before.only(c, memory.data() + offset, loop.a().data(), 64, what));
    c.need(c.holds(through, Seen::completion, what + " did not complete"));
  }
  denied(c, loop, {.address = memory.address(), .rkey = mr->rkey, .length = 64},
         "an RDMA WRITE to the region's own address", {}, &memory);
}

void remote_uses_iova(Case& c) {
  remote_by(c, kIova);
}

void iova_zero(Case& c) {
  remote_by(c, 0);
}

void local_uses_iova(Case& c) {
  const std::size_t page = c.verbs().page_size();
  Loop loop(c, open_to_all(c));
  Memory memory(page, page);
  memory.fill(29);
  const Object<ibv_mr> mr = c.made(at_iova(loop.a(), memory, kIova), "ibv_reg_mr_iova");
  loop.b().memory->clear();
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, 200), "ibv_post_recv"));
  c.need(c.accepted(send_of(loop, loop.a(), kIova + 10, 200, mr->lkey), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send that names its bytes by iova"));
  c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive"));
  c.holds(std::equal(memory.data() + 10, memory.data() + 210, loop.b().data()), Seen::no_data, "other bytes arrived");
}

void zero_based(Case& c) {
  Loop loop(c, open_to_all(c));
  const Target of = target(c, loop.b(),
                           {.pages = 2,
                            .offset = 100,
                            .length = 5000,
                            .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED});
  loop.a().memory->fill(31);
  for (const std::size_t offset : {std::size_t{0}, std::size_t{77}, std::size_t{4999}}) {
    const std::size_t length = std::min<std::size_t>(64, of.length - offset);
    const Before before(of.memory);
    const std::string what = "an RDMA WRITE to offset " + std::to_string(offset);
    c.need(works(c, loop, {.address = offset, .rkey = of.rkey(), .length = length}, what));
    before.only(c, of.first() + offset, loop.a().data(), length, what);
  }
  denied(c, loop, {.address = 4999, .rkey = of.rkey(), .length = 2}, "an RDMA WRITE past the length", {}, &of.memory);
}

}  // namespace

Bodies mr_bounds_bodies() {
  static constexpr Body kBodies[] = {
      {"mr.bounds.first_and_last_byte", first_and_last},
      {"mr.bounds.remote_below_refused", remote_below},
      {"mr.bounds.remote_above_refused", remote_above},
      {"mr.bounds.remote_read_above_refused", remote_read_above},
      {"mr.bounds.local_below_refused", local_below},
      {"mr.bounds.local_above_refused", local_above},
      {"mr.bounds.receive_above_refused", receive_above},
      {"mr.bounds.wraparound_refused", wraparound},
      {"mr.iova.page_offset_must_match", iova_page_offset},
      {"mr.iova.remote_uses_iova", remote_uses_iova},
      {"mr.iova.local_uses_iova", local_uses_iova},
      {"mr.iova.zero", iova_zero},
      {"mr.zero_based.offset", zero_based},
  };
  return kBodies;
}

}  // namespace conform
