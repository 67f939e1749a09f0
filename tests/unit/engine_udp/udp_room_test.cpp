// SPDX-License-Identifier: Apache-2.0 OR MIT
// Where the kernel has no room, requests wait with whoever asks, answers wait here up to a bound, and nobody is
// blocked. A neighbour that nobody knows makes the kernel keep packets, until one says where it is.
#include <poll.h>
#include <sys/socket.h>

#include "engine_udp/udp_rig.hpp"

namespace engine_test {
namespace {

constexpr std::uint32_t kPosted = 30;

class Room : public ::testing::Test {
protected:
  void SetUp() override {
    if (!own_links().empty()) GTEST_SKIP() << own_links();
  }
  /// Little room to send from.
  static void narrow(const Udp::Port& port) {
    const int bytes = 4000;
    for (const int socket : port.sockets())
      ASSERT_EQ(::setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
  }
  static bool appears(const char* address) {
    return run(std::string("ip neigh replace ") + address + " lladdr 02:00:00:00:00:03 dev verbena0 nud permanent");
  }
};

TEST_F(Room, ARequestWaitsAndIsSentWhenThereIsSome) {
  HostClock clock;
  Udp udp;
  Nic<Udp> nic(udp, clock, wire::mapped(10, 77, 0, 98));
  Nic<Udp> mine(udp, clock, wire::mapped(10, 77, 0, 1));
  ASSERT_TRUE(mine.port.listen(mine.gid));
  narrow(mine.port);
  End<Udp> left(mine, 0x11, {.type = IBV_QPT_UC});
  End<Udp> there(nic, 0x22, {.type = IBV_QPT_UC});
  aim(left, there, Path{}, 1);
  left.qp.route.udp.source_port = wire::kRocePort;
  const transport::Time begin = clock.now();
  for (std::uint32_t message = 0; message < kPosted; ++message)
    ASSERT_EQ(left.send(work(IBV_WR_SEND, message), {left.sge(0, 1000)}), transport::PostFault::none);
  EXPECT_LT(clock.now() - begin, std::chrono::seconds(1)) << "nobody waits";
  EXPECT_GT(mine.port.counters().asked_to_wait, 0U);
  EXPECT_LT(mine.port.counters().packets_out, kPosted);
  if (!appears("10.77.0.98")) GTEST_SKIP() << "`ip neigh replace` failed";
  pollfd watched{mine.port.descriptor(), POLLIN, 0};
  while (mine.port.counters().packets_out < kPosted && clock.now() - begin < std::chrono::seconds(10)) {
    ASSERT_EQ(::poll(&watched, 1, 5000), 1) << "whoever sleeps is told of room";
    mine.port.progress(16);
  }
  EXPECT_EQ(mine.port.counters().packets_out, kPosted);
  EXPECT_EQ(mine.port.counters().failures.all(), 0U);
}

TEST_F(Room, AnAnswerIsKeptUpToABound) {
  HostClock clock;
  Udp udp;
  Nic<Udp> mine(udp, clock, wire::mapped(10, 77, 0, 1));
  ASSERT_TRUE(mine.port.listen(mine.gid));
  narrow(mine.port);
  std::vector<std::byte> data(std::size_t{20} * 1024);
  const memory::Piece piece{data.data(), data.size()};
  transport::Train answer;
  answer.head.ip.source = mine.gid;
  answer.head.ip.destination = wire::mapped(10, 77, 0, 97);
  answer.head.udp.source_port = wire::kRocePort;
  answer.head.bth.opcode = wire::Opcode::rc_rdma_read_response_first;
  answer.last_opcode = wire::Opcode::rc_rdma_read_response_last;
  answer.packets = 20;
  answer.mtu = 1024;
  answer.bytes = data.size();
  answer.payload = {&piece, 1};
  constexpr std::uint32_t kAnswers = 100;
  for (std::uint32_t each = 0; each < kAnswers; ++each) ASSERT_TRUE(mine.port.send(answer));
  const fabric::UdpCounters& counters = mine.port.counters();
  EXPECT_GT(counters.answers_dropped, 0U) << "2 MiB of answers";
  transport::Train request = answer;
  request.head.bth.opcode = request.last_opcode = wire::Opcode::rc_send_only;
  request.packets = 1;
  request.bytes = 0;
  request.payload = {};
  EXPECT_FALSE(mine.port.send(request)) << "not before what waits";
  if (!appears("10.77.0.97")) GTEST_SKIP() << "`ip neigh replace` failed";
  const transport::Time end = clock.now() + std::chrono::seconds(10);
  while (!mine.port.send(request) && clock.now() < end) mine.port.progress(16);
  // Each has three messages: the first is larger than those behind it, and so is the last.
  EXPECT_GT(counters.packets_out, 20U * 40) << "what was kept was sent";
  EXPECT_LT(counters.packets_out, 20U * kAnswers);
}

}  // namespace
}  // namespace engine_test
