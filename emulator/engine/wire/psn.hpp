// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

namespace verbena::engine::wire {

/// A packet sequence number: 24 bits that wrap. There is no `<`: which of two comes first depends on where the window
/// is. Source of the arithmetic: linux drivers/infiniband/sw/rxe/rxe_verbs.h psn_compare, rxe_hdr.h BTH_PSN_MASK.
class Psn {
public:
  static constexpr std::uint32_t kMask = 0xffffff;
  static constexpr std::int32_t kHalf = 1 << 23;

  constexpr Psn() noexcept = default;
  /// Keeps the low 24 bits.
  constexpr explicit Psn(std::uint32_t number) noexcept : number_(number & kMask) {}

  constexpr std::uint32_t value() const noexcept { return number_; }
  friend constexpr bool operator==(Psn, Psn) noexcept = default;
  friend constexpr Psn operator+(Psn psn, std::uint32_t packets) noexcept { return Psn(psn.number_ + packets); }
  friend constexpr Psn operator-(Psn psn, std::uint32_t packets) noexcept { return Psn(psn.number_ - packets); }
  constexpr Psn& operator++() noexcept { return *this = *this + 1; }

private:
  std::uint32_t number_ = 0;
};

/// Packets from `from` to `to`, going the shorter way round: -2^23 to 2^23 - 1.
constexpr std::int32_t distance(Psn from, Psn to) noexcept {
  const std::uint32_t ahead = (to - from.value()).value();
  return ahead < static_cast<std::uint32_t>(Psn::kHalf) ? static_cast<std::int32_t>(ahead)
                                                        : static_cast<std::int32_t>(ahead) - 2 * Psn::kHalf;
}

/// `first` was sent before `second`, as long as at most half of all numbers are under way.
constexpr bool precedes(Psn first, Psn second) noexcept {
  return distance(first, second) > 0;
}

/// `psn` is one of the `packets` numbers that begin with `first`.
constexpr bool in_window(Psn psn, Psn first, std::uint32_t packets) noexcept {
  return (psn - first.value()).value() < packets;
}

/// How a responder that waits for `expected` sees a request: half of all numbers are duplicates, the others but one
/// mean that something was lost. Source: linux drivers/infiniband/sw/rxe/rxe_resp.c check_psn.
enum class PsnRegion : std::uint8_t { expected, duplicate, ahead };

constexpr PsnRegion region(Psn psn, Psn expected) noexcept {
  const std::int32_t from_expected = distance(expected, psn);
  if (from_expected == 0) return PsnRegion::expected;
  return from_expected < 0 ? PsnRegion::duplicate : PsnRegion::ahead;
}

}  // namespace verbena::engine::wire
