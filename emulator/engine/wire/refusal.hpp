// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace verbena::engine::wire {

/// Why a packet was not taken. In the order in which they are looked for: the ICRC is judged before anything that it
/// covers behind UDP, so that a flipped bit is a wrong ICRC and not an unknown opcode.
enum class Refusal : std::uint8_t {
  too_short,          ///< fewer bytes than its headers and lengths say
  ip_version,         ///< neither IPv4 nor IPv6
  ip_options,         ///< an IPv4 header that isn't five words
  ip_checksum,        ///< of the IPv4 header
  fragment,           ///< more fragments, an offset, or the reserved flag
  not_udp,            ///< another protocol, or an IPv6 extension header
  not_roce_port,      ///< UDP to another port than 4791
  length_mismatch,    ///< IP and UDP disagree, or UDP data isn't whole words
  udp_checksum,       ///< there is one, and it's wrong
  icrc,               ///< wrong
  transport_version,  ///< of the BTH, another than 0
  unknown_opcode,     ///< opcode_table.hpp has no such opcode
  pad_beyond_payload, ///< more pad than bytes
  payload_size,       ///< the opcode has no payload, or one of eight bytes
};

inline constexpr std::size_t kRefusals = 14;

std::string_view name(Refusal refusal) noexcept;

/// How often each happened. One thread counts; others may read sums that it gives away.
struct RefusalCounts {
  std::array<std::uint64_t, kRefusals> of{};

  std::uint64_t& operator[](Refusal refusal) noexcept { return of[static_cast<std::size_t>(refusal)]; }
  std::uint64_t operator[](Refusal refusal) const noexcept { return of[static_cast<std::size_t>(refusal)]; }
  std::uint64_t all() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t count : of) sum += count;
    return sum;
  }
};

}  // namespace verbena::engine::wire
