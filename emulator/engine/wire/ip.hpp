// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/wire/bytes.hpp"

namespace verbena::engine::wire {

/// 16 bytes in network order, as a GID of RoCE v2 is: an IPv6 address, or an IPv4 address after ::ffff:.
using Gid = std::array<std::byte, 16>;

/// ::ffff:a.b.c.d
constexpr Gid mapped(std::uint8_t a, std::uint8_t b, std::uint8_t c, std::uint8_t d) noexcept {
  Gid gid{};
  gid[10] = gid[11] = std::byte{0xff};
  gid[12] = std::byte{a};
  gid[13] = std::byte{b};
  gid[14] = std::byte{c};
  gid[15] = std::byte{d};
  return gid;
}

/// Does this GID stand for an IPv4 address?
constexpr bool is_mapped(const Gid& gid) noexcept {
  return load<std::uint64_t>(gid.data()) == 0 && load<std::uint32_t>(gid.data() + 8) == 0xffff;
}

/// Two numbers are compared, and not sixteen bytes.
constexpr bool same(const Gid& one, const Gid& other) noexcept {
  return load<std::uint64_t>(one.data()) == load<std::uint64_t>(other.data()) &&
         load<std::uint64_t>(one.data() + 8) == load<std::uint64_t>(other.data() + 8);
}

enum class IpVersion : std::uint8_t { v4 = 4, v6 = 6 };

/// An IP header as far as RoCE v2 uses it: no options, no extension headers, no fragments.
/// Source: RFC 791, RFC 8200; what a RoCE NIC sets: linux drivers/infiniband/sw/rxe/rxe_net.c prepare_ipv4_hdr,
/// prepare_ipv6_hdr.
struct Ip {
  static constexpr std::size_t kV4Bytes = 20;
  static constexpr std::size_t kV6Bytes = 40;

  IpVersion version = IpVersion::v4;
  std::uint8_t traffic_class = 0;    ///< TOS in IPv4
  std::uint8_t hop_limit = 64;       ///< TTL in IPv4
  bool dont_fragment = true;         ///< IPv4 alone
  std::uint16_t identification = 0;  ///< IPv4 alone, and covered by the ICRC
  std::uint32_t flow_label = 0;      ///< IPv6 alone, 20 bits
  Gid source{};                      ///< mapped in IPv4
  Gid destination{};                 ///< mapped in IPv4
  // Of InfiniBand, and in no packet of RoCE: they go only where trains are handed over.
  bool without_grh = false;          ///< routed by LIDs alone
  std::uint8_t service_level = 0;
  std::uint16_t source_lid = 0;

  constexpr std::size_t bytes() const noexcept { return version == IpVersion::v4 ? kV4Bytes : kV6Bytes; }
  friend bool operator==(const Ip&, const Ip&) noexcept = default;
};

/// Writes ip.bytes() at `to`, for a UDP datagram of `udp_bytes` (its header included) behind it.
void write_ip(const Ip& ip, std::uint16_t udp_bytes, std::byte* to) noexcept;

/// What a UD receive shows in front of the message, always 40 bytes: the IPv6 header, or 20 zeros and the IPv4 header.
/// Source: linux include/rdma/ib_verbs.h union rdma_network_hdr, drivers/infiniband/sw/rxe/rxe_resp.c execute (which
/// zeroes the first 20; by the comment in the former they mean nothing).
inline constexpr std::size_t kGrhBytes = 40;
void write_grh(const Ip& ip, std::uint16_t udp_bytes, std::span<std::byte, kGrhBytes> to) noexcept;

}  // namespace verbena::engine::wire
