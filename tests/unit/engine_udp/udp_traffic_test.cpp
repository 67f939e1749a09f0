// SPDX-License-Identifier: Apache-2.0 OR MIT
// Queue pairs talk over the kernel's sockets: all that was sent arrives, over IPv4 and IPv6, whichever way is received.
#include <linux/filter.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>

#include "engine_udp/udp_rig.hpp"

namespace engine_test {
namespace {

struct Way {
  const char* name;
  UdpSettings settings;
  bool v6 = false;
  std::uint16_t source_port = 0xc123;
};

const Way kWays[] = {
    {"V4", {}},
    {"V4SocketAlone", {.way = UdpWay::socket}},
    {"V4Packets", {.way = UdpWay::packets}},
    {"V4WithoutSegmentation", {.segmentation = false}},
    {"V4LateAcknowledgements", {.late_acknowledgements = true}},
    {"V4From4791", {}, false, wire::kRocePort},
    {"V4Mtu4096", {.largest_mtu = 4096}},
    {"V6", {}, true},
    {"V6WithoutSegmentation", {.segmentation = false}, true},
    {"V6Mtu4096LateAcknowledgements", {.largest_mtu = 4096, .late_acknowledgements = true}, true},
};

/// Why this can't be tried here; empty where it can.
std::string cannot(const Way& way) {
  if (way.v6 && !own_network().empty()) return "no namespace with two IPv6 addresses: " + own_network();
  if (way.settings.way == UdpWay::packets) {
    const auto opened = fabric::open_packets(way.settings);
    if (!opened) return opened.error().text;
  }
  return "";
}

class Traffic : public ::testing::TestWithParam<Way> {
protected:
  void SetUp() override {
    if (const std::string missing = cannot(GetParam()); !missing.empty()) GTEST_SKIP() << missing;
  }
  Path path() const { return {.mtu = GetParam().settings.largest_mtu == 4096 ? IBV_MTU_4096 : IBV_MTU_1024}; }
  void from_port(End<Udp>& end) const { end.qp.route.udp.source_port = GetParam().source_port; }
};

constexpr std::size_t kBytes = std::size_t{3} << 20;

TEST_P(Traffic, WritesReadsAndSendsOfAllSizesArriveAsTheyWere) {
  Two two(GetParam().settings, GetParam().v6);
  End<Udp> left(two.one, 0x11, {}, kBytes);
  End<Udp> right(two.other, 0x22, {}, kBytes);
  connect(left, right, path());
  from_port(left);
  from_port(right);
  std::uint64_t seed = 0;
  for (const std::uint32_t bytes : {0U, 1U, 64U, 1023U, 1024U, 1025U, 4096U, 8191U, 65536U, 200'001U, 1U << 20}) {
    for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ, IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM}) {
      SCOPED_TRACE(::testing::Message() << bytes << " bytes, opcode " << opcode);
      fill(left.memory, ++seed);
      fill(right.memory, ++seed);
      const bool receives = opcode == IBV_WR_SEND || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
      if (receives) {
        ASSERT_EQ(right.receive(77, {right.sge(8, 2 << 20)}), transport::PostFault::none);
      }
      ASSERT_EQ(left.send(rdma(opcode, seed, right.address(8), right.region->key), {left.sge(3, bytes)}),
                transport::PostFault::none);
      std::optional<ibv_wc> wc;
      ASSERT_TRUE(two.until([&] { return (wc = left.poll()).has_value(); }));
      EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
      if (receives) {
        ASSERT_TRUE(two.until([&] { return (wc = right.poll()).has_value(); }));
        EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
        EXPECT_EQ(wc->byte_len, bytes);
      }
      EXPECT_EQ(std::memcmp(left.memory.data() + 3, right.memory.data() + 8, bytes), 0);
    }
  }
  for (const Nic<Udp>* nic : {&two.one, &two.other}) {
    const fabric::UdpCounters& counters = nic->port.counters();
    EXPECT_EQ(counters.refused.all(), 0U);
    EXPECT_EQ(counters.failures.all(), 0U);
    EXPECT_EQ(counters.mended, 0U) << "the kernel counts as it is thought to";
    EXPECT_EQ(counters.not_splittable, 0U);
    EXPECT_GT(counters.packets_in, 0U);
    if (GetParam().settings.segmentation) {
      EXPECT_GT(counters.joined_in, counters.packets_in / 2) << "trains stay together";
      EXPECT_LT(counters.calls_out, counters.packets_out / 4);
    } else {
      EXPECT_EQ(counters.joined_in, 0U);
    }
    EXPECT_LT(counters.trains_in, counters.packets_in);
  }
}

TEST_P(Traffic, ManyMessagesOfManyQueuePairsAtOnce) {
  Two two(GetParam().settings, GetParam().v6);
  constexpr std::size_t kPairs = 8;
  std::vector<std::unique_ptr<End<Udp>>> left;
  std::vector<std::unique_ptr<End<Udp>>> right;
  for (std::uint32_t pair = 0; pair < kPairs; ++pair) {
    left.push_back(std::make_unique<End<Udp>>(two.one, 0x100 + pair));
    right.push_back(std::make_unique<End<Udp>>(two.other, 0x200 + pair));
    connect(*left.back(), *right.back(), path());
    left.back()->qp.route.udp.source_port = static_cast<std::uint16_t>(GetParam().source_port + pair);
    fill(left.back()->memory, pair);
  }
  constexpr std::uint32_t kMessages = 60;
  std::size_t done = 0;
  for (std::uint32_t message = 0; message < kMessages; ++message) {
    for (std::uint32_t pair = 0; pair < kPairs; ++pair) {
      ASSERT_EQ(right[pair]->receive(message, {right[pair]->sge(std::size_t{message} * 1000, 1000)}),
                transport::PostFault::none);
      ASSERT_EQ(left[pair]->send(work(IBV_WR_SEND, message), {left[pair]->sge(std::size_t{message} * 1000, 1000)}),
                transport::PostFault::none);
    }
  }
  EXPECT_TRUE(two.until([&] {
    for (const auto& end : left) {
      while (const auto wc = end->poll()) {
        EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
        ++done;
      }
    }
    return done == kMessages * kPairs;
  }));
  for (std::uint32_t pair = 0; pair < kPairs; ++pair)
    EXPECT_EQ(std::memcmp(left[pair]->memory.data(), right[pair]->memory.data(), std::size_t{1000} * kMessages), 0);
}

TEST_P(Traffic, UnreliableMessagesArriveWhereNothingIsLost) {
  Two two(GetParam().settings, GetParam().v6);
  End<Udp> left(two.one, 0x11, {.type = IBV_QPT_UC});
  End<Udp> right(two.other, 0x22, {.type = IBV_QPT_UC});
  connect(left, right, path());
  from_port(left);
  fill(left.memory, 5);
  ASSERT_EQ(right.receive(1, {right.sge(0, 50'000)}), transport::PostFault::none);
  ASSERT_EQ(left.send(work(IBV_WR_SEND, 2), {left.sge(0, 50'000)}), transport::PostFault::none);
  std::optional<ibv_wc> wc;
  ASSERT_TRUE(two.until([&] { return (wc = right.poll()).has_value(); }));
  EXPECT_EQ(wc->byte_len, 50'000U);
  EXPECT_EQ(std::memcmp(left.memory.data(), right.memory.data(), 50'000), 0);
}

TEST_P(Traffic, ADatagramShowsWhatItsIpHeaderSaid) {
  Two two(GetParam().settings, GetParam().v6);
  End<Udp> left(two.one, 0x11, {.type = IBV_QPT_UD});
  End<Udp> right(two.other, 0x22, {.type = IBV_QPT_UD});
  connect(left, right, path());
  fill(left.memory, 5);
  queues::Address to;
  to.ip = left.qp.route.ip;
  to.ip.traffic_class = 0x68;
  to.ip.hop_limit = 33;
  to.ip.flow_label = GetParam().v6 ? 0x12345 : 0;
  to.udp.source_port = GetParam().source_port;
  ibv_send_wr wr = work(IBV_WR_SEND_WITH_IMM, 1);
  wr.imm_data = 0x55;
  wr.wr.ud.remote_qpn = right.qp.number;
  wr.wr.ud.remote_qkey = 0x11;
  ASSERT_EQ(right.receive(9, {right.sge(0, 2000)}), transport::PostFault::none);
  ASSERT_EQ(left.send(wr, {left.sge(0, 777)}, &to), transport::PostFault::none);
  std::optional<ibv_wc> wc;
  ASSERT_TRUE(two.until([&] { return (wc = right.poll()).has_value(); }));
  EXPECT_EQ(wc->byte_len, 777U + 40);
  EXPECT_EQ(wc->src_qp, 0x11U);
  EXPECT_EQ(wc->imm_data, 0x55U);
  EXPECT_EQ(std::memcmp(left.memory.data(), right.memory.data() + 40, 777), 0);
  std::array<std::byte, 40> expected{};
  const std::uint16_t datagram = 8 + 12 + 12 + 780 + 4;
  wire::write_grh(to.ip, datagram, expected);
  EXPECT_EQ(std::memcmp(expected.data(), right.memory.data(), 40), 0);
}

TEST_P(Traffic, AGroupReachesAllWhoListenAndNobodyElse) {
  wire::Gid first = loopback(1);
  wire::Gid second = loopback(2);
  wire::Gid group = wire::mapped(239, 1, 2, 3);
  if (GetParam().v6) {
    // The loopback takes no groups of IPv6.
    if (!own_links().empty()) GTEST_SKIP() << own_links();
    first = second = unique_local(1);
    first[1] = second[1] = std::byte{0x77};
    second[15] = std::byte{2};
    group = {};
    group[0] = std::byte{0xff};
    group[1] = std::byte{0x15};
    group[15] = std::byte{9};
  }
  Two two(GetParam().settings, first, second);
  const auto joined = two.other.port.listen(group);
  ASSERT_TRUE(joined) << joined.error().text;
  End<Udp> left(two.one, 0x11, {.type = IBV_QPT_UD});
  End<Udp> right(two.other, 0x22, {.type = IBV_QPT_UD});
  End<Udp> third(two.other, 0x23, {.type = IBV_QPT_UD});
  connect(left, right, path());
  connect(left, third, path());
  for (End<Udp>* end : {&right, &third}) {
    EXPECT_TRUE(two.other.adapter.attach(end->qp, group));
    ASSERT_EQ(end->receive(9, {end->sge(0, 2000)}), transport::PostFault::none);
  }
  queues::Address to;
  to.ip = left.qp.route.ip;
  to.ip.destination = group;
  to.ip.hop_limit = 1;
  ibv_send_wr wr = work(IBV_WR_SEND, 1);
  wr.wr.ud.remote_qpn = 0xffffff;
  wr.wr.ud.remote_qkey = 0x11;
  const auto send = [&] { ASSERT_EQ(left.send(wr, {left.sge(0, 100)}, &to), transport::PostFault::none); };
  send();
  std::size_t received = 0;
  EXPECT_TRUE(two.until([&] {
    received += right.poll().has_value() ? 1 : 0;
    received += third.poll().has_value() ? 1 : 0;
    return received == 2;
  }));
  EXPECT_EQ(two.one.port.counters().packets_in, 0U);
  EXPECT_EQ(two.one.port.counters().failures.all(), 0U);
  two.other.port.forget(group);
  const std::uint64_t before = two.other.port.counters().packets_in;
  send();
  for (int turn = 0; turn < 1000; ++turn) two.step();
  EXPECT_EQ(two.other.port.counters().packets_in, before);
}

/// Loses so many of 65536 of the messages that come to a socket; the kernel does.
void lose(int socket, std::uint32_t of_65536) {
  std::array<sock_filter, 5> program{{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_RANDOM)),
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0xffff),
      BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, of_65536, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, 0x40000),
      BPF_STMT(BPF_RET | BPF_K, 0),
  }};
  const sock_fprog filter{program.size(), program.data()};
  ASSERT_EQ(::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter), 0);
}

TEST_P(Traffic, WhatIsLostComesAgain) {
  if (GetParam().settings.way == UdpWay::packets) GTEST_SKIP() << "the packet socket has a filter of its own";
  Two two(GetParam().settings, GetParam().v6);
  for (Nic<Udp>* nic : {&two.one, &two.other}) {
    for (const int socket : nic->port.sockets()) lose(socket, 65536 / 20);
  }
  End<Udp> left(two.one, 0x11, {}, kBytes);
  End<Udp> right(two.other, 0x22, {}, kBytes);
  Path impatient = path();
  // 17 ms: enough that a slow machine's turn isn't taken for a loss, as one of a millisecond is under a sanitizer.
  impatient.timeout = 12;
  connect(left, right, impatient);
  from_port(left);
  for (std::uint64_t round = 1; round <= 20; ++round) {
    fill(left.memory, round);
    ASSERT_EQ(right.receive(77, {right.sge(0, 300'000)}), transport::PostFault::none);
    ASSERT_EQ(left.send(work(IBV_WR_SEND, round), {left.sge(0, 300'000)}), transport::PostFault::none);
    ASSERT_EQ(left.send(rdma(IBV_WR_RDMA_READ, round, right.address(1'000'000), right.region->key),
                        {left.sge(1'000'000, 100'000)}),
              transport::PostFault::none);
    std::optional<ibv_wc> wc;
    for (int completions = 0; completions < 2; ++completions) {
      ASSERT_TRUE(two.until([&] { return (wc = left.poll()).has_value(); }));
      ASSERT_EQ(wc->status, IBV_WC_SUCCESS);
    }
    ASSERT_TRUE(two.until([&] { return (wc = right.poll()).has_value(); }));
    EXPECT_FALSE(right.poll());
    ASSERT_EQ(std::memcmp(left.memory.data(), right.memory.data(), 300'000), 0);
    ASSERT_EQ(std::memcmp(left.memory.data() + 1'000'000, right.memory.data() + 1'000'000, 100'000), 0);
  }
}

TEST_P(Traffic, WhoSleepsOnTheDescriptorIsWoken) {
  Two two(GetParam().settings, GetParam().v6);
  End<Udp> left(two.one, 0x11);
  End<Udp> right(two.other, 0x22);
  connect(left, right, path());
  while (two.step() > 0) {
  }
  pollfd watched{two.other.port.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&watched, 1, 0), 0);
  ASSERT_EQ(left.send(rdma(IBV_WR_RDMA_WRITE, 1, right.address(0), right.region->key), {left.sge(0, 10)}),
            transport::PostFault::none);
  EXPECT_EQ(::poll(&watched, 1, 2000), 1);
  while (two.other.port.progress(16) > 0) {
  }
  EXPECT_EQ(::poll(&watched, 1, 0), 0);
  pollfd answered{two.one.port.descriptor(), POLLIN, 0};
  EXPECT_EQ(::poll(&answered, 1, 2000), 1);
  while (two.one.port.progress(16) > 0) {
  }
  EXPECT_TRUE(left.poll());
}

INSTANTIATE_TEST_SUITE_P(Over, Traffic, ::testing::ValuesIn(kWays), [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace engine_test
