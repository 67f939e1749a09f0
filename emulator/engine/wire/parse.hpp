// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
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

}  // namespace verbena::engine::wire
