// SPDX-License-Identifier: Apache-2.0 OR MIT
// What can't be opened says what is missing and what to do; what is opened is closed again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "engine_udp/udp_rig.hpp"

namespace engine_test {
namespace {

using ::testing::HasSubstr;

TEST(UdpOpen, AnAddressThatAnotherHasIsRefused) {
  const Udp udp;
  Udp::Port first(udp);
  ASSERT_TRUE(first.listen(loopback(1)));
  EXPECT_TRUE(first.listen(loopback(1))) << "its own, once more";
  Udp::Port second(udp);
  const auto refused = second.listen(loopback(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().number, EADDRINUSE);
  EXPECT_THAT(refused.error().text, HasSubstr("4791"));
  EXPECT_THAT(refused.error().text, HasSubstr(fabric::text(loopback(1))));
  EXPECT_THAT(refused.error().text, HasSubstr("rxe"));
  EXPECT_TRUE(second.listen(loopback(2)));
  first.forget(loopback(1));
  EXPECT_TRUE(second.listen(loopback(1))) << "which is free again";
}

TEST(UdpOpen, AnAddressOfAnotherHostIsRefused) {
  const Udp udp;
  Udp::Port port(udp);
  const auto refused = port.listen(wire::mapped(192, 0, 2, 77));  // RFC 5737: nobody's
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().number, EADDRNOTAVAIL);
  EXPECT_THAT(refused.error().text, HasSubstr("192.0.2.77"));
  EXPECT_THAT(refused.error().text, HasSubstr("ip addr add"));
  EXPECT_TRUE(port.sockets().empty());
}

TEST(UdpOpen, ALinkTooSmallForThePathMtuIsRefused) {
  if (!own_network().empty()) GTEST_SKIP() << own_network();
  if (!run("ip link set lo mtu 1400")) GTEST_SKIP() << "`ip` sets no MTU here";
  const Udp large({.largest_mtu = 4096});
  Udp::Port port(large);
  for (const wire::Gid& gid : {loopback(1), unique_local(1)}) {
    const auto refused = port.listen(gid);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().number, EMSGSIZE);
    EXPECT_THAT(refused.error().text, HasSubstr("lo"));
    EXPECT_THAT(refused.error().text, HasSubstr("1400"));
    EXPECT_THAT(refused.error().text, HasSubstr(wire::is_mapped(gid) ? "4160" : "4180"));
    EXPECT_THAT(refused.error().text, HasSubstr("path MTU of 1024"));
  }
  const Udp small({.largest_mtu = 1024});
  Udp::Port other(small);
  EXPECT_TRUE(other.listen(loopback(1)));
  ASSERT_TRUE(run("ip link set lo mtu 65536"));
}

TEST(UdpOpen, AGroupNeedsAnAddressWhoseInterfaceJoinsIt) {
  const Udp udp;
  Udp::Port port(udp);
  const wire::Gid group = wire::mapped(239, 9, 9, 9);
  const auto refused = port.listen(group);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().number, EADDRNOTAVAIL);
  EXPECT_THAT(refused.error().text, HasSubstr("239.9.9.9"));
  ASSERT_TRUE(port.listen(loopback(1)));
  EXPECT_TRUE(port.listen(group));
  EXPECT_EQ(port.sockets().size(), 2U);
  port.forget(group);
  port.forget(loopback(1));
  EXPECT_TRUE(port.sockets().empty());
}

/// Takes CAP_NET_RAW from this process.
bool drop_raw() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, 2> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  data[0].effective &= ~(1U << CAP_NET_RAW);
  return ::syscall(SYS_capset, &header, data.data()) == 0;
}

/// In a process of its own: 0 where all held.
int without_packets() {
  if (!drop_raw()) return 10;
  const Udp by_sender;
  Udp::Port port(by_sender);
  if (!port.listen(loopback(1))) return 1;
  if (port.remark().find("CAP_NET_RAW") == std::string::npos) return 2;
  if (port.remark().find("65536") == std::string::npos) return 3;
  const Udp packets({.way = UdpWay::packets});
  Udp::Port strict(packets);
  const auto refused = strict.listen(loopback(2));
  if (refused || refused.error().number != EPERM) return 4;
  if (refused.error().text.find("CAP_NET_RAW") == std::string::npos) return 5;
  const Udp socket({.way = UdpWay::socket});
  Udp::Port alone(socket);
  if (!alone.listen(loopback(2)) || !alone.remark().empty()) return 6;
  return 0;
}

TEST(UdpOpen, WherePacketSocketsAreForbiddenItSaysSoAndGoesOn) {
  own_network();
  const pid_t child = ::fork();
  if (child == 0) ::_exit(without_packets());
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 10) GTEST_SKIP() << "capset is not permitted";
  EXPECT_EQ(status, 0) << "step " << WEXITSTATUS(status);
}

TEST(UdpOpen, WhatCannotBeSentIsCountedByItsErrno) {
  Two two;
  End<Udp> left(two.one, 0x11, {.type = IBV_QPT_UD});
  const auto send = [&](const wire::Gid& source, const wire::Gid& destination) {
    queues::Address to;
    to.ip.version = wire::is_mapped(source) ? wire::IpVersion::v4 : wire::IpVersion::v6;
    to.ip.source = source;
    to.ip.destination = destination;
    ibv_send_wr wr = work(IBV_WR_SEND, 1);
    wr.wr.ud.remote_qpn = 5;
    EXPECT_EQ(left.send(wr, {left.sge(0, 10)}, &to), transport::PostFault::none);
  };
  left.qp.attr.path_mtu = IBV_MTU_1024;
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) two.one.adapter.enter(left.qp, state);
  send(loopback(9), two.other.gid);
  EXPECT_EQ(two.one.port.counters().failures.of(EADDRNOTAVAIL), 1U) << "from an address that it doesn't have";
  send(two.one.gid, unique_local(1));
  EXPECT_EQ(two.one.port.counters().failures.of(EADDRNOTAVAIL), 2U) << "from IPv4 to IPv6";
  if (own_network().empty()) {
    send(two.one.gid, wire::mapped(192, 0, 2, 1));
    EXPECT_EQ(two.one.port.counters().failures.all(), 3U) << "to where no route leads";
  }
  EXPECT_EQ(two.one.port.counters().packets_out, 0U);
}

TEST(UdpOpen, NobodyIsAnsweredByIcmpWhereThePacketSocketReceives) {
  const Udp udp({.way = UdpWay::packets});
  Udp::Port port(udp);
  const auto opened = port.listen(loopback(1));
  if (!opened) GTEST_SKIP() << opened.error().text;
  const fabric::Descriptor peer(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  const fabric::SocketAddress from(loopback(2), 0);
  const fabric::SocketAddress to(loopback(1), wire::kRocePort);
  ASSERT_EQ(::bind(peer.number(), &from.any, from.bytes), 0);
  ASSERT_EQ(::connect(peer.number(), &to.any, to.bytes), 0);
  for (int time = 0; time < 3; ++time) EXPECT_EQ(::send(peer.number(), "x", 1, 0), 1) << "ECONNREFUSED would come here";
}

}  // namespace
}  // namespace engine_test
