// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "rig/work.hpp"

// Compare-and-swap, fetch-and-add, and ATOMIC WRITE.
namespace conform {

namespace {

using verbena::SendOps;

constexpr std::size_t kTarget = 512;

LoopShape atomic_shape() {
  LoopShape shape;
  shape.access |= IBV_ACCESS_REMOTE_ATOMIC;
  shape.terms.access |= IBV_ACCESS_REMOTE_ATOMIC;
  return shape;
}

std::uint64_t value_at(const End& end, std::size_t offset) {
  std::uint64_t value = 0;
  std::memcpy(&value, end.data() + offset, sizeof value);
  return value;
}

void set_at(const End& end, std::size_t offset, std::uint64_t value) {
  std::memcpy(end.data() + offset, &value, sizeof value);
}

SendWork atomic_of(Loop& loop, ibv_wr_opcode opcode, std::uint64_t compare_add, std::uint64_t swap = 0) {
  return {.opcode = opcode,
          .wr_id = 6,
          .sges = {loop.a().sge(0, 8)},
          .remote = loop.b().remote(kTarget),
          .rkey = loop.b().rkey(),
          .compare_add = compare_add,
          .swap = swap};
}

/// Carries it out, and gives what it returned.
std::uint64_t carry_out(Case& c, Loop& loop, const SendWork& work, ibv_wc_opcode opcode) {
  set_at(loop.a(), 0, 0x9999999999999999U);
  c.need(c.accepted(post(loop.a(), work), "ibv_post_send of an atomic"));
  const auto wc = next(c, loop.a().send_cq.raw());
  c.need(c.completed(wc, IBV_WC_SUCCESS, "an atomic"));
  c.equal(wc->opcode, opcode, "the opcode of an atomic");
  c.equal(wc->wr_id, 6U, "the wr_id of an atomic");
  return value_at(loop.a(), 0);
}

void neighbours_kept(Case& c, Loop& loop) {
  untouched(c, loop.b().data() + kTarget - 8, 8, 0x5a, "before the target of an atomic");
  untouched(c, loop.b().data() + kTarget + 8, 8, 0x5a, "behind the target of an atomic");
}

void prepare(Loop& loop, std::uint64_t value) {
  std::memset(loop.b().data() + kTarget - 64, 0x5a, 136);
  set_at(loop.b(), kTarget, value);
}

constexpr std::uint64_t kValue = 0x0123456789abcdefU;

void equal_swaps(Case& c) {
  Loop loop(c, atomic_shape());
  prepare(loop, kValue);
  const std::uint64_t former =
      carry_out(c, loop, atomic_of(loop, IBV_WR_ATOMIC_CMP_AND_SWP, kValue, 0xfedcba9876543210U), IBV_WC_COMP_SWAP);
  c.equal(former, kValue, "what a compare-and-swap returned");
  c.equal(value_at(loop.b(), kTarget), 0xfedcba9876543210U, "the target of a compare-and-swap");
  neighbours_kept(c, loop);
}

void unequal_keeps(Case& c) {
  Loop loop(c, atomic_shape());
  // Two that differ in one byte of either half.
  for (const std::uint64_t compare : {kValue + 1, kValue ^ 0x0100000000000000U}) {
    prepare(loop, kValue);
    const std::uint64_t former =
        carry_out(c, loop, atomic_of(loop, IBV_WR_ATOMIC_CMP_AND_SWP, compare, 42), IBV_WC_COMP_SWAP);
    c.equal(former, kValue, "what a compare-and-swap returned");
    c.equal(value_at(loop.b(), kTarget), kValue, "the target of a compare-and-swap that found another value");
  }
}

void adds(Case& c) {
  Loop loop(c, atomic_shape());
  struct Sum {
    std::uint64_t before, add;
  };
  for (const Sum& sum : {Sum{5, 7}, Sum{0xffffffffU, 1}, Sum{kValue, 0x8000000000000000U}, Sum{~std::uint64_t{0}, 3},
                         Sum{9, ~std::uint64_t{0}}}) {
    prepare(loop, sum.before);
    const std::uint64_t former =
        carry_out(c, loop, atomic_of(loop, IBV_WR_ATOMIC_FETCH_AND_ADD, sum.add), IBV_WC_FETCH_ADD);
    c.equal(former, sum.before, "what a fetch-and-add returned");
    c.equal(value_at(loop.b(), kTarget), sum.before + sum.add, "the target of a fetch-and-add");
    neighbours_kept(c, loop);
  }
}

/// The bytes of the target are laid one by one, in the order of this host.
void host_byte_order(Case& c) {
  Loop loop(c, atomic_shape());
  const std::uint64_t one = 1;
  std::uint8_t first = 0;
  std::memcpy(&first, &one, 1);
  const bool little = first == 1;
  prepare(loop, 0);
  for (std::size_t at = 0; at < 8; ++at) {
    loop.b().data()[kTarget + at] = static_cast<std::uint8_t>(little ? 8 - at : at + 1);
  }
  const std::uint64_t former =
      carry_out(c, loop, atomic_of(loop, IBV_WR_ATOMIC_FETCH_AND_ADD, 0x0101010101010101U), IBV_WC_FETCH_ADD);
  c.equal(former, 0x0102030405060708U, "what a fetch-and-add returned");
  for (std::size_t at = 0; at < 8; ++at) {
    c.equal(loop.b().data()[kTarget + at], static_cast<std::uint8_t>(little ? 9 - at : at + 2), "a byte of the target");
  }
}

/// Several queue pairs add to one target of the first's memory, all at once.
void concurrent(Case& c) {
  constexpr std::size_t kPairs = 4;
  constexpr std::uint64_t kEach = 12;
  std::vector<std::unique_ptr<Loop>> loops;
  std::vector<Object<ibv_mr>> regions;
  for (std::size_t at = 0; at < kPairs; ++at) {
    loops.push_back(std::make_unique<Loop>(c, atomic_shape()));
    End& to = loops.back()->b();
    Memory& memory = *loops.front()->b().memory;
    regions.push_back(
        c.made(to.way->mr(to.pd.raw(),
                          {.address = memory.data(), .length = memory.size(), .access = loops[0]->shape().access}),
               "ibv_reg_mr"));
  }
  const End& target = loops.front()->b();
  constexpr std::uint64_t kBefore = 1000;
  set_at(target, kTarget, kBefore);
  for (std::uint64_t count = 0; count < kEach; ++count) {
    for (std::size_t at = 0; at < kPairs; ++at) {
      End& from = loops[at]->a();
      c.need(c.accepted(post(from, SendWork{.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                                            .wr_id = count,
                                            .sges = {from.sge(8 * count, 8)},
                                            .remote = target.remote(kTarget),
                                            .rkey = regions[at]->rkey,
                                            .compare_add = 1}),
                        "ibv_post_send of a fetch-and-add"));
    }
  }
  std::set<std::uint64_t> returned;
  for (const auto& loop : loops) {
    for (const ibv_wc& wc : next(c, loop->a().send_cq.raw(), kEach)) c.completed(wc, IBV_WC_SUCCESS, "a fetch-and-add");
    for (std::uint64_t count = 0; count < kEach; ++count) returned.insert(value_at(loop->a(), 8 * count));
  }
  c.equal(returned.size(), kPairs * kEach, "how many different values came back");
  c.equal(*returned.begin(), kBefore, "the least value that came back");
  c.equal(*returned.rbegin(), kBefore + kPairs * kEach - 1, "the largest value that came back");
  c.equal(value_at(target, kTarget), kBefore + kPairs * kEach, "the target");
}

void aligned_only(Case& c) {
  for (const std::size_t off : {1U, 4U, 7U}) {
    Loop loop(c, atomic_shape());
    prepare(loop, kValue);
    set_at(loop.b(), kTarget + 8, kValue);
    SendWork work = atomic_of(loop, IBV_WR_ATOMIC_FETCH_AND_ADD, 1);
    work.remote += off;
    const int error = post(loop.a(), work);
    if (error == 0) {
      c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_REM_INV_REQ_ERR,
                  "an atomic at an address that is " + std::to_string(off) + " above a multiple of 8");
    }
    c.holds(value_at(loop.b(), kTarget) == kValue && value_at(loop.b(), kTarget + 8) == kValue, Seen::data,
            "an atomic on an unaligned address changed its target");
  }
}

/// The atomic write itself, from the builder, since ibv_post_send knows no such work request.
void atomic_write(Case& c) {
  LoopShape shape;
  shape.ops = SendOps{SendOps::kAtomicWrite | SendOps::kRdmaRead};
  Loop loop(c, shape);
  std::memset(loop.b().data(), 0x5a, 1024);
  std::memset(loop.a().data(), 0, 1024);
  ibv_qp_ex* const builder = ibv_qp_to_qp_ex(loop.a().qp.raw());
  c.need(c.holds(builder != nullptr, Seen::refused, "there is no work request builder"));
  const std::uint64_t value = 0x1122334455667788U;
  ibv_wr_start(builder);
  builder->wr_id = 1;
  builder->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_atomic_write(builder, loop.b().rkey(), loop.b().remote(kTarget), &value);
  builder->wr_id = 2;
  builder->wr_flags = IBV_SEND_SIGNALED;
  ibv_wr_rdma_read(builder, loop.b().rkey(), loop.b().remote(kTarget));
  ibv_wr_set_sge(builder, loop.a().mr->lkey, loop.a().memory->address(), 8);
  c.need(c.accepted(ibv_wr_complete(builder), "ibv_wr_complete"));
  const auto written = next(c, loop.a().send_cq.raw());
  c.need(c.completed(written, IBV_WC_SUCCESS, "an atomic write"));
  c.equal(written->wr_id, 1U, "the wr_id of an atomic write");
  c.equal(written->opcode, IBV_WC_ATOMIC_WRITE, "the opcode of an atomic write");
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a read behind an atomic write"));
  c.holds(value_at(loop.b(), kTarget) == value, Seen::no_data, "an atomic write did not change its target");
  c.holds(value_at(loop.a(), 0) == value, Seen::no_data, "a read behind an atomic write brought another value");
  neighbours_kept(c, loop);
}

}  // namespace

Bodies data_atomics_bodies() {
  static constexpr Body kBodies[] = {
      {"data.cmp_swap.equal_swaps", equal_swaps},
      {"data.cmp_swap.unequal_keeps", unequal_keeps},
      {"data.fetch_add.adds", adds},
      {"data.atomic.host_byte_order", host_byte_order},
      {"data.atomic.concurrent", concurrent},
      {"data.atomic.aligned_only", aligned_only},
      {"data.atomic_write.carries", atomic_write},
  };
  return kBodies;
}

}  // namespace conform
