// SPDX-License-Identifier: Apache-2.0 OR MIT
// Packets as a pcapng file, so that Wireshark and others can judge them. Nothing is opened or written here: the caller
// puts what these give into a file, the head once and then block after block.
// Source: draft-ietf-opsawg-pcapng, sections 4.1 to 4.3. All numbers are most significant byte first, as the head says.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace verbena::engine::wire {

/// What each packet begins with. Source: the link types of tcpdump.org.
enum class LinkType : std::uint16_t { ethernet = 1, raw_ip = 101 };

inline constexpr std::size_t kCaptureHeadBytes = 60;

/// The beginning of a file of one interface, whose times are in nanoseconds.
std::array<std::byte, kCaptureHeadBytes> capture_head(LinkType type) noexcept;

/// Room that a packet takes in the file, with a comment of that many bytes.
constexpr std::size_t capture_bytes(std::size_t packet_bytes, std::size_t comment_bytes = 0) noexcept {
  const auto padded = [](std::size_t bytes) { return (bytes + 3) / 4 * 4; };
  return 32 + padded(packet_bytes) + (comment_bytes == 0 ? 0 : 8 + padded(comment_bytes));
}

/// Writes one packet, with a comment for people (why it was dropped) if there is one, and says how many bytes that
/// were; 0 and nothing written where `out` has fewer than capture_bytes(), or packet or comment more than 65535 bytes.
std::size_t write_captured(std::chrono::nanoseconds since_epoch, std::span<const std::byte> packet,
                           std::string_view comment, std::span<std::byte> out) noexcept;

}  // namespace verbena::engine::wire
