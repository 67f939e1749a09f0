// SPDX-License-Identifier: Apache-2.0 OR MIT
// Two processes in two network namespaces, with a link between that is good or loses packets.
#include <fcntl.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine_udp/udp_rig.hpp"

namespace engine_test {
namespace {

using fabric::Descriptor;

constexpr std::size_t kRegion = std::size_t{1} << 20;
constexpr std::size_t kMessage = 100'000;
constexpr std::uint32_t kRounds = 40;
constexpr const char* kLossless = "";

/// What one end must know of the other.
struct Invitation {
  wire::Gid gid{};
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
};

struct Cable {
  const char* name;
  bool v6;
  const char* link;  ///< what `tc` is told of it
  UdpSettings settings;
  bool apart = false;  ///< packets cross the link one by one, as they do on a cable
};

const Cable kCables[] = {
    {"V4", false, kLossless, {.largest_mtu = 4096}},
    {"V4Packets", false, kLossless, {.way = UdpWay::packets}},
    {"V4PacketByPacket", false, kLossless, {.way = UdpWay::socket}, true},
    {"V4PacketByPacketSeen", false, kLossless, {.way = UdpWay::packets}, true},
    {"V6PacketByPacket", true, kLossless, {}, true},
    {"V4LosesAndReorders", false, "netem loss 2% delay 200us reorder 95%", {}},
    {"V6", true, kLossless, {.largest_mtu = 4096}},
    {"V6LosesAndReorders", true, "netem loss 2% delay 200us reorder 95%", {}},
};

wire::Gid address(const Cable& way, unsigned host) {
  if (!way.v6) return wire::mapped(10, 78, 0, static_cast<std::uint8_t>(host));
  wire::Gid gid = unique_local(host);
  gid[1] = std::byte{0x78};
  return gid;
}

Path path(const Cable& way) {
  // Long where nothing is lost: the other process may have to wait for a processor.
  return {.mtu = way.settings.largest_mtu == 4096 ? IBV_MTU_4096 : IBV_MTU_1024,
          .timeout = static_cast<std::uint8_t>(*way.link == '\0' ? 18 : 14)};
}

/// One process's NIC, and its end of a connection to the other's.
struct Side {
  Side(const Cable& way, unsigned host)
      : udp(way.settings), nic(udp, clock, address(way, host)), end(nic, 0x100 + host, {}, kRegion) {}

  void aim_at(const Cable& way, const Invitation& other, std::uint32_t number) {
    Nic<Udp> shadow_nic(shadow, clock, other.gid);
    End<Udp> there(shadow_nic, number);
    aim(end, there, path(way), 77);
    end.qp.route.udp.source_port = 0xd00d;
  }
  Invitation invitation() const { return {nic.gid, end.address(0), end.region->key}; }
  void step() {
    nic.port.progress(16);
    nic.adapter.expire(clock.now());
  }

