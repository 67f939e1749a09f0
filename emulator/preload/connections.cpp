// SPDX-License-Identifier: Apache-2.0 OR MIT
// rdma_cm of programs that don't know Verbena. Where the environment names emulated NICs, all ids are theirs. Source of
// what is composed here: rdma-core librdmacm/cma.c, with its man pages.
#include <endian.h>
#include <rdma/rdma_cma.h>
#include <rdma/rsocket.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "process.hpp"
#include "real.hpp"

using namespace verbena::preload;

namespace {

/// What an endpoint gives the queue pairs of the connections that come to it (rdma_create_ep(3)).
struct Endpoints {
  std::mutex mutex;
  std::map<const rdma_cm_id*, ibv_qp_init_attr> attributes;
};

Endpoints& endpoints() {
  static Endpoints all;
  return all;
}

/// Where a program gives none: as many as there are, and retries without end.
rdma_conn_param most() noexcept {
  rdma_conn_param param{};
  param.responder_resources = RDMA_MAX_RESP_RES;
  param.initiator_depth = RDMA_MAX_INIT_DEPTH;
  param.retry_count = param.rnr_retry_count = 7;
  return param;
}

int refused(int error) noexcept {
  errno = error;
  return -1;
}

/// An endpoint that calls knows its way, and has its queue pair.
int prepare(EmulatedVerbs& verbs, rdma_cm_id* id, const rdma_addrinfo& to, ibv_pd* pd, ibv_qp_init_attr* attr) {
  constexpr int kTimeoutMs = 2000;
  if ((to.ai_flags & RAI_PASSIVE) != 0) {
    if (const int error = verbs.cm_bind_addr(id, to.ai_src_addr); error != 0) return error;
    if (pd != nullptr) id->pd = pd;
    if (attr == nullptr) return 0;
    Endpoints& all = endpoints();
    const std::scoped_lock lock(all.mutex);
    ibv_qp_init_attr& kept = all.attributes[id] = *attr;
    kept.qp_type = static_cast<ibv_qp_type>(to.ai_qp_type);
    return 0;
  }
  if (const int error = verbs.cm_resolve_addr(id, to.ai_src_addr, to.ai_dst_addr, kTimeoutMs); error != 0) return error;
  if (const int error = verbs.cm_resolve_route(id, kTimeoutMs); error != 0) return error;
  if (attr == nullptr) return 0;
  attr->qp_type = static_cast<ibv_qp_type>(to.ai_qp_type);
  return verbs.cm_create_qp(id, pd, *attr);
}

}  // namespace

