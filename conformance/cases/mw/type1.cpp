// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>
#include <cstring>
#include <string>

#include "cases/bodies.hpp"
#include "cases/mw/window.hpp"

namespace conform {

namespace {

using verbena::Feature;
using verbena::Support;

void unknown_type(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  c.accepted(c.way().mw(pd.raw(), IBV_MW_TYPE_1), "ibv_alloc_mw of type 1");
  for (const int type : {0, 3, 77}) {
    const Object<ibv_mw> mw = c.way().mw(pd.raw(), static_cast<ibv_mw_type>(type));
    if (c.refused(mw, "ibv_alloc_mw of type " + std::to_string(type)))
      c.holds(mw.error() > 0, Seen::value, "the refusal set no errno");
  }
}

void type1_native(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  for (const auto& [type, feature, what] :
       {std::tuple(IBV_MW_TYPE_1, Feature::memory_window_1, "ibv_alloc_mw of type 1"),
        std::tuple(IBV_MW_TYPE_2, Feature::memory_window_2, "ibv_alloc_mw of type 2")}) {
    const Support support = c.contract().feature(feature).support;
    const Object<ibv_mw> mw = c.way().mw(pd.raw(), type);
    if (support == Support::native) c.accepted(mw, std::string(what) + ", native by the contract,");
    // 'Unsupported' has many errnos; a device that takes no window of this type may call the type wrong.
    if (support == Support::absent)
      c.refused(mw, std::string(what) + ", absent by the contract,", {EOPNOTSUPP, ENOSYS, EPROTONOSUPPORT, EINVAL});
  }
  if (!c.native(Feature::memory_window_1) || !c.native(Feature::rc)) return;
  Window window(c, IBV_MW_TYPE_1);
  window.bound(0, 256);
  window.writes(window.mw->rkey, 64, "a write through a window");
}

void not_bound(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  window.no_write(window.mw->rkey, 0, "a write by the key of a window that was never bound");
}

void dealloc_bound(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  window.bound(0, 256);
  window.writes(window.mw->rkey, 0, "a write through the window");
  const std::uint32_t rkey = window.mw->rkey;
  c.need(c.accepted(window.mw.destroy(), "ibv_dealloc_mw of a bound window"));
  window.no_write(rkey, 64, "a write by the key of a window that was deallocated");
}

void dealloc_frees_region(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  Object<ibv_mw> second = c.made(window.loop.b().way->mw(window.loop.b().pd.raw(), IBV_MW_TYPE_1), "ibv_alloc_mw");
  window.bound(0, 256);
  std::swap(window.mw, second);
  window.bound(512, 256);
  c.need(c.accepted(window.mw.destroy(), "ibv_dealloc_mw of the first window"));
  c.need(c.accepted(second.destroy(), "ibv_dealloc_mw of the last window"));
  c.accepted(window.of.mr.destroy(), "ibv_dereg_mr after the last window is gone");
}

void type1_gives_access(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  window.bound(128, 512);
  window.writes(window.mw->rkey, 128, "a write to the begin of the window");
  window.writes(window.mw->rkey, 400, "a write into the window");
}

void rkey_changes(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  std::uint32_t last = window.mw->rkey;
  for (int round = 0; round < 4; ++round) {
    window.bound(0, 256);
    c.holds(round == 0 || window.mw->rkey != last, Seen::value, "ibv_bind_mw of a bound window kept its rkey");
    last = window.mw->rkey;
  }
}

void old_rkey_dies(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  window.bound(0, 256);
  const std::uint32_t former = window.mw->rkey;
  window.writes(former, 0, "a write by the first key");
  window.bound(0, 256);
  window.writes(window.mw->rkey, 32, "a write by the second key");
  window.no_write(former, 64, "a write by the first key after the second bind");
}

void zero_length_unbinds(Case& c) {
  for (const bool former : {true, false}) {
    Window window(c, IBV_MW_TYPE_1);
    window.bound(0, 256);
    const std::uint32_t key = window.mw->rkey;
    window.writes(key, 0, "a write through the window");
    c.need(c.accepted(window.bind(0, 0), "ibv_bind_mw of length 0"));
    c.need(c.completed(next(c, window.loop.b().send_cq.raw()), IBV_WC_SUCCESS, "the bind of length 0"));
    window.no_write(former ? key : window.mw->rkey, 32, "a write after a bind of length 0");
  }
}

void bind_completes(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  c.need(c.accepted(window.bind(0, 256, IBV_ACCESS_REMOTE_WRITE, 0xabcdef0123ULL), "ibv_bind_mw"));
  const std::optional<ibv_wc> wc = next(c, window.loop.b().send_cq.raw());
  c.need(c.completed(wc, IBV_WC_SUCCESS, "the bind"));
  c.equal(wc->wr_id, 0xabcdef0123ULL, "wr_id of the bind");
  c.equal(static_cast<int>(wc->opcode), static_cast<int>(IBV_WC_BIND_MW), "opcode of the bind");
  c.holds(quiet(c, window.loop.b().send_cq.raw()), Seen::completion, "a bind completed twice");
}

/// Round after round, so that a send that overtakes its bind shows.
void send_after_bind(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  Loop& loop = window.loop;
  for (std::size_t round = 0; round < 16; ++round) {
    c.need(c.accepted(loop.receive(loop.a(), 1, 1024, sizeof(std::uint32_t)), "ibv_post_recv"));
    c.need(c.accepted(window.bind(round * 64, 64), "ibv_bind_mw"));
    const std::uint32_t rkey = window.mw->rkey;
    std::memcpy(loop.b().data(), &rkey, sizeof rkey);
    c.need(c.accepted(loop.send(loop.b(), 2, 0, sizeof rkey), "ibv_post_send behind the bind"));
    c.need(c.completed(next(c, loop.a().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of the key"));
    std::uint32_t arrived = 0;
    std::memcpy(&arrived, loop.a().data() + 1024, sizeof arrived);
    const std::vector<ibv_wc> done = next(c, loop.b().send_cq.raw(), 2);
    c.need(c.equal(done.size(), std::size_t{2}, "completions of the bind and the send"));
    window.writes(arrived, round * 64, "a write by the key that a send behind the bind brought");
  }
}

void wrong_type(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = c.within(verbena::Field::cqe, 4)}), "ibv_create_cq");
  c.needs_queue_pairs();
  QpShape shape;
  shape.type = c.qp_types().front();
  shape.send_cq = cq.raw();
  const Object<ibv_qp> qp = c.made(c.way().qp(pd.raw(), shape), "ibv_create_qp");
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  const Object<ibv_mr> mr = c.made(
      c.way().mr(pd.raw(), {.address = memory.data(), .length = memory.size(), .access = kBindable}), "ibv_reg_mr");
  const Object<ibv_mw> mw = c.made(c.way().mw(pd.raw(), IBV_MW_TYPE_2), "ibv_alloc_mw of type 2");
  ibv_mw_bind bind{};
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {mr.raw(), memory.address(), 64, IBV_ACCESS_REMOTE_WRITE};
  // libibverbs' own answer, in both columns.
  c.equal(ibv_bind_mw(qp.raw(), mw.raw(), &bind), EINVAL, "ibv_bind_mw of a type 2 window");
  c.holds(quiet(c, cq.raw()), Seen::completion, "ibv_bind_mw of a type 2 window posted something");
}

void other_pd(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  const Object<ibv_mr> mr = c.made(
      c.way().mr(pd.raw(), {.address = memory.data(), .length = memory.size(), .access = kBindable}), "ibv_reg_mr");
  ibv_mw_bind bind{};
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {mr.raw(), memory.address(), 64, IBV_ACCESS_REMOTE_WRITE};
  c.equal(ibv_bind_mw(window.loop.b().qp.raw(), window.mw.raw(), &bind), EPERM,
          "ibv_bind_mw to a region of another domain");
  window.bound(0, 64);
}

void range_without_region(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  for (const auto& [address, length] :
       {std::pair(window.of.address(), std::uint64_t{64}), std::pair(std::uint64_t{0}, std::uint64_t{64}),
        std::pair(window.of.address(), std::uint64_t{0})}) {
    ibv_mw_bind bind{};
    bind.send_flags = IBV_SEND_SIGNALED;
    bind.bind_info = {nullptr, address, length, 0};
    c.equal(ibv_bind_mw(window.loop.b().qp.raw(), window.mw.raw(), &bind), EINVAL,
            "ibv_bind_mw without a region, length " + std::to_string(length));
  }
}

void zero_based(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  window.bound(0, 256);
  if (window.bind(0, 256, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_ZERO_BASED) != 0) return;
  const std::optional<ibv_wc> wc = next(c, window.loop.b().send_cq.raw());
  if (!wc || wc->status == IBV_WC_SUCCESS)
    c.completed(wc, IBV_WC_MW_BIND_ERR, "a type 1 bind with IBV_ACCESS_ZERO_BASED");
}

void invalidate_refused(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  window.bound(0, 256);
  if (window.invalidate(window.mw->rkey) != 0) return;
  const std::optional<ibv_wc> wc = next(c, window.loop.b().send_cq.raw());
  if (!wc || wc->status == IBV_WC_SUCCESS) c.completed(wc, IBV_WC_MW_BIND_ERR, "a local invalidate of a type 1 window");
}

}  // namespace

Bodies mw_type1_bodies() {
  static constexpr Body kBodies[] = {
      {"mw.alloc.unknown_type_refused", unknown_type},
      {"mw.alloc.native", type1_native},
      {"mw.alloc.not_bound", not_bound},
      {"mw.dealloc.bound_window", dealloc_bound},
      {"mw.dealloc.frees_region", dealloc_frees_region},
      {"mw.type1.bind_gives_access", type1_gives_access},
      {"mw.type1.rkey_changes", rkey_changes},
      {"mw.type1.old_rkey_dies", old_rkey_dies},
      {"mw.type1.zero_length_unbinds", zero_length_unbinds},
      {"mw.type1.bind_completes", bind_completes},
      {"mw.type1.send_after_bind_is_ordered", send_after_bind},
      {"mw.type1.wrong_type_refused", wrong_type},
      {"mw.type1.other_pd_refused", other_pd},
      {"mw.type1.range_without_region_refused", range_without_region},
      {"mw.type1.zero_based_refused", zero_based},
      {"mw.type1.invalidate_refused", invalidate_refused},
  };
  return kBodies;
}

}  // namespace conform
