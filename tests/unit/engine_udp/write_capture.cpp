// SPDX-License-Identifier: Apache-2.0 OR MIT
// write_capture FILE PACKETS: what leaves a link while the engine sends messages of all kinds over IPv4 and IPv6, as a
// pcapng file of so many packets, numbered and summed up by the kernel. Ends with 77 where that can't be seen.
#include <arpa/inet.h>
#include <linux/ethtool.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "engine/fabric/udp_kernel.hpp"
#include "engine/wire/capture.hpp"
#include "engine_udp/udp_rig.hpp"

namespace {

using namespace engine_test;  // NOLINT(google-build-using-namespace)

[[noreturn]] void skip(const std::string& why) {
  std::printf("skipped: %s\n", why.c_str());
  std::exit(77);
}

/// The kernel sums up UDP itself, as it does for a NIC that can't.
void sum_up(const char* interface) {
  const fabric::Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  ethtool_value off{ETHTOOL_STXCSUM, 0};
  ifreq request{};
  std::strncpy(request.ifr_name, interface, sizeof request.ifr_name - 1);
  request.ifr_data = reinterpret_cast<char*>(&off);
  if (::ioctl(socket.number(), SIOCETHTOOL, &request) != 0) skip("ETHTOOL_STXCSUM");
}

/// Frames of a link; of UDP alone.
class Watch {
public:
  explicit Watch(const char* interface) {
    fabric::OpenedSocket opened = fabric::open_packets({});
    if (!opened) skip(opened.error().text);
    socket_ = std::move(*opened);
    sockaddr_ll address{};
    address.sll_family = AF_PACKET;
    address.sll_protocol = htons(ETH_P_ALL);
    address.sll_ifindex = static_cast<int>(::if_nametoindex(interface));
    if (::bind(socket_.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) skip("bind");
  }
  /// What has come, into the file; how many packets.
  std::size_t write(std::FILE* file, std::size_t most) {
    std::size_t written = 0;
    std::vector<std::byte> frame(1 << 17);
    std::vector<std::byte> block(1 << 17);
    while (written < most) {
      const ssize_t bytes = ::recv(socket_.number(), frame.data(), frame.size(), MSG_DONTWAIT);
      if (bytes < 0) break;
      const std::span<std::byte> packet =
          std::span(frame).first(static_cast<std::size_t>(bytes)).subspan(sizeof(fabric::FrameHead));
      const bool v4 = packet.size() > 42 && packet[12] == std::byte{8} && packet[23] == std::byte{17};
      const bool v6 = packet.size() > 62 && packet[12] == std::byte{0x86} && packet[20] == std::byte{17};
      if (!v4 && !v6) continue;
      const std::size_t size = wire::write_captured(std::chrono::nanoseconds(written), packet, "", block);
      std::fwrite(block.data(), 1, size, file);
      ++written;
    }
    return written;
  }

private:
  fabric::Descriptor socket_;
};

/// Sends without end to who never answers.
class Talk {
public:
  Talk(const wire::Gid& from, const wire::Gid& to) : udp_({.largest_mtu = 4096}), nic_(udp_, clock_, from) {
    const auto opened = nic_.port.listen(from);
    if (!opened) skip(opened.error().text);
    Udp nowhere;
    Nic<Udp> other(nowhere, clock_, to);
    for (std::uint32_t number = 0; number < 8; ++number) {
      const bool reliable = number % 2 == 0;
      ends_.push_back(
          std::make_unique<End<Udp>>(nic_, 0x10 + number, Shape{.type = reliable ? IBV_QPT_RC : IBV_QPT_UC}));
      End<Udp> there(other, 0x20 + number);
      aim(*ends_.back(), there, Path{.mtu = static_cast<ibv_mtu>(1 + number % 5), .timeout = 0}, 0xffffe0 + number);
      ends_.back()->qp.route.udp.source_port = static_cast<std::uint16_t>(0xc000 + number);
      fill(ends_.back()->memory, number);
    }
  }
  void turn() {
    for (auto& end : ends_) {
      const bool reliable = end->qp.type == IBV_QPT_RC;
      static constexpr ibv_wr_opcode kAll[] = {IBV_WR_SEND,
                                               IBV_WR_RDMA_WRITE,
                                               IBV_WR_SEND_WITH_IMM,
                                               IBV_WR_RDMA_WRITE_WITH_IMM,
                                               IBV_WR_ATOMIC_FETCH_AND_ADD,
                                               IBV_WR_RDMA_READ};
      ibv_send_wr wr = rdma(kAll[turn_ % (reliable ? 6 : 4)], 1, 0x1000, 0x77);
      wr.imm_data = static_cast<std::uint32_t>(turn_);
      if (wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) wr.wr.atomic.remote_addr = 0x1000;
      const auto bytes =
          static_cast<std::uint32_t>(wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : turn_ * 577 % 20'000);
      static_cast<void>(end->send(wr, {end->sge(turn_ % 100, bytes)}));
      while (end->poll()) {
      }
      ++turn_;
    }
  }

private:
  HostClock clock_;
  Udp udp_;
  Nic<Udp> nic_;
  std::vector<std::unique_ptr<End<Udp>>> ends_;
  std::size_t turn_ = 0;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  const auto wanted = static_cast<std::size_t>(std::strtoul(arguments[2], nullptr, 10));
  if (!own_links().empty()) skip(own_links());
  if (!run("ip -6 neigh add fd77::9 lladdr 02:00:00:00:00:09 dev verbena0")) skip("`ip -6 neigh add` failed");
  sum_up("verbena0");
  Watch watch("verbena1");
  std::FILE* const file = std::fopen(arguments[1], "wb");
  if (file == nullptr) return 1;
  const auto head = wire::capture_head(wire::LinkType::ethernet);
  std::fwrite(head.data(), 1, head.size(), file);
  wire::Gid from = unique_local(1);
  wire::Gid to = unique_local(9);
  from[1] = to[1] = std::byte{0x77};
  std::size_t written = 0;
  // Reliable ones come to rest when nobody answers: others take their place.
  for (int round = 0; written < wanted && round < 1000; ++round) {
    Talk v4(wire::mapped(10, 77, 0, 1), wire::mapped(10, 77, 0, 2));
    Talk v6(from, to);
    for (int turn = 0; turn < 20 && written < wanted; ++turn) {
      v4.turn();
      v6.turn();
      written += watch.write(file, wanted - written);
    }
  }
  std::fclose(file);
  std::printf("%zu packets of %zu\n", written, wanted);
  return written == wanted ? 0 : 1;
}
