// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "connect/gid_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>

namespace verbena {

AddressReach reach_of(const IpAddress& address) noexcept {
  const auto zero = [](std::uint8_t byte) { return byte == 0; };
  if (std::all_of(address.begin(), address.end(), zero)) return AddressReach::nowhere;
  if (address[0] == 0xfe && (address[1] & 0xc0) == 0x80) return AddressReach::link;
  if (std::all_of(address.begin(), address.begin() + 10, zero) && address[10] == 0xff && address[11] == 0xff) {
    return AddressReach::ipv4_mapped;
  }
  return AddressReach::global_ipv6;
}

const GidEntry* choose_roce_gid(std::span<const GidEntry> entries, std::string_view netdev) noexcept {
  const auto rank = [&netdev](const GidEntry& entry) {
    return std::tuple(entry.type == GidType::roce_v2, netdev.empty() || entry.netdev == netdev, reach_of(entry.gid));
  };
  const GidEntry* best = nullptr;
  for (const GidEntry& entry : entries) {
    if (entry.type == GidType::ib || reach_of(entry.gid) == AddressReach::nowhere) continue;
    if (best == nullptr || rank(entry) > rank(*best) || (rank(entry) == rank(*best) && entry.index < best->index)) {
      best = &entry;
    }
  }
  return best;
}

std::string address_text(const IpAddress& address) {
  if (reach_of(address) == AddressReach::ipv4_mapped) {
    return fmt::format("::ffff:{}.{}.{}.{}", address[12], address[13], address[14], address[15]);
  }
  std::string text;
  for (std::size_t i = 0; i < address.size(); i += 2) {
    if (i != 0) text += ':';
    text += fmt::format("{:x}", address[i] << 8 | address[i + 1]);
  }
  return text;
}

}  // namespace verbena
