// SPDX-License-Identifier: Apache-2.0 OR MIT
// What holds before any rule: bounds and features that the caps give (docs/quirk-tables.md).
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "contract/contract_builder.hpp"
#include "contract/interface_bounds.hpp"

namespace verbena {
namespace {

// enum ibv_device_cap_flags and ib_uverbs_device_cap_flags (linux/include/uapi/rdma/ib_user_verbs.h); the last three
// are younger than the headers that this is built with.
constexpr std::uint64_t kSrqResize = 1ULL << 13;
constexpr std::uint64_t kMemWindow = 1ULL << 17;
constexpr std::uint64_t kMemWindow2A = 1ULL << 23;
constexpr std::uint64_t kMemWindow2B = 1ULL << 24;
constexpr std::uint64_t kFlushGlobal = 1ULL << 38;
constexpr std::uint64_t kFlushPersistent = 1ULL << 39;
constexpr std::uint64_t kAtomicWrite = 1ULL << 40;
// enum ibv_odp_general_caps
constexpr std::uint64_t kOdpSupport = 1ULL << 0;
constexpr std::uint64_t kOdpImplicit = 1ULL << 1;

std::optional<bool> any(std::optional<std::uint64_t> flags, std::uint64_t bits) noexcept {
  if (!flags) return std::nullopt;
  return (*flags & bits) != 0;
}

std::optional<bool> nonzero(std::optional<std::uint64_t> value) noexcept {
  if (!value) return std::nullopt;
  return *value != 0;
}

/// A cap that some drivers leave at 0 where they mean 'not filled' (efa: max_qp_rd_atom; hns before 2025-03 and Hi1822:
/// max_sge_rd).
std::optional<std::uint64_t> filled(std::optional<std::uint64_t> value) noexcept {
  return value && *value == 0 ? std::nullopt : value;
}

}  // namespace

ContractBuilder::ContractBuilder(const DeviceId& device, const Caps& caps, std::uint8_t port,
                                 bool beyond_declared_allowed) {
  contract_.device_ = device;
  contract_.caps_ = caps;
  contract_.port_ = port;
  contract_.beyond_declared_allowed_ = beyond_declared_allowed;
  Provenance declared;
  declared.reason = "what holds when no cap and no rule says otherwise";
  contract_.provenances_.push_back(std::move(declared));
  base_from_interface();
  base_from_caps();
  base_from_port();
  base_features();
  for (const BehaviourInfo& flag : all_behaviours()) {
    contract_.behaviours_[static_cast<std::size_t>(flag.behaviour)].choice = flag.fallback;
  }
}

void ContractBuilder::declare(Field field, std::optional<std::uint64_t> value, std::string_view cap, SetBy set_by) {
  Domain& domain = contract_.domains_[static_cast<std::size_t>(field)];
  if (!value) return;
  Provenance by;
  by.set_by = set_by;
  by.reason = fmt::format("the device says {} is {}", cap, *value);
  by.source = set_by == SetBy::declared ? "ibv_query_device_ex, ibv_query_port" : "the vendor's own query or a trial";
  domain.declared = value;
  domain.known = true;
  if (*value >= domain.max) return;
  domain.max = *value;
  domain.max_by = add(std::move(by));
}

void ContractBuilder::declare(Field field, Cap cap, SetBy set_by) {
  const auto& assumed = contract_.caps_.assumed;
  const bool is_assumed = std::find(assumed.begin(), assumed.end(), cap) != assumed.end();
  contract_.domains_[static_cast<std::size_t>(field)].declared_assumed = is_assumed;
  declare(field, contract_.caps_[cap], is_assumed ? fmt::format("{} (assumed)", name(cap)) : std::string{name(cap)},
          set_by);
}

void ContractBuilder::base_from_interface() {
  std::string_view source;
  ProvenanceIndex by = 0;
  for (std::size_t at = 0; at < kFieldCount; ++at) {
    const InterfaceBound& bound = interface_bound(static_cast<Field>(at));
    if (bound.source != source) {
      source = bound.source;
      Provenance interface;
      interface.set_by = SetBy::build;
      interface.reason = "the verbs interface holds no other number";
      interface.source = source;
      by = add(std::move(interface));
    }
    interface_[at] = {bound.max, by};
    Domain& domain = contract_.domains_[at];
    domain.max = bound.max;
    domain.max_by = by;
    domain.known = bound.bounds;
  }
}

void ContractBuilder::base_from_caps() {
  const Caps& caps = contract_.caps_;
  if (filled(caps[Cap::max_qp_wr])) {
    declare(Field::max_send_wr, Cap::max_qp_wr);
    declare(Field::max_recv_wr, Cap::max_qp_wr);
  }
  if (caps[Cap::max_send_sge]) {
    declare(Field::max_send_sge, Cap::max_send_sge, SetBy::probed);
  } else {
    declare(Field::max_send_sge, Cap::max_sge);
  }
  if (caps[Cap::max_recv_sge]) {
    declare(Field::max_recv_sge, Cap::max_recv_sge, SetBy::probed);
  } else {
    declare(Field::max_recv_sge, Cap::max_sge);
  }
  declare(Field::max_inline_data, Cap::max_inline_data, SetBy::probed);
  if (filled(caps[Cap::max_cqe])) declare(Field::cqe, Cap::max_cqe);
  declare(Field::cq_count, Cap::max_cq_count);
  declare(Field::cq_period, Cap::max_cq_period);
  declare(Field::max_wr, Cap::max_srq_wr);
  declare(Field::max_sge, Cap::max_srq_sge);
  declare(Field::srq_limit, Cap::max_srq_wr);
  declare(Field::mr_length, Cap::max_mr_size);
  if (filled(caps[Cap::max_qp_init_rd_atom])) declare(Field::max_rd_atomic, Cap::max_qp_init_rd_atom);
  if (filled(caps[Cap::max_qp_rd_atom])) declare(Field::max_dest_rd_atomic, Cap::max_qp_rd_atom);
  if (filled(caps[Cap::max_sge_rd])) declare(Field::read_sge, Cap::max_sge_rd);
  declare(Field::max_qp, Cap::max_qp);
  if (filled(caps[Cap::max_cq])) declare(Field::max_cq, Cap::max_cq);
  declare(Field::max_mr, Cap::max_mr);
  declare(Field::max_pd, Cap::max_pd);
  declare(Field::max_srq, Cap::max_srq);
  declare(Field::max_mw, Cap::max_mw);
  declare(Field::max_ah, Cap::max_ah);
  if (filled(caps[Cap::max_res_rd_atom])) declare(Field::max_res_rd_atom, Cap::max_res_rd_atom);

  // A queue of no entries takes nothing, and nearly every driver refuses it (mlx5, irdma, hns, rxe, siw, ionic).
  Provenance empty;
  empty.set_by = SetBy::build;
  empty.reason = "a completion queue or shared receive queue of no entries is refused";
  empty.source = "create_cq and create_srq of rdma-core providers mlx5, hns; kernel sw/rxe, sw/siw, hw/irdma";
  const ProvenanceIndex by_empty = add(std::move(empty));
  for (const Field field : {Field::cqe, Field::max_wr}) {
    Domain& domain = contract_.domains_[static_cast<std::size_t>(field)];
    if (domain.max == 0) continue;  // the device has none at all
    domain.min = 1;
    domain.min_by = by_empty;
  }
}

void ContractBuilder::base_from_port() {
  Domain& mtu = contract_.domains_[static_cast<std::size_t>(Field::path_mtu_bytes)];
  mtu.min = 256;  // enum ibv_mtu starts there
  mtu.min_by = mtu.max_by;
  const PortCaps* port = contract_.caps_.port(contract_.port_);
  if (port == nullptr) return;
  declare(Field::message_bytes, filled((*port)[PortCap::max_msg_sz]), name(PortCap::max_msg_sz), SetBy::declared);
  declare(Field::path_mtu_bytes, filled((*port)[PortCap::active_mtu]), name(PortCap::active_mtu), SetBy::declared);
}

void ContractBuilder::declare_feature(Feature feature, std::optional<bool> native, std::string_view cap) {
  if (!native) return;
  Provenance by;
  by.reason = fmt::format("the device {} it by {}", *native ? "grants" : "denies", cap);
  by.source = "ibv_query_device_ex";
  contract_.features_[static_cast<std::size_t>(feature)] = {*native ? Support::native : Support::absent,
                                                            add(std::move(by))};
}

void ContractBuilder::base_features() {
  const Caps& caps = contract_.caps_;
  const auto flags = caps[Cap::device_cap_flags];
  const auto flags_ex = caps[Cap::device_cap_flags_ex];
  declare_feature(Feature::compare_swap, nonzero(caps[Cap::atomic_cap]), "atomic_cap");
  declare_feature(Feature::fetch_add, nonzero(caps[Cap::atomic_cap]), "atomic_cap");
  declare_feature(Feature::inline_data, nonzero(caps[Cap::max_inline_data]), "max_inline_data");
  declare_feature(Feature::srq, nonzero(caps[Cap::max_srq]), "max_srq");
  declare_feature(Feature::srq_resize, any(flags, kSrqResize), "device_cap_flags SRQ_RESIZE");
  declare_feature(Feature::memory_window_1, any(flags, kMemWindow), "device_cap_flags MEM_WINDOW");
  declare_feature(Feature::memory_window_2, any(flags, kMemWindow2A | kMemWindow2B),
                  "device_cap_flags MEM_WINDOW_TYPE_2A, _2B");
  // Type 2 windows are bound by a work request; type 1 ones by ibv_bind_mw, which posts one as well.
  declare_feature(Feature::bind_mw, any(flags, kMemWindow | kMemWindow2A | kMemWindow2B),
                  "device_cap_flags MEM_WINDOW, MEM_WINDOW_TYPE_2A, _2B");
  declare_feature(Feature::multicast, nonzero(caps[Cap::max_mcast_grp]), "max_mcast_grp");
  declare_feature(Feature::cq_moderation, nonzero(caps[Cap::max_cq_count]), "max_cq_count");
  declare_feature(Feature::completion_timestamp, nonzero(caps[Cap::completion_timestamp_mask]),
                  "completion_timestamp_mask");
  declare_feature(Feature::on_demand_paging, any(caps[Cap::odp_general_caps], kOdpSupport), "odp_general_caps");
  declare_feature(Feature::implicit_odp, any(caps[Cap::odp_general_caps], kOdpImplicit), "odp_general_caps");
  declare_feature(Feature::flush, any(flags_ex, kFlushGlobal | kFlushPersistent),
                  "device_cap_flags_ex FLUSH_GLOBAL, FLUSH_PERSISTENT");
  declare_feature(Feature::atomic_write, any(flags_ex, kAtomicWrite), "device_cap_flags_ex ATOMIC_WRITE");

  Provenance later;
  later.set_by = SetBy::build;
  later.reason = "this version of Verbena does not cover it; raw handles and adopt reach it";
  const ProvenanceIndex by_later = add(std::move(later));
  for (const Feature feature :
       {Feature::xrc, Feature::raw_packet, Feature::driver_qp, Feature::device_memory, Feature::flow_steering}) {
    contract_.features_[static_cast<std::size_t>(feature)] = {Support::absent, by_later};
  }
}

}  // namespace verbena