extern "C" {

rdma_event_channel* rdma_create_event_channel(void) {
  if (EmulatedVerbs* const verbs = emulated()) return made(*verbs, [&] { return verbs->cm_create_event_channel(); });
  return forward<&rdma_create_event_channel>("rdma_create_event_channel");
}

void rdma_destroy_event_channel(rdma_event_channel* channel) {
  if (EmulatedVerbs* const verbs = emulated()) return verbs->cm_destroy_event_channel(channel);
  forward<&rdma_destroy_event_channel>("rdma_destroy_event_channel", channel);
}

int rdma_create_id(rdma_event_channel* channel, rdma_cm_id** id, void* context, rdma_port_space port_space) {
  if (EmulatedVerbs* const verbs = emulated()) {
    *id = made(*verbs, [&] { return verbs->cm_create_id(channel, context, port_space); });
    return *id != nullptr ? 0 : -1;
  }
  return forward<&rdma_create_id>("rdma_create_id", channel, id, context, port_space);
}

int rdma_destroy_id(rdma_cm_id* id) {
  if (EmulatedVerbs* const verbs = emulated()) return gone(*verbs, [&] { return verbs->cm_destroy_id(id); });
  return forward<&rdma_destroy_id>("rdma_destroy_id", id);
}

int rdma_migrate_id(rdma_cm_id* id, rdma_event_channel* channel) {
  if (EmulatedVerbs* const verbs = emulated())
    return minus_one(*verbs, [&] { return verbs->cm_migrate_id(id, channel); });
  return forward<&rdma_migrate_id>("rdma_migrate_id", id, channel);
}

int rdma_create_ep(rdma_cm_id** id, rdma_addrinfo* to, ibv_pd* pd, ibv_qp_init_attr* attr) {
  EmulatedVerbs* const verbs = emulated();
  if (verbs == nullptr) return forward<&rdma_create_ep>("rdma_create_ep", id, to, pd, attr);
  rdma_cm_id* const created = made(*verbs, [&] { return verbs->cm_create_id(nullptr, nullptr, to->ai_port_space); });
  if (created == nullptr) return -1;
  if (const int error = prepare(*verbs, created, *to, pd, attr); error != 0) {
    verbs->cm_destroy_id(created);
    return refused(error);
  }
  *id = created;
  return 0;
}

int rdma_bind_addr(rdma_cm_id* id, sockaddr* address) {
  if (EmulatedVerbs* const verbs = emulated())
    return minus_one(*verbs, [&] { return verbs->cm_bind_addr(id, address); });
  return forward<&rdma_bind_addr>("rdma_bind_addr", id, address);
}

int rdma_resolve_addr(rdma_cm_id* id, sockaddr* source, sockaddr* destination, int timeout_ms) {
  if (EmulatedVerbs* const verbs = emulated())
    return minus_one(*verbs, [&] { return verbs->cm_resolve_addr(id, source, destination, timeout_ms); });
  return forward<&rdma_resolve_addr>("rdma_resolve_addr", id, source, destination, timeout_ms);
}

int rdma_resolve_route(rdma_cm_id* id, int timeout_ms) {
  if (EmulatedVerbs* const verbs = emulated())
    return minus_one(*verbs, [&] { return verbs->cm_resolve_route(id, timeout_ms); });
  return forward<&rdma_resolve_route>("rdma_resolve_route", id, timeout_ms);
}

int rdma_create_qp(rdma_cm_id* id, ibv_pd* pd, ibv_qp_init_attr* attr) {
  if (EmulatedVerbs* const verbs = emulated())
    return minus_one(*verbs, [&] { return verbs->cm_create_qp(id, pd, *attr); });
  return forward<&rdma_create_qp>("rdma_create_qp", id, pd, attr);
}

int rdma_create_qp_ex(rdma_cm_id* id, ibv_qp_init_attr_ex* attr) {
  EmulatedVerbs* const verbs = emulated();
  if (verbs == nullptr) return forward<&rdma_create_qp_ex>("rdma_create_qp_ex", id, attr);
  if ((attr->comp_mask & IBV_QP_INIT_ATTR_PD) == 0) attr->pd = nullptr;
  return minus_one(*verbs, [&] { return verbs->cm_create_qp_ex(id, *attr); });
}

void rdma_destroy_qp(rdma_cm_id* id) {
  if (EmulatedVerbs* const verbs = emulated()) return verbs->cm_destroy_qp(id);
  forward<&rdma_destroy_qp>("rdma_destroy_qp", id);
}

int rdma_create_srq(rdma_cm_id* id, ibv_pd* pd, ibv_srq_init_attr* attr) {
  EmulatedVerbs* const verbs = emulated();
  if (verbs == nullptr) return forward<&rdma_create_srq>("rdma_create_srq", id, pd, attr);
  ibv_pd* const on = pd != nullptr ? pd : id->pd;
  id->srq = made(*verbs, [&] { return verbs->create_srq(on, *attr); });
  if (id->srq == nullptr) return -1;
  if (id->pd == nullptr) id->pd = on;
  return 0;
}

void rdma_destroy_srq(rdma_cm_id* id) {
  EmulatedVerbs* const verbs = emulated();
  if (verbs == nullptr) return forward<&rdma_destroy_srq>("rdma_destroy_srq", id);
  verbs->destroy_srq(std::exchange(id->srq, nullptr));
}

void rdma_destroy_ep(rdma_cm_id* id) {
  EmulatedVerbs* const verbs = emulated();
  if (verbs == nullptr) return forward<&rdma_destroy_ep>("rdma_destroy_ep", id);
  if (id->qp != nullptr) verbs->cm_destroy_qp(id);
  if (id->srq != nullptr) rdma_destroy_srq(id);
  {
    Endpoints& all = endpoints();
    const std::scoped_lock lock(all.mutex);
    all.attributes.erase(id);
  }
  rdma_destroy_id(id);
}

int rdma_connect(rdma_cm_id* id, rdma_conn_param* param) {
  EmulatedVerbs* const verbs = emulated();
  if (verbs == nullptr) return forward<&rdma_connect>("rdma_connect", id, param);
  if (param == nullptr && id->qp == nullptr && id->ps == RDMA_PS_TCP) return refused(EINVAL);
  rdma_conn_param own = param != nullptr ? *param : most();
  return minus_one(*verbs, [&] { return verbs->cm_connect(id, own); });
}

int rdma_establish(rdma_cm_id* id) {
  if (EmulatedVerbs* const verbs = emulated()) return minus_one(*verbs, [&] { return verbs->cm_establish(id); });
  return forward<&rdma_establish>("rdma_establish", id);
}

int rdma_listen(rdma_cm_id* id, int backlog) {
  if (EmulatedVerbs* const verbs = emulated()) return minus_one(*verbs, [&] { return verbs->cm_listen(id, backlog); });
  return forward<&rdma_listen>("rdma_listen", id, backlog);
}

int rdma_get_request(rdma_cm_id* listener, rdma_cm_id** id) {
  EmulatedVerbs* const verbs = emulated();
  if (verbs == nullptr) return forward<&rdma_get_request>("rdma_get_request", listener, id);
  if (listener->event != nullptr) verbs->cm_ack_event(std::exchange(listener->event, nullptr));
  rdma_cm_event* event = nullptr;
  if (const int error = verbs->cm_get_event(listener->channel, &event); error != 0) return refused(error);
  int error = 0;
  if (event->event == RDMA_CM_EVENT_REJECTED) {
    error = ECONNREFUSED;
  } else if (event->status != 0) {
    error = -event->status;
  } else if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) {
    error = EINVAL;
  } else {
    ibv_qp_init_attr attr{};
    bool wants_pair = false;
    {
      Endpoints& all = endpoints();
      const std::scoped_lock lock(all.mutex);
      if (const auto found = all.attributes.find(listener); found != all.attributes.end()) {
        attr = found->second;
        wants_pair = true;
      }
    }
    if (wants_pair) error = verbs->cm_create_qp(event->id, listener->pd, attr);
  }
  if (error != 0) {
    listener->event = event;
    return refused(error);
  }
  *id = event->id;
  (*id)->event = event;
  return 0;
}

