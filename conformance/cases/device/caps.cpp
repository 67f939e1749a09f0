// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "cases/bodies.hpp"
#include "cases/steps.hpp"
#include "rig/rdma.hpp"

namespace conform {

namespace {

using verbena::Made;

ibv_device_attr_ex queried_ex(Case& c) {
  ibv_device_attr_ex attr{};
  c.need(c.accepted(c.verbs().query_device_ex(c.context(), nullptr, attr), "ibv_query_device_ex"));
  return attr;
}

void at_least_one(Case& c, const char* name, long long value) {
  c.holds(value >= 1, Seen::value, std::string(name) + " is " + std::to_string(value));
}

/// "If and only if": what was made or refused, against what the device says.
void as_declared(Case& c, bool declared, int error, const std::string& what, const std::string& word) {
  if (declared)
    c.accepted(error, what + ", which " + word + " declares,");
  else
    c.refused(error, what + ", which " + word + " denies,");
}

void max_sge_of_both(Case& c) {
  const auto sges = static_cast<std::uint32_t>(queried_device(c).max_sge);
  at_least_one(c, "max_sge", sges);
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = c.within(verbena::Field::cqe, 4)}), "ibv_create_cq");
  for (const verbena::QpType type : c.qp_types()) {
    QpShape shape;
    shape.type = type;
    shape.cap = {1, 1, sges, sges, 0};
    shape.send_cq = cq.raw();
    c.accepted(c.way().qp(pd.raw(), shape),
               "ibv_create_qp of depth 1 with max_sge " + std::to_string(sges) + " on both sides");
  }
}

void max_sge_rd_filled(Case& c) {
  at_least_one(c, "max_sge_rd", queried_device(c).max_sge_rd);
}

void read_depth_filled(Case& c) {
  const ibv_device_attr attr = queried_device(c);
  at_least_one(c, "max_qp_rd_atom", attr.max_qp_rd_atom);
  at_least_one(c, "max_qp_init_rd_atom", attr.max_qp_init_rd_atom);
}

void responder_budget(Case& c) {
  const ibv_device_attr attr = queried_device(c);
  c.holds(attr.max_res_rd_atom >= attr.max_qp_rd_atom, Seen::value,
          "max_res_rd_atom " + std::to_string(attr.max_res_rd_atom) + " is below max_qp_rd_atom " +
              std::to_string(attr.max_qp_rd_atom));
}

void page_size_of_kernel(Case& c) {
  const std::uint64_t upto = 2ULL * c.verbs().page_size() - 1;
  const std::uint64_t cap = queried_device(c).page_size_cap;
  c.holds((cap & upto) != 0, Seen::value,
          "page_size_cap " + std::to_string(cap) + " has no page of the kernel's size or smaller");
}

void ack_delay_code(Case& c) {
  const unsigned code = queried_device(c).local_ca_ack_delay;
  c.holds(code <= 31, Seen::value, "local_ca_ack_delay is " + std::to_string(code));
}

void atomic_none(Case& c) {
  if (queried_device(c).atomic_cap != IBV_ATOMIC_NONE)
    return c.note("atomic_cap is not IBV_ATOMIC_NONE: nothing to refuse");
  for (const ibv_wr_opcode opcode : {IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP}) {
    Loop loop(c, open_to_all(c));
    loop.b().memory->clear();
    denied(c, loop,
           {.opcode = opcode,
            .address = loop.b().remote(0),
            .rkey = loop.b().rkey(),
            .length = 8,
            .compare_add = 0,
            .swap = 7},
           "an atomic of a device without atomics", {}, &*loop.b().memory);
  }
}

