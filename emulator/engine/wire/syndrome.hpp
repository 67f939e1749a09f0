// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace verbena::engine::wire {

/// The first three bits of an AETH's syndrome; the other five are a credit code, a timer code or a NAK code.
/// Source: linux drivers/infiniband/sw/rxe/rxe_hdr.h enum aeth_syndrome.
enum class AckKind : std::uint8_t { ack = 0, rnr_nak = 1, reserved = 2, nak = 3 };

/// Source: rxe_hdr.h as above; code 4 is of RD alone (linux include/rdma/ib_hdrs.h).
enum class NakCode : std::uint8_t {
  psn_sequence_error = 0,
  invalid_request = 1,
  remote_access_error = 2,
  remote_operational_error = 3,
};

/// What an acknowledgement says, eight bits.
class Syndrome {
public:
  /// No credits are counted: the requester may send as if there were always a receive.
  static constexpr std::uint8_t kUnlimited = 31;

  constexpr Syndrome() noexcept = default;
  constexpr explicit Syndrome(std::uint8_t bits) noexcept : bits_(bits) {}

  static constexpr Syndrome ack(std::uint8_t credit_code = kUnlimited) noexcept {
    return of(AckKind::ack, credit_code);
  }
  static constexpr Syndrome rnr_nak(std::uint8_t timer_code) noexcept { return of(AckKind::rnr_nak, timer_code); }
  static constexpr Syndrome nak(NakCode code) noexcept { return of(AckKind::nak, static_cast<std::uint8_t>(code)); }

  constexpr std::uint8_t bits() const noexcept { return bits_; }
  /// Bit 7 is reserved and not looked at.
  constexpr AckKind kind() const noexcept { return static_cast<AckKind>((bits_ >> 5) & 3); }
  /// Credits, timer or NAK code, as the kind says.
  constexpr std::uint8_t code() const noexcept { return bits_ & 0x1f; }
  friend constexpr bool operator==(Syndrome, Syndrome) noexcept = default;

private:
  static constexpr Syndrome of(AckKind kind, std::uint8_t code) noexcept {
    return Syndrome(static_cast<std::uint8_t>((static_cast<unsigned>(kind) << 5) | (code & 0x1fU)));
  }

  std::uint8_t bits_ = kUnlimited;
};

/// Receives that each credit code below kUnlimited stands for: powers of two and the numbers halfway between them.
/// Source: linux drivers/infiniband/sw/rdmavt/rc.c credit_table.
inline constexpr std::array<std::uint16_t, 31> kCredits = [] {
  std::array<std::uint16_t, 31> credits{0, 1, 2, 3};
  for (std::size_t code = 4; code < credits.size(); ++code) {
    credits[code] = static_cast<std::uint16_t>(2 * credits[code - 2]);
  }
  return credits;
}();

/// The largest code that promises no more receives than there are.
constexpr std::uint8_t credit_code(std::uint32_t receives) noexcept {
  const auto* const above = std::upper_bound(kCredits.begin(), kCredits.end(), receives);
  return static_cast<std::uint8_t>(above - kCredits.begin() - 1);
}

}  // namespace verbena::engine::wire