int rdma_accept(rdma_cm_id* id, rdma_conn_param* param) {
  EmulatedVerbs* const verbs = emulated();
  if (verbs == nullptr) return forward<&rdma_accept>("rdma_accept", id, param);
  if (param == nullptr && id->qp == nullptr && id->ps == RDMA_PS_TCP) return refused(EINVAL);
  rdma_conn_param own = param != nullptr ? *param : most();
  return minus_one(*verbs, [&] { return verbs->cm_accept(id, own); });
}

int rdma_reject(rdma_cm_id* id, const void* private_data, uint8_t length) {
  if (EmulatedVerbs* const verbs = emulated())
    return minus_one(*verbs, [&] { return verbs->cm_reject(id, private_data, length); });
  return forward<&rdma_reject>("rdma_reject", id, private_data, length);
}

int rdma_reject_ece(rdma_cm_id* id, const void* private_data, uint8_t length) {
  if (emulated() != nullptr) return rdma_reject(id, private_data, length);
  return forward<&rdma_reject_ece>("rdma_reject_ece", id, private_data, length);
}

int rdma_notify(rdma_cm_id* id, ibv_event_type event) {
  if (EmulatedVerbs* const verbs = emulated()) return minus_one(*verbs, [&] { return verbs->cm_notify(id, event); });
  return forward<&rdma_notify>("rdma_notify", id, event);
}

int rdma_disconnect(rdma_cm_id* id) {
  if (EmulatedVerbs* const verbs = emulated()) return minus_one(*verbs, [&] { return verbs->cm_disconnect(id); });
  return forward<&rdma_disconnect>("rdma_disconnect", id);
}

int rdma_join_multicast_ex(rdma_cm_id* id, rdma_cm_join_mc_attr_ex* attr, void* context) {
  if (EmulatedVerbs* const verbs = emulated())
    return minus_one(*verbs, [&] { return verbs->cm_join_multicast(id, *attr, context); });
  return forward<&rdma_join_multicast_ex>("rdma_join_multicast_ex", id, attr, context);
}

int rdma_join_multicast(rdma_cm_id* id, sockaddr* address, void* context) {
  if (emulated() == nullptr) return forward<&rdma_join_multicast>("rdma_join_multicast", id, address, context);
  rdma_cm_join_mc_attr_ex attr{};
  attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
  attr.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
  attr.addr = address;
  return rdma_join_multicast_ex(id, &attr, context);
}

int rdma_leave_multicast(rdma_cm_id* id, sockaddr* address) {
  if (EmulatedVerbs* const verbs = emulated())
    return minus_one(*verbs, [&] { return verbs->cm_leave_multicast(id, address); });
  return forward<&rdma_leave_multicast>("rdma_leave_multicast", id, address);
}

int rdma_get_cm_event(rdma_event_channel* channel, rdma_cm_event** event) {
  if (EmulatedVerbs* const verbs = emulated())
    return minus_one(*verbs, [&] { return verbs->cm_get_event(channel, event); });
  return forward<&rdma_get_cm_event>("rdma_get_cm_event", channel, event);
}

