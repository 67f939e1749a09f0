// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/features.hpp"

#include <array>

#include "names/word_table.hpp"

namespace verbena {
namespace {

constexpr names::WordTable<4> kSupport{"unknown", "native", "substituted", "absent"};
static_assert(kSupport.size() == static_cast<std::size_t>(Support::absent) + 1);

constexpr std::array<FeatureInfo, kFeatureCount> kFeatures{{
    {Feature::rc, "rc", "reliable connected queue pairs"},
    {Feature::uc, "uc", "unreliable connected queue pairs"},
    {Feature::ud, "ud", "unreliable datagram queue pairs"},
    {Feature::xrc, "xrc", "extended reliable connected queue pairs"},
    {Feature::raw_packet, "raw_packet", "raw Ethernet queue pairs"},
    {Feature::driver_qp, "driver_qp", "queue pair types of the vendor's own (DC, SRD)"},
    {Feature::send, "send", "SEND"},
    {Feature::send_with_imm, "send_with_imm", "SEND with immediate data"},
    {Feature::send_with_inv, "send_with_inv", "SEND that invalidates the peer's key"},
    {Feature::rdma_write, "rdma_write", "RDMA WRITE"},
    {Feature::rdma_write_with_imm, "rdma_write_with_imm", "RDMA WRITE with immediate data"},
    {Feature::rdma_read, "rdma_read", "RDMA READ"},
    {Feature::compare_swap, "compare_swap", "atomic compare and swap of 8 bytes"},
    {Feature::fetch_add, "fetch_add", "atomic fetch and add of 8 bytes"},
    {Feature::atomic_write, "atomic_write", "ATOMIC WRITE of 8 bytes"},
    {Feature::flush, "flush", "FLUSH to global visibility or persistence"},
    {Feature::local_inv, "local_inv", "a work request that invalidates a local key"},
    {Feature::bind_mw, "bind_mw", "a work request that binds a memory window"},
    {Feature::inline_data, "inline_data", "send work requests that carry their bytes in themselves"},
    {Feature::srq, "srq", "shared receive queues"},
    {Feature::srq_resize, "srq_resize", "change of a shared receive queue's depth"},
    {Feature::srq_limit_event, "srq_limit_event", "an event when a shared receive queue runs low"},
    {Feature::last_wqe_reached_event, "last_wqe_reached_event",
     "an event when a failed QP takes no more from its shared receive queue"},
    {Feature::memory_window_1, "memory_window_1", "memory windows of type 1"},
    {Feature::memory_window_2, "memory_window_2", "memory windows of type 2"},
    {Feature::in_place_data, "in_place_data",
     "queue pairs whose small messages the device writes to their buffers, and no library out of the completion"},
    {Feature::create_qp_ex, "create_qp_ex", "ibv_create_qp_ex with send_ops_flags (the work request builder)"},
    {Feature::create_cq_ex, "create_cq_ex", "extended polling"},
    {Feature::cq_resize, "cq_resize", "change of a completion queue's depth"},
    {Feature::cq_moderation, "cq_moderation", "fewer events than completions (ibv_modify_cq)"},
    {Feature::cq_ignore_overrun, "cq_ignore_overrun", "completion queues that may overrun without an error"},
    {Feature::cq_events, "cq_events", "completion events through a channel"},
    {Feature::user_ah, "user_ah", "address handles made from user space"},
    {Feature::multicast, "multicast", "multicast groups"},
    {Feature::rereg_mr, "rereg_mr", "change of a memory region in place"},
    {Feature::dmabuf_mr, "dmabuf_mr", "memory regions on a dma-buf"},
    {Feature::zero_based_mr, "zero_based_mr", "memory regions whose remote addresses start at 0"},
    {Feature::null_mr, "null_mr", "a memory region that discards what is written"},
    {Feature::advise_mr, "advise_mr", "prefetch hints for on-demand regions"},
    {Feature::non_contiguous_mr, "non_contiguous_mr", "one key over several ranges"},
    {Feature::on_demand_paging, "on_demand_paging", "memory regions that are not pinned"},
    {Feature::implicit_odp, "implicit_odp", "one on-demand region over the whole address space"},
    {Feature::relaxed_ordering, "relaxed_ordering", "PCIe relaxed ordering for a region"},
    {Feature::parent_domain, "parent_domain", "parent domains"},
    {Feature::thread_domain, "thread_domain", "thread domains"},
    {Feature::completion_timestamp, "completion_timestamp", "hardware time in completions"},
    {Feature::raw_clock, "raw_clock", "reading the device's clock"},
    {Feature::device_memory, "device_memory", "memory of the device's own (ibv_alloc_dm)"},
    {Feature::flow_steering, "flow_steering", "flow steering rules"},
    {Feature::sqd, "sqd", "the send queue drained state"},
}};

constexpr bool features_in_order() {
  for (std::size_t at = 0; at < kFeatures.size(); ++at) {
    if (static_cast<std::size_t>(kFeatures[at].feature) != at) return false;
  }
  return true;
}
static_assert(features_in_order());

}  // namespace

std::string_view name(Support support) noexcept {
  return names::word_of(kSupport, support);
}
std::span<const FeatureInfo> all_features() noexcept {
  return kFeatures;
}
std::string_view name(Feature feature) noexcept {
  return kFeatures[static_cast<std::size_t>(feature)].name;
}

std::optional<Feature> find_feature(std::string_view name) noexcept {
  for (const FeatureInfo& feature : kFeatures) {
    if (feature.name == name) return feature.feature;
  }
  return std::nullopt;
}

// UC is served by an RC queue pair: reliable where unreliable was asked for.
bool has_substitute(Feature feature) noexcept {
  return feature == Feature::uc;
}

}  // namespace verbena
