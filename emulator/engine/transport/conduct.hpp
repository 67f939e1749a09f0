// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <limits>

#include <infiniband/verbs.h>

#include "engine/transport/time.hpp"

namespace verbena::engine::transport {

/// Where a NIC departs from the specification. As it is made, nowhere. Each member is one way to depart, and none needs
/// another.
struct Conduct {
  static constexpr std::uint32_t kAll = std::numeric_limits<std::uint32_t>::max();

  // Posting.
  bool keeps_early_sends =
      false;  ///< a send before RTS is refused, and carried out with the first that is posted there
  bool takes_inline_reads = false;  ///< and then takes the bytes of the buffer for SGEs
  std::uint32_t inline_carried = kAll;  ///< inline bytes of a work request; those behind them go as zeros
  bool inline_first_alone = false;  ///< of inline data the first SGE goes, and the message is as long as that
  std::uint32_t sges_carried = kAll;  ///< a send of more fails with IBV_WC_LOC_QP_OP_ERR

  // Sending.
  std::uint32_t largest_message = kAll;  ///< bytes; a longer one fails with IBV_WC_LOC_LEN_ERR
  bool fence_orders = true;  ///< false: a fenced send takes its bytes before READs ahead of it have ended
  bool retries_for_ever = false;  ///< a retry count of seven doesn't end, as an RNR retry count of seven never does
  Time retry_after{};  ///< the wait for an acknowledgement whatever `timeout` says; 0: as that says
  bool zero_waits = true;  ///< of `retry_after`: with a timeout of 0 it waits for ever all the same
  bool retry_doubles = false;  ///< each wait twice as long as the one before
  Time timer_grain{};  ///< waits end at the next whole multiple of this; 0: as they are
  bool local_errors_flushed = false;  ///< a work request at fault itself completes as those behind it do
  bool has_sqe = true;  ///< false: UC and UD go to ERR where they should go to SQE
  bool sqd_forgets_retries = false;  ///< what must be sent again waits until RTS
  bool rts_sends = true;  ///< false: what was posted in SQD waits in RTS for one more post
  bool drained_unasked = false;  ///< IBV_EVENT_SQ_DRAINED also where nobody asked for it

  // Receiving.
  /// Code of the time that a sender is asked to wait for a receive, whatever `min_rnr_timer` says; kAll: as that says.
  std::uint32_t rnr_timer = kAll;
  bool atomic_results_reversed = false;  ///< the former value of an atomic comes with its bytes in reverse
  bool windows_bound = true;  ///< false: a window's key is good for all of its region
  bool short_receive_malformed =
      false;  ///< a receive without room is IBV_WC_LOC_QP_OP_ERR, and the sender's REM_OP_ERR
  bool receives_stay_in_error = false;  ///< one that is posted in ERR has no completion
  bool invalidates_regions = false;  ///< SEND with invalidate and LOCAL_INV end regions too, and not windows alone
  bool sink_needs_remote_write = false;  ///< what a READ brings goes to regions with remote write access alone
  Time payload_late{};  ///< how much later than the completion the last 64 bytes are seen

  // Completions and events.
  bool errors_solicited = true;  ///< false: a completion in error is none that IBV_SEND_SOLICITED asked for
  bool error_events = true;  ///< false: no event of a queue pair but those of its queues
  bool last_wqe_event = true;
  unsigned invalidate_flag = IBV_WC_WITH_INV;  ///< of wc_flags
  std::uint32_t flush_lost_one_in = 0;  ///< one flushed work request of so many never completes; 0: none
  bool flushes_to_receive_cq = false;  ///< those of the send queue
  ibv_wc_status errors_as = IBV_WC_SUCCESS;  ///< every error but a flush; IBV_WC_SUCCESS: as it is
  std::uint32_t vendor_code = 0;  ///< vendor_err of each completion in error
  bool vendor_code_counts = false;  ///< and its status is added to that
  bool overflow_fails_queue_pairs = true;  ///< false: IBV_EVENT_CQ_ERR alone
  std::uint64_t stops_after = std::numeric_limits<std::uint64_t>::max();  ///< sends; then nothing moves any more

  /// A completion as it is shown.
  void dress(ibv_wc& wc) const noexcept {
    if (wc.status == IBV_WC_SUCCESS) return;
    if (errors_as != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR) wc.status = errors_as;
    wc.vendor_err = vendor_code;
    if (vendor_code_counts) wc.vendor_err += static_cast<std::uint32_t>(wc.status);
  }
};

inline constexpr Conduct kToTheLetter{};

}  // namespace verbena::engine::transport
