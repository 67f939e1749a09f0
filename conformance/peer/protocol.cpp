// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "peer/protocol.hpp"

#include <fmt/format.h>
#include <infiniband/verbs.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <fstream>

namespace conform::peer {

namespace {

constexpr std::uint64_t kMagic = 0x76726270656572ULL;  // "vrbpeer"

}  // namespace

std::uint64_t layout_here() {
  std::uint64_t hash = std::endian::native == std::endian::little ? 1 : 2;
  for (const std::size_t size :
       {sizeof(void*), sizeof(long), sizeof(ibv_device_attr), sizeof(ibv_device_attr_ex), sizeof(ibv_port_attr),
        sizeof(ibv_gid_entry), sizeof(ibv_qp_attr), sizeof(ibv_qp_cap), sizeof(ibv_ah_attr), sizeof(ibv_srq_attr),
        sizeof(ibv_send_wr), sizeof(ibv_recv_wr), sizeof(ibv_sge), sizeof(ibv_wc), sizeof(ibv_values_ex),
        sizeof(ibv_modify_cq_attr), sizeof(ibv_ece), sizeof(ibv_mw_bind)}) {
    hash = (hash ^ size) * 0x100000001b3ULL;
  }
  return hash;
}

std::string host_here() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string("?");
}

std::string boot_here() {
  std::string word;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> word;
  return word;
}

Packet packet_of(const Hello& hello) {
  Packet packet;
  packet.put(kMagic);
  packet.put(hello.protocol);
  packet.put(hello.layout);
  packet.put(hello.list_version);
  packet.put(hello.list_hash);
  packet.put(hello.seed);
  packet.put(hello.token);
  for (const std::string* text : {&hello.verbena, &hello.host, &hello.device}) packet.put_text(*text);
  return packet;
}

std::optional<Hello> hello_from(Packet packet) {
  if (packet.get<std::uint64_t>() != kMagic) return std::nullopt;
  Hello hello;
  packet.get(hello.protocol);
  // What follows may be laid out otherwise by another protocol.
  if (hello.protocol != kProtocol) return packet.good() ? std::optional(hello) : std::nullopt;
  packet.get(hello.layout);
  packet.get(hello.list_version);
  packet.get(hello.list_hash);
  packet.get(hello.seed);
  packet.get(hello.token);
  for (std::string* text : {&hello.verbena, &hello.host, &hello.device}) *text = packet.text();
  return packet.good() ? std::optional(std::move(hello)) : std::nullopt;
}

Packet packet_of(const Welcome& welcome) {
  Packet packet;
  packet.put(kMagic);
  packet.put_text(welcome.refused);
  packet.put(welcome.token);
  packet.put_text(welcome.host);
  packet.put_text(welcome.boot);
  return packet;
}

std::optional<Welcome> welcome_from(Packet packet) {
  if (packet.get<std::uint64_t>() != kMagic) return std::nullopt;
  Welcome welcome;
  welcome.refused = packet.text();
  packet.get(welcome.token);
  welcome.host = packet.text();
  welcome.boot = packet.text();
  return packet.good() ? std::optional(std::move(welcome)) : std::nullopt;
}

std::string mismatch(const Hello& client, std::uint32_t list_version, std::uint64_t list_hash,
                     const std::string& verbena) {
  if (client.protocol != kProtocol)
    return fmt::format("it speaks protocol {} and this end {}; take the same verbena on both", kProtocol,
                       client.protocol);
  if (client.layout != layout_here())
    return fmt::format(
        "its verbs headers, word size or byte order are others than this end's (its verbena is {}, this "
        "one {})",
        verbena, client.verbena);
  if (client.list_version != list_version || client.list_hash != list_hash)
    return fmt::format(
        "its list of cases is version {} ({:016x}) and this end's version {} ({:016x}); take the same "
        "verbena on both",
        list_version, list_hash, client.list_version, client.list_hash);
  return {};
}

}  // namespace conform::peer
