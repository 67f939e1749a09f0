// SPDX-License-Identifier: Apache-2.0 OR MIT
// Packets whose bytes or ICRC others have published (scapy, test/contrib/roce.uts), and headers byte by byte as the
// offsets and masks of linux drivers/infiniband/sw/rxe (rxe_opcode.c, rxe_hdr.h) have them.
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

/// BTH and what follows it up to the payload, of a packet whose every field is easy to recognise.
std::string headers_of(Opcode opcode) {
  Packet packet;
  packet.ip.source = packet.ip.destination = mapped(1, 1, 1, 1);
  packet.bth = {.opcode = opcode,
                .solicited = true,
                .migrated = false,
                .pkey = 0xabcd,
                .fecn = true,
                .dest_qp = 0x123456,
                .ack_request = true,
                .psn = Psn(0x789abc)};
  packet.deth = {0x11111111, 0x222222};
  packet.feth = {0x3, 0x1};
  packet.reth = {0x4444444444444444, 0x55555555, 0x66666666};
  packet.atomic = {0x7777777777777777, 0x88888888, 0x9999999999999999, 0xaaaaaaaaaaaaaaaa};
  packet.aeth = {Syndrome::rnr_nak(0x1b), 0xcccccc};
  packet.atomic_ack = {0xdddddddddddddddd};
  packet.immediate = {0xeeeeeeee};
  packet.invalidate = {0xf0f0f0f0};
  std::array<std::byte, 256> out;
  const std::vector<std::byte> payload(info(opcode).payload == Payload::eight_bytes ? 8 : 0);
  const auto size = encode(packet, payload, out);
  if (!size) return std::string(name(size.error()));
  constexpr std::size_t kBefore = Ip::kV4Bytes + Udp::kBytes;
  return hex(std::span(out).subspan(kBefore, *size - kBefore - payload.size() - Icrc::kBytes));
}

TEST(WireKnownPackets, HeadersByteByByte) {
  const std::string behind_opcode = "80abcd8012345680789abc";
  const std::string reth = "44444444444444445555555566666666";
  EXPECT_EQ(headers_of(Opcode::rc_send_only), "04" + behind_opcode);
  EXPECT_EQ(headers_of(Opcode::rc_send_only_with_invalidate), "17" + behind_opcode + "f0f0f0f0");
  EXPECT_EQ(headers_of(Opcode::rc_rdma_write_only_with_immediate), "0b" + behind_opcode + reth + "eeeeeeee");
  EXPECT_EQ(headers_of(Opcode::rc_rdma_read_request), "0c" + behind_opcode + reth);
  EXPECT_EQ(headers_of(Opcode::rc_acknowledge), "11" + behind_opcode + "3bcccccc");
  EXPECT_EQ(headers_of(Opcode::rc_atomic_acknowledge), "12" + behind_opcode + "3bccccccdddddddddddddddd");
  EXPECT_EQ(headers_of(Opcode::rc_compare_swap),
            "13" + behind_opcode + "7777777777777777888888889999999999999999aaaaaaaaaaaaaaaa");
  EXPECT_EQ(headers_of(Opcode::rc_flush), "1c" + behind_opcode + "00000013" + reth);
  EXPECT_EQ(headers_of(Opcode::rc_atomic_write), "1d" + behind_opcode + reth);
  EXPECT_EQ(headers_of(Opcode::ud_send_only_with_immediate), "65" + behind_opcode + "1111111100222222eeeeeeee");
}

TEST(WireKnownPackets, AUdpChecksumThatComesToNothingIsWrittenAsOnes) {
  Packet packet = uc_send();
  packet.ip.source = packet.ip.destination = mapped(192, 168, 0, 7);
  std::array<std::byte, 64> out;
  bool ones = false;
  for (std::uint32_t psn = 0; psn < 400000 && !ones; ++psn) {
    packet.bth.psn = Psn(psn);
    ASSERT_TRUE(encode(packet, Piece{}, out));
    const std::string checksum = hex(std::span(out).subspan(26, 2));
    ASSERT_NE(checksum, "0000") << "which would say that there is none";
    ones = checksum == "ffff";
  }
  EXPECT_TRUE(ones) << "the case didn't come up";
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
