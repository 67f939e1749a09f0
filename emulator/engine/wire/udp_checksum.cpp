// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/wire/udp_checksum.hpp"

#include "engine/wire/bytes.hpp"

namespace verbena::engine::wire {

void write_udp(const Udp& udp, std::uint16_t bytes, std::byte* to) noexcept {
  store(to, udp.source_port);
  store(to + 2, udp.destination_port);
  store(to + 4, bytes);
  store(to + 6, std::uint16_t{0});
}

InternetChecksum begin_udp_checksum(IpVersion version, std::span<const std::byte> ip) noexcept {
  InternetChecksum checksum;
  checksum.add(std::uint16_t{kUdpProtocol});
  if (version == IpVersion::v4) {
    checksum.add(static_cast<std::uint16_t>(load<std::uint16_t>(ip.data() + 2) - Ip::kV4Bytes));
    checksum.add(ip.subspan(12, 8));
  } else {
    checksum.add(load<std::uint16_t>(ip.data() + 4));
    checksum.add(ip.subspan(8, 32));
  }
  return checksum;
}

std::uint16_t udp_checksum_field(const InternetChecksum& checksum) noexcept {
  const std::uint16_t value = checksum.value();
  return value == 0 ? std::uint16_t{0xffff} : value;
}

}  // namespace verbena::engine::wire
