// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "engine/wire/parse.hpp"
#include "engine_wire/any_packet.hpp"

namespace verbena::engine::wire {
namespace {

AnyPacket drawn() {
  static const std::vector<Opcode> opcodes = all_opcodes();
  Numbers numbers(*rc::gen::arbitrary<std::uint64_t>());
  const Opcode opcode = *rc::gen::elementOf(opcodes);
  const IpVersion version = *rc::gen::element(IpVersion::v4, IpVersion::v6);
  return any_packet(numbers, opcode, version, *rc::gen::element(0U, 5U, 256U, kLargestMtu));
}

RC_GTEST_PROP(WireRoundTrip, WhatIsEncodedIsParsed, ()) {
  const AnyPacket any = drawn();
  const std::vector<std::byte> bytes = any.encoded();
  RC_ASSERT(!bytes.empty());
  RefusalCounts counts;
  const Parsed parsed = parse(bytes, counts);
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(parsed->packet == any.packet);
  RC_ASSERT(std::ranges::equal(parsed->payload, any.payload));
  RC_ASSERT(counts.all() == 0U);
}

RC_GTEST_PROP(WireRoundTrip, NeitherAlignmentNorLinkPaddingMatters, ()) {
  const AnyPacket any = drawn();
  const std::size_t offset = *rc::gen::inRange<std::size_t>(0, 16);
  const std::size_t behind = *rc::gen::inRange<std::size_t>(0, 64);
  std::vector<std::byte> room(kMostPacketBytes + offset + behind, std::byte{0xa5});
  const auto size = encode(any.packet, any.payload, std::span(room).subspan(offset));
  RC_ASSERT(size.has_value());
  RefusalCounts counts;
  const Parsed parsed = parse(std::span(room).subspan(offset, *size + behind), counts);
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(parsed->packet == any.packet);
  RC_ASSERT(std::ranges::equal(parsed->payload, any.payload));
}

RC_GTEST_PROP(WireRoundTrip, APayloadInPiecesGivesTheSameBytesAsInOne, ()) {
  const AnyPacket any = drawn();
  Numbers numbers(*rc::gen::arbitrary<std::uint64_t>());
  std::vector<Piece> pieces;
  for (Piece rest = any.payload; !rest.empty();) {
    const std::size_t cut = std::min<std::size_t>(rest.size(), numbers.below(700));
    pieces.push_back(rest.first(cut));
    rest = rest.subspan(cut);
  }
  const std::vector<std::byte> whole = any.encoded();
  std::vector<std::byte> out(kMostPacketBytes);
  const auto size = encode(any.packet, pieces, out);
  RC_ASSERT(size.has_value());
  out.resize(*size);
  RC_ASSERT(out == whole);

  std::array<std::byte, kMostHeadBytes> head;
  std::array<std::byte, kMostTailBytes> tail;
  const auto around = encode_around(any.packet, pieces, head, tail);
  RC_ASSERT(around.has_value());
  std::vector<std::byte> gathered(head.begin(), head.begin() + static_cast<std::ptrdiff_t>(around->head_bytes));
  gathered.insert(gathered.end(), any.payload.begin(), any.payload.end());
  gathered.insert(gathered.end(), tail.begin(), tail.begin() + static_cast<std::ptrdiff_t>(around->tail_bytes));
  RC_ASSERT(gathered == whole);
}

TEST(WireRoundTrip, WhereHeadAndTailLieDoesNotMatter) {
  // In one buffer with a gap between them that the payload would fill, but it is elsewhere.
  Numbers numbers(8);
  AnyPacket any = any_packet(numbers, Opcode::rc_send_only, IpVersion::v4);
  any.payload.assign(100, std::byte{7});
  const std::vector<std::byte> whole = any.encoded();
  const std::size_t tail_at = whole.size() - Icrc::kBytes;
  const Piece payload = any.payload;
  std::array<std::byte, kMostHeadBytes> head;
  std::array<std::byte, kMostTailBytes> tail;
  std::vector<std::byte> room(tail_at + kMostTailBytes, std::byte{0xee});
  const auto around = encode_around(any.packet, {&payload, 1}, std::span(room).first<kMostHeadBytes>(),
                                    std::span(room).subspan(tail_at).first<kMostTailBytes>());
  ASSERT_TRUE(around);
  ASSERT_TRUE(encode_around(any.packet, {&payload, 1}, head, tail));
  EXPECT_TRUE(
      std::equal(tail.begin(), tail.begin() + Icrc::kBytes, room.begin() + static_cast<std::ptrdiff_t>(tail_at)));
  EXPECT_TRUE(std::equal(tail.begin(), tail.begin() + Icrc::kBytes, whole.end() - Icrc::kBytes));
}

RC_GTEST_PROP(WireRoundTrip, ADatagramWithoutItsHeadersIsParsedWhenTheyAreKnown, ()) {
  const AnyPacket any = drawn();
  const std::vector<std::byte> bytes = any.encoded();
  const auto data = std::span(bytes).subspan(any.packet.ip.bytes() + Udp::kBytes);
  RefusalCounts counts;
  const Parsed parsed = parse_datagram(any.packet.ip, any.packet.udp, data, counts);
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(parsed->packet == any.packet);
  // What a switch may change is no part of it, and all else is.
  Ip guess = any.packet.ip;
  guess.hop_limit ^= 1;
  guess.traffic_class ^= 1;
  RC_ASSERT(parse_datagram(guess, any.packet.udp, data, counts).has_value());
  if (guess.version == IpVersion::v6) {
    guess.flow_label ^= 1;
    RC_ASSERT(parse_datagram(guess, any.packet.udp, data, counts).has_value());
    guess.source[15] ^= std::byte{1};
  } else {
    guess.identification ^= 1;
  }
  RC_ASSERT(counts.all() == 0U);
  RC_ASSERT(!parse_datagram(guess, any.packet.udp, data, counts).has_value());
  RC_ASSERT(counts[Refusal::icrc] == 1U);
}

TEST(WireRoundTrip, EveryOpcodeOverBothVersionsWasAmongThem) {
  // rapidcheck draws; this doesn't leave it to chance.
  Numbers numbers(5);
  RefusalCounts counts;
  for (const Opcode opcode : all_opcodes()) {
    for (const IpVersion version : {IpVersion::v4, IpVersion::v6}) {
      for (int repeat = 0; repeat < 8; ++repeat) {
        const AnyPacket any = any_packet(numbers, opcode, version, 64);
        const Parsed parsed = parse(any.encoded(), counts);
        ASSERT_TRUE(parsed) << info(opcode).name << ' ' << name(parsed.error());
        EXPECT_EQ(parsed->packet, any.packet) << info(opcode).name;
      }
    }
  }
  EXPECT_EQ(all_opcodes().size(), 40U);
}

}  // namespace
}  // namespace verbena::engine::wire
