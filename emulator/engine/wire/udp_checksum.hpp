// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/wire/internet_checksum.hpp"
#include "engine/wire/ip.hpp"
#include "engine/wire/udp.hpp"

namespace verbena::engine::wire {

/// Writes Udp::kBytes at `to`, with a checksum of 0. `bytes` is header and data.
void write_udp(const Udp& udp, std::uint16_t bytes, std::byte* to) noexcept;

/// Begins a UDP checksum with the pseudo header that stands for IP; UDP header and data are added by the caller. `ip`
/// is a whole IP header as it is on the wire. Source: RFC 768, RFC 8200 section 8.1.
InternetChecksum begin_udp_checksum(IpVersion version, std::span<const std::byte> ip) noexcept;

/// What is written: a sum of 0 as ones, since 0 says that there is none.
std::uint16_t udp_checksum_field(const InternetChecksum& checksum) noexcept;

}  // namespace verbena::engine::wire
