// SPDX-License-Identifier: Apache-2.0 OR MIT
// The ICRC of many packets between the same addresses and ports. A CRC is linear: what a field adds to it depends on
// the field and on how many bytes follow, and not on what those are. So IP and UDP are summed up once a length, a
// changed identification is one exclusive or, and an identification that nobody saw can be worked out of the ICRC.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/wire/ip.hpp"
#include "engine/wire/udp.hpp"

namespace verbena::engine::wire {

class FlowIcrc {
public:
  /// Of packets with so many bytes behind the UDP header. ip.identification isn't looked at.
  FlowIcrc(const Ip& ip, const Udp& udp, std::size_t data_bytes) noexcept;

  /// What the ICRC comes to over IP and UDP.
  std::uint32_t before(std::uint16_t identification) const noexcept {
    return counts_ ? before_ ^ of_identification(identification) : before_;
  }

private:
  static std::uint32_t of_identification(std::uint16_t identification) noexcept;

  std::uint32_t before_;
  bool counts_;  ///< IPv4
};

/// The ICRC, from what it came to over IP and UDP: `covered` is BTH and all behind it but the ICRC. The BTH's byte that
/// doesn't count is another while this runs.
std::uint32_t icrc_behind(std::uint32_t before, std::span<std::byte> covered) noexcept;

/// The identification with which a packet that has `found` as its ICRC would have `stands` instead, where `found` was
/// worked out with 0 as identification: one of 65536 wrong ICRCs has one too, so that 16 bits less are checked.
/// `covered_bytes` as in icrc_behind().
std::optional<std::uint16_t> identification_of(std::uint32_t found, std::uint32_t stands,
                                               std::size_t covered_bytes) noexcept;

}  // namespace verbena::engine::wire
