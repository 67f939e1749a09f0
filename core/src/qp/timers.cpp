// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/timers.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>

#include <fmt/format.h>

namespace verbena {
namespace {

constexpr unsigned kLastCode = 31;
constexpr Milliseconds kLongestTick{10};  // a kernel built with CONFIG_HZ=100

// Source: InfiniBand specification volume 1, encoding of the timer field of an RNR NAK; milliseconds.
constexpr std::array<double, 32> kRnrTimers{
    655.36, 0.01, 0.02, 0.03, 0.04,  0.06,  0.08,  0.12,  0.16,  0.24,  0.32,  0.48,   0.64,   0.96,   1.28,   1.92,
    2.56,   3.84, 5.12, 7.68, 10.24, 15.36, 20.48, 30.72, 40.96, 61.44, 81.92, 122.88, 163.84, 245.76, 327.68, 491.52};

// A wish computed in floating point must not miss its own code by a rounding.
constexpr double kSlack = 1e-9;
bool covers(double have, double wish) {
  return have >= wish * (1 - kSlack);
}
bool covers_not(double have, double wish) {
  return !covers(have, wish);
}

// 4.096 us x 2^code.
constexpr std::array<double, 32> kAckTimeouts = [] {
  std::array<double, 32> table{};
  double milliseconds = 0.004096;
  for (double& entry : table) {
    entry = milliseconds;
    milliseconds *= 2;
  }
  return table;
}();

[[gnu::cold]] Failure out_of_range(const char* field, Milliseconds wish, Milliseconds shortest, Milliseconds longest) {
  return Failure(Error{.kind = ErrorKind::invalid_request,
                       .field = field,
                       .by = {.set_by = SetBy::request, .reason = "the packet format holds no other time"},
                       .text = fmt::format("{} of {} ms was asked for; it goes from {} to {}, and for none at all a "
                                           "retry count of 0 ends the first try.",
                                           field, wish.count(), to_string(shortest), to_string(longest))});
}

WorstStall forever(std::string text) {
  return {kForever, kForever, true, std::move(text)};
}

WorstStall bounded(Milliseconds one_try, unsigned tries, const std::string& also) {
  const Milliseconds nominal = one_try * tries;
  return {nominal, 4 * nominal, true,
          fmt::format("{} x {} tries = {}; hardware may take up to {}{}", to_string(one_try), tries, to_string(nominal),
                      to_string(4 * nominal), also)};
}

}  // namespace

Result<AckTimeoutCode> ack_timeout_code(Milliseconds wish) {
  constexpr double kMostUnits = kAckTimeouts[kLastCode] / kAckTimeouts[0];
  const double units = wish.count() * (1 - kSlack) / kAckTimeouts[0];
  if (units > 0 && units <= kMostUnits) {
    // The smallest power of two that covers so many units of 4.096 us: as wide as the largest whole number below.
    const auto whole = static_cast<std::int64_t>(units);
    const std::int64_t below = static_cast<double>(whole) < units ? whole : whole - 1;
    const auto code = static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(below)));
    return static_cast<AckTimeoutCode>(std::max(code, 1U));
  }
  if (wish == kForever) return AckTimeoutCode{0};
  return out_of_range("timeout", wish, duration(AckTimeoutCode{1}), duration(AckTimeoutCode{31}));
}

Result<RnrTimerCode> rnr_timer_code(Milliseconds wish) {
  if (wish.count() > 0) {
    const auto* const shortest = std::lower_bound(kRnrTimers.begin() + 1, kRnrTimers.end(), wish.count(), covers_not);
    if (shortest != kRnrTimers.end()) return static_cast<RnrTimerCode>(shortest - kRnrTimers.begin());
    if (covers(kRnrTimers[0], wish.count())) return RnrTimerCode{0};
  }
  return out_of_range("min_rnr_timer", wish, duration(RnrTimerCode{1}), duration(RnrTimerCode{0}));
}

Milliseconds duration(AckTimeoutCode code) noexcept {
  const auto number = static_cast<unsigned>(code);
  return number == 0 ? kForever : Milliseconds(kAckTimeouts[std::min(number, kLastCode)]);
}

