// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/net.hpp"

#include <algorithm>

#include "engine/fabric/udp_address.hpp"

namespace verbena::emulator {

std::vector<engine::wire::Gid> own_addresses(std::uint32_t host, std::uint32_t nic, std::uint8_t port) {
  engine::wire::Gid link_local{};
  link_local[0] = std::byte{0xfe};
  link_local[1] = std::byte{0x80};
  link_local[8] = std::byte{0x02};
  link_local[11] = std::byte{0xff};
  link_local[12] = std::byte{0xfe};
  link_local[13] = static_cast<std::byte>(host);
  link_local[14] = static_cast<std::byte>(port);
  link_local[15] = static_cast<std::byte>(nic + 1);
  constexpr std::uint32_t kFirst = 11;
  return {link_local,
          engine::wire::mapped(10, static_cast<std::uint8_t>(kFirst + host), port, static_cast<std::uint8_t>(nic + 1))};
}

bool same_network(const engine::wire::Gid& one, const engine::wire::Gid& other, std::ptrdiff_t last_bytes) noexcept {
  using engine::fabric::link_local;
  if (link_local(one) || link_local(other)) return link_local(one) && link_local(other);
  return std::equal(one.begin(), one.end() - last_bytes, other.begin());
}

bool Net::neighbours(const engine::wire::Gid& own, const engine::wire::Gid& other) const {
  return same_network(own, other, 1);
}

}  // namespace verbena::emulator
