// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <bit>

#include "verbena/contract.hpp"

namespace verbena {
namespace {

constexpr std::uint64_t kTop = Domain::kUnbounded;

constexpr std::uint64_t saturating_add(std::uint64_t left, std::uint64_t right) noexcept {
  return left > kTop - right ? kTop : left + right;
}

constexpr std::uint64_t power_of_two_from(std::uint64_t value) noexcept {
  if (value > (kTop >> 1U) + 1) return kTop;
  return std::bit_ceil(value);
}

std::uint64_t apply(const Ask& ask, std::uint64_t value) noexcept {
  switch (ask.kind) {
    case AskKind::as_is:
      break;
    case AskKind::power_of_two:
      return power_of_two_from(value);
    case AskKind::multiple_of:
      if (ask.n > 1 && value % ask.n != 0) return saturating_add(value, ask.n - value % ask.n);
      break;
    case AskKind::not_multiple_of:
      if (ask.n > 0 && value % ask.n == 0) return saturating_add(value, 1);
      break;
    case AskKind::plus:
      return saturating_add(value, ask.n);
  }
  return value;
}

/// The largest value that apply() takes to `limit` or less; 0 when there is none.
std::uint64_t largest_within(const Ask& ask, std::uint64_t limit) noexcept {
  switch (ask.kind) {
    case AskKind::as_is:
      break;
    case AskKind::power_of_two:
      return std::bit_floor(limit);
    case AskKind::multiple_of:
      return ask.n > 1 ? limit - limit % ask.n : limit;
    case AskKind::not_multiple_of:
      return ask.n > 0 && limit > 0 && limit % ask.n == 0 ? limit - 1 : limit;
    case AskKind::plus:
      return limit > ask.n ? limit - ask.n : 0;
  }
  return limit;
}

}  // namespace

std::uint64_t Domain::passed_for(std::uint64_t granted) const noexcept {
  if (granted == 0) return 0;  // nothing is wanted, so nothing has to be made room for
  std::uint64_t passed = saturating_add(granted, reserve);
  for (std::uint8_t at = 0; at < ask_count; ++at) passed = apply(asks[at], passed);
  return passed;
}

std::uint64_t Domain::largest_grant() const noexcept {
  if (max == kTop) return kTop;
  std::uint64_t limit = max;
  for (std::uint8_t at = ask_count; at > 0; --at) limit = largest_within(asks[at - 1U], limit);
  return limit > reserve ? limit - reserve : 0;
}

bool Domain::empty() const noexcept {
  // passed_for() never falls as the grant grows.
  return min > 0 && passed_for(largest_grant()) < min;
}

}  // namespace verbena
