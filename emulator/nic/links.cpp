// SPDX-License-Identifier: Apache-2.0 OR MIT
// What an operator changes of a port: its link, the addresses and the MTU of its interface.
#include <algorithm>
#include <cerrno>

#include "engine/fabric/udp_address.hpp"
#include "engine/wire/ip.hpp"
#include "engine/wire/mtu.hpp"
#include "nic/nic.hpp"

namespace verbena::emulator {

namespace {

/// Headers of RoCE that an interface's MTU must have room for: GRH, UDP, BTH, XRC, atomic, ICRC (linux
/// include/rdma/ib_addr.h iboe_get_mtu).
constexpr std::uint32_t kRoceHeaders = 40 + 8 + 12 + 4 + 28 + 4;
constexpr std::uint32_t kEthernetMtu = 1500;

bool of_roce(const Profile& profile, std::uint8_t port) noexcept {
  const Transport transport = profile.transport(port);
  return transport != Transport::infiniband && transport != Transport::iwarp;
}

}  // namespace

int Nic::add_address(std::uint8_t port, const engine::wire::Gid& address, bool& changed) {
  changed = false;
  std::vector<engine::wire::Gid>& all = addresses_[port - 1U];
  const auto same = [&address](const engine::wire::Gid& each) { return engine::wire::same(each, address); };
  if (std::any_of(all.begin(), all.end(), same)) return EEXIST;
  if (of_roce(profile_, port)) {
    std::vector<Gid>& gids = gids_[port - 1U];
    std::vector<GidType> types;
    for (const Gid& each : gids)
      if (std::find(types.begin(), types.end(), each.type) == types.end()) types.push_back(each.type);
    const std::uint64_t length = std::max<std::uint64_t>(profile_.figure(port, PortCap::gid_tbl_len), gids.size());
    if (gids.size() + types.size() > length) return ENOSPC;
    // The lowest free places (linux core/cache.c find_gid, which __ib_cache_gid_add asks for one).
    std::uint32_t index = 0;
    for (const GidType type : types) {
      while (gid(port, static_cast<int>(index)) != nullptr) ++index;
      const auto behind =
          std::find_if(gids.begin(), gids.end(), [index](const Gid& each) { return each.index > index; });
      gids.insert(behind, {index, type, address});
    }
    changed = true;
  }
  all.insert(std::find_if(all.begin(), all.end(), engine::fabric::link_local), address);
  port_->listen(address);
  return 0;
}

int Nic::remove_address(std::uint8_t port, const engine::wire::Gid& address, bool& changed) {
  changed = false;
  const auto same = [&address](const engine::wire::Gid& each) { return engine::wire::same(each, address); };
  if (std::erase_if(addresses_[port - 1U], same) == 0) return EADDRNOTAVAIL;
  if (of_roce(profile_, port))
    changed = std::erase_if(gids_[port - 1U], [&same](const Gid& each) { return same(each.bytes); }) > 0;
  port_->forget(address);
  return 0;
}

ibv_port_state Nic::state(std::uint8_t port) const noexcept {
  if (port == 0 || port > ports() || !links_[port - 1U].up) return IBV_PORT_DOWN;
  return static_cast<ibv_port_state>(profile_.figure(port, PortCap::state));
}

void Nic::set_link(std::uint8_t port, bool up) noexcept {
  links_[port - 1U].up = up;
  // All ports of a NIC have one end of the fabric.
  port_->set_link(std::any_of(links_.begin(), links_.end(), [](const Link& each) { return each.up; }));
}

std::uint32_t Nic::interface_mtu(std::uint8_t port) const noexcept {
  if (port == 0 || port > ports()) return 0;
  if (const std::uint32_t set = links_[port - 1U].interface_mtu; set != 0) return set;
  const auto payload = static_cast<std::uint32_t>(profile_.figure(port, PortCap::active_mtu));
  return payload + kRoceHeaders <= kEthernetMtu ? kEthernetMtu : payload + kRoceHeaders;
}

std::uint32_t Nic::active_mtu(std::uint8_t port) const noexcept {
  if (port == 0 || port > ports()) return 0;
  const std::uint32_t set = links_[port - 1U].interface_mtu;
  if (set == 0) return static_cast<std::uint32_t>(profile_.figure(port, PortCap::active_mtu));
  const std::uint32_t room = of_roce(profile_, port) ? (set > kRoceHeaders ? set - kRoceHeaders : 0) : set;
  const auto most = static_cast<std::uint32_t>(profile_.figure(port, PortCap::max_mtu));
  std::uint32_t bytes = engine::wire::mtu_bytes(1);
  while (2 * bytes <= std::min(room, most)) bytes *= 2;
  return bytes;
}

void Nic::set_interface_mtu(std::uint8_t port, std::uint32_t bytes) noexcept {
  Link& link = links_[port - 1U];
  link.interface_mtu = 0;
  if (bytes != interface_mtu(port)) link.interface_mtu = bytes;
}

}  // namespace verbena::emulator
