// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <netinet/in.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstring>

#include "fake/fake_objects.hpp"

namespace verbena::fake {
namespace {

struct FakeCmChannel {
  rdma_event_channel channel{};
  std::deque<rdma_cm_event*> events;
};

struct FakeCmId {
  rdma_cm_id id{};
  FakeCmId* peer = nullptr;
  std::uint32_t qp_num = 0;
  std::vector<char> private_data;

  static FakeCmId& of(rdma_cm_id* id) { return *reinterpret_cast<FakeCmId*>(id); }
};

std::uint16_t& port_of(sockaddr* address) {
  return address->sa_family == AF_INET6 ? reinterpret_cast<sockaddr_in6*>(address)->sin6_port
                                        : reinterpret_cast<sockaddr_in*>(address)->sin_port;
}

void copy_address(sockaddr_storage& to, const sockaddr* from) {
  std::memcpy(&to, from, from->sa_family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in));
}

}  // namespace

Made<rdma_event_channel> FakeVerbs::cm_create_event_channel() {
  const Lock lock = enter("cm_create_event_channel");
  auto* fake = new FakeCmChannel;
  fake->channel.fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  Made<rdma_event_channel> result;
  result.handle = &fake->channel;
  return result;
}

void FakeVerbs::cm_destroy_event_channel(rdma_event_channel* channel) {
  const Lock lock = enter("cm_destroy_event_channel");
  auto* fake = reinterpret_cast<FakeCmChannel*>(channel);
  for (rdma_cm_event* event : fake->events) delete event;
  ::close(channel->fd);
  delete fake;
}

Made<rdma_cm_id> FakeVerbs::cm_create_id(rdma_event_channel* channel, void* context, int port_space) {
  const Lock lock = enter("cm_create_id");
  auto* fake = new FakeCmId;
  fake->id.channel = channel;
  fake->id.context = context;
  fake->id.ps = static_cast<rdma_port_space>(port_space);
  cm_ids_.insert(&fake->id);
  Made<rdma_cm_id> result;
  result.handle = &fake->id;
  return result;
}

int FakeVerbs::cm_destroy_id(rdma_cm_id* id) {
  const Lock lock = enter("cm_destroy_id");
  FakeCmId& fake = FakeCmId::of(id);
  if (fake.peer != nullptr) fake.peer->peer = nullptr;
  std::erase_if(cm_listeners_, [&](const auto& item) { return item.second == id; });
  cm_ids_.erase(id);
  delete &fake;
  return 0;
}

int FakeVerbs::cm_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  const Lock lock = enter("cm_migrate_id");
  id->channel = channel;
  return 0;
}

int FakeVerbs::cm_bind_addr(rdma_cm_id* id, sockaddr* address) {
  const Lock lock = enter("cm_bind_addr");
  copy_address(id->route.addr.src_storage, address);
  sockaddr* const own = &id->route.addr.src_addr;
  if (port_of(own) == 0) port_of(own) = htons(cm_next_port_++);
  return 0;
}

int FakeVerbs::cm_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int) {
  const Lock lock = enter("cm_resolve_addr");
  if (source != nullptr) copy_address(id->route.addr.src_storage, source);
  copy_address(id->route.addr.dst_storage, destination);
  cm_raise(id, RDMA_CM_EVENT_ADDR_RESOLVED);
  return 0;
}

