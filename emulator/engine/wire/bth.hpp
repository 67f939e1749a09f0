// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/wire/bytes.hpp"
#include "engine/wire/opcode.hpp"
#include "engine/wire/psn.hpp"

namespace verbena::engine::wire {

/// A number of 24 bits: QPN, MSN. What is above is never written.
inline constexpr std::uint32_t kLow24 = 0xffffff;

/// The base transport header, first in every packet.
/// Source: linux drivers/infiniband/sw/rxe/rxe_hdr.h struct rxe_bth and its masks.
struct Bth {
  static constexpr std::size_t kBytes = 12;

  Opcode opcode{};
  bool solicited = false;
  bool migrated = true;  ///< what a connection without alternate path sends
  std::uint8_t pad = 0;  ///< bytes after the payload that belong to nobody, 0 to 3; encode() works it out
  std::uint8_t version = 0;  ///< four bits; there is no other than 0
  std::uint16_t pkey = 0xffff;
  bool fecn = false;  ///< the way here was congested
  bool becn = false;  ///< the way of what this answers was congested
  std::uint32_t dest_qp = 0;  ///< 24 bits
  bool ack_request = false;
  Psn psn;

  friend constexpr bool operator==(const Bth&, const Bth&) noexcept = default;

  /// `to` has kBytes of room.
  constexpr void write(std::byte* to) const noexcept {
    store(to, static_cast<std::uint8_t>(opcode));
    store(to + 1, static_cast<std::uint8_t>((solicited ? 0x80 : 0) | (migrated ? 0x40 : 0) | ((pad & 3) << 4) |
                                            (version & 0xf)));
    store(to + 2, pkey);
    store(to + 4, (fecn ? 0x80000000U : 0) | (becn ? 0x40000000U : 0) | (dest_qp & kLow24));
    store(to + 8, (ack_request ? 0x80000000U : 0) | psn.value());
  }

  /// `from` has kBytes; reserved bits are not looked at.
  static constexpr Bth read(const std::byte* from) noexcept {
    const auto flags = load<std::uint8_t>(from + 1);
    const auto qp = load<std::uint32_t>(from + 4);
    const auto psn = load<std::uint32_t>(from + 8);
    return {.opcode = static_cast<Opcode>(load<std::uint8_t>(from)),
            .solicited = (flags & 0x80) != 0,
            .migrated = (flags & 0x40) != 0,
            .pad = static_cast<std::uint8_t>((flags >> 4) & 3),
            .version = static_cast<std::uint8_t>(flags & 0xf),
            .pkey = load<std::uint16_t>(from + 2),
            .fecn = (qp & 0x80000000) != 0,
            .becn = (qp & 0x40000000) != 0,
            .dest_qp = qp & kLow24,
            .ack_request = (psn & 0x80000000) != 0,
            .psn = Psn(psn)};
  }
};

}  // namespace verbena::engine::wire