int rdma_ack_cm_event(rdma_cm_event* event) {
  if (EmulatedVerbs* const verbs = emulated()) return minus_one(*verbs, [&] { return verbs->cm_ack_event(event); });
  return forward<&rdma_ack_cm_event>("rdma_ack_cm_event", event);
}

const char* rdma_event_str(rdma_cm_event_type event) {
  if (EmulatedVerbs* const verbs = emulated()) return verbs->cm_event_str(event);
  return forward<&rdma_event_str>("rdma_event_str", event);
}

__be16 rdma_get_src_port(rdma_cm_id* id) {
  if (EmulatedVerbs* const verbs = emulated()) return htobe16(verbs->cm_get_src_port(id));
  return forward<&rdma_get_src_port>("rdma_get_src_port", id);
}

__be16 rdma_get_dst_port(rdma_cm_id* id) {
  if (EmulatedVerbs* const verbs = emulated()) return htobe16(verbs->cm_get_dst_port(id));
  return forward<&rdma_get_dst_port>("rdma_get_dst_port", id);
}

int rdma_set_option(rdma_cm_id* id, int level, int name, void* value, size_t length) {
  if (EmulatedVerbs* const verbs = emulated())
    return minus_one(*verbs, [&] { return verbs->cm_set_option(id, level, name, value, length); });
  return forward<&rdma_set_option>("rdma_set_option", id, level, name, value, length);
}

int rdma_init_qp_attr(rdma_cm_id* id, ibv_qp_attr* attr, int* mask) {
  if (EmulatedVerbs* const verbs = emulated())
    return minus_one(*verbs, [&] { return verbs->cm_init_qp_attr(id, *attr, *mask); });
  return forward<&rdma_init_qp_attr>("rdma_init_qp_attr", id, attr, mask);
}

int rdma_getaddrinfo(const char* node, const char* service, const rdma_addrinfo* hints, rdma_addrinfo** result) {
  if (EmulatedVerbs* const verbs = emulated())
    return minus_one(*verbs, [&] { return verbs->cm_getaddrinfo(node, service, hints, result); });
  return forward<&rdma_getaddrinfo>("rdma_getaddrinfo", node, service, hints, result);
}

void rdma_freeaddrinfo(rdma_addrinfo* result) {
  if (EmulatedVerbs* const verbs = emulated()) return verbs->cm_freeaddrinfo(result);
  forward<&rdma_freeaddrinfo>("rdma_freeaddrinfo", result);
}

/// Contexts of its own, one a device; they stay open.
ibv_context** rdma_get_devices(int* count) {
  EmulatedVerbs* const verbs = emulated();
  if (verbs == nullptr) return forward<&rdma_get_devices>("rdma_get_devices", count);
  static std::mutex mutex;
  static std::vector<ibv_context*> opened;
  const std::scoped_lock lock(mutex);
  if (opened.empty()) {
    int devices = 0;
    ibv_device** const list = verbs->get_device_list(devices).handle;
    for (int at = 0; at < devices; ++at) {
      if (const auto context = verbs->open_device(list[at])) opened.push_back(context.handle);
    }
    verbs->free_device_list(list);
  }
  auto** const result = static_cast<ibv_context**>(std::calloc(opened.size() + 1, sizeof(ibv_context*)));
  if (result == nullptr) return nullptr;
  std::copy(opened.begin(), opened.end(), result);
  if (count != nullptr) *count = static_cast<int>(opened.size());
  return result;
}

void rdma_free_devices(ibv_context** list) {
  if (emulated() != nullptr) return std::free(list);
  forward<&rdma_free_devices>("rdma_free_devices", list);
}

/// Librdmacm's sockets look into its own structures behind an id.
int rsocket(int domain, int type, int protocol) {
  if (emulated() == nullptr) return forward<&rsocket>("rsocket", domain, type, protocol);
  absent("rsocket");
  return -1;
}

int rdma_set_local_ece(rdma_cm_id* id, ibv_ece* ece) {
  if (emulated() == nullptr) return forward<&rdma_set_local_ece>("rdma_set_local_ece", id, ece);
  absent("rdma_set_local_ece");
  return -1;
}

int rdma_get_remote_ece(rdma_cm_id* id, ibv_ece* ece) {
  if (emulated() == nullptr) return forward<&rdma_get_remote_ece>("rdma_get_remote_ece", id, ece);
  absent("rdma_get_remote_ece");
  return -1;
}

}  // extern "C"