void atomic_true(Case& c) {
  if (queried_device(c).atomic_cap == IBV_ATOMIC_NONE)
    return c.note("atomic_cap is IBV_ATOMIC_NONE: nothing is promised");
  LoopShape shape = open_to_all(c);
  shape.access |= IBV_ACCESS_REMOTE_ATOMIC;
  shape.terms.access |= IBV_ACCESS_REMOTE_ATOMIC;
  Loop loop(c, shape);
  const auto target = [&] {
    std::uint64_t value = 0;
    std::memcpy(&value, loop.b().data(), sizeof value);
    return value;
  };
  const auto returned = [&] {
    std::uint64_t value = 0;
    std::memcpy(&value, loop.a().data(), sizeof value);
    return value;
  };
  loop.a().memory->clear();
  loop.b().memory->clear();
  Rdma atomic{
      .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .address = loop.b().remote(0), .rkey = loop.b().rkey(), .length = 8};
  atomic.compare_add = 0x1'0000'0005;
  c.need(works(c, loop, atomic, "fetch-and-add"));
  c.equal(target(), 0x1'0000'0005ULL, "the target after fetch-and-add");
  c.equal(returned(), 0ULL, "what fetch-and-add returned");
  atomic.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  atomic.swap = 9;
  c.need(works(c, loop, atomic, "compare-and-swap of an equal value"));
  c.equal(target(), 9ULL, "the target after compare-and-swap");
  c.equal(returned(), 0x1'0000'0005ULL, "what compare-and-swap returned");
  atomic.swap = 11;
  c.need(works(c, loop, atomic, "compare-and-swap of another value"));
  c.equal(target(), 9ULL, "the target after a compare-and-swap that compares unequal");
  c.equal(returned(), 9ULL, "what a compare-and-swap that compares unequal returned");
}

void srq_count(Case& c) {
  const int count = queried_device(c).max_srq;
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_srq> srq = c.way().srq(pd.raw(), {.max_wr = 1, .max_sge = 1, .srq_limit = 0});
  as_declared(c, count > 0, srq.error(), "ibv_create_srq", "max_srq " + std::to_string(count));
}

int window_error(Case& c, ibv_mw_type type) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  return c.way().mw(pd.raw(), type).error();
}

void mw_flag(Case& c) {
  if ((queried_device(c).device_cap_flags & IBV_DEVICE_MEM_WINDOW) == 0)
    return c.note("IBV_DEVICE_MEM_WINDOW is not set");
  c.accepted(window_error(c, IBV_MW_TYPE_1), "ibv_alloc_mw of type 1");
}

void mw2_flag(Case& c) {
  if ((queried_device(c).device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) == 0) {
    return c.note("neither IBV_DEVICE_MEM_WINDOW_TYPE_2A nor _2B is set");
  }
  c.accepted(window_error(c, IBV_MW_TYPE_2), "ibv_alloc_mw of type 2");
}

void mw_count(Case& c) {
  const int count = queried_device(c).max_mw;
  int error = window_error(c, IBV_MW_TYPE_1);
  if (error != 0) error = window_error(c, IBV_MW_TYPE_2);
  as_declared(c, count > 0, error, "ibv_alloc_mw", "max_mw " + std::to_string(count));
}

// Extended verbs that Verbena has no word for are libibverbs' own in both columns.

void xrc_flag(Case& c) {
  const bool declared = (queried_device(c).device_cap_flags & IBV_DEVICE_XRC) != 0;
  ibv_xrcd_init_attr init{};
  init.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  init.fd = -1;
  init.oflags = O_CREAT;
  errno = 0;
  ibv_xrcd* domain = ibv_open_xrcd(c.context(), &init);
  const int error = domain != nullptr ? 0 : (errno != 0 ? errno : EINVAL);
  as_declared(c, declared, error, "ibv_open_xrcd", "IBV_DEVICE_XRC");
  if (domain != nullptr) c.accepted(ibv_close_xrcd(domain), "ibv_close_xrcd");
}

void mcast_count(Case& c) {
  if (queried_device(c).max_mcast_grp > 0) return c.note("max_mcast_grp is above 0");
  Loop loop(c, {.type = verbena::QpType::ud});
  ibv_gid group{};
  group.raw[0] = 0xff;
  group.raw[1] = 0x0e;
  group.raw[15] = 0x77;
  c.refused(c.verbs().attach_mcast(loop.b().qp.raw(), group, 0xc001), "ibv_attach_mcast where max_mcast_grp is 0");
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kGrhBytes + 8), "ibv_post_recv"));
  c.need(c.accepted(loop.send(loop.a(), 2, 0, 8), "ibv_post_send"));
  c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "a datagram after the refused attach");
}

