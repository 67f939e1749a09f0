// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cm/cma_header.hpp"

#include <algorithm>

#include "engine/wire/bytes.hpp"

namespace verbena::emulator::cm {

namespace {

using engine::wire::Gid;
using engine::wire::IpVersion;

constexpr std::size_t kSourceAt = 4;
constexpr std::size_t kDestinationAt = 20;
constexpr std::size_t kV4At = 12;  // of the 16 bytes of an address; those before are zeros

void write_address(const Gid& address, IpVersion version, std::byte* to) noexcept {
  const std::size_t from = version == IpVersion::v4 ? kV4At : 0;
  std::fill_n(to, from, std::byte{});
  std::copy(address.begin() + static_cast<std::ptrdiff_t>(from), address.end(), to + from);
}

Gid read_address(IpVersion version, const std::byte* from) noexcept {
  Gid address{};
  if (version == IpVersion::v4) address = engine::wire::mapped(0, 0, 0, 0);
  const std::size_t at = version == IpVersion::v4 ? kV4At : 0;
  std::copy(from + at, from + address.size(), address.begin() + static_cast<std::ptrdiff_t>(at));
  return address;
}

}  // namespace

void write(const CmaHeader& header, std::span<std::byte, CmaHeader::kBytes> to) noexcept {
  to[0] = std::byte{};  // CMA_VERSION
  to[1] = static_cast<std::byte>(static_cast<unsigned>(header.version) << 4);
  engine::wire::store(to.data() + 2, header.port);
  write_address(header.source, header.version, to.data() + kSourceAt);
  write_address(header.destination, header.version, to.data() + kDestinationAt);
}

std::optional<CmaHeader> read_cma_header(std::span<const std::byte, CmaHeader::kBytes> from) noexcept {
  if (from[0] != std::byte{}) return std::nullopt;
  CmaHeader header;
  const auto version = std::to_integer<unsigned>(from[1]) >> 4;
  if (version != 4 && version != 6) return std::nullopt;
  header.version = static_cast<IpVersion>(version);
  header.port = engine::wire::load<std::uint16_t>(from.data() + 2);
  header.source = read_address(header.version, from.data() + kSourceAt);
  header.destination = read_address(header.version, from.data() + kDestinationAt);
  return header;
}

}  // namespace verbena::emulator::cm
