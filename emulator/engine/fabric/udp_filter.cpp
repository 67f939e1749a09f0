// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/udp_filter.hpp"

#include <linux/filter.h>
#include <linux/if_packet.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <vector>

#include "engine/wire/bytes.hpp"
#include "engine/wire/udp.hpp"

namespace verbena::engine::fabric {

namespace {

using Program = std::vector<sock_filter>;

constexpr std::uint32_t kAll = 0x40000;  // more bytes than any packet has
constexpr std::uint32_t kNone = 0;
// Offsets from the IPv4 header on, wherever the socket's own data begins.
constexpr auto kNetwork = static_cast<std::uint32_t>(SKF_NET_OFF);
constexpr std::uint32_t kSource = kNetwork + 12;

sock_filter load(std::uint16_t width, std::uint32_t at) noexcept {
  return BPF_STMT(static_cast<std::uint16_t>(BPF_LD | BPF_ABS | width), at);
}
sock_filter give(std::uint32_t bytes) noexcept {
  return BPF_STMT(BPF_RET | BPF_K, bytes);
}

/// Ends with `bytes` where what was loaded is that number.
void where_equal(Program& program, std::uint32_t number, std::uint32_t bytes) {
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1));
  program.push_back(give(bytes));
}
/// Drops where it isn't.
void require(Program& program, std::uint32_t number) {
  program.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 1, 0));
  program.push_back(give(kNone));
}

void by_source(Program& program, std::span<const wire::Gid> sources, std::uint32_t bytes) {
  program.push_back(load(BPF_W, kSource));
  for (const wire::Gid& gid : sources.first(std::min(sources.size(), kMostNamedSources))) {
    where_equal(program, wire::load<std::uint32_t>(gid.data() + 12), bytes);
  }
}

void only_roce(Program& program) {
  program.push_back(load(BPF_B, static_cast<std::uint32_t>(SKF_AD_OFF + SKF_AD_PKTTYPE)));
  where_equal(program, PACKET_OUTGOING, kNone);
  where_equal(program, PACKET_OTHERHOST, kNone);
  program.push_back(load(BPF_B, kNetwork));
  require(program, 0x45);
  program.push_back(load(BPF_B, kNetwork + 9));
  require(program, wire::kUdpProtocol);
  program.push_back(load(BPF_H, kNetwork + 6));
  program.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, 0x3fff));  // more fragments, or not the first
  require(program, 0);
  program.push_back(load(BPF_H, kNetwork + 22));
  require(program, wire::kRocePort);
}

int attach(int socket, Program& program) noexcept {
  const sock_fprog filter{static_cast<unsigned short>(program.size()), program.data()};
  return ::setsockopt(socket, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) == 0 ? 0 : errno;
}

}  // namespace

int drop_all(int socket) noexcept {
  Program program{give(kNone)};
  return attach(socket, program);
}

int drop_sources(int socket, std::span<const wire::Gid> sources) noexcept {
  Program program;
  by_source(program, sources, kNone);
  program.push_back(give(kAll));
  return attach(socket, program);
}

int take_roce(int socket) noexcept {
  Program program;
  only_roce(program);
  program.push_back(give(kAll));
  return attach(socket, program);
}

int take_roce_from(int socket, std::span<const wire::Gid> sources) noexcept {
  Program program;
  only_roce(program);
  by_source(program, sources, kAll);
  program.push_back(give(kNone));
  return attach(socket, program);
}

}  // namespace verbena::engine::fabric
