// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>
#include <string>

#include "engine/wire/bytes.hpp"
#include "engine/wire/parse.hpp"
#include "engine_wire/any_packet.hpp"

namespace verbena::engine::wire {
namespace {

/// An RC SEND of eight bytes without a UDP checksum, as it is on the wire.
std::vector<std::byte> small_send(IpVersion version) {
  Numbers numbers(1);
  AnyPacket any = any_packet(numbers, Opcode::rc_send_only, version);
  any.packet.udp.checksummed = false;
  any.payload.assign(8, std::byte{0x5a});
  return any.encoded();
}

/// The one reason that was counted for these bytes; `taken` when they are a packet.
std::string why(std::span<const std::byte> bytes) {
  RefusalCounts counts;
  const Parsed parsed = parse(bytes, counts);
  if (parsed) return counts.all() == 0 ? "taken" : "taken and counted";
  return counts.all() == 1 && counts[parsed.error()] == 1 ? std::string(name(parsed.error())) : "not counted once";
}

struct Change {
  std::size_t at;
  unsigned value;
  bool sealed;
};

/// The packet with one byte changed; sealed: with a right ICRC and header checksum.
std::string why_when(std::vector<std::byte> bytes, Change change) {
  bytes.at(change.at) = static_cast<std::byte>(change.value);
  if (change.sealed) seal(bytes);
  return why(bytes);
}

constexpr std::size_t kV4Bth = Ip::kV4Bytes + Udp::kBytes;

TEST(WireRefusals, EachIsNamed) {
  const std::vector<std::byte> v4 = small_send(IpVersion::v4);
  const std::vector<std::byte> v6 = small_send(IpVersion::v6);
  ASSERT_EQ(why(v4), "taken");
  ASSERT_EQ(why(v6), "taken");
  EXPECT_EQ(why({}), "too_short");
  EXPECT_EQ(why_when(v4, {0, 0x55, false}), "ip_version");
  EXPECT_EQ(why_when(v4, {0, 0x46, true}), "ip_options");
  EXPECT_EQ(why_when(v4, {0, 0x44, true}), "ip_options") << "four words are none";
  EXPECT_EQ(why_when(v4, {3, 10, true}), "too_short") << "IP counts less than its own header";
  EXPECT_EQ(why_when(v4, {10, std::to_integer<unsigned>(~v4[10]), false}), "ip_checksum");
  EXPECT_EQ(why_when(v4, {6, 0x20, true}), "fragment") << "more follow";
  EXPECT_EQ(why_when(v4, {7, 1, true}), "fragment") << "an offset";
  EXPECT_EQ(why_when(v4, {6, 0x80, true}), "fragment") << "the reserved flag";
  EXPECT_EQ(why_when(v4, {9, 6, true}), "not_udp");
  EXPECT_EQ(why_when(v6, {6, 44, true}), "not_udp") << "IPv6 fragment header";
  EXPECT_EQ(why_when(v4, {23, 0xb8, true}), "not_roce_port");
  EXPECT_EQ(why_when(v4, {25, 0x24, true}), "length_mismatch") << "UDP says other than IP";
  EXPECT_EQ(why_when(v4, {27, 1, true}), "udp_checksum");
  EXPECT_EQ(why_when(v4, {kV4Bth + 12, 0, false}), "icrc");
  EXPECT_EQ(why_when(v4, {kV4Bth + 1, 1, true}), "transport_version");
  EXPECT_EQ(why_when(v4, {kV4Bth, 0x15, true}), "unknown_opcode");
  EXPECT_EQ(why_when(v4, {kV4Bth, 0x44, true}), "unknown_opcode") << "RD SEND ONLY";
  EXPECT_EQ(why_when(v4, {kV4Bth, 0x0a, true}), "too_short") << "a WRITE without room for its RETH";
  EXPECT_EQ(why_when(v4, {kV4Bth, 0x11, true}), "payload_size") << "an ACK with payload";
  EXPECT_EQ(why_when(v4, {kV4Bth + 1, 0x30, true}), "taken") << "three of the eight bytes are pad";
}

TEST(WireRefusals, PadBeyondPayload) {
  Numbers numbers(2);
  for (const IpVersion version : {IpVersion::v4, IpVersion::v6}) {
    AnyPacket any = any_packet(numbers, Opcode::ud_send_only, version);
    any.packet.udp.checksummed = false;
    any.payload.clear();
    std::vector<std::byte> bytes = any.encoded();
    const std::size_t flags = any.packet.ip.bytes() + Udp::kBytes + 1;
    EXPECT_EQ(why_when(bytes, {flags, 0x10, true}), "pad_beyond_payload");
  }
}

TEST(WireRefusals, AtomicWriteHasEightBytes) {
  Numbers numbers(3);
  AnyPacket any = any_packet(numbers, Opcode::rc_rdma_write_only, IpVersion::v4);
  any.packet.udp.checksummed = false;
  any.payload.assign(12, std::byte{1});
  EXPECT_EQ(why_when(any.encoded(), {kV4Bth, 0x1d, true}), "payload_size");
  any.payload.assign(8, std::byte{1});
  EXPECT_EQ(why_when(any.encoded(), {kV4Bth, 0x1d, true}), "taken");
  any.payload.assign(7, std::byte{1});
  EXPECT_EQ(why_when(any.encoded(), {kV4Bth, 0x1d, true}), "payload_size") << "seven and one of pad";
}

TEST(WireRefusals, WordsThatAreNotWhole) {
  // Fewer bytes, and IP and UDP say so.
  for (std::size_t less = 1; less <= 3; ++less) {
    std::vector<std::byte> bytes = small_send(IpVersion::v6);
    bytes.resize(bytes.size() - less);
    bytes[5] = static_cast<std::byte>(bytes.size() - Ip::kV6Bytes);
    bytes[Ip::kV6Bytes + 5] = bytes[5];
    seal(bytes);
    EXPECT_EQ(why(bytes), "length_mismatch") << less;
  }
}

TEST(WireRefusals, HeadersThatDoNotFit) {
  Numbers numbers(6);
  for (std::size_t payload = 0; payload <= 16; payload += 4) {
    AnyPacket any = any_packet(numbers, Opcode::rc_send_only, IpVersion::v6);
    any.packet.udp.checksummed = false;
    any.payload.assign(payload, std::byte{0});
    const std::string read_as_write = why_when(any.encoded(), {Ip::kV6Bytes + Udp::kBytes, 0x0a, true});
    EXPECT_EQ(read_as_write, payload < Reth::kBytes ? "too_short" : "taken") << payload;
  }
}

RC_GTEST_PROP(WireRefusals, EveryTruncationIsRefused, ()) {
  Numbers numbers(*rc::gen::arbitrary<std::uint64_t>());
  const Opcode opcode = *rc::gen::elementOf(all_opcodes());
  const IpVersion version = *rc::gen::element(IpVersion::v4, IpVersion::v6);
  const std::vector<std::byte> bytes = any_packet(numbers, opcode, version, 40).encoded();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    // In a buffer of just that size, so that a sanitizer sees a read behind it.
    const std::vector<std::byte> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    RC_ASSERT(why(cut) == "too_short");
  }
}

/// Bits that a switch or router may change, as offsets from the beginning.
std::set<std::size_t> changeable(const Packet& packet, bool header_checksum_repaired) {
  std::set<std::size_t> bits;
  const auto add_byte = [&bits](std::size_t byte) {
    for (std::size_t bit = 0; bit < 8; ++bit) bits.insert(byte * 8 + bit);
  };
  if (packet.ip.version == IpVersion::v6) {
    for (std::size_t bit = 4; bit < 32; ++bit) bits.insert(bit);  // traffic class and flow label
    add_byte(7);                                                  // hop limit
  } else if (header_checksum_repaired) {
    add_byte(1);   // TOS
    add_byte(8);   // TTL
    add_byte(10);  // the checksum itself: repairing it undoes the change
    add_byte(11);
  }
  if (!packet.udp.checksummed) add_byte(packet.ip.bytes() + Udp::kBytes + 4);  // FECN, BECN, six reserved
  return bits;
}

void repair_header_checksum(std::span<std::byte> bytes) {
  bytes[10] = bytes[11] = std::byte{0};
  InternetChecksum checksum;
  checksum.add(bytes.first(Ip::kV4Bytes));
  store(bytes.data() + 10, checksum.value());
}

TEST(WireRefusals, EverySingleFlippedBitIsNoticedButThoseThatASwitchMayChange) {
  Numbers numbers(7);
  for (const Opcode opcode : all_opcodes()) {
    for (const IpVersion version : {IpVersion::v4, IpVersion::v6}) {
      for (const bool repaired : {false, true}) {
        if (repaired && version == IpVersion::v6) continue;
        const AnyPacket any = any_packet(numbers, opcode, version, 40);
        const std::vector<std::byte> bytes = any.encoded();
        std::set<std::size_t> unnoticed;
        for (std::size_t bit = 0; bit < bytes.size() * 8; ++bit) {
          std::vector<std::byte> flipped = bytes;
          flipped[bit / 8] ^= std::byte{0x80} >> (bit % 8);
          if (repaired) repair_header_checksum(flipped);
          if (why(flipped) == "taken") unnoticed.insert(bit);
        }
        EXPECT_EQ(unnoticed, changeable(any.packet, repaired)) << info(opcode).name;
      }
    }
  }
}

RC_GTEST_PROP(WireRefusals, ABurstOfUpTo32BitsBehindTheMaskIsAWrongIcrc, ()) {
  Numbers numbers(*rc::gen::arbitrary<std::uint64_t>());
  AnyPacket any = any_packet(numbers, *rc::gen::elementOf(all_opcodes()), IpVersion::v4, 64);
  any.packet.udp.checksummed = false;
  std::vector<std::byte> bytes = any.encoded();
  const auto at = *rc::gen::inRange<std::size_t>(kV4Bth + 5, bytes.size() - 3);
  const auto burst = *rc::gen::positive<std::uint32_t>();
  store(bytes.data() + at, load<std::uint32_t>(bytes.data() + at) ^ burst);
  RC_ASSERT(why(bytes) == "icrc");
}

}  // namespace
}  // namespace verbena::engine::wire
