// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "verbena/behaviours.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// A known fault of some device, as a switch: a model names it under `faults:` and the emulated NIC then does so.
// clang-format off: grouped by hand
enum class Fault : std::uint8_t {
  // creation and what the device says of itself
  max_qp_wr_one_too_many, max_cqe_one_too_many, cqe_one_less, max_qp_not_reached, work_requests_run_out, budget_shared,
  inline_over_limit_taken, unsupported_errno, errno_left_alone, windows_declared, query_qp_state_wrong,
  // posting, and what is sent
  sge_overrun, inline_accepted_but_dropped, inline_multi_sge_sends_first_only, kept_in_ring, negative_errno,
  fence_ignored, atomics_refused_when_posted, atomic_result_swapped,
  // memory
  pinned_bytes_run_out, region_pages_limited, regions_run_out, strict_order_refused, payload_after_completion,
  // states
  reset_spoils, reset_leaves_completions, rtr_to_rts_wants_rnr_timer, access_flags_grow, qp_number_reused_at_once,
  // time
  timeout_ignored,
  // completions and events
  flush_lost, flush_to_other_cq, last_wqe_not_raised, errors_reported_as, vendor_err_undocumented, device_stops,
};
// clang-format on
inline constexpr std::size_t kFaultCount = static_cast<std::size_t>(Fault::device_stops) + 1;

/// A number, or one of some words, that tells a fault how far it goes.
struct FaultParameterInfo {
  std::string_view name;
  std::string_view meaning;       ///< one phrase, with the unit
  std::string_view words;         ///< allowed, separated by blanks; empty for a number
  std::uint64_t least = 0;        ///< of a number
  std::uint64_t most = 0;
  std::uint64_t fallback = 0;     ///< of a number that a model leaves out; of words the first holds
};

/// The behaviour flag and its value that have a fault's effect where the device always acts so.
struct FaultBehaviour {
  Behaviour flag;
  Choice choice;
};

struct FaultInfo {
  Fault fault;
  std::string_view name;
  std::string_view meaning;  ///< what the device does, as the rest of a sentence that begins with "It"
  std::span<const FaultParameterInfo> parameters;
  std::optional<FaultBehaviour> same_as;
};

std::span<const FaultInfo> all_faults() noexcept;
const FaultInfo& info(Fault fault) noexcept;
std::string_view name(Fault fault) noexcept;
std::optional<Fault> find_fault(std::string_view name) noexcept;

}  // namespace verbena
#pragma GCC visibility pop
