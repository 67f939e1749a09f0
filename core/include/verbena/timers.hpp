// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include "verbena/contract.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// Timers are asked for in milliseconds, and fractions of one.
using Milliseconds = std::chrono::duration<double, std::milli>;
/// No timer: waits for ever.
inline constexpr Milliseconds kForever{std::numeric_limits<double>::infinity()};

/// Local ack timeout as packets carry it: 4.096 us x 2^code; 0 is for ever, 31 is 2.4 hours.
/// Source: InfiniBand specification, Local ACK Timeout; man rdma_set_option.
enum class AckTimeoutCode : std::uint8_t {};
/// Receiver-not-ready timer as packets carry it: a table of 32 values, where 0 is the longest (655.36 ms), not none.
/// Source: InfiniBand specification, encoding of the RNR NAK timer field.
enum class RnrTimerCode : std::uint8_t {};

/// The shortest timeout that is at least that long; kForever gives code 0. Error: invalid_request for zero, a negative
/// number, or more than code 31 holds (8796093.0 ms).
[[nodiscard]] Result<AckTimeoutCode> ack_timeout_code(Milliseconds wish);
/// The shortest timer that is at least that long. Error: invalid_request for zero, a negative number, or more than
/// 655.36 ms.
[[nodiscard]] Result<RnrTimerCode> rnr_timer_code(Milliseconds wish);
/// How long that code is; kForever for 0. Codes above 31 count as 31.
Milliseconds duration(AckTimeoutCode code) noexcept;
Milliseconds duration(RnrTimerCode code) noexcept;

/// What a connected queue pair is given when the caller says nothing.
struct QpTimers {
  /// 67.1 ms, code 14: what perftest and many others use; about half a second to failure with 7 retries.
  Milliseconds ack_timeout{67.108864};
  std::uint8_t retry_cnt = 7;       ///< 0..7
  /// 0.64 ms, code 12. Left at code 0 a receiver that is late once stalls for 655.36 ms (NVIDIA/daqiri #138).
  Milliseconds min_rnr_timer{0.64};
  std::uint8_t rnr_retry = 7;  ///< 0..7; 7 is for ever, and 0 breaks on one SEND that is early (spdk/spdk #2429)

  friend bool operator==(const QpTimers&, const QpTimers&) = default;
};

/// How long a lost peer can go unnoticed.
struct WorstStall {
  Milliseconds nominal{0};  ///< timeout x (retries + 1); kForever when the tries never end
  /// What hardware may take by the specification, 4 x nominal; kForever when the tries never end.
  Milliseconds at_most{0};
  bool known = true;  ///< false: this device does not keep the timer, so no bound holds
  std::string text;  ///< one sentence with the figures and what this device does otherwise
};

/// From the first loss to IBV_WC_RETRY_EXC_ERR, by what this device really does with timeout and retry count.
WorstStall worst_stall(AckTimeoutCode timeout, std::uint8_t retry_cnt, const Contract& contract);
/// The longest that a SEND waits for a receiver that posts nothing: one receiver-not-ready timer a try.
WorstStall worst_receiver_stall(RnrTimerCode timer, std::uint8_t rnr_retry, const Contract& contract);

/// `0.64 ms`, `67.1 ms`, `8.59 s`, `for ever`.
std::string to_string(Milliseconds value);

}  // namespace verbena
#pragma GCC visibility pop
