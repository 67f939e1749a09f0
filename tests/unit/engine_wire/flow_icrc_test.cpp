// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is worked out once for a flow comes to the same as encode() does packet by packet.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "engine/wire/encode.hpp"
#include "engine/wire/flow_icrc.hpp"
#include "engine/wire/parse.hpp"
#include "engine_wire/any_packet.hpp"

namespace {

using namespace verbena::engine::wire;  // NOLINT(google-build-using-namespace)

struct Written {
  std::vector<std::byte> bytes;
  std::span<std::byte> data(const Packet& packet) { return std::span(bytes).subspan(packet.ip.bytes() + Udp::kBytes); }
};

Packet send_only(IpVersion version, std::uint16_t identification) {
  Packet packet;
  packet.ip.version = version;
  packet.ip.source = mapped(127, 0, 0, 1);
  packet.ip.destination = mapped(127, 0, 0, 2);
  packet.ip.identification = identification;
  packet.ip.traffic_class = 3;
  packet.udp.source_port = 0xcafe;
  packet.bth.opcode = Opcode::rc_send_only;
  packet.bth.fecn = true;
  packet.bth.psn = Psn(77);
  return packet;
}

Written write(const Packet& packet, std::size_t payload_bytes) {
  std::vector<std::byte> payload(payload_bytes);
  Numbers numbers(payload_bytes);
  for (std::byte& byte : payload) byte = static_cast<std::byte>(numbers.next());
  Written written{std::vector<std::byte>(kMostPacketBytes)};
  written.bytes.resize(encode(packet, payload, written.bytes).value());
  return written;
}

constexpr std::array<std::uint16_t, 7> kIdentifications{0, 1, 127, 255, 256, 0x8000, 0xffff};
constexpr std::array<std::size_t, 7> kPayloads{0, 1, 4, 63, 64, 1024, 4096};

TEST(FlowIcrc, IsThatOfEncodeForEachIdentification) {
  for (const IpVersion version : {IpVersion::v4, IpVersion::v6}) {
    for (const std::size_t payload : kPayloads) {
      for (const std::uint16_t identification : kIdentifications) {
        const Packet packet = send_only(version, identification);
        Written written = write(packet, payload);
        const std::span<std::byte> data = written.data(packet);
        const FlowIcrc flow(send_only(version, 9).ip, packet.udp, data.size());
        const std::vector<std::byte> before(data.begin(), data.end());
        EXPECT_EQ(icrc_behind(flow.before(identification), data.first(data.size() - Icrc::kBytes)),
                  Icrc::read(data.data() + data.size() - Icrc::kBytes));
        EXPECT_TRUE(std::equal(data.begin(), data.end(), before.begin())) << "the data stays as it was";
        RefusalCounts counts;
        const Parsed parsed = parse_in_flow(packet.ip, packet.udp, flow.before(identification), data, counts);
        ASSERT_TRUE(parsed) << name(parsed.error());
        EXPECT_EQ(parsed->payload.size(), payload);
        EXPECT_TRUE(parsed->packet.bth.fecn);
      }
    }
  }
}

TEST(FlowIcrc, AnIdentificationThatNobodySawIsWorkedOut) {
  for (const std::size_t payload : kPayloads) {
    for (const std::uint16_t identification : kIdentifications) {
      const Packet packet = send_only(IpVersion::v4, identification);
      Written written = write(packet, payload);
      const std::span<std::byte> data = written.data(packet);
      const auto covered = data.first(data.size() - Icrc::kBytes);
      const FlowIcrc flow(packet.ip, packet.udp, data.size());
      EXPECT_EQ(identification_of(icrc_behind(flow.before(0), covered), Icrc::read(covered.data() + covered.size()),
                                  covered.size()),
                identification);
    }
  }
}

TEST(FlowIcrc, NoIdentificationMakesUpForWhatIsOtherwiseWrong) {
  const Packet packet = send_only(IpVersion::v4, 4711);
  int mended = 0;
  int flipped = 0;
  for (const std::size_t payload : kPayloads) {
    Written written = write(packet, payload);
    const std::span<std::byte> data = written.data(packet);
    const auto covered = data.first(data.size() - Icrc::kBytes);
    const FlowIcrc flow(packet.ip, packet.udp, data.size());
    for (std::size_t bit = 0; bit < 8 * covered.size(); bit += 3) {
      if (bit / 8 == 4) continue;  // isn't covered
      covered[bit / 8] ^= std::byte{1} << (bit % 8);
      const auto found = identification_of(icrc_behind(flow.before(0), covered),
                                           Icrc::read(covered.data() + covered.size()), covered.size());
      if (found) ++mended;
      ++flipped;
      covered[bit / 8] ^= std::byte{1} << (bit % 8);
    }
  }
  EXPECT_GT(flipped, 10'000);
  EXPECT_LE(mended, 4) << "of " << flipped << ", and one of 65536 is to be expected";
}

TEST(FlowIcrc, WhatASocketGivesIsReadAsAWholePacketIs) {
  Numbers numbers(11);
  const std::vector<Opcode> opcodes = all_opcodes();
  for (std::size_t round = 0; round < 40 * opcodes.size(); ++round) {
    const auto [packet, payload] =
        any_packet(numbers, opcodes[round % opcodes.size()], round % 2 == 0 ? IpVersion::v4 : IpVersion::v6);
    std::vector<std::byte> bytes(kMostPacketBytes);
    bytes.resize(encode(packet, payload, bytes).value());
    RefusalCounts counts;
    const Parsed whole = parse(bytes, counts);
    ASSERT_TRUE(whole);
    const auto data = std::span(bytes).subspan(packet.ip.bytes() + Udp::kBytes);
    const FlowIcrc flow(packet.ip, packet.udp, data.size());
    const Parsed alone =
        parse_in_flow(whole->packet.ip, whole->packet.udp, flow.before(packet.ip.identification), data, counts);
    ASSERT_TRUE(alone) << name(alone.error());
    EXPECT_EQ(alone->packet, whole->packet);
    EXPECT_TRUE(std::equal(alone->payload.begin(), alone->payload.end(), whole->payload.begin(), whole->payload.end()));
    std::array<std::byte, kMostHeadBytes> head;
    const std::size_t written = write_transport_headers(packet, payload.size(), head.data());
    EXPECT_TRUE(std::equal(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(written), data.begin()));
  }
  RefusalCounts counts;
  std::vector<std::byte> few(15);
  EXPECT_EQ(parse_in_flow({}, {}, 0, few, counts).error(), Refusal::too_short);
  few.resize(18);
  EXPECT_EQ(parse_in_flow({}, {}, 0, few, counts).error(), Refusal::length_mismatch);
  few.resize(16);
  EXPECT_EQ(parse_in_flow({}, {}, 0, few, counts).error(), Refusal::icrc);
  EXPECT_EQ(counts.all(), 3U);
}

}  // namespace