  HostClock clock;
  Udp udp;
  Udp shadow;
  Nic<Udp> nic;
  End<Udp> end;
};

bool put(int to, const void* from, std::size_t bytes) {
  return ::write(to, from, bytes) == static_cast<ssize_t>(bytes);
}
bool get(int from, void* to, std::size_t bytes) {
  return ::read(from, to, bytes) == static_cast<ssize_t>(bytes);
}

/// The child: sends back what it is sent, until the parent hangs up.
int echo(const Cable& way, int in, int out) {
  if (::unshare(CLONE_NEWNET) != 0) return 10;
  char turn = 'n';
  if (!put(out, &turn, 1) || !get(in, &turn, 1)) return 11;
  const std::string set =
      std::string("ip addr add ") + (way.v6 ? "fd78::2/64 dev there nodad" : "10.78.0.2/24 dev there");
  if (!run("ip link set lo up && ip link set there mtu 4400 up && " + set)) return 12;
  if (*way.link != '\0' && !run(std::string("tc qdisc add dev there root ") + way.link)) return 13;
  if (way.apart && !run("ip link set there gso_max_segs 1")) return 20;
  Side side(way, 2);
  if (!side.nic.port.listen(side.nic.gid)) return 14;
  const Invitation mine = side.invitation();
  Invitation theirs;
  if (!put(out, &mine, sizeof mine) || !get(in, &theirs, sizeof theirs)) return 15;
  side.aim_at(way, theirs, 0x101);
  for (std::uint64_t slot = 0; slot < 4; ++slot) side.end.receive(slot, {side.end.sge(slot * kMessage, kMessage)});
  if (!put(out, &turn, 1)) return 16;
  const transport::Time end = side.clock.now() + std::chrono::seconds(60);
  std::uint32_t returned = 0;
  while (returned < kRounds && side.clock.now() < end) {
    side.step();
    const auto wc = side.end.poll();
    if (!wc) continue;
    if (wc->status != IBV_WC_SUCCESS) return 17;
    const std::size_t slot = wc->wr_id % 4;
    if (wc->opcode == IBV_WC_RECV) {
      if (side.end.send(work(IBV_WR_SEND, slot), {side.end.sge(slot * kMessage, wc->byte_len)}) !=
          transport::PostFault::none)
        return 18;
    } else {
      ++returned;
      side.end.receive(slot, {side.end.sge(slot * kMessage, kMessage)});
    }
  }
  if (returned != kRounds) return 19;
  // Whoever has all goes on answering what was lost.
  ::fcntl(in, F_SETFL, O_NONBLOCK);
  while (::read(in, &turn, 1) != 0 && side.clock.now() < end) side.step();
  if (side.nic.port.counters().mended != 0 || side.nic.port.counters().refused.all() != 0) return 21;
  return 0;
}

class TwoNamespaces : public ::testing::TestWithParam<Cable> {};

TEST_P(TwoNamespaces, EachMessageComesBackAsItWasSent) {
  const Cable& way = GetParam();
  if (!own_network().empty()) GTEST_SKIP() << own_network();
  std::array<int, 2> down{};
  std::array<int, 2> up{};
  ASSERT_EQ(::pipe2(down.data(), O_CLOEXEC), 0);
  ASSERT_EQ(::pipe2(up.data(), O_CLOEXEC), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(down[1]);
    ::close(up[0]);
    ::_exit(echo(way, down[0], up[1]));
  }
  ::close(down[0]);
  ::close(up[1]);
  Descriptor to_child(down[1]);
  const Descriptor from_child(up[0]);
  struct Reaper {
    pid_t process;
    Descriptor& line;
    int end() {
      if (process == 0) return 0;
      line = Descriptor();
      int status = 0;
      ::waitpid(process, &status, 0);
      process = 0;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 99;
    }
    ~Reaper() { end(); }
  } reaper{child, to_child};

  char turn = 0;
  if (!get(from_child.number(), &turn, 1)) GTEST_SKIP() << "no second namespace: step " << reaper.end();
  const std::string there = std::to_string(child);
  const std::string set =
      std::string("ip addr add ") + (way.v6 ? "fd78::1/64 dev here nodad" : "10.78.0.1/24 dev here");
  run("ip link del here");  // the one before goes with the namespace of its other end, which takes a while
  if (!run("ip link add here type veth peer name there netns " + there + " && ip link set here mtu 4400 up && " + set))
    GTEST_SKIP() << "`ip` makes no pair of veth here";
  if (*way.link != '\0' && !run(std::string("tc qdisc add dev here root ") + way.link))
    GTEST_SKIP() << "`tc qdisc add ... " << way.link << "` failed: this kernel has no sch_netem";
  if (way.apart && !run("ip link set here gso_max_segs 1")) GTEST_SKIP() << "`ip` sets no gso_max_segs";
  Side side(way, 1);
  const auto opened = side.nic.port.listen(side.nic.gid);
  if (!opened && way.settings.way == UdpWay::packets) GTEST_SKIP() << opened.error().text;
  ASSERT_TRUE(opened) << opened.error().text;
  ASSERT_TRUE(put(to_child.number(), &turn, 1));
  Invitation theirs;
  ASSERT_TRUE(get(from_child.number(), &theirs, sizeof theirs)) << "step " << reaper.end();
  side.aim_at(way, theirs, 0x102);
  const Invitation mine = side.invitation();
  ASSERT_TRUE(put(to_child.number(), &mine, sizeof mine));
  ASSERT_TRUE(get(from_child.number(), &turn, 1)) << "step " << reaper.end();

  End<Udp>& end = side.end;
  const transport::Time latest = side.clock.now() + std::chrono::seconds(60);
  const auto next = [&]() -> std::optional<ibv_wc> {
    while (side.clock.now() < latest) {
      side.step();
      if (const auto wc = end.poll()) return wc;
    }
    return std::nullopt;
  };
  for (std::uint32_t message = 0; message < kRounds; ++message) {
    fill(end.memory, message + 1);
    const auto bytes = static_cast<std::uint32_t>(kMessage - message * std::size_t{2311});
    ASSERT_EQ(end.receive(1, {end.sge(500'000, kMessage)}), transport::PostFault::none);
    ASSERT_EQ(end.send(work(IBV_WR_SEND, 2), {end.sge(0, bytes)}), transport::PostFault::none);
    for (int completions = 0; completions < 2; ++completions) {
      const auto wc = next();
      ASSERT_TRUE(wc) << "message " << message;
      ASSERT_EQ(wc->status, IBV_WC_SUCCESS);
    }
    ASSERT_EQ(std::memcmp(end.memory.data(), end.memory.data() + 500'000, bytes), 0) << "message " << message;
  }
  EXPECT_EQ(side.nic.port.counters().refused.all(), 0U);
  EXPECT_EQ(side.nic.port.counters().mended, 0U);
  if (way.apart) {
    EXPECT_EQ(side.nic.port.counters().joined_in, 0U);
  }
  EXPECT_EQ(reaper.end(), 0) << "its step";
}

INSTANTIATE_TEST_SUITE_P(Over, TwoNamespaces, ::testing::ValuesIn(kCables),
                         [](const auto& way) { return way.param.name; });

}  // namespace
}  // namespace engine_test
