// SPDX-License-Identifier: Apache-2.0 OR MIT
// rdma_cm: not on emulated NICs yet. Each call says so by EOPNOTSUPP.
#include <cerrno>

#include "verbs/emulated_verbs.hpp"
#include "verbs/made.hpp"

namespace verbena::emulator {

Made<rdma_event_channel> EmulatedVerbs::cm_create_event_channel() {
  return refused<rdma_event_channel>(EOPNOTSUPP);
}
void EmulatedVerbs::cm_destroy_event_channel(rdma_event_channel* /*channel*/) {}
Made<rdma_cm_id> EmulatedVerbs::cm_create_id(rdma_event_channel* /*channel*/, void* /*context*/, int /*port_space*/) {
  return refused<rdma_cm_id>(EOPNOTSUPP);
}
int EmulatedVerbs::cm_destroy_id(rdma_cm_id* /*id*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_migrate_id(rdma_cm_id* /*id*/, rdma_event_channel* /*channel*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_bind_addr(rdma_cm_id* /*id*/, sockaddr* /*address*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_resolve_addr(rdma_cm_id* /*id*/, sockaddr* /*source*/, sockaddr* /*destination*/,
                                   int /*timeout_ms*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_resolve_route(rdma_cm_id* /*id*/, int /*timeout_ms*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_listen(rdma_cm_id* /*id*/, int /*backlog*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_connect(rdma_cm_id* /*id*/, rdma_conn_param& /*param*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_accept(rdma_cm_id* /*id*/, rdma_conn_param& /*param*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_reject(rdma_cm_id* /*id*/, const void* /*private_data*/, std::uint8_t /*length*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_establish(rdma_cm_id* /*id*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_disconnect(rdma_cm_id* /*id*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_notify(rdma_cm_id* /*id*/, ibv_event_type /*event*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_get_event(rdma_event_channel* /*channel*/, rdma_cm_event** /*event*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_ack_event(rdma_cm_event* /*event*/) {
  return EOPNOTSUPP;
}
const char* EmulatedVerbs::cm_event_str(int /*event*/) {
  return "unknown";
}
int EmulatedVerbs::cm_init_qp_attr(rdma_cm_id* /*id*/, ibv_qp_attr& /*attr*/, int& /*mask*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_create_qp(rdma_cm_id* /*id*/, ibv_pd* /*pd*/, ibv_qp_init_attr& /*attr*/) {
  return EOPNOTSUPP;
}
void EmulatedVerbs::cm_destroy_qp(rdma_cm_id* /*id*/) {}
int EmulatedVerbs::cm_join_multicast(rdma_cm_id* /*id*/, rdma_cm_join_mc_attr_ex& /*attr*/, void* /*context*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_leave_multicast(rdma_cm_id* /*id*/, sockaddr* /*group*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_set_option(rdma_cm_id* /*id*/, int /*level*/, int /*name*/, void* /*value*/,
                                 std::size_t /*length*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::cm_getaddrinfo(const char* /*node*/, const char* /*service*/, const rdma_addrinfo* /*hints*/,
                                  rdma_addrinfo** /*result*/) {
  return EOPNOTSUPP;
}
void EmulatedVerbs::cm_freeaddrinfo(rdma_addrinfo* /*result*/) {}
sockaddr* EmulatedVerbs::cm_get_local_addr(rdma_cm_id* /*id*/) {
  return nullptr;
}
sockaddr* EmulatedVerbs::cm_get_peer_addr(rdma_cm_id* /*id*/) {
  return nullptr;
}
std::uint16_t EmulatedVerbs::cm_get_src_port(rdma_cm_id* /*id*/) {
  return 0;
}
std::uint16_t EmulatedVerbs::cm_get_dst_port(rdma_cm_id* /*id*/) {
  return 0;
}

}  // namespace verbena::emulator
