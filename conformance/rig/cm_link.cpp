// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/cm_link.hpp"

#include <fmt/format.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "verbena/qp.hpp"

namespace conform {

namespace {

bool ipv4(const verbena::IpAddress& address) {
  return std::all_of(address.begin(), address.begin() + 10, [](std::uint8_t byte) { return byte == 0; }) &&
         address[10] == 0xff && address[11] == 0xff;
}

}  // namespace

std::string cm_interface(Case& c, const verbena::Device& device, std::uint8_t port) {
  if (const verbena::PortCaps* const found = device.caps().port(port)) {
    for (const verbena::GidEntry& entry : found->gids) {
      if (!entry.netdev.empty()) return entry.netdev;
    }
  }
  if (const verbena::PortId* const found = device.id().port(port); found != nullptr && !found->netdev.empty())
    return found->netdev;
  // Of InfiniBand no GID has one: IPoIB's interface is a child of the same device (Linux
  // Documentation/ABI/testing/sysfs-class-net, dev_port).
  const std::string folder =
      fmt::format("/sys/class/infiniband/{}/device/net", c.verbs().get_device_name(device.raw()->device));
  std::vector<std::string> names;
  c.verbs().list_directory(folder, names);
  for (const std::string& name : names) {
    std::string at;
    if (c.verbs().read_file(folder + "/" + name + "/dev_port", at) == 0 && at == std::to_string(port - 1)) return name;
  }
  return {};
}

sockaddr_storage cm_address(Case& c, const End& end, std::uint16_t port) {
  std::vector<verbena::IpAddress> addresses;
  if (const std::string interface = cm_interface(c, *end.device, end.port); !interface.empty())
    c.verbs().interface_addresses(interface, addresses);
  if (addresses.empty()) c.blocked("two_ends", "the port's interface has no IP address to connect by");
  const auto chosen = std::find_if(addresses.begin(), addresses.end(), ipv4);
  const verbena::IpAddress& address = chosen != addresses.end() ? *chosen : addresses.front();
  sockaddr_storage storage{};
  if (ipv4(address)) {
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port);
    std::memcpy(&in.sin_addr, &address[12], sizeof in.sin_addr);
    std::memcpy(&storage, &in, sizeof in);
  } else {
    sockaddr_in6 in6{};
    in6.sin6_family = AF_INET6;
    in6.sin6_port = htons(port);
    std::memcpy(&in6.sin6_addr, address.data(), sizeof in6.sin6_addr);
    std::memcpy(&storage, &in6, sizeof in6);
  }
  return storage;
}

std::string_view cm_event_name(Case& c, const std::optional<CmTold>& told) {
  return told ? c.verbs().cm_event_str(told->type) : "no event";
}

bool told(Case& c, const std::optional<CmTold>& event, rdma_cm_event_type type, std::string_view what) {
  if (event && event->type == type) return true;
  return c.holds(false, event ? Seen::event : Seen::no_event,
                 fmt::format("{}: {} (status {}) came and {} was to come", what, cm_event_name(c, event),
                             event ? event->status : 0, c.verbs().cm_event_str(type)));
}

CmLink::CmLink(Case& c, Loop& loop, End& dials, End& listens) : case_(c), dials_(dials), listens_(listens) {
  c.needs_data();  // a device shell has no connection manager either
  // Verbena takes a queue pair to the state in which receives can be posted as the connection manager wants it; so does
  // Loop::connect in both columns.
  for (End* end : {&loop.a(), &loop.b()}) {
    verbena::Qp* qp = end->way->object(end->qp.raw());
    c.holds(qp != nullptr, Seen::refused, "the queue pair could not be adopted");
    if (qp == nullptr) throw Stop{Stop::Why::broken, {}, {}};
    verbena::ConnectWish wish;
    wish.access = loop.shape().access | loop.shape().terms.access;
    const auto facts = qp->facts(wish);
    c.need(c.holds(facts.has_value(), Seen::refused, "the queue pair could not be brought to INIT"));
  }
  const auto channel = [&] {
    const auto made = c.verbs().cm_create_event_channel();
    if (!made) c.blocked("two_ends", "there is no rdma_cm: is the module rdma_ucm loaded?");
    c.verbs().set_nonblocking(made.handle->fd, true);
    return made.handle;
  };
  const auto id = [&](rdma_event_channel* on) {
    const auto made = c.verbs().cm_create_id(on, nullptr, RDMA_PS_TCP);
    c.need(c.accepted(made.error, "rdma_create_id"));
    return made.handle;
  };
  called_ = channel();
  calling_ = channel();
  listener_ = id(called_);
  sockaddr_storage own = cm_address(c, listens);
  c.need(c.accepted(c.verbs().cm_bind_addr(listener_, reinterpret_cast<sockaddr*>(&own)), "rdma_bind_addr"));
  c.need(c.accepted(c.verbs().cm_listen(listener_, 4), "rdma_listen"));
  caller_ = id(calling_);
  c.need(c.holds(resolve(caller_, dials, listens), Seen::no_event, "the peer's address does not resolve"));
}

