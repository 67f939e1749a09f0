// SPDX-License-Identifier: Apache-2.0 OR MIT
// What goes into a socket is what encode() writes behind UDP, with the identification that the kernel will count; and
// what comes out of one is what went in, however it was joined.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "engine/fabric/packets.hpp"
#include "engine/fabric/udp_arrivals.hpp"
#include "engine/fabric/udp_train.hpp"
#include "engine_transport/rig.hpp"

namespace engine_test {
namespace {

using fabric::Segments;
using fabric::UdpArrival;
using fabric::UdpArrivals;
using fabric::UdpCounters;
using fabric::UdpTrain;

struct Message {
  ibv_qp_type type;
  wire::Opcode first;
  wire::Opcode last;
  std::uint32_t packets;
  std::uint64_t bytes;
  const char* name;
};

using enum wire::Opcode;
const Message kTrains[] = {
    {IBV_QPT_RC, rc_send_only, rc_send_only, 1, 0, "Nothing"},
    {IBV_QPT_RC, rc_send_only, rc_send_only, 1, 61, "Odd"},
    {IBV_QPT_RC, rc_acknowledge, rc_acknowledge, 1, 0, "Acknowledgement"},
    {IBV_QPT_RC, rc_send_first, rc_send_last, 3, 2049, "Send"},
    {IBV_QPT_RC, rc_send_first, rc_send_last_with_immediate, 4, 4096, "SendWithImmediate"},
    {IBV_QPT_RC, rc_rdma_write_first, rc_rdma_write_last, 2, 2000, "Write"},
    {IBV_QPT_RC, rc_rdma_write_first, rc_rdma_write_last_with_immediate, 124, 124 * 1024 - 3, "LongWrite"},
    {IBV_QPT_RC, rc_rdma_write_middle, rc_rdma_write_middle, 124, 124ULL * 1024, "AmidAWrite"},
    {IBV_QPT_RC, rc_rdma_read_response_first, rc_rdma_read_response_last, 9, 9ULL * 1024, "ReadResponse"},
    {IBV_QPT_UC, uc_send_first, uc_send_last, 70, 70 * 1024 - 1000, "UnreliableSend"},
    {IBV_QPT_UD, ud_send_only_with_immediate, ud_send_only_with_immediate, 1, 100, "Datagram"},
};

/// Has one as its only part, or pieces as odd as can be.
struct Payload {
  explicit Payload(std::uint64_t bytes, std::size_t in) : memory(bytes) {
    std::mt19937 random(static_cast<unsigned>(bytes));
    for (std::byte& byte : memory) byte = static_cast<std::byte>(random());
    for (std::size_t at = 0, part = 0; at < memory.size(); ++part) {
      const std::size_t step =
          part + 1 == in ? memory.size() - at : std::min(memory.size() - at, memory.size() / in + part);
      pieces.push_back({memory.data() + at, step});
      at += step;
    }
  }
  std::vector<std::byte> memory;
  std::vector<memory::Piece> pieces;
};

transport::Train train_of(const Message& message, const Payload& payload, wire::IpVersion version) {
  transport::Train train;
  train.head.ip.version = version;
  train.head.ip.source = wire::mapped(127, 0, 0, 1);
  train.head.ip.destination = wire::mapped(127, 0, 0, 2);
  train.head.bth.opcode = message.first;
  train.head.bth.dest_qp = 5;
  train.head.bth.psn = wire::Psn(0xfffffe);
  train.head.bth.ack_request = train.head.bth.solicited = true;
  train.head.reth = {0x1000, 7, static_cast<std::uint32_t>(message.bytes)};
  train.head.immediate.data = 0x01020304;
  train.last_opcode = message.last;
  train.packets = message.packets;
  train.mtu = 1024;
  train.bytes = message.bytes;
  train.payload = payload.pieces;
  return train;
}

class EachTrain : public ::testing::TestWithParam<Message> {};

TEST_P(EachTrain, IsWhatEncodeWritesForEachOfItsPackets) {
  for (const wire::IpVersion version : {wire::IpVersion::v4, wire::IpVersion::v6}) {
    for (const std::size_t in : {std::size_t{1}, std::size_t{7}}) {
      const Payload payload(GetParam().bytes, in);
      transport::Train train = train_of(GetParam(), payload, version);
      fabric::FlowCache flows;
      UdpTrain writer(train, train.head.udp, flows);
      ASSERT_TRUE(writer.well_formed());
      std::vector<std::byte> room(UdpTrain::kMostBytes);
      std::uint32_t index = 0;
      while (!writer.done()) {
        const Segments segments = writer.next(room, 64);
        ASSERT_GT(segments.packets, 0U);
        std::span<const std::byte> left = segments.data;
        for (std::uint16_t counted = 0; counted < segments.packets; ++counted, ++index) {
          const auto mine = left.first(std::min(left.size(), segments.segment));
          left = left.subspan(mine.size());
          train.head.ip.identification = version == wire::IpVersion::v4 ? counted : std::uint16_t{0};
          std::array<std::byte, wire::kMostPacketBytes> whole;
          const std::size_t bytes = fabric::write_packet(train, index, whole);
          const std::size_t outer = train.head.ip.bytes() + wire::Udp::kBytes;
          ASSERT_EQ(mine.size() + outer, bytes);
          ASSERT_TRUE(std::equal(mine.begin(), mine.end(), whole.begin() + static_cast<std::ptrdiff_t>(outer)))
              << index;
        }
        EXPECT_TRUE(left.empty());
      }
      EXPECT_EQ(index, train.packets);
    }
  }
}

/// An adapter with a queue pair that takes nothing: what it drops shows what it was given.
struct Taker {
  Turned clock;
  Told told;
  struct Nowhere final : transport::Outlet {
    bool send(const transport::Train& /*train*/) noexcept override { return true; }
    std::uint32_t most_packets(const transport::QueuePair& /*qp*/) const noexcept override { return 1; }
    std::uint32_t window() const noexcept override { return 1; }
  } outlet;
  memory::KeyTable keys;
  transport::Adapter adapter{keys, outlet, clock, told};
  UdpCounters counters;
  UdpArrivals arrivals{adapter, counters};
};

TEST_P(EachTrain, ComesOutAsItWentIn) {
  for (const wire::IpVersion version : {wire::IpVersion::v4, wire::IpVersion::v6}) {
    const Payload payload(GetParam().bytes, 1);
    const transport::Train train = train_of(GetParam(), payload, version);
    fabric::FlowCache flows;
    UdpTrain writer(train, train.head.udp, flows);
    Taker taker;
    std::vector<std::vector<std::byte>> rooms;
    while (!writer.done()) {
      rooms.emplace_back(UdpTrain::kMostBytes);
      const Segments segments = writer.next(rooms.back(), 64);
      EXPECT_FALSE(taker.arrivals.take({.ip = train.head.ip,
                                        .udp = train.head.udp,
                                        .data = std::span(rooms.back()).first(segments.data.size()),
                                        .segment = segments.packets > 1 ? segments.segment : 0}));
    }
    taker.arrivals.finish();
    EXPECT_EQ(taker.counters.packets_in, train.packets);
    EXPECT_EQ(taker.counters.refused.all(), 0U);
    EXPECT_EQ(taker.counters.mended, 0U);
    // Nobody has that number, and what nobody has is counted by the train.
    EXPECT_EQ(taker.adapter.dropped().no_queue_pair, 1U);
    EXPECT_EQ(taker.counters.trains_in, 1U);
  }
}

INSTANTIATE_TEST_SUITE_P(Of, EachTrain, ::testing::ValuesIn(kTrains),
                         [](const auto& message) { return message.param.name; });

TEST(UdpTrain, ThatIsNoneIsNotWritten) {
  const Payload payload(5000, 1);
  const Message good{IBV_QPT_RC, rc_send_first, rc_send_last, 5, 5000, ""};
  const auto well_formed = [&](const std::function<void(transport::Train&)>& change) {
    transport::Train train = train_of(good, payload, wire::IpVersion::v4);
    change(train);
    fabric::FlowCache flows;
    return UdpTrain(train, {}, flows).well_formed();
  };
  EXPECT_TRUE(well_formed([](transport::Train&) {}));
  EXPECT_FALSE(well_formed([](transport::Train& train) { train.packets = 0; }));
  EXPECT_FALSE(well_formed([](transport::Train& train) { train.packets = 4; }));
  EXPECT_FALSE(well_formed([](transport::Train& train) { train.packets = 6; }));
  EXPECT_FALSE(well_formed([](transport::Train& train) { train.mtu = 0; }));
  EXPECT_FALSE(well_formed([](transport::Train& train) { train.bytes = 5001; }));
  EXPECT_FALSE(well_formed([](transport::Train& train) { train.head.bth.dest_qp = 1U << 24; }));
  EXPECT_FALSE(well_formed([](transport::Train& train) { train.head.ip.source[0] = std::byte{1}; }));
  EXPECT_FALSE(well_formed([](transport::Train& train) { train.last_opcode = static_cast<wire::Opcode>(0xff); }));
}

/// A SEND of three packets as the kernel joined them.
struct Joined {
  Joined() {
    fabric::FlowCache flows;
    UdpTrain writer(train, train.head.udp, flows);
    segments = writer.next(room, 64);
  }
  UdpArrival arrival() {
    return {.ip = train.head.ip,
            .udp = train.head.udp,
            .data = std::span(room).first(segments.data.size()),
            .segment = segments.segment};
  }
  Payload payload{3000, 1};
  transport::Train train =
      train_of({IBV_QPT_RC, rc_send_first, rc_send_last, 3, 3000, ""}, payload, wire::IpVersion::v4);
  std::vector<std::byte> room = std::vector<std::byte>(UdpTrain::kMostBytes);
  Segments segments;
};

TEST(UdpArrivals, WhoCountsOtherwiseIsFoundOutWhereTheIdentificationIsHidden) {
  for (const std::uint16_t begin : std::array<std::uint16_t, 3>{64, 4711, 0xfffa}) {
    Joined joined;
    Taker taker;
    // As if it had been sent with other numbers: the ICRC says those.
    std::span<std::byte> left(joined.room.data(), joined.segments.data.size());
    std::uint16_t identification = begin;
    while (!left.empty()) {
      const auto mine = left.first(std::min(left.size(), joined.segments.segment));
      const wire::FlowIcrc flow(joined.train.head.ip, joined.train.head.udp, mine.size());
      const auto covered = mine.first(mine.size() - wire::Icrc::kBytes);
      const std::uint32_t icrc = wire::icrc_behind(flow.before(identification++), covered);
      for (std::size_t byte = 0; byte < 4; ++byte)
        mine[covered.size() + byte] = static_cast<std::byte>(icrc >> (8 * byte));
      left = left.subspan(mine.size());
    }
    EXPECT_TRUE(taker.arrivals.take(joined.arrival()));
    taker.arrivals.finish();
    EXPECT_EQ(taker.counters.mended, 3U);
    EXPECT_EQ(taker.counters.packets_in, 3U);
    EXPECT_EQ(taker.counters.trains_in, 1U);
    // Where it was seen it is not worked out, but must be right: that of the first.
    UdpArrival seen = joined.arrival();
    seen.seen = true;
    EXPECT_FALSE(taker.arrivals.take(seen));
    EXPECT_EQ(taker.counters.refused[wire::Refusal::icrc], 1U);
    seen.ip.identification = begin;
    EXPECT_FALSE(taker.arrivals.take(seen));
    taker.arrivals.finish();
    EXPECT_EQ(taker.counters.packets_in, 3U + 2U + 3U);
  }
}

TEST(UdpArrivals, ThisFabricsPacketsAreKnownHoweverTheyArrive) {
  const std::uint64_t bytes = 60ULL * 1024;
  const Payload payload(bytes, 1);
  const transport::Train train =
      train_of({IBV_QPT_RC, rc_rdma_write_middle, rc_rdma_write_middle, 60, bytes, ""}, payload, wire::IpVersion::v4);
  fabric::FlowCache flows;
  const auto written = [&] {
    UdpTrain writer(train, train.head.udp, flows);
    std::vector<std::byte> room(UdpTrain::kMostBytes);
    const Segments segments = writer.next(room, 64);
    room.resize(segments.data.size());
    return room;
  };
  constexpr std::size_t kEach = 1040;
  // One by one as a link took them apart, in parts as a host joined them again, and with one of them lost.
  for (const std::size_t joined : {1U, 7U, 20U, 60U}) {
    for (const bool loses : {false, true}) {
      Taker taker;
      std::uint64_t lost = 0;
      for (int message = 0; message < 3; ++message) {
        std::vector<std::byte> all = written();
        std::span<std::byte> left = all;
        for (int part = 0; !left.empty(); ++part) {
          const auto mine = left.first(std::min(left.size(), joined * kEach));
          left = left.subspan(mine.size());
          if (loses && part == 1) {
            lost += mine.size() / kEach;
            continue;
          }
          EXPECT_FALSE(taker.arrivals.take(
              {.ip = train.head.ip, .udp = train.head.udp, .data = mine, .segment = mine.size() > kEach ? kEach : 0}));
        }
        taker.arrivals.finish();
      }
      EXPECT_EQ(taker.counters.packets_in, 180U - lost) << joined;
      EXPECT_EQ(taker.counters.refused.all(), 0U);
      EXPECT_EQ(taker.counters.mended, 0U);
    }
  }
}

TEST(UdpArrivals, SinglePacketsThatTheHostJoinedAllHave0) {
  const Payload payload(64, 1);
  transport::Train train = train_of({IBV_QPT_RC, rc_send_only, rc_send_only, 1, 64, ""}, payload, wire::IpVersion::v4);
  fabric::FlowCache flows;
  std::vector<std::byte> all;
  std::size_t each = 0;
  for (int message = 0; message < 10; ++message) {
    std::vector<std::byte> room(UdpTrain::kMostBytes);
    UdpTrain writer(train, train.head.udp, flows);
    const Segments segments = writer.next(room, 64);
    all.insert(all.end(), segments.data.begin(), segments.data.end());
    each = segments.segment;
    train.head.bth.psn = train.head.bth.psn + 1;
  }
  for (const bool seen : {false, true}) {
    Taker taker;
    EXPECT_FALSE(
        taker.arrivals.take({.ip = train.head.ip, .udp = train.head.udp, .data = all, .segment = each, .seen = seen}));
    taker.arrivals.finish();
    EXPECT_EQ(taker.counters.packets_in, 10U);
    EXPECT_EQ(taker.counters.refused.all(), 0U);
    EXPECT_EQ(taker.counters.mended, 0U);
  }
}

TEST(UdpArrivals, AnyDamageIsRefusedAndTheOthersOfItsTrainAreTaken) {
  Joined joined;
  std::uint64_t mended = 0;
  std::uint64_t refused = 0;
  for (std::size_t bit = 0; bit < 8 * joined.segments.data.size(); bit += 7) {
    if (bit / 8 % joined.segments.segment == 4) continue;  // FECN and BECN don't count
    Taker taker;
    joined.room[bit / 8] ^= std::byte{1} << (bit % 8);
    taker.arrivals.take(joined.arrival());
    taker.arrivals.finish();
    joined.room[bit / 8] ^= std::byte{1} << (bit % 8);
    ASSERT_EQ(taker.counters.packets_in + taker.counters.refused.all(), 3U);
    mended += taker.counters.packets_in - 2;
    refused += taker.counters.refused[wire::Refusal::icrc];
  }
  EXPECT_GT(refused, 3000U);
  EXPECT_LE(mended, 3U) << "one of 65536 is to be expected";
}

TEST(UdpArrivals, WhateverTheSizesNothingIsReadThatIsNotThere) {
  std::mt19937 random(3);
  for (int round = 0; round < 3000; ++round) {
    Joined joined;
    Taker taker;
    UdpArrival arrival = joined.arrival();
    const std::size_t bytes = random() % (arrival.data.size() + 1);
    // A buffer of its own of just that size, so that a tool sees what is read behind it.
    std::vector<std::byte> own(arrival.data.begin(), arrival.data.begin() + static_cast<std::ptrdiff_t>(bytes));
    arrival.data = own;
    arrival.segment = random() % 4 == 0 ? joined.segments.segment : random() % (bytes + 50);
    const std::size_t parts = arrival.segment == 0 || bytes == 0 ? 1 : (bytes + arrival.segment - 1) / arrival.segment;
    taker.arrivals.take(arrival);
    taker.arrivals.finish();
    ASSERT_EQ(taker.counters.packets_in + taker.counters.refused.all(), parts) << bytes << " by " << arrival.segment;
  }
}

TEST(UdpArrivals, OnlyWhatFollowsIsJoined) {
  const auto trains = [](const std::function<void(std::vector<std::vector<std::byte>>&)>& change) {
    Joined joined;
    std::vector<std::vector<std::byte>> packets;
    for (std::span<const std::byte> left = joined.segments.data; !left.empty();) {
      const auto mine = left.first(std::min(left.size(), joined.segments.segment));
      packets.emplace_back(mine.begin(), mine.end());
      left = left.subspan(mine.size());
    }
    change(packets);
    Taker taker;
    for (std::vector<std::byte>& packet : packets)
      taker.arrivals.take({.ip = joined.train.head.ip, .udp = joined.train.head.udp, .data = packet});
    taker.arrivals.finish();
    EXPECT_EQ(taker.counters.packets_in, packets.size());
    return taker.counters.trains_in;
  };
  EXPECT_EQ(trains([](auto&) {}), 1U);
  EXPECT_EQ(trains([](auto& packets) { packets.erase(packets.begin() + 1); }), 2U);
  EXPECT_EQ(trains([](auto& packets) { std::swap(packets[1], packets[2]); }), 3U);
  EXPECT_EQ(trains([](auto& packets) { packets.push_back(packets[2]); }), 2U);
  EXPECT_EQ(trains([](auto& packets) { packets.insert(packets.begin(), packets[0]); }), 2U);
}

}  // namespace
}  // namespace engine_test
