// SPDX-License-Identifier: Apache-2.0 OR MIT
// A train as a message and back; and what is no message.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "engine/fabric/shared_message.hpp"
#include "engine/transport/train.hpp"

namespace {

using namespace verbena::engine;
using fabric::Message;
using transport::Train;

struct Sample {
  Train train;
  std::vector<std::byte> bytes;
  std::vector<memory::Piece> pieces;
};

void fill(wire::Packet& packet, wire::HeaderSet headers, std::mt19937& random) {
  const auto draw = [&random] { return static_cast<std::uint32_t>(random()); };
  if ((headers & wire::kDeth) != 0) packet.deth = {draw(), draw() & wire::kLow24};
  if ((headers & wire::kFeth) != 0) packet.feth = {1, 2};
  if ((headers & wire::kReth) != 0) packet.reth = {draw(), draw(), draw()};
  if ((headers & wire::kAtomicEth) != 0) packet.atomic = {draw(), draw(), draw(), draw()};
  if ((headers & wire::kAeth) != 0) packet.aeth = {wire::Syndrome::rnr_nak(7), draw() & wire::kLow24};
  if ((headers & wire::kAtomicAckEth) != 0) packet.atomic_ack = {draw()};
  if ((headers & wire::kImmDt) != 0) packet.immediate = {draw()};
  if ((headers & wire::kIeth) != 0) packet.invalidate = {draw()};
}

/// A train of one or several packets that begins with this opcode and ends with that one.
Sample sample(wire::Opcode first, wire::Opcode last, std::uint32_t packets, std::mt19937& random) {
  Sample sample;
  Train& train = sample.train;
  train.packets = packets;
  train.mtu = 1024;
  const wire::Payload payload = wire::info(first).payload;
  train.bytes = payload == wire::Payload::none          ? 0
                : payload == wire::Payload::eight_bytes ? 8
                                                        : (packets - 1) * train.mtu + 1 + random() % train.mtu;
  train.last_opcode = last;
  train.head.bth = {.opcode = first,
                    .solicited = random() % 2 == 0,
                    .migrated = random() % 2 == 0,
                    .pkey = static_cast<std::uint16_t>(random()),
                    .fecn = random() % 2 == 0,
                    .becn = random() % 2 == 0,
                    .dest_qp = static_cast<std::uint32_t>(random()) & wire::kLow24,
                    .ack_request = random() % 2 == 0,
                    .psn = wire::Psn(static_cast<std::uint32_t>(random()))};
  train.head.ip.version = random() % 2 == 0 ? wire::IpVersion::v6 : wire::IpVersion::v4;
  train.head.ip.traffic_class = 3;
  train.head.ip.hop_limit = 4;
  train.head.ip.dont_fragment = random() % 2 == 0;
  train.head.ip.identification = 5;
  train.head.ip.flow_label = 6;
  train.head.ip.source = wire::mapped(10, 0, 0, 1);
  train.head.ip.destination = wire::mapped(10, 0, 0, 2);
  train.head.udp = {.source_port = 50'000, .destination_port = 4791, .checksummed = random() % 2 == 0};
  fill(train.head, static_cast<wire::HeaderSet>(wire::info(first).headers | wire::info(last).headers), random);
  for (std::uint64_t at = 0; at < train.bytes; ++at) sample.bytes.push_back(static_cast<std::byte>(at * 7 + 1));
  const std::size_t half = sample.bytes.size() / 2;
  if (train.bytes > 0) {
    sample.pieces = {{sample.bytes.data(), half}, {sample.bytes.data() + half, sample.bytes.size() - half}};
    train.payload = sample.pieces;
  }
  return sample;
}

/// Messages lie where words are aligned.
struct Room {
  explicit Room(std::uint32_t bytes) : words(bytes / 8), span(reinterpret_cast<std::byte*>(words.data()), bytes) {}
  std::vector<std::uint64_t> words;
  std::span<std::byte> span;
};

void expect_same(const Train& read, const Train& written) {
  EXPECT_EQ(read.head, written.head);
  EXPECT_EQ(read.last_opcode, written.last_opcode);
  EXPECT_EQ(read.packets, written.packets);
  EXPECT_EQ(read.mtu, written.mtu);
  EXPECT_EQ(read.bytes, written.bytes);
}

TEST(Message, OfEveryOpcodeComesBackAsItWas) {
  std::mt19937 random(1);
  int opcodes = 0;
  for (std::size_t code = 0; code < wire::kOpcodes.size(); ++code) {
    const auto opcode = static_cast<wire::Opcode>(code);
    if (!wire::info(opcode).known || opcode == wire::Opcode::cnp) continue;
    ++opcodes;
    const Sample one = sample(opcode, opcode, 1, random);
    Room room(fabric::copied_bytes(one.train));
    fabric::write_copied(one.train, room.span);
    Message message;
    ASSERT_TRUE(fabric::read_message(room.span, message)) << wire::info(opcode).name;
    expect_same(message.train, one.train);
    std::vector<std::byte> back(one.bytes.size());
    const memory::Piece to{back.data(), back.size()};
    EXPECT_EQ(memory::copy({&to, 1}, 0, message.train.payload, 0, back.size()), back.size());
    EXPECT_EQ(back, one.bytes);
  }
  EXPECT_EQ(opcodes, 39);
}

TEST(Message, OfSeveralPacketsSaysWhatTheLastOneSays) {
  std::mt19937 random(2);
  using enum wire::Opcode;
  const std::pair<wire::Opcode, wire::Opcode> kEnds[] = {
      {rc_send_first, rc_send_last_with_immediate},
      {rc_send_middle, rc_send_last_with_invalidate},
      {rc_rdma_write_first, rc_rdma_write_last_with_immediate},
      {rc_rdma_write_first, rc_rdma_write_middle},
      {rc_rdma_read_response_first, rc_rdma_read_response_last},
      {uc_rdma_write_middle, uc_rdma_write_last},
  };
  for (const auto& [first, last] : kEnds) {
    const Sample one = sample(first, last, 9, random);
    Room room(fabric::lent_bytes(one.train));
    fabric::write_lent(one.train, room.span);
    Message message;
    ASSERT_TRUE(fabric::read_message(room.span, message)) << wire::info(first).name;
    expect_same(message.train, one.train);
    ASSERT_EQ(message.train.payload.size(), 2U);
    EXPECT_EQ(message.train.payload[1].data, one.pieces[1].data);
    EXPECT_EQ(message.train.payload[1].bytes, one.pieces[1].bytes);
    EXPECT_EQ(message.withdrawn->load(), 0U);
    fabric::withdraw_message(room.span.data());
    EXPECT_NE(message.withdrawn->load(), 0U);
  }
}

struct Spoilt {
  const char* name;
  void (*spoil)(fabric::MessageHead&);
};

const Spoilt kSpoilt[] = {
    {"AnUnknownOpcode", [](fabric::MessageHead& head) { head.opcode = head.last_opcode = 0x7f; }},
    {"ALastOpcodeOfAnotherTransport", [](fabric::MessageHead& head) { head.last_opcode = 0x22; }},
    {"ACongestionNotification", [](fabric::MessageHead& head) { head.opcode = head.last_opcode = 0x81; }},
    {"NoPackets", [](fabric::MessageHead& head) { head.packets = 0; }},
    {"MorePacketsThanBytes", [](fabric::MessageHead& head) { head.packets = 0xffffffff; }},
    {"NoMtu", [](fabric::MessageHead& head) { head.mtu = 0; }},
    {"MoreBytesThanPackets", [](fabric::MessageHead& head) { head.bytes = 0xffffffff; }},
    {"MorePiecesThanThereMayBe", [](fabric::MessageHead& head) { head.pieces = 33; }},
    {"MorePiecesThanItHolds", [](fabric::MessageHead& head) { head.pieces = 32; }},
    {"FewerPiecesThanItsBytes", [](fabric::MessageHead& head) { head.pieces = 1; }},
    {"AKindOfItsOwn", [](fabric::MessageHead& head) { head.frame.kind = 9; }},
    {"ACopyThatIsNotThere", [](fabric::MessageHead& head) { head.frame.kind = fabric::MessageHead::kCopied; }},
};

class NoMessage : public ::testing::TestWithParam<Spoilt> {};

TEST_P(NoMessage, IsRefused) {
  std::mt19937 random(3);
  const Sample one = sample(wire::Opcode::rc_send_first, wire::Opcode::rc_send_last, 9, random);
  Room room(fabric::lent_bytes(one.train));
  fabric::write_lent(one.train, room.span);
  Message message;
  ASSERT_TRUE(fabric::read_message(room.span, message));
  fabric::MessageHead head;
  std::memcpy(&head, room.span.data(), sizeof head);
  GetParam().spoil(head);
  std::memcpy(room.span.data(), &head, sizeof head);
  EXPECT_FALSE(fabric::read_message(room.span, message));
}

INSTANTIATE_TEST_SUITE_P(With, NoMessage, ::testing::ValuesIn(kSpoilt), [](const auto& one) { return one.param.name; });

TEST(Message, ThatIsNoiseIsNeverReadBeyondItsEnd) {
  std::mt19937 random(4);
  int taken = 0;
  for (int count = 0; count < 200'000; ++count) {
    // Just as large as it says it is: what lies behind belongs to the sanitizer.
    Room room(64 * (1 + static_cast<std::uint32_t>(random() % 4)));
    for (std::uint64_t& word : room.words) word = (std::uint64_t{random()} << 32) | random();
    if (room.span.size() >= sizeof(fabric::MessageHead)) {
      fabric::MessageHead head;
      std::memcpy(&head, room.span.data(), sizeof head);
      head.frame.kind = 1 + random() % 2;
      head.bytes %= 512;
      head.packets = 1 + head.packets % 2;
      head.opcode = head.last_opcode = static_cast<std::uint8_t>(random() % 0x30);
      head.pieces %= 4;
      std::memcpy(room.span.data(), &head, sizeof head);
    }
    Message message;
    if (!fabric::read_message(room.span, message)) continue;
    ++taken;
    ASSERT_EQ(memory::bytes_of(message.train.payload), message.train.bytes);
    if (message.lent || message.train.bytes == 0) continue;
    std::vector<std::byte> back(message.train.bytes);
    const memory::Piece to{back.data(), back.size()};
    memory::copy({&to, 1}, 0, message.train.payload, 0, back.size());
  }
  EXPECT_GT(taken, 100) << "what is no message at all shows little";
}

}  // namespace
