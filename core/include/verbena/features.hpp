// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#pragma GCC visibility push(default)
namespace verbena {

/// How a device comes by a feature.
enum class Support : std::uint8_t {
  unknown,      ///< nothing says so: a request for it is let through (nothing denies it), and nothing that Verbena
                ///< chooses by itself relies on it; shown as unknown
  native,       ///< the device and its driver do it
  substituted,  ///< this build does it another way, and says what that costs
  absent,       ///< neither
};
std::string_view name(Support support) noexcept;

/// Something a device has or lacks. Table names are the enumerators' own.
// clang-format off: grouped by hand
enum class Feature : std::uint8_t {
  // queue pair types
  rc, uc, ud, xrc, raw_packet, driver_qp,
  // opcodes of a send queue
  send, send_with_imm, send_with_inv, rdma_write, rdma_write_with_imm, rdma_read,
  compare_swap, fetch_add, atomic_write, flush, local_inv, bind_mw,
  inline_data,
  // objects and verbs
  srq, srq_resize, srq_limit_event, last_wqe_reached_event,
  memory_window_1, memory_window_2,
  in_place_data,      ///< the device writes every message to its buffer; see QpRequest::in_place
  create_qp_ex,       ///< ibv_create_qp_ex with send_ops_flags (the work request builder)
  create_cq_ex,       ///< extended polling
  cq_resize, cq_moderation, cq_ignore_overrun, cq_events,
  user_ah,            ///< ibv_create_ah from user space
  multicast,
  rereg_mr, dmabuf_mr, zero_based_mr, null_mr, advise_mr, non_contiguous_mr,
  on_demand_paging, implicit_odp, relaxed_ordering,
  parent_domain, thread_domain,
  completion_timestamp, raw_clock,
  device_memory, flow_steering,
  sqd,                ///< the send queue drained state
};
// clang-format on
inline constexpr std::size_t kFeatureCount = static_cast<std::size_t>(Feature::sqd) + 1;

struct FeatureInfo {
  Feature feature;
  std::string_view name;
  std::string_view meaning;
};

std::span<const FeatureInfo> all_features() noexcept;
std::string_view name(Feature feature) noexcept;
std::optional<Feature> find_feature(std::string_view name) noexcept;
/// Whether this build can do the feature another way; a rule's `substitute` for one that it cannot means absent.
bool has_substitute(Feature feature) noexcept;

}  // namespace verbena
#pragma GCC visibility pop
