// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/conduct.hpp"

#include <chrono>
#include <string_view>

namespace verbena::emulator {

namespace {

using engine::transport::Conduct;
using engine::transport::Time;
using namespace std::chrono_literals;

/// What vendor_err holds. No source gives the codes of each status: these are the emulator's own, of the form that
/// quirk tables tell.
void set_vendor_error(Conduct& conduct, Choice form) {
  constexpr std::uint32_t kByte = 0x80;
  constexpr std::uint32_t kMajor = 1U << 16;
  switch (form) {
    case Choice::firmware_byte:
    case Choice::cqe_sub_status:
      conduct.vendor_code = kByte;
      conduct.vendor_code_counts = true;
      break;
    case Choice::major_minor:
      conduct.vendor_code = kMajor;
      conduct.vendor_code_counts = true;
      break;
    default:
      break;
  }
}

void set_timers(Conduct& conduct, Choice ack_timeout, Choice min_rnr_timer) {
  // linux drivers/infiniband/sw/rxe/rxe_qp.c rxe_qp_from_attr, a kernel of 250 jiffies a second; hw/qedr/verbs.c
  // qedr_modify_qp.
  if (ack_timeout == Choice::jiffies) conduct.timer_grain = 4ms;
  if (ack_timeout == Choice::milliseconds) conduct.timer_grain = 1ms;
  // No source says how long firmware waits by itself: this is the emulator's own.
  if (ack_timeout == Choice::ignored) conduct.retry_after = 67ms;
  // 40.96 ms: likewise.
  constexpr std::uint32_t kOwn = 24;
  if (min_rnr_timer == Choice::ignored) conduct.rnr_timer = kOwn;
}

ibv_wc_status status_of(std::string_view word) {
  if (word == "fatal_err") return IBV_WC_FATAL_ERR;
  if (word == "general_err") return IBV_WC_GENERAL_ERR;
  if (word == "loc_qp_op_err") return IBV_WC_LOC_QP_OP_ERR;
  if (word == "rem_op_err") return IBV_WC_REM_OP_ERR;
  return IBV_WC_SUCCESS;
}

void behave(Conduct& conduct, const Profile& profile) {
  conduct.keeps_early_sends = profile.does(Behaviour::post_send_before_rts) == Choice::kept_in_ring;
  conduct.retries_for_ever = profile.does(Behaviour::retry_cnt_seven) == Choice::infinite;
  conduct.fence_orders = profile.does(Behaviour::fence_orders) != Choice::no;
  conduct.last_wqe_event = profile.does(Behaviour::last_wqe_reached) != Choice::not_raised;
  conduct.overflow_fails_queue_pairs = profile.does(Behaviour::cq_overflow) != Choice::error_event;
  conduct.sink_needs_remote_write = profile.does(Behaviour::read_sink_needs_remote_write) == Choice::yes;
  // The specification lets SEND with invalidate end a window or a key of the kernel's own; where a device has the one
  // operation and not the other, regions are all that there is to end.
  conduct.invalidates_regions = !profile.has(Feature::memory_window_2);
  set_timers(conduct, profile.does(Behaviour::ack_timeout), profile.does(Behaviour::min_rnr_timer));
  set_vendor_error(conduct, profile.does(Behaviour::vendor_err));
}

void deviate(Conduct& conduct, const Profile& profile) {
  const std::uint64_t largest = profile.figure(1, PortCap::max_msg_sz);
  if (largest > 0 && largest < Conduct::kAll && !profile.deviates(Deviation::long_messages_carried))
    conduct.largest_message = static_cast<std::uint32_t>(largest);
  constexpr unsigned kMisplaced = IBV_WC_IP_CSUM_OK;
  if (profile.deviates(Deviation::invalidate_flag_misplaced)) conduct.invalidate_flag = kMisplaced;
  conduct.takes_inline_reads = profile.deviates(Deviation::inline_read_taken);
  conduct.local_errors_flushed = profile.deviates(Deviation::local_errors_flushed);
  conduct.has_sqe = !profile.deviates(Deviation::no_sqe);
  conduct.sqd_forgets_retries = profile.deviates(Deviation::sqd_forgets_retries);
  conduct.rts_sends = !profile.deviates(Deviation::rts_sends_nothing);
  conduct.drained_unasked = profile.deviates(Deviation::drained_unasked);
  conduct.windows_bound = !profile.deviates(Deviation::window_bounds_of_region);
  conduct.short_receive_malformed = profile.deviates(Deviation::short_receive_malformed);
  conduct.receives_stay_in_error = profile.deviates(Deviation::receives_stay_in_error);
  conduct.errors_solicited = !profile.deviates(Deviation::errors_unsolicited);
  if (profile.deviates(Deviation::rnr_timer_shortest)) conduct.rnr_timer = 1;
  conduct.error_events = !profile.deviates(Deviation::error_events_missing);
}

void switch_faults(Conduct& conduct, const Profile& profile) {
  const auto on = [&profile](Fault fault) { return profile.fault(fault) != nullptr; };
  const auto number = [&profile](Fault fault, std::string_view parameter, std::uint64_t otherwise) {
    return profile.number(fault, parameter, otherwise);
  };
  const auto narrow = [&number](Fault fault, std::string_view parameter, std::uint32_t otherwise) {
    return static_cast<std::uint32_t>(number(fault, parameter, otherwise));
  };
  conduct.sges_carried = narrow(Fault::sge_overrun, "held", Conduct::kAll);
  conduct.inline_carried = narrow(Fault::inline_accepted_but_dropped, "held", Conduct::kAll);
  conduct.inline_first_alone = on(Fault::inline_multi_sge_sends_first_only);
  conduct.atomic_results_reversed = on(Fault::atomic_result_swapped);
  conduct.payload_late = std::chrono::microseconds(number(Fault::payload_after_completion, "microseconds", 0));
  if (on(Fault::timeout_ignored)) {
    conduct.retry_after = std::chrono::milliseconds(number(Fault::timeout_ignored, "milliseconds", 0));
    conduct.zero_waits = false;
  }
  conduct.retry_doubles = profile.word(Fault::timeout_ignored, "then") == "doubled";
  conduct.flush_lost_one_in = narrow(Fault::flush_lost, "one_in", 0);
  conduct.flushes_to_receive_cq = on(Fault::flush_to_other_cq);
  conduct.errors_as = status_of(profile.word(Fault::errors_reported_as, "status"));
  conduct.vendor_code = narrow(Fault::vendor_err_undocumented, "code", conduct.vendor_code);
  if (on(Fault::vendor_err_undocumented)) conduct.vendor_code_counts = false;
  conduct.stops_after = number(Fault::device_stops, "posts", conduct.stops_after);
}

}  // namespace

Conduct conduct_of(const Profile& profile) {
  Conduct conduct;
  behave(conduct, profile);
  deviate(conduct, profile);
  switch_faults(conduct, profile);
  return conduct;
}

}  // namespace verbena::emulator
