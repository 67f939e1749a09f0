// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "engine/fabric/address_book.hpp"
#include "engine/wire/flow_icrc.hpp"

namespace verbena::engine::fabric {

/// What the ICRC comes to over IP and UDP for the last few lengths of the last flows: most packets are like one before.
class FlowCache {
public:
  const wire::FlowIcrc& of(const wire::Ip& ip, const wire::Udp& udp, std::size_t data_bytes) noexcept {
    Entry& entry = entries_[(data_bytes / 4 + udp.source_port) % entries_.size()];
    if (!entry.flow || entry.data_bytes != data_bytes || entry.source_port != udp.source_port ||
        entry.dont_fragment != ip.dont_fragment || !wire::same(entry.source, ip.source) ||
        !wire::same(entry.destination, ip.destination)) {
      entry = {wire::FlowIcrc(ip, udp, data_bytes),
               data_bytes,
               udp.source_port,
               ip.dont_fragment,
               ip.source,
               ip.destination};
    }
    return *entry.flow;
  }

private:
  struct Entry {
    std::optional<wire::FlowIcrc> flow;
    std::size_t data_bytes = 0;
    std::uint16_t source_port = 0;
    bool dont_fragment = true;
    wire::Gid source{};
    wire::Gid destination{};
  };
  std::array<Entry, 8> entries_;
};

}  // namespace verbena::engine::fabric
