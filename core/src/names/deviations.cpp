// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/deviations.hpp"

#include <algorithm>
#include <array>

namespace verbena {
namespace {

constexpr std::array<DeviationInfo, kDeviationCount> kDeviations{{
    {Deviation::uc_takes_srq, "uc_takes_srq", "makes a UC queue pair with a shared receive queue"},
    {Deviation::receive_caps_beside_srq, "receive_caps_beside_srq",
     "holds max_recv_wr and max_recv_sge against its limits where a shared receive queue stands in their place"},
    {Deviation::send_depth_wraps, "send_depth_wraps",
     "adds to the depth of sends in 32 bits, so that the largest numbers become small ones"},
    {Deviation::receive_depth_wraps, "receive_depth_wraps",
     "adds to the depth of receives in 32 bits, so that the largest numbers become small ones"},
    {Deviation::inline_wraps, "inline_wraps",
     "rounds inline bytes up in 32 bits, so that the largest numbers become none"},
    {Deviation::signal_all_queried, "signal_all_queried", "gives back sq_sig_all 1 whatever was given at creation"},
    {Deviation::rings_queried, "rings_queried", "gives back the depths of its rings where creation returned others"},
    {Deviation::timers_not_queried, "timers_not_queried",
     "gives back 0 for the timeout, the RNR timer and the address vector"},
    {Deviation::read_rights_after_depth, "read_rights_after_depth",
     "leaves remote READ and atomics out of what a query gives back until max_dest_rd_atomic is set"},
    {Deviation::srq_limit_at_creation, "srq_limit_at_creation",
     "takes the srq_limit of a creation as if ibv_modify_srq had set it"},
    {Deviation::srq_ring_queried, "srq_ring_queried",
     "gives back a whole ring, twice as deep, as max_wr of a shared receive queue"},
    {Deviation::device_counts_frozen, "device_counts_frozen",
     "leaves the counts of ibv_query_device as they were when the device was registered"},
    {Deviation::handle_errno_minus_one, "handle_errno_minus_one", "fails ibv_create_ah with errno -1"},
    {Deviation::handle_errno_left_alone, "handle_errno_left_alone",
     "has no address handles, and says so without an errno"},
    {Deviation::handles_not_counted, "handles_not_counted",
     "frees a protection domain in which there are address handles"},
    {Deviation::handle_index_unchecked, "handle_index_unchecked", "makes an address handle whatever its GID index is"},
    {Deviation::inline_without_room, "inline_without_room",
     "refuses inline sends of as many bytes as creation granted, where SGEs leave no room for them"},
    {Deviation::mask_without_state_unchecked, "mask_without_state_unchecked",
     "takes every attribute in every state where the mask has no IBV_QP_STATE"},
    {Deviation::cur_state_believed, "cur_state_believed", "judges a move from cur_qp_state, whatever the state is"},
    {Deviation::cur_state_unread, "cur_state_unread", "takes any cur_qp_state"},
    {Deviation::stored_before_check, "stored_before_check", "keeps the attributes of a move that it refuses"},
    {Deviation::path_mtu_zero_taken, "path_mtu_zero_taken", "takes a path_mtu of 0"},
    {Deviation::retry_counts_unchecked, "retry_counts_unchecked", "takes retry_cnt and rnr_retry above 7"},
    {Deviation::retry_counts_cut, "retry_counts_cut", "takes the lower three bits of retry_cnt and rnr_retry"},
    {Deviation::timeout_unchecked, "timeout_unchecked", "takes a timeout above 31"},
    {Deviation::responder_depth_wraps, "responder_depth_wraps",
     "takes any max_dest_rd_atomic, and rounds it up in 8 bits, so that large ones become 0"},
    {Deviation::pkey_index_unchecked, "pkey_index_unchecked", "takes a pkey_index that the port's table has not"},
    {Deviation::rts_sends_nothing, "rts_sends_nothing", "leaves what waits for RTS until one more is posted there"},
    {Deviation::sqd_forgets_retries, "sqd_forgets_retries", "sends nothing again in SQD"},
    {Deviation::no_sqe, "no_sqe", "moves UC and UD to ERR where they should go to SQE"},
    {Deviation::rnr_timer_shortest, "rnr_timer_shortest",
     "asks senders to wait 0.01 ms for a receive whatever min_rnr_timer says, and tells that"},
    {Deviation::bad_wr_cleared, "bad_wr_cleared", "leaves bad_wr NULL where it refuses a post for the state"},
    {Deviation::early_sends_accepted, "early_sends_accepted", "takes a send before RTS without a word"},
    {Deviation::inline_read_taken, "inline_read_taken",
     "takes an inline RDMA READ, and the bytes of the buffer for its SGEs"},
    {Deviation::receives_stay_in_error, "receives_stay_in_error", "takes a receive in ERR and never completes it"},
    {Deviation::local_errors_flushed, "local_errors_flushed",
     "completes a work request that is at fault itself with IBV_WC_WR_FLUSH_ERR"},
    {Deviation::short_receive_malformed, "short_receive_malformed",
     "completes a receive that is too short with IBV_WC_LOC_QP_OP_ERR, and its send with IBV_WC_REM_OP_ERR"},
    {Deviation::window_bounds_of_region, "window_bounds_of_region",
     "lets a window's key reach all of the region behind it"},
    {Deviation::errors_unsolicited, "errors_unsolicited",
     "raises no event for a completion in error where solicited ones alone were asked for"},
    {Deviation::invalidate_flag_misplaced, "invalidate_flag_misplaced",
     "sets IBV_WC_IP_CSUM_OK where it should set IBV_WC_WITH_INV"},
    {Deviation::next_poll_repeats, "next_poll_repeats",
     "begins a batch with an old entry after one that ibv_next_poll had ended"},
    {Deviation::error_events_missing, "error_events_missing",
     "raises no event of a queue pair but IBV_EVENT_SQ_DRAINED and IBV_EVENT_QP_LAST_WQE_REACHED"},
    {Deviation::drained_unasked, "drained_unasked", "raises IBV_EVENT_SQ_DRAINED where en_sqd_async_notify is 0"},
    {Deviation::long_messages_carried, "long_messages_carried", "carries messages that are longer than max_msg_sz"},
}};

constexpr bool deviations_in_order() {
  for (std::size_t at = 0; at < kDeviationCount; ++at)
    if (static_cast<std::size_t>(kDeviations[at].deviation) != at) return false;
  return true;
}
static_assert(deviations_in_order());

}  // namespace

std::span<const DeviationInfo> all_deviations() noexcept {
  return kDeviations;
}

const DeviationInfo& info(Deviation deviation) noexcept {
  return kDeviations[static_cast<std::size_t>(deviation)];
}

std::string_view name(Deviation deviation) noexcept {
  return info(deviation).name;
}

std::optional<Deviation> find_deviation(std::string_view name) noexcept {
  const auto found =
      std::find_if(kDeviations.begin(), kDeviations.end(), [&](const DeviationInfo& one) { return one.name == name; });
  if (found == kDeviations.end()) return std::nullopt;
  return found->deviation;
}

}  // namespace verbena
