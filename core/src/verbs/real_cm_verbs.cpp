// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <endian.h>
#include <rdma/rdma_cma.h>

#include "verbs/real_verbs.hpp"
#include "verbs/verb_outcome.hpp"

namespace verbena {

Made<rdma_event_channel> RealVerbs::cm_create_event_channel() {
  return made([] { return rdma_create_event_channel(); });
}

void RealVerbs::cm_destroy_event_channel(rdma_event_channel* channel) {
  rdma_destroy_event_channel(channel);
}

Made<rdma_cm_id> RealVerbs::cm_create_id(rdma_event_channel* channel, void* context, int port_space) {
  return made([&] {
    rdma_cm_id* id = nullptr;
    const int failed = rdma_create_id(channel, &id, context, static_cast<rdma_port_space>(port_space));
    return failed == 0 ? id : nullptr;
  });
}

int RealVerbs::cm_destroy_id(rdma_cm_id* id) {
  return outcome([&] { return rdma_destroy_id(id); });
}

int RealVerbs::cm_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  return outcome([&] { return rdma_migrate_id(id, channel); });
}

int RealVerbs::cm_bind_addr(rdma_cm_id* id, sockaddr* address) {
  return outcome([&] { return rdma_bind_addr(id, address); });
}

int RealVerbs::cm_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int timeout_ms) {
  return outcome([&] { return rdma_resolve_addr(id, source, destination, timeout_ms); });
}

int RealVerbs::cm_resolve_route(rdma_cm_id* id, int timeout_ms) {
  return outcome([&] { return rdma_resolve_route(id, timeout_ms); });
}

int RealVerbs::cm_listen(rdma_cm_id* id, int backlog) {
  return outcome([&] { return rdma_listen(id, backlog); });
}

int RealVerbs::cm_connect(rdma_cm_id* id, rdma_conn_param& param) {
  return outcome([&] { return rdma_connect(id, &param); });
}

int RealVerbs::cm_accept(rdma_cm_id* id, rdma_conn_param& param) {
  return outcome([&] { return rdma_accept(id, &param); });
}

int RealVerbs::cm_reject(rdma_cm_id* id, const void* private_data, std::uint8_t length) {
  return outcome([&] { return rdma_reject(id, private_data, length); });
}

int RealVerbs::cm_establish(rdma_cm_id* id) {
  return outcome([&] { return rdma_establish(id); });
}

int RealVerbs::cm_disconnect(rdma_cm_id* id) {
  return outcome([&] { return rdma_disconnect(id); });
}

int RealVerbs::cm_notify(rdma_cm_id* id, ibv_event_type event) {
  return outcome([&] { return rdma_notify(id, event); });
}

int RealVerbs::cm_get_event(rdma_event_channel* channel, rdma_cm_event** event) {
  return outcome([&] { return rdma_get_cm_event(channel, event); });
}

int RealVerbs::cm_ack_event(rdma_cm_event* event) {
  return outcome([&] { return rdma_ack_cm_event(event); });
}

const char* RealVerbs::cm_event_str(int event) {
  return rdma_event_str(static_cast<rdma_cm_event_type>(event));
}

int RealVerbs::cm_init_qp_attr(rdma_cm_id* id, ibv_qp_attr& attr, int& mask) {
  return outcome([&] { return rdma_init_qp_attr(id, &attr, &mask); });
}

int RealVerbs::cm_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr& attr) {
  return outcome([&] { return rdma_create_qp(id, pd, &attr); });
}

void RealVerbs::cm_destroy_qp(rdma_cm_id* id) {
  rdma_destroy_qp(id);
}

int RealVerbs::cm_join_multicast(rdma_cm_id* id, rdma_cm_join_mc_attr_ex& attr, void* context) {
  return outcome([&] { return rdma_join_multicast_ex(id, &attr, context); });
}

int RealVerbs::cm_leave_multicast(rdma_cm_id* id, sockaddr* group) {
  return outcome([&] { return rdma_leave_multicast(id, group); });
}

int RealVerbs::cm_set_option(rdma_cm_id* id, int level, int name, void* value, std::size_t length) {
  return outcome([&] { return rdma_set_option(id, level, name, value, length); });
}

int RealVerbs::cm_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints,
                              rdma_addrinfo** result) {
  // Failures of getaddrinfo come through as EAI_* numbers, which are negative in glibc and no errnos.
  errno = 0;
  const int failed = rdma_getaddrinfo(node, service, hints, result);
  if (failed == 0) return 0;
  return failed == -1 && errno != 0 ? errno : EADDRNOTAVAIL;
}

void RealVerbs::cm_freeaddrinfo(rdma_addrinfo* result) {
  rdma_freeaddrinfo(result);
}

sockaddr* RealVerbs::cm_get_local_addr(rdma_cm_id* id) {
  return rdma_get_local_addr(id);
}

sockaddr* RealVerbs::cm_get_peer_addr(rdma_cm_id* id) {
  return rdma_get_peer_addr(id);
}

std::uint16_t RealVerbs::cm_get_src_port(rdma_cm_id* id) {
  return be16toh(rdma_get_src_port(id));
}

std::uint16_t RealVerbs::cm_get_dst_port(rdma_cm_id* id) {
  return be16toh(rdma_get_dst_port(id));
}

}  // namespace verbena