void odp_support_bit(Case& c) {
  const ibv_odp_caps caps = queried_ex(c).odp_caps;
  if ((caps.general_caps & IBV_ODP_SUPPORT) != 0) return c.note("IBV_ODP_SUPPORT is set");
  c.equal(caps.per_transport_caps.rc_odp_caps, 0U, "rc_odp_caps without IBV_ODP_SUPPORT");
  c.equal(caps.per_transport_caps.uc_odp_caps, 0U, "uc_odp_caps without IBV_ODP_SUPPORT");
  c.equal(caps.per_transport_caps.ud_odp_caps, 0U, "ud_odp_caps without IBV_ODP_SUPPORT");
  c.equal(queried_ex(c).xrc_odp_caps, 0U, "xrc_odp_caps without IBV_ODP_SUPPORT");
}

void odp_implicit_needs_support(Case& c) {
  const std::uint64_t caps = queried_ex(c).odp_caps.general_caps;
  c.holds((caps & IBV_ODP_SUPPORT_IMPLICIT) == 0 || (caps & IBV_ODP_SUPPORT) != 0, Seen::value,
          "IBV_ODP_SUPPORT_IMPLICIT is set without IBV_ODP_SUPPORT");
}

void timestamp_with_clock(Case& c) {
  const ibv_device_attr_ex attr = queried_ex(c);
  c.holds(attr.completion_timestamp_mask == 0 || attr.hca_core_clock != 0, Seen::value,
          "completion_timestamp_mask is set and hca_core_clock is 0");
}

void timestamp_mask_true(Case& c) {
  ibv_cq_init_attr_ex init{};
  init.cqe = c.within(verbena::Field::cqe, 4);
  // The plain extended queue must be there, so that the refusal is of the timestamp.
  init.wc_flags = 0;
  Made<ibv_cq_ex> cq = c.verbs().create_cq_ex(c.context(), init);
  c.need(c.accepted(cq.error, "ibv_create_cq_ex without a timestamp"));
  c.accepted(c.verbs().destroy_cq(ibv_cq_ex_to_cq(cq.handle)), "ibv_destroy_cq");
  init.wc_flags = IBV_WC_EX_WITH_COMPLETION_TIMESTAMP;
  cq = c.verbs().create_cq_ex(c.context(), init);
  if (queried_ex(c).completion_timestamp_mask == 0)
    c.refused(cq.error, "ibv_create_cq_ex with a timestamp where completion_timestamp_mask is 0");
  else
    c.accepted(cq.error, "ibv_create_cq_ex with a timestamp where completion_timestamp_mask is not 0");
  if (cq) c.accepted(c.verbs().destroy_cq(ibv_cq_ex_to_cq(cq.handle)), "ibv_destroy_cq");
}

void moderation_true(Case& c) {
  const ibv_cq_moderation_caps caps = queried_ex(c).cq_mod_caps;
  const Object<ibv_cq> cq = c.made(c.way().cq({.cqe = c.within(verbena::Field::cqe, 4)}), "ibv_create_cq");
  ibv_modify_cq_attr attr{};
  attr.attr_mask = IBV_CQ_ATTR_MODERATE;
  attr.moderate = {1, 1};
  const int error = c.verbs().modify_cq(cq.raw(), attr);
  if (caps.max_cq_count == 0 && caps.max_cq_period == 0)
    c.refused(error, "ibv_modify_cq where max_cq_count and max_cq_period are 0");
  else
    c.accepted(error, "ibv_modify_cq of one completion or one microsecond within the declared limits");
}

ibv_dm* device_memory(Case& c, std::size_t bytes, int& error) {
  ibv_alloc_dm_attr attr{};
  attr.length = bytes;
  errno = 0;
  ibv_dm* dm = ibv_alloc_dm(c.context(), &attr);
  error = dm != nullptr ? 0 : (errno != 0 ? errno : EINVAL);
  return dm;
}

