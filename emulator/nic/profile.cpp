// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/profile.hpp"

#include <infiniband/verbs.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "verbena/errno_family.hpp"

namespace verbena::emulator {

namespace {

struct StandIn {
  Cap cap;
  std::uint64_t number;
};

/// In place of figures that no source gives: enough for any program of a desk, and no power of two that a program might
/// take for the device's own. A cap that isn't here stands at 0, which says that there is none.
constexpr StandIn kStandIns[] = {
    {Cap::max_qp, 60000},
    {Cap::max_cq, 60000},
    {Cap::max_mr, 1000000},
    {Cap::max_pd, 30000},
    {Cap::max_qp_wr, 16000},
    {Cap::max_sge, 16},
    {Cap::max_sge_rd, 16},
    {Cap::max_cqe, 1000000},
    {Cap::max_ah, 60000},
    {Cap::max_qp_rd_atom, 16},
    {Cap::max_qp_init_rd_atom, 16},
    {Cap::max_res_rd_atom, 1000000},
    {Cap::max_mr_size, 0x8000000000},
    {Cap::max_pkeys, 1},
    {Cap::num_comp_vectors, 1},
    {Cap::max_mcast_grp, 1000},
    {Cap::max_mcast_qp_attach, 50},
    {Cap::max_total_mcast_qp_attach, 50000},
    {Cap::page_size_cap, 0xfffffffffffff000},
    {Cap::max_srq, 1000},
    {Cap::max_srq_wr, 16000},
    {Cap::max_srq_sge, 16},
};

struct PortStandIn {
  PortCap cap;
  std::uint64_t number;
};

constexpr PortStandIn kPortStandIns[] = {
    {PortCap::state, IBV_PORT_ACTIVE}, {PortCap::max_mtu, 4U << 10}, {PortCap::active_mtu, 1024},
    {PortCap::max_msg_sz, 1U << 30},   {PortCap::gid_tbl_len, 16},   {PortCap::pkey_tbl_len, 1},
    {PortCap::active_speed, 32},       {PortCap::active_width, 2},
};

}  // namespace

Profile::Profile(Model model) : model_(std::move(model)), caps_(model_.caps), unsupported_(EOPNOTSUPP) {
  for (const Cap cap : all_caps()) {
    if (caps_[cap]) continue;
    const auto* const found =
        std::find_if(std::begin(kStandIns), std::end(kStandIns), [&](const StandIn& each) { return each.cap == cap; });
    caps_.set(cap, found == std::end(kStandIns) ? 0 : found->number);
  }
  // Windows that a dump counts, of a device whose flags nobody told.
  if (!model_.caps[Cap::device_cap_flags] && model_.caps[Cap::max_mw].value_or(0) > 0) {
    caps_.set(Cap::device_cap_flags,
              IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2B | IBV_DEVICE_MEM_MGT_EXTENSIONS);
  }
  constexpr std::uint64_t kWindowFlags =
      IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B;
  if (!model_.caps[Cap::max_mw] && (figure(Cap::device_cap_flags) & kWindowFlags) != 0) {
    constexpr std::uint64_t kWindows = 100000;
    caps_.set(Cap::max_mw, kWindows);
  }
  for (PortCaps& port : caps_.ports) {
    for (const PortStandIn& each : kPortStandIns) {
      if (!port[each.cap]) port.set(each.cap, each.number);
    }
  }
  creation_ = Creation::of(model_, caps_);
  for (const FeatureInfo& each : all_features())
    features_[static_cast<std::size_t>(each.feature)] = derived(each.feature);
  for (const auto& [feature, support] : model_.features) {
    features_[static_cast<std::size_t>(feature)] = support == Support::native;
  }
  if (has(Feature::completion_timestamp) && !model_.caps[Cap::completion_timestamp_mask]) {
    constexpr std::uint64_t kMask = (std::uint64_t{1} << 48) - 1;
    caps_.set(Cap::completion_timestamp_mask, kMask);
  }
  for (const BehaviourInfo& each : all_behaviours())
    behaviours_[static_cast<std::size_t>(each.behaviour)] = each.fallback;
  // What `creation` says isn't said again.
  if (creation_ && creation_->word("post", "sign") == "negative")
    behaviours_[static_cast<std::size_t>(Behaviour::post_return_sign)] = Choice::negative;
  for (const auto& [behaviour, choice] : model_.behaviours) behaviours_[static_cast<std::size_t>(behaviour)] = choice;
  for (const Deviation deviation : model_.deviations) deviations_[static_cast<std::size_t>(deviation)] = true;
  switch_faults();
}

/// What switches make of caps and behaviours; the rest of what they do is in conduct.cpp and faults.cpp.
void Profile::switch_faults() {
  for (const SwitchedFault& one : model_.faults) {
    const auto& same = info(one.fault).same_as;
    if (same) behaviours_[static_cast<std::size_t>(same->flag)] = same->choice;
  }
  if (fault(Fault::reset_spoils) != nullptr)
    behaviours_[static_cast<std::size_t>(Behaviour::recycle_through_reset)] = Choice::no;
  if (fault(Fault::windows_declared) != nullptr) {
    constexpr std::uint64_t kWindows = 1000;
    const bool declared = figure(Cap::max_mw) > 0 || (figure(Cap::device_cap_flags) & IBV_DEVICE_MEM_WINDOW) != 0;
    if (!declared) caps_.set(Cap::max_mw, kWindows);
    caps_.set(Cap::device_cap_flags, figure(Cap::device_cap_flags) | IBV_DEVICE_MEM_WINDOW);
    for (const Feature gone : {Feature::memory_window_1, Feature::memory_window_2, Feature::bind_mw})
      features_[static_cast<std::size_t>(gone)] = false;
  }
  if (fault(Fault::atomics_refused_when_posted) != nullptr) caps_.set(Cap::atomic_cap, IBV_ATOMIC_HCA);
  unsupported_ = error(Fault::unsupported_errno, "errno", EOPNOTSUPP);
}

/// What caps and creation tell of a feature that the model doesn't name.
bool Profile::derived(Feature feature) const {
  const auto type = [this](QpType which) { return !creation_ || creation_->makes(which); };
  const std::uint64_t flags = figure(Cap::device_cap_flags);
  switch (feature) {
    case Feature::rc:
      return type(QpType::rc);
    case Feature::uc:
      return type(QpType::uc);
    case Feature::ud:
      return type(QpType::ud);
    case Feature::send:
    case Feature::send_with_imm:
    case Feature::rdma_write:
    case Feature::rdma_read:
    case Feature::cq_events:
    case Feature::user_ah:
    case Feature::sqd:
    case Feature::inline_data:
      return true;
    case Feature::rdma_write_with_imm:
      return transport(1) != Transport::iwarp;  // RFC 5040 has no immediate data
    case Feature::compare_swap:
    case Feature::fetch_add:
      return figure(Cap::atomic_cap) != IBV_ATOMIC_NONE;
    case Feature::srq:
      return figure(Cap::max_srq) > 0 && (!creation_ || creation_->has_srq());
    case Feature::srq_resize:
      return derived(Feature::srq) && (flags & IBV_DEVICE_SRQ_RESIZE) != 0;
    case Feature::srq_limit_event:
    case Feature::last_wqe_reached_event:
      return derived(Feature::srq);
    case Feature::memory_window_1:
      return figure(Cap::max_mw) > 0 && (flags & IBV_DEVICE_MEM_WINDOW) != 0;
    case Feature::memory_window_2:
      return figure(Cap::max_mw) > 0 && (flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B)) != 0;
    case Feature::bind_mw:
      return figure(Cap::max_mw) > 0;
    case Feature::local_inv:
    case Feature::send_with_inv:
      return (flags & IBV_DEVICE_MEM_MGT_EXTENSIONS) != 0;
    case Feature::multicast:
      return figure(Cap::max_mcast_grp) > 0 && type(QpType::ud);
    case Feature::completion_timestamp:
      return figure(Cap::completion_timestamp_mask) != 0;
    case Feature::on_demand_paging:
      return (figure(Cap::odp_general_caps) & IBV_ODP_SUPPORT) != 0;
    default:
      return false;
  }
}

