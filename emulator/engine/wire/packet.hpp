// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>

#include "engine/wire/bth.hpp"
#include "engine/wire/extended_headers.hpp"
#include "engine/wire/icrc.hpp"
#include "engine/wire/ip.hpp"
#include "engine/wire/mtu.hpp"
#include "engine/wire/opcode_table.hpp"
#include "engine/wire/udp.hpp"

namespace verbena::engine::wire {

/// Everything that a packet says besides its payload. Of the headers after the BTH those count that the opcode has
/// (opcode_table.hpp); parse() leaves the others as they are made.
struct Packet {
  Ip ip;
  Udp udp;
  Bth bth;
  Deth deth;
  Feth feth;
  Reth reth;
  AtomicEth atomic;
  Aeth aeth;
  AtomicAckEth atomic_ack;
  ImmDt immediate;
  Ieth invalidate;

  friend bool operator==(const Packet&, const Packet&) noexcept = default;
};

/// Pad after a payload, so that what follows the BTH is whole words.
constexpr std::uint8_t pad_after(std::size_t payload_bytes) noexcept {
  return static_cast<std::uint8_t>((4 - payload_bytes % 4) % 4);
}

/// Room for the headers of any packet.
inline constexpr std::size_t kMostHeadBytes = Ip::kV6Bytes + Udp::kBytes + Bth::kBytes + AtomicEth::kBytes;
/// Room for pad and ICRC.
inline constexpr std::size_t kMostTailBytes = 3 + Icrc::kBytes;
/// Room for any packet that a path MTU allows.
inline constexpr std::size_t kMostPacketBytes = kMostHeadBytes + kLargestMtu + kMostTailBytes;

static_assert([] {
  for (const OpcodeInfo& info : kOpcodes) {
    if (info.header_bytes > AtomicEth::kBytes) return false;
  }
  return true;
}());

}  // namespace verbena::engine::wire
