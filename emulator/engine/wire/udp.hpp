// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>

namespace verbena::engine::wire {

inline constexpr std::uint8_t kUdpProtocol = 17;

/// Source: linux include/rdma/ib_verbs.h ROCE_V2_UDP_DPORT.
inline constexpr std::uint16_t kRocePort = 4791;

/// A UDP header of RoCE v2. Kernel rxe sends a checksum of 0, which means none, over IPv4 and IPv6 and takes it over
/// both (drivers/infiniband/sw/rxe/rxe_net.c prepare_udp_hdr, rxe_setup_udp_tunnel): the ICRC covers more. Other
/// receivers of IPv6 may want one (RFC 8200 section 8.1; RFC 6935 is the exception for tunnels), so that it can be had.
struct Udp {
  static constexpr std::size_t kBytes = 8;

  std::uint16_t source_port = 0xc000;  ///< what switches spread flows by
  std::uint16_t destination_port = kRocePort;
  bool checksummed = false;

  friend constexpr bool operator==(const Udp&, const Udp&) noexcept = default;
};

}  // namespace verbena::engine::wire
