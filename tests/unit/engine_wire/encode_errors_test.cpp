// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "engine/wire/encode.hpp"
#include "engine_wire/any_packet.hpp"

namespace verbena::engine::wire {
namespace {

std::string_view why_not(const Packet& packet, Piece payload, std::size_t room = kMostPacketBytes) {
  std::vector<std::byte> out(room);
  const auto size = encode(packet, payload, out);
  return size ? "encoded" : name(size.error());
}

Packet send() {
  Numbers numbers(4);
  return any_packet(numbers, Opcode::rc_send_only, IpVersion::v4).packet;
}

TEST(WireEncodeErrors, APacketIsWrittenIntoJustItsOwnSizeAndNotIntoLess) {
  Numbers numbers(9);
  for (const Opcode opcode : all_opcodes()) {
    const AnyPacket any = any_packet(numbers, opcode, IpVersion::v6, 100);
    const std::size_t size = any.encoded().size();
    EXPECT_EQ(why_not(any.packet, any.payload, size), "encoded");
    EXPECT_EQ(why_not(any.packet, any.payload, size - 1), "no_room");
    EXPECT_EQ(why_not(any.packet, any.payload, 0), "no_room");
  }
}

TEST(WireEncodeErrors, NumbersThatAreNoOpcode) {
  Packet packet = send();
  for (const unsigned opcode : {0x15U, 0x18U, 0x2cU, 0x44U, 0x66U, 0x80U, 0xa0U, 0xffU}) {
    packet.bth.opcode = static_cast<Opcode>(opcode);
    EXPECT_EQ(why_not(packet, {}), "unknown_opcode") << opcode;
  }
}

TEST(WireEncodeErrors, PayloadThatTheOpcodeHasNot) {
  const std::vector<std::byte> bytes(16);
  Packet packet = send();
  packet.bth.opcode = Opcode::rc_acknowledge;
  EXPECT_EQ(why_not(packet, std::span(bytes).first(1)), "payload_size");
  packet.bth.opcode = Opcode::rc_atomic_write;
  EXPECT_EQ(why_not(packet, {}), "payload_size");
  EXPECT_EQ(why_not(packet, std::span(bytes).first(8)), "encoded");
  EXPECT_EQ(why_not(packet, bytes), "payload_size");
}

TEST(WireEncodeErrors, MoreThanIpHolds) {
  const std::vector<std::byte> bytes(70000);
  const Packet packet = send();
  constexpr std::size_t kMost = 0xfffc - Ip::kV4Bytes - Udp::kBytes - Bth::kBytes - Icrc::kBytes;
  EXPECT_EQ(why_not(packet, std::span(bytes).first(kMost), 70000), "encoded");
  EXPECT_EQ(why_not(packet, std::span(bytes).first(kMost + 1), 70000), "payload_size");
  EXPECT_EQ(why_not(packet, bytes, 80000), "payload_size");
}

TEST(WireEncodeErrors, AddressesAndFieldsThatDoNotFit) {
  Packet packet = send();
  packet.ip.source[0] = std::byte{0x20};
  EXPECT_EQ(why_not(packet, {}), "addresses");
  packet = send();
  packet.bth.dest_qp = 1 << 24;
  EXPECT_EQ(why_not(packet, {}), "field_width");
  packet = send();
  packet.ip.flow_label = 1 << 20;
  EXPECT_EQ(why_not(packet, {}), "field_width");
  packet = send();
  packet.feth.selectivity = 4;
  EXPECT_EQ(why_not(packet, {}), "field_width");
}

}  // namespace
}  // namespace verbena::engine::wire
