// SPDX-License-Identifier: Apache-2.0 OR MIT
// Which NIC an address leads to, and which way from there.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "cm/addresses.hpp"
#include "cm/ids.hpp"
#include "engine/fabric/address_book.hpp"
#include "engine/wire/bytes.hpp"

namespace verbena::emulator::cm {

namespace {

using engine::wire::Gid;

/// The kernel's own number, which it lets programs see (linux include/linux/errno.h).
constexpr int kKernelNotSupported = 524;

/// As interfaces of emulated NICs are numbered (verbs/devices.cpp, ndev_ifindex).
std::uint32_t interface_of(const Nic& nic) noexcept {
  return nic.number() + 2;
}

std::uint16_t network_port(std::uint16_t port) noexcept {
  return engine::wire::network_order(port);
}

}  // namespace

Manager::Local Manager::whose(const Gid& ip, std::uint32_t scope) const noexcept {
  for (const auto& station : stations_) {
    Nic& nic = *station->nic;
    if (scope != 0 && scope != interface_of(nic)) continue;
    for (std::uint8_t port = 1; port <= nic.ports(); ++port) {
      const auto& own = nic.addresses(port);
      const auto& gids = nic.gids(port);
      const bool is_gid =
          std::any_of(gids.begin(), gids.end(), [&ip](const emulator::Gid& each) { return each.bytes == ip; });
      if (is_gid || std::find(own.begin(), own.end(), ip) != own.end()) return {&nic, port};
    }
  }
  return {};
}

Manager::Local Manager::way_out(const Gid& destination, std::uint32_t scope) const {
  const Net* const net = host_.net();
  if (net == nullptr) return {};
  for (const auto& station : stations_) {
    Nic& nic = *station->nic;
    if (scope != 0 && scope != interface_of(nic)) continue;
    for (std::uint8_t port = 1; port <= nic.ports(); ++port) {
      const auto& own = nic.addresses(port);
      if (std::any_of(own.begin(), own.end(), [&](const Gid& each) { return net->neighbours(each, destination); }))
        return {&nic, port};
    }
  }
  return {};
}

/// Whichever NIC there is. Where NICs have addresses of the loopback interface, others of them are their neighbours',
/// but for the first.
bool Manager::is_own(const sockaddr_storage& address) const {
  if (is_zero(address)) return true;
  if (!is_loopback(address)) return false;
  const Gid ip = ip_of(address);
  return ip == engine::wire::mapped(127, 0, 0, 1) || way_out(ip, 0).nic == nullptr;
}

Manager::Local Manager::first() const noexcept {
  if (stations_.empty()) return {};
  return {stations_.front()->nic, 1};
}

/// The source address is what its NIC says, where it names none itself.
Gid Manager::own_ip(const Identifier& id) const noexcept {
  const auto& storage = id.base.route.addr.src_storage;
  if (!is_any(storage)) return ip_of(storage);
  const auto& own = id.nic->addresses(id.base.port_num);
  const bool v4 = storage.ss_family == AF_INET;
  const auto found =
      std::find_if(own.begin(), own.end(), [v4](const Gid& each) { return engine::wire::is_mapped(each) == v4; });
  return found != own.end() ? *found : Gid{};
}

int Manager::attach(Identifier& id, const sockaddr_storage& address) {
  const Local local = whose(ip_of(address), id.scope);
  if (local.nic == nullptr) return EADDRNOTAVAIL;
  if (id.base.ps == RDMA_PS_IPOIB && local.nic->profile().transport(local.port) != Transport::infiniband) return EINVAL;
  id.nic = local.nic;
  id.base.port_num = local.port;
  return 0;
}

int Manager::bind(Identifier& id, const sockaddr_storage& address) {
  if (address.ss_family != AF_INET && address.ss_family != AF_INET6) return EAFNOSUPPORT;
  if (id.stage != Stage::idle) return EINVAL;
  if (is_link_local(address)) {
    if (scope_of(address) == 0) return EINVAL;
    id.scope = scope_of(address);
  }
  id.source() = address;
  if (!is_own(address)) {
    if (const int error = attach(id, address); error != 0) return error;
  }
  if (!id.family_set && address.ss_family == AF_INET) id.one_family = true;
  if (const int error = ports_.take(id); error != 0) {
    id.nic = nullptr;
    id.base.port_num = 0;
    return error;
  }
  id.destination().ss_family = address.ss_family;
  id.stage = Stage::addr_bound;
  if (id.nic != nullptr) fill_addresses(id);
  return 0;
}

int Manager::resolve_address(Identifier& id, const sockaddr_storage* source, const sockaddr_storage& destination,
                             int timeout_ms) {
  if (id.stage == Stage::idle) {
    sockaddr_storage from{};
    if (source != nullptr && source->ss_family != 0) {
      from = *source;
    } else {
      from.ss_family = destination.ss_family;
      if (is_link_local(destination)) id.scope = scope_of(destination);
    }
    if (const int error = bind(id, from); error != 0) return error;
  }
  if (id.source().ss_family != destination.ss_family || id.stage != Stage::addr_bound) return EINVAL;
  id.destination() = destination;
  const Gid ip = ip_of(destination);
  int status = 0;
  if (is_own(destination)) {
    const Local local = id.nic != nullptr ? Local{id.nic, id.base.port_num} : first();
    if (local.nic == nullptr) return ENODEV;
    id.nic = local.nic;
    id.base.port_num = local.port;
    if (is_zero(id.source())) {
      const std::uint16_t port = port_of(id.source());
      Gid loopback = engine::wire::mapped(127, 0, 0, 1);
      if (destination.ss_family == AF_INET6) {
        loopback = {};
        loopback.back() = std::byte{1};
      }
      id.source() = socket_address(loopback, port);
    }
    if (is_zero(destination)) {
      const std::uint16_t port = port_of(destination);
      id.destination() = id.source();
      set_port(id.destination(), port);
    }
  } else {
    Local local = id.nic != nullptr ? Local{id.nic, id.base.port_num} : whose(ip, id.scope);
    // Nobody in particular answers for a group.
    const bool to_group = engine::fabric::multicast(ip);
    if (to_group && local.nic == nullptr && options_.others) local = first();
    const bool answered = to_group || whose(ip, 0).nic != nullptr || (options_.others && host_.net()->who(ip, 0) != 0);
    if (local.nic == nullptr) local = way_out(ip, id.scope);
    if (local.nic == nullptr) {
      status = -ENETUNREACH;
    } else if (!answered) {
      // As one asks for a neighbour that isn't there.
      id.stage = Stage::addr_query;
      id.due = host_.clock().now() + std::chrono::milliseconds(std::max(timeout_ms, 0));
      unanswered_.emplace(id.due, &id);
      return 0;
    } else {
      id.nic = local.nic;
      id.base.port_num = local.port;
      if (is_any(id.source())) {
        const std::uint16_t port = port_of(id.source());
        id.source() = socket_address(own_ip(id), port, interface_of(*local.nic));
      }
    }
  }
  if (status != 0) {
    raise(id, RDMA_CM_EVENT_ADDR_ERROR, status);
    return 0;
  }
  fill_addresses(id);
  id.stage = Stage::addr_resolved;
  raise(id, RDMA_CM_EVENT_ADDR_RESOLVED);
  return 0;
}

int Manager::find_way(Identifier& id) {
  const Gid own = own_ip(id);
  const Gid peer = is_own(id.destination()) ? own : ip_of(id.destination());
  id.way = route(*id.nic, id.base.port_num, own, peer, id.traffic_class);
  return id.way ? 0 : ENODEV;
}

int Manager::resolve_route(Identifier& id) {
  if (id.stage != Stage::addr_resolved) return EINVAL;
  if (const int error = find_way(id); error != 0) return error;
  id.path = std::make_unique<ibv_sa_path_rec>();
  ibv_sa_path_rec& path = *id.path;
  std::memcpy(path.sgid.raw, id.way->local.data(), id.way->local.size());
  std::memcpy(path.dgid.raw, id.way->remote.data(), id.way->remote.size());
  path.hop_limit = id.way->ah.grh.hop_limit;
  path.traffic_class = id.traffic_class;
  path.reversible = 1;
  path.numb_path = 1;
  path.pkey = network_port(0xffff);
  constexpr std::uint8_t kExactly = 2;  // rdma-core librdmacm/cma.c ucma_convert_path
  path.mtu_selector = path.rate_selector = path.packet_life_time_selector = kExactly;
  path.mtu = id.way->mtu;
  path.rate = id.way->rate;
  path.packet_life_time = options_.times.packet_life_time;
  fill_addresses(id);
  if (!iwarp(id)) {
    id.base.route.path_rec = id.path.get();
    id.base.route.num_paths = 1;
  }
  id.stage = Stage::route_resolved;
  raise(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}

void Manager::fill_addresses(Identifier& id) noexcept {
  rdma_ib_addr& ib = id.base.route.addr.addr.ibaddr;
  ib.pkey = network_port(0xffff);
  const Gid local = id.way ? id.way->local : own_ip(id);
  std::memcpy(ib.sgid.raw, local.data(), local.size());
  if (id.destination().ss_family == 0 || is_zero(id.destination())) return;
  const Gid remote = id.way ? id.way->remote : ip_of(id.destination());
  std::memcpy(ib.dgid.raw, remote.data(), remote.size());
}

int Manager::join(Identifier& id, const sockaddr_storage& address, bool sends_only, void* context) {
  if (id.stage != Stage::addr_bound && id.stage != Stage::addr_resolved) return EINVAL;
  if (id.nic == nullptr || is_zero(address)) return EINVAL;
  if (iwarp(id)) return ENOSYS;
  const auto found = group(*id.nic, id.base.port_num, ip_of(address), id.base.ps == RDMA_PS_UDP);
  if (!found) return kKernelNotSupported;
  const auto way = route(*id.nic, id.base.port_num, own_ip(id), found->gid, id.traffic_class);
  if (!way) return ENODEV;
  if (const int error = set_qkey(id, 0); error != 0) return error;
  auto membership = std::make_unique<Membership>();
  membership->address = address;
  membership->group = *found;
  membership->context = context;
  membership->sends_only = sends_only;
  auto joined = event(id, RDMA_CM_EVENT_MULTICAST_JOIN);
  joined->membership = membership.get();
  rdma_ud_param& param = joined->base.param.ud;
  param.private_data = context;
  param.ah_attr = way->ah;
  std::memcpy(param.ah_attr.grh.dgid.raw, found->gid.data(), found->gid.size());
  param.ah_attr.grh.hop_limit = found->hop_limit;
  param.ah_attr.dlid = found->lid;
  constexpr std::uint32_t kMulticastQpn = 0xffffff;
  param.qp_num = kMulticastQpn;
  param.qkey = id.qkey;
  id.memberships.push_back(std::move(membership));
  raise(std::move(joined));
  return 0;
}

std::unique_ptr<Membership> Manager::leave(Identifier& id, const sockaddr_storage& address) {
  const auto found = std::find_if(id.memberships.begin(), id.memberships.end(), [&address](const auto& each) {
    return std::memcmp(&each->address, &address, sizeof address) == 0;
  });
  if (found == id.memberships.end()) return nullptr;
  std::unique_ptr<Membership> left = std::move(*found);
  id.memberships.erase(found);
  Channel::of(id.base.channel).take([&left](const Event& each) { return each.membership == left.get(); });
  return left;
}

int Manager::qp_attributes(Identifier& id, ibv_qp_attr& attr, int& mask) {
  if (id.nic == nullptr) return EINVAL;
  const ibv_qp_state state = attr.qp_state;
  if (iwarp(id)) {
    // Linux drivers/infiniband/core/iwcm.c iw_cm_init_qp_attr, whose answer depends on its own id.
    if (id.stage == Stage::listen) return EINVAL;
    attr.qp_access_flags = id.connection == nullptr ? 0U : IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    mask = (state == IBV_QPS_RTS && id.connection != nullptr ? 0 : IBV_QP_STATE | IBV_QP_ACCESS_FLAGS) | IBV_QP_PORT;
    attr.port_num = id.base.port_num;
    return 0;
  }
  if (id.connection == nullptr || id.datagrams()) {
    attr.pkey_index = 0;
    attr.port_num = id.base.port_num;
    mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
    if (!id.datagrams()) {
      attr.qp_access_flags = 0;
      mask |= IBV_QP_ACCESS_FLAGS;
      return 0;
    }
    if (const int error = set_qkey(id, 0); error != 0) return error;
    attr.qkey = id.qkey;
    mask |= IBV_QP_QKEY;
    return 0;
  }
  // Linux drivers/infiniband/core/cm.c cm_init_qp_init_attr, cm_init_qp_rtr_attr, cm_init_qp_rts_attr.
  const Connection& connection = *id.connection;
  const bool begun = connection.state == State::req_sent || connection.state == State::mra_req_received;
  const bool over = connection.state == State::idle || connection.state == State::dreq_sent ||
                    connection.state == State::dreq_received || connection.state == State::timewait;
  const bool rc = connection.type == IBV_QPT_RC;
  if (over) return EINVAL;
  switch (state) {
    case IBV_QPS_INIT:
      mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
      attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
      if (connection.responder_resources != 0)
        attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
      attr.pkey_index = 0;
      attr.port_num = id.base.port_num;
      return 0;
    case IBV_QPS_RTR:
      if (begun) return EINVAL;
      mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
      attr.ah_attr = id.way->ah;
      attr.path_mtu = static_cast<ibv_mtu>(connection.path_mtu);
      attr.dest_qp_num = connection.remote_qpn;
      attr.rq_psn = id.psn;
      if (!rc) return 0;
      mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
      attr.max_dest_rd_atomic = connection.responder_resources;
      attr.min_rnr_timer = 0;
      return 0;
    case IBV_QPS_RTS:
      if (begun) return EINVAL;
      mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
      attr.sq_psn = connection.sq_psn;
      if (!rc) return 0;
      mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT;
      attr.retry_cnt = connection.retry_count;
      attr.rnr_retry = connection.rnr_retry_count;
      attr.max_rd_atomic = connection.initiator_depth;
      attr.timeout = id.ack_timeout.value_or(connection.ack_timeout);
      return 0;
    default:
      return EINVAL;
  }
}

}  // namespace verbena::emulator::cm
