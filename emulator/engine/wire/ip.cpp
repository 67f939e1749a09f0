// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/wire/ip.hpp"

#include <algorithm>

#include "engine/wire/bytes.hpp"
#include "engine/wire/internet_checksum.hpp"
#include "engine/wire/udp.hpp"

namespace verbena::engine::wire {
namespace {

void write_v4(const Ip& ip, std::uint16_t udp_bytes, std::byte* to) noexcept {
  store(to, std::uint8_t{0x45});  // version 4, five words
  store(to + 1, ip.traffic_class);
  store(to + 2, static_cast<std::uint16_t>(Ip::kV4Bytes + udp_bytes));
  store(to + 4, ip.identification);
  store(to + 6, static_cast<std::uint16_t>(ip.dont_fragment ? 0x4000 : 0));
  store(to + 8, ip.hop_limit);
  store(to + 9, kUdpProtocol);
  store(to + 10, std::uint16_t{0});
  std::copy_n(ip.source.data() + 12, 4, to + 12);
  std::copy_n(ip.destination.data() + 12, 4, to + 16);
  InternetChecksum checksum;
  checksum.add({to, Ip::kV4Bytes});
  store(to + 10, checksum.value());
}

void write_v6(const Ip& ip, std::uint16_t udp_bytes, std::byte* to) noexcept {
  store(to, 0x60000000U | (std::uint32_t{ip.traffic_class} << 20) | (ip.flow_label & 0xfffffU));
  store(to + 4, udp_bytes);
  store(to + 6, kUdpProtocol);
  store(to + 7, ip.hop_limit);
  std::copy_n(ip.source.data(), 16, to + 8);
  std::copy_n(ip.destination.data(), 16, to + 24);
}

}  // namespace

void write_ip(const Ip& ip, std::uint16_t udp_bytes, std::byte* to) noexcept {
  if (ip.version == IpVersion::v4) {
    write_v4(ip, udp_bytes, to);
  } else {
    write_v6(ip, udp_bytes, to);
  }
}

void write_grh(const Ip& ip, std::uint16_t udp_bytes, std::span<std::byte, kGrhBytes> to) noexcept {
  const std::size_t unused = kGrhBytes - ip.bytes();
  std::fill_n(to.data(), unused, std::byte{0});
  write_ip(ip, udp_bytes, to.data() + unused);
}

}  // namespace verbena::engine::wire