CmLink::~CmLink() {
  verbena::Verbs& verbs = case_.verbs();
  for (rdma_cm_id* id : {caller_, answering_, listener_}) {
    if (id != nullptr) verbs.cm_destroy_id(id);
  }
  for (rdma_event_channel* channel : {calling_, called_}) {
    if (channel != nullptr) verbs.cm_destroy_event_channel(channel);
  }
}

bool CmLink::resolve(rdma_cm_id* id, const End& from, const End& to) {
  sockaddr_storage own = cm_address(case_, from);
  sockaddr_storage peer = cm_address(case_, to, case_.verbs().cm_get_src_port(listener_));
  // In slices: a reply of a neighbour that comes at once is noticed at the time-out only (Linux core/addr.c
  // netevent_callback looks at requests that are queued already).
  for (int round = 0; round < 20; ++round) {
    case_.need(case_.accepted(
        case_.verbs().cm_resolve_addr(id, reinterpret_cast<sockaddr*>(&own), reinterpret_cast<sockaddr*>(&peer), 200),
        "rdma_resolve_addr"));
    const std::optional<CmTold> event = next(calling_);
    if (!event) return false;
    if (event->type != RDMA_CM_EVENT_ADDR_RESOLVED) continue;
    case_.need(case_.accepted(case_.verbs().cm_resolve_route(id, 2000), "rdma_resolve_route"));
    const std::optional<CmTold> route = next(calling_);
    return route && route->type == RDMA_CM_EVENT_ROUTE_RESOLVED;
  }
  return false;
}

std::optional<CmTold> CmLink::next(rdma_event_channel* channel) {
  const auto within = static_cast<int>(case_.ground().completion_within.count());
  if (case_.verbs().wait_readable(channel->fd, within) != 0) return std::nullopt;
  rdma_cm_event* event = nullptr;
  if (case_.verbs().cm_get_event(channel, &event) != 0) return std::nullopt;
  CmTold told;
  told.type = event->event;
  told.status = event->status;
  const auto* bytes = static_cast<const std::uint8_t*>(event->param.conn.private_data);
  if (bytes != nullptr) told.private_data.assign(bytes, bytes + event->param.conn.private_data_len);
  told.responder_resources = event->param.conn.responder_resources;
  told.initiator_depth = event->param.conn.initiator_depth;
  if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) answering_ = event->id;
  case_.verbs().cm_ack_event(event);
  return told;
}

rdma_conn_param CmLink::terms(const End& end) const {
  rdma_conn_param param{};
  param.qp_num = end.qp->qp_num;
  param.responder_resources = 1;
  param.initiator_depth = 1;
  param.retry_count = 7;
  param.rnr_retry_count = 7;
  return param;
}

int CmLink::connect(rdma_conn_param terms) {
  return case_.verbs().cm_connect(caller_, terms);
}

std::optional<CmTold> CmLink::request() {
  std::optional<CmTold> event = next(called_);
  if (event && event->type == RDMA_CM_EVENT_CONNECT_REQUEST) return event;
  return std::nullopt;
}

int CmLink::accept(rdma_conn_param terms) {
  return case_.verbs().cm_accept(answering_, terms);
}

int CmLink::reject(std::span<const std::uint8_t> why) {
  return case_.verbs().cm_reject(answering_, why.data(), static_cast<std::uint8_t>(why.size()));
}

std::optional<CmTold> CmLink::dialler() {
  return next(calling_);
}

std::optional<CmTold> CmLink::listener() {
  return next(called_);
}

int CmLink::disconnect(bool by_dialler) {
  return case_.verbs().cm_disconnect(by_dialler ? caller_ : answering_);
}

void CmLink::establish() {
  Case& c = case_;
  c.need(c.accepted(connect(terms(dials_)), "rdma_connect"));
  c.need(c.holds(request().has_value(), Seen::no_event, "no RDMA_CM_EVENT_CONNECT_REQUEST came"));
  c.need(c.accepted(accept(terms(listens_)), "rdma_accept"));
  c.need(told(c, dialler(), RDMA_CM_EVENT_ESTABLISHED, "the side that dialled"));
  c.need(told(c, listener(), RDMA_CM_EVENT_ESTABLISHED, "the side that accepted"));
}

}  // namespace conform
