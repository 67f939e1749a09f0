// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include <tl/expected.hpp>

#include "engine/wire/packet.hpp"
#include "engine/wire/refusal.hpp"

namespace verbena::engine::wire {

/// A packet as it came: its payload lies in the bytes that were parsed.
struct Received {
  Packet packet;
  std::span<const std::byte> payload;
};

using Parsed = tl::expected<Received, Refusal>;

/// Reads a packet that begins with its IP header. Bytes behind what IP counts are the link's padding and not looked at.
/// Whether the packet makes sense to a QP (P_Key, PSN, path MTU, length of a message) is not judged here. A refusal is
/// counted and returned.
[[nodiscard]] Parsed parse(std::span<const std::byte> bytes, RefusalCounts& counts) noexcept;

/// Reads the data of a UDP datagram, for a socket that hides IP and UDP: `ip` and `udp` are what is known or guessed of
/// them, and the ICRC holds only if they are right (in IPv4 the identification too). A checksum of UDP was the socket's
/// business.
[[nodiscard]] Parsed parse_datagram(const Ip& ip, const Udp& udp, std::span<const std::byte> data,
                                    RefusalCounts& counts) noexcept;

/// IP and UDP of a packet, and what lies behind them.
struct Datagram {
  Ip ip;
  Udp udp;
  std::span<const std::byte> data;
};

/// What is true of a UDP checksum that is there.
enum class UdpChecksum : bool {
  stands,  ///< it was sent, or could have been
  pending,  ///< the host has not worked it out, since the packet has not left it or was put together from several
};

/// Reads no further than UDP: `bytes` may be many packets of a flow that the host has joined under one head.
[[nodiscard]] tl::expected<Datagram, Refusal> parse_outer(std::span<const std::byte> bytes, UdpChecksum checksum,
                                                          RefusalCounts& counts) noexcept;

/// As parse_datagram(), for one of many datagrams of a flow: `before` is what the ICRC comes to over IP and UDP
/// (flow_icrc.hpp). One byte of `data` is another while this runs.
[[nodiscard]] Parsed parse_in_flow(const Ip& ip, const Udp& udp, std::uint32_t before, std::span<std::byte> data,
                                   RefusalCounts& counts) noexcept;

}  // namespace verbena::engine::wire
