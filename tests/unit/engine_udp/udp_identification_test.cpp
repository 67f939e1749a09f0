// SPDX-License-Identifier: Apache-2.0 OR MIT
// The identification of IPv4: what this kernel writes, and how senders are dealt with that write something else.
#include <gtest/gtest.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "engine/fabric/udp_kernel.hpp"
#include "engine/wire/encode.hpp"
#include "engine_udp/udp_rig.hpp"

namespace engine_test {
namespace {

using fabric::Descriptor;
using fabric::SocketAddress;

struct Seen {
  std::uint16_t identification;
  bool dont_fragment;
  std::size_t bytes;    ///< behind UDP
  std::size_t segment;  ///< where the frame is several
  friend bool operator==(const Seen&, const Seen&) = default;
};

/// All IPv4 that a packet socket shows within a moment.
std::vector<Seen> seen(const Descriptor& socket) {
  std::vector<Seen> all;
  pollfd watched{socket.number(), POLLIN, 0};
  std::vector<std::byte> frame(1 << 17);
  while (::poll(&watched, 1, 300) == 1) {
    const ssize_t bytes = ::recv(socket.number(), frame.data(), frame.size(), 0);
    constexpr std::size_t kOuter = sizeof(fabric::FrameHead) + ETH_HLEN;
    if (bytes < static_cast<ssize_t>(kOuter + 28) || frame[kOuter + 9] != std::byte{17}) continue;
    fabric::FrameHead head{};
    std::memcpy(&head, frame.data(), sizeof head);
    const std::byte* const ip = frame.data() + kOuter;
    all.push_back({wire::load<std::uint16_t>(ip + 4), (ip[6] & std::byte{0x40}) != std::byte{},
                   static_cast<std::size_t>(bytes) - kOuter - 28,
                   head.segmented == fabric::FrameHead::kUdpSegments ? head.segment : std::size_t{0}});
  }
  return all;
}

/// Sends three lots: of 100 bytes each, and of 3500 in segments of 1040 where `segment`.
void send_three(int discover, bool connected, bool segment, const wire::Gid& from, const wire::Gid& to) {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress source(from, 0);
  SocketAddress target(to, wire::kRocePort);
  ASSERT_EQ(::bind(socket.number(), &source.any, source.bytes), 0);
  ASSERT_EQ(::setsockopt(socket.number(), IPPROTO_IP, IP_MTU_DISCOVER, &discover, sizeof discover), 0);
  if (connected) {
    ASSERT_EQ(::connect(socket.number(), &target.any, target.bytes), 0);
  }
  const int bytes = 1040;
  if (segment) {
    ASSERT_EQ(::setsockopt(socket.number(), SOL_UDP, UDP_SEGMENT, &bytes, sizeof bytes), 0);
  }
  const std::vector<std::byte> data(segment ? 3500 : 100);
  for (int lot = 0; lot < 3; ++lot) {
    ASSERT_EQ(::sendto(socket.number(), data.data(), data.size(), 0, connected ? nullptr : &target.any,
                       connected ? 0 : target.bytes),
              static_cast<ssize_t>(data.size()));
  }
}

/// A packet socket on an interface; or a reason why there is none.
struct Watch {
  explicit Watch(const char* interface) {
    fabric::OpenedSocket opened = fabric::open_packets({});
    if (!opened) {
      missing = opened.error().text;
      return;
    }
    socket = std::move(*opened);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_IP);
    address.sll_ifindex = static_cast<int>(::if_nametoindex(interface));
    if (::bind(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      missing = std::strerror(errno);
  }
  Descriptor socket;
  std::string missing;
};

class Kernel : public ::testing::Test {
protected:
  void SetUp() override {
    if (!own_network().empty()) GTEST_SKIP() << own_network();
  }
};

TEST_F(Kernel, WritesNoIdentificationForAnUnconnectedSocketThatForbidsFragments) {
  const Watch watch("lo");
  if (!watch.missing.empty()) GTEST_SKIP() << watch.missing;
  const Descriptor taker(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const SocketAddress at(loopback(2), wire::kRocePort);
  ASSERT_EQ(::bind(taker.number(), &at.any, at.bytes), 0);
  send_three(IP_PMTUDISC_DO, false, false, loopback(1), loopback(2));
  EXPECT_EQ(seen(watch.socket), std::vector<Seen>(3, {0, true, 100, 0}));
  // Whereas a connected one counts, from wherever.
  send_three(IP_PMTUDISC_DO, true, false, loopback(1), loopback(2));
  const std::vector<Seen> counted = seen(watch.socket);
  ASSERT_EQ(counted.size(), 3U);
  EXPECT_EQ(counted[1].identification, static_cast<std::uint16_t>(counted[0].identification + 1));
  EXPECT_EQ(counted[2].identification, static_cast<std::uint16_t>(counted[0].identification + 2));
}

TEST_F(Kernel, ShowsSegmentsOnTheLoopbackInOnePieceThatHas0) {
  const Watch watch("lo");
  if (!watch.missing.empty()) GTEST_SKIP() << watch.missing;
  send_three(IP_PMTUDISC_DO, false, true, loopback(1), loopback(2));
  const std::vector<Seen> shown = seen(watch.socket);
  if (shown.empty()) GTEST_SKIP() << "this kernel shows no joined datagrams to packet sockets (before linux 6.2)";
  EXPECT_EQ(shown, std::vector<Seen>(3, {0, true, 3500, 1040}));
}

TEST_F(Kernel, CountsSegmentsUpFrom0WhereTheyLeave) {
  if (!own_links().empty()) GTEST_SKIP() << own_links();
  const Watch watch("verbena1");
  if (!watch.missing.empty()) GTEST_SKIP() << watch.missing;
  seen(watch.socket);
  send_three(IP_PMTUDISC_DO, false, true, wire::mapped(10, 77, 0, 1), wire::mapped(10, 77, 0, 2));
  std::vector<Seen> expected;
  for (int lot = 0; lot < 3; ++lot)
    expected.insert(expected.end(), {{0, true, 1040, 0}, {1, true, 1040, 0}, {2, true, 1040, 0}, {3, true, 380, 0}});
  EXPECT_EQ(seen(watch.socket), expected);
}

/// A NIC of another make: it writes whole packets, and numbers them as it likes.
struct Stranger {
  explicit Stranger(const wire::Gid& address) : gid(address), socket(::socket(AF_INET, SOCK_RAW, IPPROTO_RAW)) {}
  void send(const wire::Gid& to, std::uint16_t identification, bool dont_fragment = true, bool damaged = false) {
    wire::Packet packet;
    packet.ip.source = gid;
    packet.ip.destination = to;
    packet.ip.identification = identification;
    packet.ip.dont_fragment = dont_fragment;
    packet.bth.opcode = wire::Opcode::ud_send_only;
    packet.bth.dest_qp = 0x22;
    packet.deth = {0x11, 0x33};
    const std::vector<std::byte> payload(200, std::byte{7});
    std::array<std::byte, wire::kMostPacketBytes> bytes;
    const std::size_t size = wire::encode(packet, payload, bytes).value();
    if (damaged) bytes[100] ^= std::byte{1};
    const SocketAddress target(to, 0);
    ASSERT_EQ(::sendto(socket.number(), bytes.data(), size, 0, &target.any, target.bytes), static_cast<ssize_t>(size));
  }
  wire::Gid gid;
  Descriptor socket;
};

struct Receiving : Two {
  explicit Receiving(const UdpSettings& settings) : Two(settings) {
    connect(from, to);
    for (std::uint64_t wr_id = 0; wr_id < 64; ++wr_id)
      EXPECT_EQ(to.receive(wr_id, {to.sge(0, 2000)}), transport::PostFault::none);
  }
  std::size_t drain() {
    std::size_t received = 0;
    for (int quiet = 0; quiet < 100; ++quiet) {
      if (step() > 0) quiet = 0;
      while (to.poll()) ++received;
    }
    return received;
  }
  const fabric::UdpCounters& counters() const { return other.port.counters(); }
  End<Udp> from{one, 0x11, {.type = IBV_QPT_UD}};
  End<Udp> to{other, 0x22, {.type = IBV_QPT_UD}};
};

TEST(UdpStranger, IsReceivedThroughThePacketSocketFromItsSecondBatchOn) {
  Receiving receiving({});
  Stranger stranger(loopback(3));
  if (!stranger.socket || !receiving.other.port.remark().empty()) GTEST_SKIP() << "raw sockets are not permitted";
  stranger.send(receiving.other.gid, 4711);
  EXPECT_EQ(receiving.drain(), 1U);
  EXPECT_EQ(receiving.counters().mended, 1U);
  for (std::uint16_t number = 0; number < 20; ++number)
    stranger.send(receiving.other.gid, static_cast<std::uint16_t>(number * 977 + 100));
  EXPECT_EQ(receiving.drain(), 20U) << "each once";
  EXPECT_EQ(receiving.counters().mended, 1U) << "these were seen";
  stranger.send(receiving.other.gid, 5, false);
  EXPECT_EQ(receiving.drain(), 1U) << "one that may be taken apart, which a UDP socket hides too";
  stranger.send(receiving.other.gid, 6, true, true);
  EXPECT_EQ(receiving.drain(), 0U);
  EXPECT_EQ(receiving.counters().refused[wire::Refusal::icrc], 1U);
  // Others are received as before.
  End<Udp>& from = receiving.from;
  ibv_send_wr wr = work(IBV_WR_SEND, 1);
  wr.wr.ud.remote_qpn = 0x22;
  wr.wr.ud.remote_qkey = 0x11;
  queues::Address to{from.qp.route.ip, {}};
  ASSERT_EQ(from.send(wr, {from.sge(0, 10)}, &to), transport::PostFault::none);
  EXPECT_EQ(receiving.drain(), 1U);
  EXPECT_EQ(receiving.counters().mended, 1U);
}

TEST(UdpStranger, IsWorkedOutWhereThereIsNoPacketSocket) {
  Receiving receiving({.way = UdpWay::socket});
  Stranger stranger(loopback(3));
  if (!stranger.socket) GTEST_SKIP() << "raw sockets are not permitted";
  for (std::uint16_t number = 1; number <= 20; ++number)
    stranger.send(receiving.other.gid, static_cast<std::uint16_t>(number * 3001));
  EXPECT_EQ(receiving.drain(), 20U);
  EXPECT_EQ(receiving.counters().mended, 20U);
  stranger.send(receiving.other.gid, 6, true, true);
  EXPECT_EQ(receiving.drain(), 0U);
  EXPECT_EQ(receiving.counters().refused[wire::Refusal::icrc], 1U);
}

TEST(UdpStranger, WhateverItSendsIsDroppedAndCounted) {
  for (const UdpWay way : {UdpWay::socket, UdpWay::packets}) {
    Receiving receiving({.way = way});
    Stranger stranger(loopback(3));
    if (!stranger.socket) GTEST_SKIP() << "raw sockets are not permitted";
    const fabric::Descriptor plain(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const SocketAddress source(loopback(3), 0);
    ASSERT_EQ(::bind(plain.number(), &source.any, source.bytes), 0);
    const SocketAddress target(receiving.other.gid, wire::kRocePort);
    std::mt19937 random(9);
    const std::size_t kSent = 500;
    std::vector<std::byte> bytes(9000);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    for (std::size_t sent = 0; sent < kSent; ++sent) {
      ASSERT_GE(::sendto(plain.number(), bytes.data() + random() % 100, random() % 8900, 0, &target.any, target.bytes),
                0);
      if (sent % 16 == 0) receiving.drain();
    }
    EXPECT_EQ(receiving.drain(), 0U);
    EXPECT_EQ(receiving.counters().refused.all(), kSent);
    EXPECT_EQ(receiving.counters().packets_in, 0U);
  }
}

}  // namespace
}  // namespace engine_test
