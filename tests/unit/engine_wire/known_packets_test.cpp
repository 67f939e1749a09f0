// SPDX-License-Identifier: Apache-2.0 OR MIT
// Packets whose bytes or ICRC others have published. Source of all: scapy, test/contrib/roce.uts.
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/wire/encode.hpp"
#include "engine/wire/parse.hpp"

namespace verbena::engine::wire {
namespace {

std::vector<std::byte> bytes_of_hex(std::string_view hex) {
  std::vector<std::byte> bytes;
  int digits = 0;
  unsigned value = 0;
  for (const char letter : hex) {
    if (letter == ' ') continue;
    value = value * 16 + static_cast<unsigned>(letter <= '9' ? letter - '0' : letter - 'a' + 10);
    if (++digits % 2 == 0) bytes.push_back(static_cast<std::byte>(value & 0xff));
  }
  return bytes;
}

std::string hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    text += kDigits[std::to_integer<std::size_t>(byte >> 4)];
    text += kDigits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return text;
}

// A UC SEND of 18 bytes, over IPv4 and IPv6.
Packet uc_send() {
  Packet packet;
  packet.udp.checksummed = true;
  packet.bth.opcode = Opcode::uc_send_only;
  packet.bth.dest_qp = 211;
  packet.bth.psn = Psn(13571856);
  return packet;
}

// The message of 18 bytes; two of pad follow.
const std::vector<std::byte> kMessage = bytes_of_hex("4630818be28935d90e9a95505401be885e50");

TEST(WireKnownPackets, UcSendOverIpv4) {
  Packet packet = uc_send();
  packet.ip = {.traffic_class = 1, .hop_limit = 64, .identification = 1144};
  packet.ip.source = packet.ip.destination = mapped(192, 168, 0, 7);
  std::array<std::byte, 256> out;
  const auto size = encode(packet, kMessage, out);
  ASSERT_TRUE(size);
  EXPECT_EQ(*size, 64U);
  EXPECT_EQ(hex(std::span(out).subspan(10, 2)), "b4d5") << "IPv4 header checksum";
  EXPECT_EQ(hex(std::span(out).subspan(26, 2)), "aca2") << "UDP checksum";
  EXPECT_EQ(hex(std::span(out).subspan(60, 4)), "78f353f3") << "ICRC";
}

TEST(WireKnownPackets, UcSendOverIpv6) {
  Packet packet = uc_send();
  packet.ip = {.version = IpVersion::v6, .traffic_class = 226, .hop_limit = 255, .flow_label = 0x1face};
  packet.ip.source = {std::byte{0x20}, std::byte{0x22}};
  packet.ip.source[14] = std::byte{0x10};
  packet.ip.source[15] = std::byte{0x23};
  packet.ip.destination = {std::byte{0x20}, std::byte{0x23}};
  packet.ip.destination[14] = std::byte{0x10};
  packet.ip.destination[15] = std::byte{0x24};
  std::array<std::byte, 256> out;
  const auto size = encode(packet, kMessage, out);
  ASSERT_TRUE(size);
  EXPECT_EQ(*size, 84U);
  EXPECT_EQ(hex(std::span(out).subspan(46, 2)), "e7c5") << "UDP checksum";
  EXPECT_EQ(hex(std::span(out).subspan(80, 4)), "3e5b743b") << "ICRC";
}

TEST(WireKnownPackets, CongestionNotificationOfAConnectX4Lx) {
  // Captured; without its 14 bytes of Ethernet.
  const std::vector<std::byte> captured = bytes_of_hex(
      "45c2 003c 718c 4000 4011 9161 0a00 1101 0a00 1201 0000 12b7 0028 0000 8100 ffff 4000 0118 0000 0000"
      "0000 0000 0000 0000 0000 0000 0000 0000 82fd 002a");
  RefusalCounts counts;
  const Parsed parsed = parse(captured, counts);
  ASSERT_TRUE(parsed) << name(parsed.error());
  const Packet& packet = parsed->packet;
  EXPECT_EQ(packet.bth.opcode, Opcode::cnp);
  EXPECT_EQ(packet.bth.dest_qp, 0x118U);
  EXPECT_TRUE(packet.bth.becn);
  EXPECT_FALSE(packet.bth.fecn);
  EXPECT_FALSE(packet.bth.migrated);
  EXPECT_EQ(packet.udp.source_port, 0);
  EXPECT_EQ(packet.ip.identification, 0x718c);
  EXPECT_EQ(packet.ip.traffic_class, 0xc2);

  std::array<std::byte, 256> out;
  const auto size = encode(packet, Piece{}, out);
  ASSERT_TRUE(size);
  EXPECT_EQ(hex(std::span(out).first(*size)), hex(captured)) << "what was read is written back to the bit";
}

}  // namespace
}  // namespace verbena::engine::wire
