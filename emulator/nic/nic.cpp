// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/nic.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "nic/conduct.hpp"

namespace verbena::emulator {

namespace {

constexpr std::uint32_t kFirstQp = 17;          // below are the special ones, and room for a model's own
constexpr std::uint32_t kQpNumbers = 1U << 16;  // what the adapter tells apart
constexpr unsigned kLidsOfHost = 8;             // bits of a LID that tell NICs of one host apart

/// As which types a port's addresses are in its GID table.
std::vector<GidType> types_of(const Profile& profile, std::uint8_t port) {
  std::vector<GidType> types;
  const PortCaps* const caps = profile.model().caps.port(port);
  if (caps != nullptr) {
    for (const GidEntry& entry : caps->gids) {
      if (std::find(types.begin(), types.end(), entry.type) == types.end()) types.push_back(entry.type);
    }
  }
  if (profile.transport(port) == Transport::infiniband) types = {GidType::ib};
  if (profile.transport(port) == Transport::iwarp) types = {GidType::ib};
  if (types.empty()) types = {GidType::roce_v2};
  return types;
}

std::vector<Gid> table(const Profile& profile, std::uint8_t port, std::uint32_t number,
                       const std::vector<engine::wire::Gid>& addresses) {
  const std::vector<GidType> types = types_of(profile, port);
  std::vector<Gid> gids;
  if (profile.transport(port) == Transport::iwarp) {
    // An iWARP device's only GID is its Ethernet address (linux drivers/infiniband/sw/siw/siw_verbs.c siw_query_gid).
    engine::wire::Gid mac{};
    mac[0] = std::byte{0x02};
    mac[4] = static_cast<std::byte>(port);
    mac[5] = static_cast<std::byte>(number + 1);
    return {{0, GidType::ib, mac}};
  }
  std::uint32_t index = 0;
  for (const engine::wire::Gid& address : addresses) {
    for (const GidType type : types) gids.push_back({index++, type, address});
    if (types.front() == GidType::ib) break;
  }
  return gids;
}

}  // namespace

Nic::Nic(Host& host, Profile profile, std::string name, std::uint32_t number, std::uint32_t nics,
         engine::transport::Notices& notices)
    : host_(host),
      profile_(std::move(profile)),
      name_(std::move(name)),
      number_(number),
      host_number_(host.net()->host_number()),
      port_(host.port()),
      adapter_(keys_, *port_, host.clock(), notices),
      first_qp_number_(std::max(kFirstQp, host.net()->reaches_others() ? kQpNumbers / nics * number : 0)),
      qp_numbers_end_(host.net()->reaches_others() ? kQpNumbers / nics * (number + 1) : kQpNumbers),
      next_qp_number_(first_qp_number_),
      qp_numbers_(kQpNumbers) {
  adapter_.conduct(conduct_of(profile_));
  port_->connect(adapter_);
  for (const PortCaps& port : profile_.caps().ports) {
    gids_.resize(std::max<std::size_t>(gids_.size(), port.number));
    gids_[port.number - 1] = table(profile_, port.number, number_, host.net()->addresses(number_, port.number));
    for (const Gid& gid : gids_[port.number - 1]) port_->listen(gid.bytes);
    addresses_.resize(gids_.size());
    links_.resize(gids_.size());
    std::vector<engine::wire::Gid>& addresses = addresses_[port.number - 1];
    addresses = host.net()->addresses(number_, port.number);
    std::reverse(addresses.begin(), addresses.end());
    // Connections of iWARP are between IP addresses, whatever its GIDs are.
    if (profile_.transport(port.number) != Transport::iwarp) continue;
    for (const engine::wire::Gid& address : addresses) port_->listen(address);
  }
  host_.add(adapter_);
}

Nic::~Nic() {
  const std::scoped_lock lock(host_.mutex);
  host_.remove(adapter_);
  port_.reset();
}

int Nic::enter() {
  if (inside_ == 0) {
    if (const int error = port_->take_addresses(); error != 0) return error;
  }
  ++inside_;
  return 0;
}

void Nic::leave() noexcept {
  if (--inside_ == 0) port_->give_addresses();
}

const std::vector<Gid>& Nic::gids(std::uint8_t port) const noexcept {
  static const std::vector<Gid> kNone;
  return port == 0 || port > gids_.size() ? kNone : gids_[port - 1U];
}

const std::vector<engine::wire::Gid>& Nic::addresses(std::uint8_t port) const noexcept {
  static const std::vector<engine::wire::Gid> kNone;
  return port == 0 || port > addresses_.size() ? kNone : addresses_[port - 1U];
}

const Gid* Nic::gid(std::uint8_t port, int index) const noexcept {
  for (const Gid& gid : gids(port)) {
    if (static_cast<int>(gid.index) == index) return &gid;
  }
  return nullptr;
}

std::uint32_t Nic::take_qp_number() {
  const Net* const net = host_.net();
  if (net == nullptr) return 0;
  for (std::uint32_t tried = first_qp_number_; tried < qp_numbers_end_; ++tried) {
    const std::uint32_t number = next_qp_number_;
    next_qp_number_ = number + 1 < qp_numbers_end_ ? number + 1 : first_qp_number_;
    if (qp_numbers_[number]) continue;
    qp_numbers_[number] = true;
    return net->queue_pair_number(number);
  }
  return 0;
}

void Nic::give_qp_number(std::uint32_t number) {
  qp_numbers_[number % kQpNumbers] = false;
  if (profile_.fault(Fault::qp_number_reused_at_once) != nullptr) next_qp_number_ = number;
}

std::uint16_t Nic::lid(std::uint8_t port) const noexcept {
  if (profile_.transport(port) != Transport::infiniband)
    return static_cast<std::uint16_t>(profile_.figure(port, PortCap::lid));
  return static_cast<std::uint16_t>((host_number_ << kLidsOfHost) + number_ + 1);
}

/// Whose GID has this LID: a NIC's number and its host's are in it. All zero: nobody's.
engine::wire::Gid Nic::behind(std::uint16_t lid) const {
  constexpr std::uint16_t kFirstOfGroups = 0xc000;
  if (lid == 0 || lid >= kFirstOfGroups || host_.net() == nullptr) return {};
  const std::uint32_t host = static_cast<std::uint32_t>(lid - 1) >> kLidsOfHost;
  const std::uint32_t nic = static_cast<std::uint32_t>(lid - 1) & ((1U << kLidsOfHost) - 1);
  return host == host_number_ ? host_.net()->addresses(nic, 1).front() : own_addresses(host, nic, 1).front();
}

int Nic::resolve(const ibv_ah_attr& attr, engine::queues::Address& address) const {
  if (attr.port_num == 0 || attr.port_num > ports()) return EINVAL;
  const Transport transport = profile_.transport(attr.port_num);
  if (attr.is_global == 0) {
    // RoCE has no address without a GRH (linux drivers/infiniband/core/verbs.c rdma_check_ah_attr).
    if (transport != Transport::infiniband) return EINVAL;
  }
  const Gid* const source = gid(attr.port_num, attr.is_global != 0 ? attr.grh.sgid_index : 0);
  if (source == nullptr) return EINVAL;
  address = {};
  address.ip.source_lid = lid(attr.port_num);
  if (transport == Transport::infiniband) address.ip.service_level = attr.sl;
  if (attr.is_global == 0) {
    address.ip.without_grh = true;
    address.ip.version = engine::wire::IpVersion::v6;
    address.ip.source = source->bytes;
    address.ip.destination = behind(attr.dlid);
    return 0;
  }
  std::memcpy(address.ip.destination.data(), attr.grh.dgid.raw, sizeof attr.grh.dgid.raw);
  address.ip.source = source->bytes;
  // RoCE v1 has a GRH, which is an IPv6 header, whatever addresses are in it.
  const bool mapped = engine::wire::is_mapped(address.ip.destination) && source->type != GidType::roce_v1;
  address.ip.version = mapped ? engine::wire::IpVersion::v4 : engine::wire::IpVersion::v6;
  address.ip.traffic_class = attr.grh.traffic_class;
  address.ip.hop_limit = attr.grh.hop_limit;
  address.ip.flow_label = attr.grh.flow_label & 0xfffff;
  return 0;
}

}  // namespace verbena::emulator