int FakeVerbs::cm_resolve_route(rdma_cm_id* id, int) {
  const Lock lock = enter("cm_resolve_route");
  cm_raise(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
  return 0;
}

int FakeVerbs::cm_listen(rdma_cm_id* id, int) {
  const Lock lock = enter("cm_listen");
  cm_listeners_[ntohs(port_of(&id->route.addr.src_addr))] = id;
  return 0;
}

int FakeVerbs::cm_connect(rdma_cm_id* id, rdma_conn_param& param) {
  const Lock lock = enter("cm_connect");
  const auto listener = cm_listeners_.find(ntohs(port_of(&id->route.addr.dst_addr)));
  if (listener == cm_listeners_.end()) {
    cm_raise(id, RDMA_CM_EVENT_REJECTED, nullptr, nullptr, ECONNREFUSED);
    return 0;
  }
  FakeCmId& fake = FakeCmId::of(id);
  fake.qp_num = id->qp != nullptr ? id->qp->qp_num : param.qp_num;
  auto* request = new FakeCmId;
  request->id.channel = listener->second->channel;
  request->id.context = listener->second->context;
  request->id.ps = id->ps;
  request->id.route.addr.dst_storage = id->route.addr.src_storage;
  request->id.route.addr.src_storage = id->route.addr.dst_storage;
  request->peer = &fake;
  fake.peer = request;
  cm_ids_.insert(&request->id);
  cm_raise(&request->id, RDMA_CM_EVENT_CONNECT_REQUEST, listener->second, &param);
  return 0;
}

int FakeVerbs::cm_accept(rdma_cm_id* id, rdma_conn_param& param) {
  const Lock lock = enter("cm_accept");
  FakeCmId& fake = FakeCmId::of(id);
  if (fake.peer == nullptr) return ENOTCONN;
  fake.qp_num = id->qp != nullptr ? id->qp->qp_num : param.qp_num;
  cm_move_to_rts(fake.qp_num);
  cm_move_to_rts(fake.peer->qp_num);
  cm_raise(id, RDMA_CM_EVENT_ESTABLISHED);
  cm_raise(&fake.peer->id, RDMA_CM_EVENT_ESTABLISHED, nullptr, &param);
  return 0;
}

int FakeVerbs::cm_reject(rdma_cm_id* id, const void*, std::uint8_t) {
  const Lock lock = enter("cm_reject");
  FakeCmId& fake = FakeCmId::of(id);
  if (fake.peer != nullptr) cm_raise(&fake.peer->id, RDMA_CM_EVENT_REJECTED, nullptr, nullptr, ECONNREFUSED);
  return 0;
}

int FakeVerbs::cm_establish(rdma_cm_id*) {
  return 0;
}

int FakeVerbs::cm_disconnect(rdma_cm_id* id) {
  const Lock lock = enter("cm_disconnect");
  FakeCmId& fake = FakeCmId::of(id);
  cm_raise(id, RDMA_CM_EVENT_DISCONNECTED);
  if (fake.peer != nullptr) cm_raise(&fake.peer->id, RDMA_CM_EVENT_DISCONNECTED);
  return 0;
}

int FakeVerbs::cm_notify(rdma_cm_id*, ibv_event_type) {
  return 0;
}

void FakeVerbs::cm_raise(rdma_cm_id* id, rdma_cm_event_type type, rdma_cm_id* listener, const rdma_conn_param* param,
                         int status) {
  auto* event = new rdma_cm_event{};
  event->id = id;
  event->listen_id = listener;
  event->event = type;
  event->status = status;
  if (param != nullptr) {
    FakeCmId& fake = FakeCmId::of(id);
    const auto* bytes = static_cast<const char*>(param->private_data);
    if (bytes != nullptr) fake.private_data.assign(bytes, bytes + param->private_data_len);
    event->param.conn = *param;
    event->param.conn.private_data = fake.private_data.data();
  }
  reinterpret_cast<FakeCmChannel*>(id->channel)->events.push_back(event);
  ring(id->channel->fd);
}

void FakeVerbs::cm_move_to_rts(std::uint32_t qp_num) {
  for (ibv_qp* qp : qps_) {
    if (qp->qp_num == qp_num) qp->state = IBV_QPS_RTS;
  }
}

int FakeVerbs::cm_get_event(rdma_event_channel* channel, rdma_cm_event** event) {
  const Lock lock = enter("cm_get_event");
  auto* fake = reinterpret_cast<FakeCmChannel*>(channel);
  if (fake->events.empty()) return EAGAIN;
  *event = fake->events.front();
  fake->events.pop_front();
  if (fake->events.empty()) silence(channel->fd);
  return 0;
}

int FakeVerbs::cm_ack_event(rdma_cm_event* event) {
  const Lock lock = enter("cm_ack_event");
  delete event;
  return 0;
}

const char* FakeVerbs::cm_event_str(int event) {
  return rdma_event_str(static_cast<rdma_cm_event_type>(event));
}

int FakeVerbs::cm_init_qp_attr(rdma_cm_id* id, ibv_qp_attr& attr, int& mask) {
  const Lock lock = enter("cm_init_qp_attr");
  // A listening id is in none of the states that have an answer.
  for (const auto& [port, listener] : cm_listeners_) {
    if (listener == id) return EINVAL;
  }
  // iw_cm_init_qp_attr fills in no more than this (linux drivers/infiniband/core/iwcm.c).
  attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  mask = IBV_QP_STATE | IBV_QP_ACCESS_FLAGS;
  return 0;
}

int FakeVerbs::cm_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr& attr) {
  const Lock lock = enter("cm_create_qp");
  const Made<ibv_qp> made = create_qp(pd, attr);
  id->qp = made.handle;
  return made.error;
}

void FakeVerbs::cm_destroy_qp(rdma_cm_id* id) {
  const Lock lock = enter("cm_destroy_qp");
  destroy_qp(id->qp);
  id->qp = nullptr;
}

// Nobody is in a group of a fake: attach_mcast has none either.
int FakeVerbs::cm_join_multicast(rdma_cm_id*, rdma_cm_join_mc_attr_ex&, void*) {
  return EOPNOTSUPP;
}

int FakeVerbs::cm_leave_multicast(rdma_cm_id*, sockaddr*) {
  return EADDRNOTAVAIL;
}

int FakeVerbs::cm_set_option(rdma_cm_id*, int, int, void*, std::size_t) {
  return 0;
}

int FakeVerbs::cm_getaddrinfo(const char*, const char*, const rdma_addrinfo*, rdma_addrinfo**) {
  return EADDRNOTAVAIL;
}

void FakeVerbs::cm_freeaddrinfo(rdma_addrinfo*) {}

sockaddr* FakeVerbs::cm_get_local_addr(rdma_cm_id* id) {
  return &id->route.addr.src_addr;
}
sockaddr* FakeVerbs::cm_get_peer_addr(rdma_cm_id* id) {
  return &id->route.addr.dst_addr;
}
std::uint16_t FakeVerbs::cm_get_src_port(rdma_cm_id* id) {
  return ntohs(port_of(&id->route.addr.src_addr));
}
std::uint16_t FakeVerbs::cm_get_dst_port(rdma_cm_id* id) {
  return ntohs(port_of(&id->route.addr.dst_addr));
}

}  // namespace verbena::fake