Milliseconds duration(RnrTimerCode code) noexcept {
  return Milliseconds(kRnrTimers[std::min(static_cast<unsigned>(code), kLastCode)]);
}

WorstStall worst_stall(AckTimeoutCode timeout, std::uint8_t retry_cnt, const Contract& contract) {
  const Choice keeps = contract.behaviour(Behaviour::ack_timeout).choice;
  if (keeps == Choice::not_applicable) {
    const bool tcp = contract.is(Behaviour::rts_driven_by, Choice::rdma_cm);  // what iWARP is, and SRD is not
    return {kForever, kForever, false,
            fmt::format("{} has its own timers; timeout and retry_cnt mean nothing here",
                        tcp ? "TCP below" : "the device's own transport")};
  }
  if (keeps == Choice::ignored) {
    return {kForever, kForever, false,
            fmt::format("this device ignores the timeout asked for ({}); how long it really waits is in no source",
                        to_string(duration(timeout)))};
  }
  if (timeout == AckTimeoutCode{0}) return forever("timeout 0 means no timer: a lost peer is never noticed");
  const Choice seven = contract.behaviour(Behaviour::retry_cnt_seven).choice;
  if (retry_cnt >= 7 && seven == Choice::infinite) {
    return forever("this device never stops retrying with retry_cnt 7; use 6 or less for a bound");
  }
  const unsigned tries = retry_cnt + 1U;
  const auto code = static_cast<unsigned>(timeout);
  switch (keeps) {
    case Choice::milliseconds:
      // Source: kernel drivers/infiniband/hw/qedr/verbs.c, qedr_modify_qp.
      return bounded(Milliseconds(std::ldexp(1.0, std::max(static_cast<int>(std::min(code, kLastCode)) - 8, 0))), tries,
                     "; this device rounds the timeout to 2^(code - 8) ms, at least 1 ms");
    case Choice::clamped: {
      const Domain& domain = contract.domain(Field::timeout);
      if (domain.known && code > domain.max) {
        return {kForever, kForever, false,
                fmt::format("this device drops a timeout above code {} ({}) and keeps what it had; no bound holds",
                            domain.max, to_string(duration(static_cast<AckTimeoutCode>(domain.max))))};
      }
      return bounded(duration(timeout), tries, "");
    }
    case Choice::jiffies:
      // Source: kernel drivers/infiniband/sw/rxe/rxe_qp.c, rxe_qp_from_attr: whole ticks, at least one.
      return bounded(std::max(duration(timeout), kLongestTick), tries,
                     "; this driver counts whole kernel ticks (1 to 10 ms), at least one a try, so short timeouts look "
                     "alike");
    default:
      return bounded(duration(timeout), tries, "");
  }
}

WorstStall worst_receiver_stall(RnrTimerCode timer, std::uint8_t rnr_retry, const Contract& contract) {
  const Choice keeps = contract.behaviour(Behaviour::min_rnr_timer).choice;
  if (keeps == Choice::not_applicable) {
    return {kForever, kForever, false, "this transport has no receiver-not-ready timer"};
  }
  const std::string one =
      fmt::format("min_rnr_timer {} = {}", static_cast<unsigned>(timer), to_string(duration(timer)));
  if (rnr_retry >= 7) {
    return forever(one +
                   " a try, and rnr_retry 7 never stops trying: a SEND to a receiver that posts nothing waits "
                   "without an error");
  }
  if (keeps == Choice::ignored) {
    return {kForever, kForever, false, one + " was asked for, but this device keeps a timer of its own"};
  }
  return bounded(duration(timer), rnr_retry + 1U, " (" + one + ")");
}

std::string to_string(Milliseconds value) {
  if (std::isinf(value.count())) return "for ever";
  if (value.count() >= 1e6) return fmt::format("{:.0f} s", value.count() / 1000);
  if (value.count() >= 1000) return fmt::format("{:.3g} s", value.count() / 1000);
  return fmt::format("{:.5g} ms", value.count());
}

}  // namespace verbena
