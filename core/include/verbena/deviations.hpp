// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#pragma GCC visibility push(default)
namespace verbena {

/// How a driver departs from what verbs demand where no behaviour flag has a word for it: nothing that a request could
/// be fitted to, yet a program sees it. A model names those of its driver under `deviations:`; each is an expectation
/// of the conformance suite too (conformance/expectations/<driver>.yaml).
// clang-format off: grouped by hand
enum class Deviation : std::uint8_t {
  // creation, and what a query gives back
  uc_takes_srq, receive_caps_beside_srq, send_depth_wraps, receive_depth_wraps, inline_wraps,
  signal_all_queried, rings_queried, timers_not_queried, read_rights_after_depth, srq_limit_at_creation,
  srq_ring_queried, device_counts_frozen, handle_errno_minus_one, handle_errno_left_alone, handles_not_counted,
  handle_index_unchecked, inline_without_room,
  // moves
  mask_without_state_unchecked, cur_state_believed, cur_state_unread, stored_before_check, path_mtu_zero_taken,
  retry_counts_unchecked, retry_counts_cut, timeout_unchecked, responder_depth_wraps, pkey_index_unchecked,
  rts_sends_nothing, sqd_forgets_retries, no_sqe, rnr_timer_shortest,
  // posts
  bad_wr_cleared, early_sends_accepted, inline_read_taken, receives_stay_in_error,
  // data, completions and events
  local_errors_flushed, short_receive_malformed, window_bounds_of_region, errors_unsolicited, invalidate_flag_misplaced,
  next_poll_repeats, error_events_missing, drained_unasked, long_messages_carried,
};
// clang-format on
inline constexpr std::size_t kDeviationCount = static_cast<std::size_t>(Deviation::long_messages_carried) + 1;

struct DeviationInfo {
  Deviation deviation;
  std::string_view name;
  std::string_view meaning;  ///< what the driver does, as the rest of a sentence that begins with "It"
};

std::span<const DeviationInfo> all_deviations() noexcept;
const DeviationInfo& info(Deviation deviation) noexcept;
std::string_view name(Deviation deviation) noexcept;
std::optional<Deviation> find_deviation(std::string_view name) noexcept;

}  // namespace verbena
#pragma GCC visibility pop
