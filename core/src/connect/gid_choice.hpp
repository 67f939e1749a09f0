// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "verbena/caps.hpp"
#include "verbena/verbs.hpp"

namespace verbena {

/// How far an address reaches; a farther one is preferred.
enum class AddressReach : std::uint8_t { nowhere, link, global_ipv6, ipv4_mapped };
AddressReach reach_of(const IpAddress& address) noexcept;

/// The entry that a RoCE connection should go out by: RoCE v2 before v1, then one of the port's own interface before
/// those of its VLANs and bonds, then IPv4-mapped, global IPv6, link-local, and the lower index. Null when there is
/// none.
const GidEntry* choose_roce_gid(std::span<const GidEntry> entries, std::string_view netdev) noexcept;

/// `::ffff:10.0.0.1` or the eight groups of an IPv6 address.
std::string address_text(const IpAddress& address);

}  // namespace verbena
