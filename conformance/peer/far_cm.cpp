// SPDX-License-Identifier: Apache-2.0 OR MIT
// rdma_cm is not behind a FarVerbs: its ids and events live with their process. A device that connects by it alone is
// refused before a run.
#include <cerrno>

#include "peer/far_verbs.hpp"

namespace conform::peer {

using verbena::Made;

Made<rdma_event_channel> FarVerbs::cm_create_event_channel() {
  return {.handle = nullptr, .error = EOPNOTSUPP};
}
void FarVerbs::cm_destroy_event_channel(rdma_event_channel*) {}
Made<rdma_cm_id> FarVerbs::cm_create_id(rdma_event_channel*, void*, int) {
  return {.handle = nullptr, .error = EOPNOTSUPP};
}
int FarVerbs::cm_destroy_id(rdma_cm_id*) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_migrate_id(rdma_cm_id*, rdma_event_channel*) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_bind_addr(rdma_cm_id*, sockaddr*) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_resolve_addr(rdma_cm_id*, sockaddr*, sockaddr*, int) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_resolve_route(rdma_cm_id*, int) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_listen(rdma_cm_id*, int) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_connect(rdma_cm_id*, rdma_conn_param&) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_accept(rdma_cm_id*, rdma_conn_param&) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_reject(rdma_cm_id*, const void*, std::uint8_t) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_establish(rdma_cm_id*) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_disconnect(rdma_cm_id*) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_notify(rdma_cm_id*, ibv_event_type) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_get_event(rdma_event_channel*, rdma_cm_event**) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_ack_event(rdma_cm_event*) {
  return EOPNOTSUPP;
}
const char* FarVerbs::cm_event_str(int) {
  return "";
}
int FarVerbs::cm_init_qp_attr(rdma_cm_id*, ibv_qp_attr&, int&) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_create_qp(rdma_cm_id*, ibv_pd*, ibv_qp_init_attr&) {
  return EOPNOTSUPP;
}
void FarVerbs::cm_destroy_qp(rdma_cm_id*) {}
int FarVerbs::cm_join_multicast(rdma_cm_id*, rdma_cm_join_mc_attr_ex&, void*) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_leave_multicast(rdma_cm_id*, sockaddr*) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_set_option(rdma_cm_id*, int, int, void*, std::size_t) {
  return EOPNOTSUPP;
}
int FarVerbs::cm_getaddrinfo(const char*, const char*, const rdma_addrinfo*, rdma_addrinfo**) {
  return EOPNOTSUPP;
}
void FarVerbs::cm_freeaddrinfo(rdma_addrinfo*) {}
sockaddr* FarVerbs::cm_get_local_addr(rdma_cm_id*) {
  return nullptr;
}
sockaddr* FarVerbs::cm_get_peer_addr(rdma_cm_id*) {
  return nullptr;
}
std::uint16_t FarVerbs::cm_get_src_port(rdma_cm_id*) {
  return 0;
}
std::uint16_t FarVerbs::cm_get_dst_port(rdma_cm_id*) {
  return 0;
}

}  // namespace conform::peer
