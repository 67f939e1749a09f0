// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/net.hpp"

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

}  // namespace verbena::emulator
