// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cm/route.hpp"

#include <algorithm>
#include <cstring>

#include "engine/wire/bytes.hpp"
#include "engine/wire/mtu.hpp"

namespace verbena::emulator::cm {

namespace {

using engine::wire::Gid;

constexpr std::uint8_t kHopLimit = 64;  // linux include/net/ipv6.h IPV6_DEFAULT_HOPLIMIT
constexpr std::uint8_t kRate = IBV_RATE_100_GBPS;

/// The entry that a connection from this address uses: RoCE v2 where there is one (linux drivers/infiniband/core/cma.c
/// CMA_PREFERRED_ROCE_GID_TYPE).
const emulator::Gid* entry_of(const Nic& nic, std::uint8_t port, const Gid& address) {
  const emulator::Gid* found = nullptr;
  for (const emulator::Gid& entry : nic.gids(port)) {
    if (entry.bytes != address) continue;
    if (found == nullptr || entry.type == GidType::roce_v2) found = &entry;
  }
  return found;
}

/// On InfiniBand an IP address is another name of a port's GID, which its last two bytes tell.
Gid gid_of_ip(const Nic& nic, std::uint8_t port, const Gid& ip) {
  if (!engine::wire::is_mapped(ip) || nic.gids(port).empty()) return ip;
  Gid gid = nic.gids(port).front().bytes;
  gid[14] = ip[14];
  gid[15] = ip[15];
  return gid;
}

}  // namespace

std::optional<Route> route(const Nic& nic, std::uint8_t port, const Gid& source, const Gid& destination,
                           std::uint8_t traffic_class) {
  Route route;
  const Transport transport = nic.profile().transport(port);
  route.mtu = engine::wire::mtu_code(nic.active_mtu(port));
  route.rate = kRate;
  route.local = source;
  route.remote = destination;
  if (transport == Transport::iwarp) {
    const auto& own = nic.addresses(port);
    if (std::find(own.begin(), own.end(), source) == own.end()) return std::nullopt;
    route.ah.port_num = port;
    route.messages.ip.source = source;
    route.messages.ip.destination = destination;
    route.messages.ip.version =
        engine::wire::is_mapped(destination) ? engine::wire::IpVersion::v4 : engine::wire::IpVersion::v6;
    return route;
  }
  if (transport == Transport::infiniband) {
    route.local = gid_of_ip(nic, port, source);
    route.remote = gid_of_ip(nic, port, destination);
  }
  const emulator::Gid* const entry = entry_of(nic, port, route.local);
  if (entry == nullptr) return std::nullopt;
  route.ah.is_global = 1;
  route.ah.port_num = port;
  std::memcpy(route.ah.grh.dgid.raw, route.remote.data(), route.remote.size());
  route.ah.grh.sgid_index = static_cast<std::uint8_t>(entry->index);
  route.ah.grh.hop_limit = kHopLimit;
  route.ah.grh.traffic_class = traffic_class;
  if (nic.resolve(route.ah, route.messages) != 0) return std::nullopt;
  return route;
}

Path path_of(const Route& route) {
  Path path;
  // 0xffff where they aren't known (linux drivers/infiniband/core/cm.c cm_format_req, IB_LID_PERMISSIVE).
  path.local_lid = path.remote_lid = 0xffff;
  path.local_gid = route.local;
  path.remote_gid = route.remote;
  path.packet_rate = route.rate;
  path.traffic_class = route.ah.grh.traffic_class;
  path.hop_limit = kHopLimit;
  return path;
}

std::optional<Group> group(const Nic& nic, std::uint8_t port, const Gid& ip, bool rdma_signature) {
  const bool v4 = engine::wire::is_mapped(ip);
  switch (nic.profile().transport(port)) {
    case Transport::infiniband: {
      // Linux include/net/ip.h ip_ib_mc_map, include/net/if_inet6.h ipv6_ib_mc_map with link scope and P_Key 0xffff;
      // cma.c cma_set_mgid for the signature.
      Gid gid{std::byte{0xff}, std::byte{0x12}, v4 ? std::byte{0x40} : std::byte{0x60},
              std::byte{0x1b}, std::byte{0xff}, std::byte{0xff}};
      if (rdma_signature) gid[3] = std::byte{0x01};
      const std::ptrdiff_t from = v4 ? 12 : 6;
      std::copy(ip.begin() + from, ip.end(), gid.begin() + from);
      if (v4) gid[12] &= std::byte{0x0f};
      // One of its range (InfiniBand specification, volume 1, 4.1.1), by the address: others work out the same.
      constexpr std::uint16_t kFirstLid = 0xc000;
      constexpr std::uint16_t kLids = 0x3ffe;
      const auto low = engine::wire::load<std::uint16_t>(gid.data() + 14);
      return Group{gid, static_cast<std::uint16_t>(kFirstLid + low % kLids), 1};
    }
    case Transport::roce_v2: {
      // Linux cma.c cma_iboe_set_mgid, cma_iboe_join_multicast: RoCE v2 has groups of IPv4 alone.
      const bool v2 = std::any_of(nic.gids(port).begin(), nic.gids(port).end(),
                                  [](const emulator::Gid& each) { return each.type == GidType::roce_v2; });
      if (v2) return v4 ? std::optional(Group{ip, 0, kHopLimit}) : std::nullopt;
      Gid gid = ip;
      if (v4) {
        gid[0] = std::byte{0xff};
        gid[1] = std::byte{0x0e};
      }
      return Group{gid, 0, 1};
    }
    default:
      return std::nullopt;
  }
}

}  // namespace verbena::emulator::cm