void dm_size_true(Case& c) {
  const std::uint64_t size = queried_ex(c).max_dm_size;
  int error = 0;
  ibv_dm* dm = nullptr;
  for (const std::size_t bytes : {64UL, 1UL, 4096UL}) {
    if (dm == nullptr) dm = device_memory(c, bytes, error);
  }
  as_declared(c, size > 0, error, "ibv_alloc_dm", "max_dm_size " + std::to_string(size));
  if (dm != nullptr) c.accepted(ibv_free_dm(dm), "ibv_free_dm");
}

void dm_size_is_bound(Case& c) {
  const std::uint64_t size = queried_ex(c).max_dm_size;
  int error = 0;
  ibv_dm* dm = device_memory(c, 64, error);
  c.need(c.accepted(error, "ibv_alloc_dm of 64 bytes"));
  c.accepted(ibv_free_dm(dm), "ibv_free_dm");
  dm = device_memory(c, size + 1, error);
  c.refused(error, "ibv_alloc_dm of max_dm_size + 1 bytes");
  if (dm != nullptr) ibv_free_dm(dm);
}

void clock_marks(Case& c) {
  // Asked for with room for all; a bit that is not known today must stay clear.
  ibv_values_ex values{};
  values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
  c.need(c.accepted(c.verbs().query_rt_values_ex(c.context(), values), "ibv_query_rt_values_ex"));
  c.holds((values.comp_mask & IBV_VALUES_MASK_RAW_CLOCK) != 0, Seen::value, "the raw clock was filled and not marked");
  c.equal(values.comp_mask & ~static_cast<std::uint32_t>(IBV_VALUES_MASK_RAW_CLOCK), 0U, "further bits of comp_mask");
  values = {};
  c.accepted(c.verbs().query_rt_values_ex(c.context(), values), "ibv_query_rt_values_ex of nothing");
  c.equal(values.comp_mask, 0U, "comp_mask where nothing was asked for");
}

void clock_rises(Case& c) {
  std::uint64_t before = 0;
  // The width of the clock is that of the timestamps; where there are none, all 64 bits.
  std::uint64_t mask = queried_ex(c).completion_timestamp_mask;
  if (mask == 0) mask = ~std::uint64_t{0};
  for (int round = 0; round < 16; ++round) {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    c.need(c.accepted(c.verbs().query_rt_values_ex(c.context(), values), "ibv_query_rt_values_ex"));
    const auto now = (static_cast<std::uint64_t>(values.raw_clock.tv_sec) * 1'000'000'000U +
                      static_cast<std::uint64_t>(values.raw_clock.tv_nsec)) &
                     mask;
    if (round > 0) {
      c.holds(((now - before) & mask) <= mask / 2, Seen::value,
              "the raw clock went from " + std::to_string(before) + " to " + std::to_string(now));
    }
    before = now;
  }
}

}  // namespace

Bodies device_caps_bodies() {
  static constexpr Body kBodies[] = {
      {"device.caps.max_sge_of_both", max_sge_of_both},
      {"device.caps.max_sge_rd_filled", max_sge_rd_filled},
      {"device.caps.read_depth_filled", read_depth_filled},
      {"device.caps.responder_budget_covers_one", responder_budget},
      {"device.caps.page_size_of_kernel", page_size_of_kernel},
      {"device.caps.ack_delay_code", ack_delay_code},
      {"device.caps.atomic_none", atomic_none},
      {"device.caps.atomic_true", atomic_true},
      {"device.caps.srq_count", srq_count},
      {"device.caps.mw_flag", mw_flag},
      {"device.caps.mw2_flag", mw2_flag},
      {"device.caps.mw_count", mw_count},
      {"device.caps.xrc_flag", xrc_flag},
      {"device.caps.mcast_count", mcast_count},
      {"device.caps.odp_support_bit", odp_support_bit},
      {"device.caps.odp_implicit_needs_support", odp_implicit_needs_support},
      {"device.caps.timestamp_with_clock", timestamp_with_clock},
      {"device.caps.timestamp_mask_true", timestamp_mask_true},
      {"device.caps.moderation_true", moderation_true},
      {"device.caps.dm_size_true", dm_size_true},
      {"device.caps.dm_size_is_bound", dm_size_is_bound},
      {"device.clock.marks_what_it_filled", clock_marks},
      {"device.clock.rises", clock_rises},
  };
  return kBodies;
}

}  // namespace conform
