// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/wire/ip.hpp"

namespace verbena::emulator::cm {

/// What rdma_cm puts in front of the caller's private data in a REQ and a SIDR_REQ: which IP addresses meet.
/// Source: linux drivers/infiniband/core/cma.c struct cma_hdr, cma_format_hdr.
struct CmaHeader {
  static constexpr std::size_t kBytes = 36;

  engine::wire::IpVersion version = engine::wire::IpVersion::v4;
  std::uint16_t port = 0;           ///< of the source
  engine::wire::Gid source{};       ///< mapped in IPv4
  engine::wire::Gid destination{};  ///< mapped in IPv4
  friend bool operator==(const CmaHeader&, const CmaHeader&) = default;
};

void write(const CmaHeader& header, std::span<std::byte, CmaHeader::kBytes> to) noexcept;
/// Empty where it is of another version than 0, or of neither IPv4 nor IPv6.
std::optional<CmaHeader> read_cma_header(std::span<const std::byte, CmaHeader::kBytes> from) noexcept;

/// The service that a port is: its port space and it. Source: linux cma.c rdma_get_service_id.
constexpr std::uint64_t service_id(int port_space, std::uint16_t port) noexcept {
  return (static_cast<std::uint64_t>(port_space) << 16) + port;
}
constexpr int port_space_of(std::uint64_t service) noexcept {
  return static_cast<int>((service >> 16) & 0xffff);
}
constexpr std::uint16_t port_of(std::uint64_t service) noexcept {
  return static_cast<std::uint16_t>(service);
}

}  // namespace verbena::emulator::cm
