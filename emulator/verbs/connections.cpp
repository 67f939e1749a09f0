// SPDX-License-Identifier: Apache-2.0 OR MIT
// rdma_cm: ids, and what a program asks of them. What librdmacm adds to the kernel's part is here and in
// connection_events.cpp; source: rdma-core librdmacm/cma.c.
#include <rdma/rdma_cma.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <random>

#include "cm/address_information.hpp"
#include "cm/addresses.hpp"
#include "verbs/emulated_verbs.hpp"
#include "verbs/made.hpp"

namespace verbena::emulator {

using cm::Identifier;

namespace {

cm::Agent::Data bytes_of(const void* data, std::size_t length) {
  return data == nullptr ? cm::Agent::Data() : cm::Agent::Data(static_cast<const std::byte*>(data), length);
}

}  // namespace

cm::Manager& EmulatedVerbs::manager() {
  if (!manager_) {
    std::vector<Nic*> nics;
    for (const auto& nic : nics_) nics.push_back(nic.get());
    cm::Manager::Options options;
    options.seed = std::random_device{}();
    options.others = host_->net() != nullptr && host_->net()->reaches_others();
    constexpr std::chrono::milliseconds kForOthers(500);  // a busy machine's
    if (options.others) options.listener_wait = kForOthers;
    if (options.others && host_->net()->shares_addresses()) options.rejection_delay = kForOthers;
    manager_ = std::make_unique<cm::Manager>(*host_, nics, options);
  }
  return *manager_;
}

/// A manager of connections listens on all of them.
int EmulatedVerbs::enter_nics() {
  while (entered_ < nics_.size()) {
    if (const int error = nics_[entered_]->enter(); error != 0) return error;
    ++entered_;
  }
  return 0;
}

void EmulatedVerbs::leave() {
  if (!host_->inert()) {
    const std::scoped_lock lock(host_->mutex);
    if (manager_) manager_->leave();
  }
  host_->end();
}

void EmulatedVerbs::end_connections() noexcept {
  {
    const std::scoped_lock lock(host_->mutex);
    manager_.reset();
    while (entered_ > 0) nics_[--entered_]->leave();
  }
  for (const auto& [nic, device] : cm_devices_) {
    if (device.pd != nullptr) dealloc_pd(device.pd);
    if (device.context != nullptr) close_device(device.context);
  }
}

int EmulatedVerbs::attach_device(Identifier& id) {
  if (id.base.verbs != nullptr || id.nic == nullptr) return 0;
  const std::scoped_lock lock(cm_devices_mutex_);
  CmDevice& device = cm_devices_[id.nic];
  if (device.context == nullptr) {
    const auto found =
        std::find_if(devices_.begin(), devices_.end(), [&id](const auto& each) { return each->nic == id.nic; });
    const Made<ibv_context> opened = open_device(&(*found)->base);
    if (!opened) return ENODEV;
    device.context = opened.handle;
    ibv_device_attr attr{};
    query_device(device.context, attr);
    device.most_initiator_depth = static_cast<std::uint8_t>(attr.max_qp_init_rd_atom);
    device.most_responder_resources = static_cast<std::uint8_t>(attr.max_qp_rd_atom);
  }
  if (device.pd == nullptr) {
    const Made<ibv_pd> made = alloc_pd(device.context);
    if (!made) return made.error;
    device.pd = made.handle;
  }
  ++device.users;
  id.base.verbs = device.context;
  id.base.pd = device.pd;
  return 0;
}

void EmulatedVerbs::leave_device(Identifier& id) noexcept {
  if (id.base.verbs == nullptr) return;
  const std::scoped_lock lock(cm_devices_mutex_);
  CmDevice& device = cm_devices_[id.nic];
  if (--device.users > 0) return;
  // Where a program still has objects on it, it stays, and is the next id's.
  if (dealloc_pd(device.pd) == 0) device.pd = nullptr;
}

const EmulatedVerbs::CmDevice& EmulatedVerbs::device_of(const Identifier& id) {
  const std::scoped_lock lock(cm_devices_mutex_);
  return cm_devices_[id.nic];
}

/// As librdmacm's ucma_valid_param.
int EmulatedVerbs::checked(const Identifier& id, const rdma_conn_param& param) {
  if (id.base.ps != RDMA_PS_TCP) return 0;
  const CmDevice& device = device_of(id);
  const bool resources =
      param.responder_resources == RDMA_MAX_RESP_RES || param.responder_resources <= device.most_responder_resources;
  const bool depth =
      param.initiator_depth == RDMA_MAX_INIT_DEPTH || param.initiator_depth <= device.most_initiator_depth;
  return resources && depth ? 0 : EINVAL;
}

Made<rdma_event_channel> EmulatedVerbs::cm_create_event_channel() {
  {
    const std::scoped_lock lock(host_->mutex);
    manager();
    if (const int error = enter_nics(); error != 0) return refused<rdma_event_channel>(error);
  }
  auto channel = std::make_unique<cm::Channel>();
  if (channel->base.fd < 0) return refused<rdma_event_channel>(EMFILE);
  return {&channel.release()->base};
}

/// Programs destroy the channel that a thread of theirs has its events of (rping does). On a host that thread is in the
/// kernel again by then; here it may be about to ask: what it asks of stays a while.
void EmulatedVerbs::cm_destroy_event_channel(rdma_event_channel* plain) {
  constexpr std::size_t kStay = 16;
  const std::scoped_lock lock(host_->mutex);
  cm::Channel& channel = cm::Channel::of(plain);
  channel.end();
  ended_channels_.emplace_back(&channel);
  if (ended_channels_.size() > kStay && !ended_channels_.front()->inside()) ended_channels_.pop_front();
}

Made<rdma_cm_id> EmulatedVerbs::cm_create_id(rdma_event_channel* channel, void* context, int port_space) {
  ibv_qp_type type = IBV_QPT_RC;
  switch (port_space) {
    case RDMA_PS_TCP:
    case RDMA_PS_IB:
      break;
    case RDMA_PS_UDP:
    case RDMA_PS_IPOIB:
      type = IBV_QPT_UD;
      break;
    default:
      return refused<rdma_cm_id>(EINVAL);
  }
  const bool waits = channel == nullptr;
  if (waits) {
    const Made<rdma_event_channel> own = cm_create_event_channel();
    if (!own) return refused<rdma_cm_id>(own.error);
    channel = own.handle;
  }
  const std::scoped_lock lock(host_->mutex);
  Identifier& id = manager().make(channel, context, static_cast<rdma_port_space>(port_space), type);
  id.waits = waits;
  return {&id.base};
}

int EmulatedVerbs::cm_destroy_id(rdma_cm_id* plain) {
  Identifier& id = Identifier::of(plain);
  if (plain->event != nullptr) cm_ack_event(std::exchange(plain->event, nullptr));
  {
    std::unique_lock lock(host_->mutex);
    manager().end(id);
    host_->posted();
    acknowledged_.wait(lock, [&id] { return id.acknowledged == id.given; });
  }
  leave_device(id);
  if (id.waits) cm_destroy_event_channel(plain->channel);
  const std::scoped_lock lock(host_->mutex);
  manager().free(id);
  return 0;
}

int EmulatedVerbs::cm_migrate_id(rdma_cm_id* plain, rdma_event_channel* channel) {
  Identifier& id = Identifier::of(plain);
  const bool waits = channel == nullptr;
  if (waits) {
    if (id.waits) return EINVAL;
    const Made<rdma_event_channel> own = cm_create_event_channel();
    if (!own) return own.error;
    channel = own.handle;
  }
  if (id.waits && plain->event != nullptr) cm_ack_event(std::exchange(plain->event, nullptr));
  rdma_event_channel* const before = plain->channel;
  {
    std::unique_lock lock(host_->mutex);
    manager().migrate(id, *channel);
    acknowledged_.wait(lock, [&id] { return id.acknowledged == id.given; });
  }
  if (id.waits) cm_destroy_event_channel(before);
  id.waits = waits;
  return 0;
}

int EmulatedVerbs::cm_bind_addr(rdma_cm_id* plain, sockaddr* address) {
  if (cm::size_of(address) == 0) return EINVAL;
  Identifier& id = Identifier::of(plain);
  {
    const std::scoped_lock lock(host_->mutex);
    if (const int error = manager().bind(id, cm::copied(address)); error != 0) return error;
  }
  return attach_device(id);
}

int EmulatedVerbs::cm_resolve_addr(rdma_cm_id* plain, sockaddr* source, sockaddr* destination, int timeout_ms) {
  if (cm::size_of(destination) == 0 || (source != nullptr && cm::size_of(source) == 0)) return EINVAL;
  Identifier& id = Identifier::of(plain);
  {
    const std::scoped_lock lock(host_->mutex);
    const sockaddr_storage from = source != nullptr ? cm::copied(source) : sockaddr_storage{};
    const int error =
        manager().resolve_address(id, source != nullptr ? &from : nullptr, cm::copied(destination), timeout_ms);
    if (error != 0) return error;
    host_->posted();
  }
  return complete(id);
}

int EmulatedVerbs::cm_resolve_route(rdma_cm_id* plain, int /*timeout_ms*/) {
  Identifier& id = Identifier::of(plain);
  {
    const std::scoped_lock lock(host_->mutex);
    if (const int error = manager().resolve_route(id); error != 0) return error;
  }
  return complete(id);
}

int EmulatedVerbs::cm_listen(rdma_cm_id* plain, int backlog) {
  Identifier& id = Identifier::of(plain);
  {
    const std::scoped_lock lock(host_->mutex);
    if (const int error = manager().listen(id, backlog); error != 0) return error;
    host_->posted();
  }
  return attach_device(id);
}

int EmulatedVerbs::cm_connect(rdma_cm_id* plain, rdma_conn_param& param) {
  Identifier& id = Identifier::of(plain);
  if (const int error = checked(id, param); error != 0) return error;
  const CmDevice& device = device_of(id);
  id.initiator_depth =
      param.initiator_depth != RDMA_MAX_INIT_DEPTH ? param.initiator_depth : device.most_initiator_depth;
  id.responder_resources =
      param.responder_resources != RDMA_MAX_RESP_RES ? param.responder_resources : device.most_responder_resources;
  rdma_conn_param asked = param;
  asked.initiator_depth = id.initiator_depth;
  asked.responder_resources = id.responder_resources;
  {
    const std::scoped_lock lock(host_->mutex);
    if (const int error = manager().connect(id, asked); error != 0) return error;
    host_->posted();
  }
  return complete(id);
}

int EmulatedVerbs::cm_accept(rdma_cm_id* plain, rdma_conn_param& param) {
  Identifier& id = Identifier::of(plain);
  if (const int error = checked(id, param); error != 0) return error;
  const CmDevice& device = device_of(id);
  id.initiator_depth = param.initiator_depth != RDMA_MAX_INIT_DEPTH
                           ? param.initiator_depth
                           : std::min(id.initiator_depth, device.most_initiator_depth);
  id.responder_resources = param.responder_resources != RDMA_MAX_RESP_RES
                               ? param.responder_resources
                               : std::min(id.responder_resources, device.most_responder_resources);
  if (!id.datagrams()) {
    if (const int error = move_qp(*plain, IBV_QPS_RTR, id.responder_resources); error != 0) return error;
    if (const int error = move_qp(*plain, IBV_QPS_RTS, id.initiator_depth); error != 0) return error;
  }
  rdma_conn_param granted = param;
  granted.initiator_depth = id.initiator_depth;
  granted.responder_resources = id.responder_resources;
  int error = 0;
  {
    const std::scoped_lock lock(host_->mutex);
    error = manager().accept(id, &granted);
    host_->posted();
  }
  if (error != 0) {
    move_qp(*plain, IBV_QPS_ERR);
    return error;
  }
  if (!id.datagrams()) return complete(id);
  if (id.waits && plain->event != nullptr) cm_ack_event(std::exchange(plain->event, nullptr));
  return 0;
}

int EmulatedVerbs::cm_reject(rdma_cm_id* plain, const void* private_data, std::uint8_t length) {
  const std::scoped_lock lock(host_->mutex);
  const int error = manager().reject(Identifier::of(plain), bytes_of(private_data, length));
  host_->posted();
  return error;
}

int EmulatedVerbs::cm_establish(rdma_cm_id* plain) {
  if (plain->qp != nullptr) return EINVAL;
  const std::scoped_lock lock(host_->mutex);
  const int error = manager().accept(Identifier::of(plain), nullptr);
  host_->posted();
  return error;
}

int EmulatedVerbs::cm_disconnect(rdma_cm_id* plain) {
  Identifier& id = Identifier::of(plain);
  if (plain->verbs == nullptr) return EINVAL;
  const bool iwarp = plain->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
  // An iWARP driver closes the connection by itself.
  if (!iwarp) {
    if (const int error = move_qp(*plain, IBV_QPS_ERR); error != 0) return error;
  }
  {
    const std::scoped_lock lock(host_->mutex);
    if (const int error = manager().disconnect(id); error != 0) return error;
    host_->posted();
  }
  return complete(id);
}

int EmulatedVerbs::cm_notify(rdma_cm_id* plain, ibv_event_type event) {
  const std::scoped_lock lock(host_->mutex);
  return manager().notify(Identifier::of(plain), event);
}

int EmulatedVerbs::cm_init_qp_attr(rdma_cm_id* plain, ibv_qp_attr& attr, int& mask) {
  const std::scoped_lock lock(host_->mutex);
  return manager().qp_attributes(Identifier::of(plain), attr, mask);
}

/// To RTR or RTS as the connection wants it, with that depth of READs and atomics; or to ERR.
int EmulatedVerbs::move_qp(rdma_cm_id& id, ibv_qp_state state, int depth) {
  if (id.qp == nullptr) return 0;
  ibv_qp_attr attr{};
  int mask = IBV_QP_STATE;
  if (state == IBV_QPS_RTR) {
    // What INIT gave it was given before anything was known of the connection.
    attr.qp_state = IBV_QPS_INIT;
    if (const int error = cm_init_qp_attr(&id, attr, mask); error != 0) return error;
    if (const int error = modify_qp(id.qp, attr, mask); error != 0) return error;
  }
  attr.qp_state = state;
  if (state != IBV_QPS_ERR) {
    if (const int error = cm_init_qp_attr(&id, attr, mask); error != 0) return error;
    if (state == IBV_QPS_RTR && depth >= 0) attr.max_dest_rd_atomic = static_cast<std::uint8_t>(depth);
    if (state == IBV_QPS_RTS && depth >= 0) attr.max_rd_atomic = static_cast<std::uint8_t>(depth);
  }
  return modify_qp(id.qp, attr, mask);
}

/// To INIT, and one of datagrams to RTS.
int EmulatedVerbs::initialise_qp(rdma_cm_id& id) {
  ibv_qp_attr attr{};
  int mask = 0;
  attr.qp_state = IBV_QPS_INIT;
  if (const int error = cm_init_qp_attr(&id, attr, mask); error != 0) return error;
  if (const int error = modify_qp(id.qp, attr, mask); error != 0) return error;
  if (id.qp_type != IBV_QPT_UD) return 0;
  attr.qp_state = IBV_QPS_RTR;
  if (const int error = modify_qp(id.qp, attr, IBV_QP_STATE); error != 0) return error;
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = 0;
  return modify_qp(id.qp, attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

int EmulatedVerbs::cm_create_qp(rdma_cm_id* plain, ibv_pd* pd, ibv_qp_init_attr& attr) {
  ibv_qp_init_attr_ex extended{};
  std::memcpy(&extended, &attr, sizeof attr);
  extended.pd = pd;
  const int error = cm_create_qp_ex(plain, extended);
  std::memcpy(&attr, &extended, sizeof attr);
  return error;
}

int EmulatedVerbs::cm_create_qp_ex(rdma_cm_id* plain, ibv_qp_init_attr_ex& attr) {
  // The one begins with the other (infiniband/verbs.h).
  static_assert(offsetof(ibv_qp_init_attr_ex, sq_sig_all) == offsetof(ibv_qp_init_attr, sq_sig_all));
  if (plain->qp != nullptr || plain->verbs == nullptr) return EINVAL;
  ibv_pd* const pd = attr.pd != nullptr ? attr.pd : plain->pd;
  if (pd == nullptr || pd->context != plain->verbs) return EINVAL;
  const auto differs = [](const ibv_cq* one, const ibv_cq* other) {
    return one != nullptr && other != nullptr && one != other;
  };
  if (differs(plain->recv_cq, attr.recv_cq) || differs(plain->send_cq, attr.send_cq)) return EINVAL;
  int error = 0;
  const auto own_cq = [&](ibv_cq*& cq, ibv_comp_channel*& channel, std::uint32_t depth) {
    if (error != 0 || cq != nullptr || depth == 0) return;
    const Made<ibv_comp_channel> made = create_comp_channel(plain->verbs);
    error = made ? 0 : made.error;
    channel = made.handle;
    if (error != 0) return;
    const Made<ibv_cq> queue = create_cq(plain->verbs, static_cast<int>(depth), plain, channel, 0);
    error = queue ? 0 : queue.error;
    cq = queue.handle;
  };
  if (attr.recv_cq == nullptr) own_cq(plain->recv_cq, plain->recv_cq_channel, attr.cap.max_recv_wr);
  if (attr.send_cq == nullptr) own_cq(plain->send_cq, plain->send_cq_channel, attr.cap.max_send_wr);
  if (attr.send_cq == nullptr) attr.send_cq = plain->send_cq;
  if (attr.recv_cq == nullptr) attr.recv_cq = plain->recv_cq;
  if (attr.srq == nullptr) attr.srq = plain->srq;
  Made<ibv_qp> made;
  if (error == 0 && (attr.comp_mask & ~static_cast<std::uint32_t>(IBV_QP_INIT_ATTR_PD)) == 0) {
    ibv_qp_init_attr usual{};
    std::memcpy(&usual, &attr, sizeof usual);
    made = create_qp(pd, usual);
    attr.cap = usual.cap;
    error = made ? 0 : made.error;
  } else if (error == 0) {
    attr.comp_mask |= IBV_QP_INIT_ATTR_PD;
    attr.pd = pd;
    made = create_qp_ex(plain->verbs, attr);
    error = made ? 0 : made.error;
  }
  if (error == 0) {
    plain->qp = made.handle;
    error = initialise_qp(*plain);
  }
  if (error != 0) {
    cm_destroy_qp(plain);
    return error;
  }
  plain->pd = pd;
  return 0;
}

void EmulatedVerbs::cm_destroy_qp(rdma_cm_id* plain) {
  if (plain->qp != nullptr) {
    forget_groups(Identifier::of(plain));
    destroy_qp(plain->qp);
    plain->qp = nullptr;
  }
  if (plain->recv_cq != nullptr) destroy_cq(plain->recv_cq);
  if (plain->send_cq != nullptr && plain->send_cq != plain->recv_cq) destroy_cq(plain->send_cq);
  plain->recv_cq = plain->send_cq = nullptr;
  if (plain->recv_cq_channel != nullptr) destroy_comp_channel(plain->recv_cq_channel);
  if (plain->send_cq_channel != nullptr && plain->send_cq_channel != plain->recv_cq_channel) {
    destroy_comp_channel(plain->send_cq_channel);
  }
  plain->recv_cq_channel = plain->send_cq_channel = nullptr;
}

/// A queue pair of groups can't go; here it leaves them, which else would happen when the program ends.
void EmulatedVerbs::forget_groups(Identifier& id) {
  for (const auto& membership : id.memberships) {
    ibv_gid gid{};
    std::memcpy(gid.raw, membership->group.gid.data(), sizeof gid.raw);
    if (!membership->sends_only) detach_mcast(id.base.qp, gid, membership->group.lid);
  }
}

int EmulatedVerbs::cm_join_multicast(rdma_cm_id* plain, rdma_cm_join_mc_attr_ex& attr, void* context) {
  if (attr.comp_mask >= RDMA_CM_JOIN_MC_ATTR_RESERVED) return ENOTSUP;
  constexpr std::uint32_t kWanted = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
  if ((attr.comp_mask & kWanted) != kWanted || attr.join_flags >= RDMA_MC_JOIN_FLAG_RESERVED) return EINVAL;
  if (cm::size_of(attr.addr) == 0) return EINVAL;
  Identifier& id = Identifier::of(plain);
  {
    const std::scoped_lock lock(host_->mutex);
    const bool sends_only = attr.join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;
    const int error = manager().join(id, cm::copied(attr.addr), sends_only, context);
    if (error != 0) return error;
  }
  return complete(id);
}

int EmulatedVerbs::cm_leave_multicast(rdma_cm_id* plain, sockaddr* address) {
  if (cm::size_of(address) == 0) return EINVAL;
  Identifier& id = Identifier::of(plain);
  std::unique_ptr<cm::Membership> left;
  {
    const std::scoped_lock lock(host_->mutex);
    left = manager().leave(id, cm::copied(address));
  }
  if (!left) return EADDRNOTAVAIL;
  if (plain->qp != nullptr && !left->sends_only) {
    ibv_gid gid{};
    std::memcpy(gid.raw, left->group.gid.data(), sizeof gid.raw);
    detach_mcast(plain->qp, gid, left->group.lid);
  }
  std::unique_lock lock(host_->mutex);
  acknowledged_.wait(lock, [&left] { return left->acknowledged == left->given; });
  return 0;
}

int EmulatedVerbs::cm_set_option(rdma_cm_id* plain, int level, int name, void* value, std::size_t length) {
  const std::scoped_lock lock(host_->mutex);
  return manager().set_option(Identifier::of(plain), level, name, value, length);
}

int EmulatedVerbs::cm_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                                  rdma_addrinfo** result) {
  return cm::address_information(node, service, hints, result);
}

void EmulatedVerbs::cm_freeaddrinfo(rdma_addrinfo* result) {
  cm::free_address_information(result);
}

sockaddr* EmulatedVerbs::cm_get_local_addr(rdma_cm_id* id) {
  return &id->route.addr.src_addr;
}
sockaddr* EmulatedVerbs::cm_get_peer_addr(rdma_cm_id* id) {
  return &id->route.addr.dst_addr;
}
std::uint16_t EmulatedVerbs::cm_get_src_port(rdma_cm_id* id) {
  return cm::port_of(id->route.addr.src_storage);
}
std::uint16_t EmulatedVerbs::cm_get_dst_port(rdma_cm_id* id) {
  return cm::port_of(id->route.addr.dst_storage);
}

}  // namespace verbena::emulator
