// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <tl/expected.hpp>

#include "engine/wire/packet.hpp"

namespace verbena::engine::wire {

/// Why a description isn't a packet.
enum class EncodeError : std::uint8_t {
  no_room,         ///< the buffer is smaller than the packet
  unknown_opcode,  ///< opcode_table.hpp has no such opcode
  payload_size,    ///< the opcode has no payload, or one of eight bytes, or IP can't hold so much
  addresses,       ///< IPv4 between addresses that aren't mapped ones
  field_width,     ///< a QPN, an MSN or a flow label has more bits than its field
};

std::string_view name(EncodeError error) noexcept;

using Piece = std::span<const std::byte>;

/// Writes the packet with its payload, pad, checksums and ICRC to `out`, and says how many bytes it has. `bth.pad` is
/// worked out. Nothing is promised of `out` after an error.
[[nodiscard]] tl::expected<std::size_t, EncodeError> encode(const Packet& packet, std::span<const Piece> payload,
                                                            std::span<std::byte> out) noexcept;
[[nodiscard]] tl::expected<std::size_t, EncodeError> encode(const Packet& packet, Piece payload,
                                                            std::span<std::byte> out) noexcept;

/// A packet whose payload stays where it is: it is sent as head, pieces, tail.
struct Around {
  std::size_t head_bytes = 0;
  std::size_t tail_bytes = 0;
};

/// As encode(), but writes what comes before the payload to `head` and what comes after it to `tail`.
[[nodiscard]] tl::expected<Around, EncodeError> encode_around(const Packet& packet, std::span<const Piece> payload,
                                                              std::span<std::byte, kMostHeadBytes> head,
                                                              std::span<std::byte, kMostTailBytes> tail) noexcept;

/// What comes before the payload behind UDP: BTH with its pad for such a payload, and the headers that the opcode has.
/// Says how many bytes that were. For those who write many packets of one flow; encode() would have said that the
/// packet can be written.
std::size_t write_transport_headers(const Packet& packet, std::size_t payload_bytes, std::byte* to) noexcept;

/// Why encode() would not write this packet with so many bytes of payload; nothing where it would.
[[nodiscard]] tl::expected<void, EncodeError> check_encodable(const Packet& packet, std::size_t payload_bytes) noexcept;

}  // namespace verbena::engine::wire
