// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/wire/bth.hpp"
#include "engine/wire/ip.hpp"
#include "engine/wire/udp.hpp"

namespace verbena::engine::wire {

/// CRC-32 of eight bytes of ones, which stand for the local route header that RoCE v2 has none of.
inline constexpr std::uint32_t kCrcOfLrh = 0x2144df1c;
/// What stands for a byte that the ICRC doesn't cover.
inline constexpr std::byte kUncovered{0xff};

/// The invariant CRC of a RoCE v2 packet: CRC-32 of Ethernet over all that no switch or router changes. What they may
/// change counts as ones: eight bytes in front (where InfiniBand has its LRH), TOS, TTL and checksum of IPv4, or
/// traffic class, flow label and hop limit of IPv6, the checksum of UDP, and the BTH byte with FECN and BECN. Source:
/// IBTA volume 1 annex A17, as in linux drivers/infiniband/sw/rxe/rxe_icrc.c rxe_icrc_hdr.
class Icrc {
public:
  static constexpr std::size_t kBytes = 4;

  /// `headers` are IP, UDP and BTH, as long as the version says, as they are on the wire; `behind` is added at once,
  /// which takes less time for a small packet.
  explicit Icrc(IpVersion version, std::span<const std::byte> headers, std::span<const std::byte> behind = {}) noexcept;

  /// What follows the BTH, in one piece or several: other headers, payload and pad, but not the ICRC.
  void add(std::span<const std::byte> bytes) noexcept;

  std::uint32_t value() const noexcept { return crc_; }

  /// On the wire its lowest byte is first, unlike all else.
  void write(std::byte* to) const noexcept;
  static std::uint32_t read(const std::byte* from) noexcept;

private:
  std::uint32_t crc_;
};

}  // namespace verbena::engine::wire
