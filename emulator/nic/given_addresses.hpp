// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "engine/wire/ip.hpp"

namespace verbena::emulator {

/// Addresses that were given to the ports of NICs: to each, in the order in which they ask, a list of them.
class GivenAddresses {
public:
  GivenAddresses() = default;
  explicit GivenAddresses(std::vector<std::vector<engine::wire::Gid>> lists) : lists_(std::move(lists)) {}

  bool empty() const noexcept { return lists_.empty(); }
  /// The same for the same port; none where there are fewer lists than ports.
  std::vector<engine::wire::Gid> of(std::uint32_t nic, std::uint8_t port) {
    const std::pair asked(nic, port);
    auto found = std::find(given_.begin(), given_.end(), asked);
    if (found == given_.end()) found = given_.insert(found, asked);
    const auto place = static_cast<std::size_t>(found - given_.begin());
    return place < lists_.size() ? lists_[place] : std::vector<engine::wire::Gid>{};
  }

private:
  std::vector<std::vector<engine::wire::Gid>> lists_;
  std::vector<std::pair<std::uint32_t, std::uint8_t>> given_;  ///< to which NIC and port, in the same order
};

}  // namespace verbena::emulator