std::uint64_t Profile::figure(std::uint8_t port, PortCap cap) const noexcept {
  const PortCaps* const found = caps_.port(port);
  return found == nullptr ? 0 : (*found)[cap].value_or(0);
}

const SwitchedFault* Profile::fault(Fault fault) const noexcept {
  const auto found = std::find_if(model_.faults.begin(), model_.faults.end(),
                                  [fault](const SwitchedFault& each) { return each.fault == fault; });
  return found == model_.faults.end() ? nullptr : &*found;
}

std::uint64_t Profile::number(Fault fault, std::string_view parameter, std::uint64_t otherwise) const noexcept {
  const SwitchedFault* const on = this->fault(fault);
  if (on == nullptr) return otherwise;
  for (const SwitchedFault::Parameter& each : on->parameters) {
    if (each.name == parameter) return each.number;
  }
  return otherwise;
}

std::string_view Profile::word(Fault fault, std::string_view parameter) const noexcept {
  const SwitchedFault* const on = this->fault(fault);
  if (on == nullptr) return {};
  for (const SwitchedFault::Parameter& each : on->parameters) {
    if (each.name == parameter) return each.word;
  }
  return {};
}

int Profile::error(Fault fault, std::string_view parameter, int otherwise) const noexcept {
  const std::string_view told = word(fault, parameter);
  constexpr int kErrnos = 134;
  for (int number = 1; number < kErrnos && !told.empty(); ++number) {
    if (errno_name(number) == told) return number;
  }
  return otherwise;
}

Transport Profile::transport(std::uint8_t port) const noexcept {
  const PortId* const found = model_.device.port(port);
  return found == nullptr ? Transport::unknown : found->transport;
}

}  // namespace verbena::emulator
