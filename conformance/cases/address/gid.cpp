// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <rdma/rdma_cma.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "cases/address/by.hpp"
#include "cases/bodies.hpp"
#include "rig/cm_link.hpp"
#include "rig/link.hpp"
#include "verbena/emulated.hpp"

namespace conform {

namespace {

using verbena::QpType;

/// RC ends by the first pair of entries for which `takes` says yes; false where there is none.
template <class Takes>
bool carries_by(Case& c, Takes takes, const std::string& what) {
  Loop loop(c, {.type = QpType::rc}, false);
  const std::vector<ibv_gid_entry> there = gid_entries(c, c.other(), loop.b().port);
  for (const ibv_gid_entry& own : gid_entries(c, c.device(), loop.a().port)) {
    if (!takes(own)) continue;
    for (const ibv_gid_entry& peer : there) {
      if (!takes(peer) || kind_of(peer) != kind_of(own)) continue;
      connect_by(c, loop, between(loop.path(loop.a(), loop.b()), own, peer.gid),
                 between(loop.path(loop.b(), loop.a()), peer, own.gid));
      arrives(c, loop, 3000, what);
      return true;
    }
  }
  return false;
}

void ib(Case& c) {
  const bool any =
      carries_by(c, [](const ibv_gid_entry& e) { return e.gid_type == IBV_GID_TYPE_IB; }, "a message by IB GIDs");
  c.holds(any, Seen::value, "neither port has an InfiniBand GID");
}

void roce_v1(Case& c) {
  if (!carries_by(c, [](const ibv_gid_entry& e) { return e.gid_type == IBV_GID_TYPE_ROCE_V1; }, "a message by RoCE v1"))
    c.absent("the GID table has no RoCE v1 entry");
}

void roce_v2_ipv4(Case& c) {
  const auto takes = [](const ibv_gid_entry& e) { return e.gid_type == IBV_GID_TYPE_ROCE_V2 && is_ipv4(e.gid); };
  if (!carries_by(c, takes, "a message by RoCE v2 over IPv4"))
    c.blocked("link_control", "the interface has no IPv4 address");
}

void roce_v2_ipv6(Case& c) {
  const auto takes = [](const ibv_gid_entry& e) { return e.gid_type == IBV_GID_TYPE_ROCE_V2 && !is_ipv4(e.gid); };
  if (!carries_by(c, takes, "a message by RoCE v2 over IPv6"))
    c.blocked("link_control", "the interface has no IPv6 address");
}

void every_entry(Case& c) {
  const std::vector<ibv_gid_entry> own = gid_entries(c, c.device(), c.port());
  c.need(c.holds(!own.empty(), Seen::value, "the GID table is empty"));
  for (const ibv_gid_entry& entry : own) {
    const std::string what = "a message by entry " + std::to_string(entry.gid_index) + " (" + kind_of(entry) + ")";
    if (!carries_by(
            c,
            [&](const ibv_gid_entry& one) {
          // The entry itself at this end, any of its kind at the other.
              return one.gid_index == entry.gid_index || (c.ground().other && kind_of(one) == kind_of(entry));
            },
            what)) {
      c.note(what + ": the other port has no such address");
    }
  }
}

/// The source address in what a datagram is received with: a GRH, or an IPv4 header in its last 20 bytes.
ibv_gid source_in(const std::uint8_t* head, bool ipv4) {
  ibv_gid gid{};
  if (ipv4) {
    gid.raw[10] = gid.raw[11] = 0xff;
    std::memcpy(gid.raw + 12, head + 20 + 12, 4);
  } else {
    std::memcpy(gid.raw, head + 8, 16);
  }
  return gid;
}

/// A datagram of this address vector; the 40 bytes that it is received with are at the begin of the second end's
/// memory.
void datagram(Case& c, Loop& loop, const ibv_ah_attr& attr, const std::string& what) {
  const Object<ibv_ah> ah = c.made(loop.a().way->ah(loop.a().pd.raw(), attr), "ibv_create_ah");
  loop.b().memory->clear();
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kGrhBytes + 64), "ibv_post_recv"));
  ibv_sge sge = loop.a().sge(0, 64);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.ud = {ah.raw(), loop.b().qp->qp_num, loop.b().qkey};
  ibv_send_wr* bad = nullptr;
  c.need(c.accepted(loop.a().way->post_send(loop.a().qp.raw(), wr, bad), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send of " + what));
  const std::optional<ibv_wc> wc = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(wc, IBV_WC_SUCCESS, "the receive of " + what));
  c.holds((wc->wc_flags & IBV_WC_GRH) != 0, Seen::value, "IBV_WC_GRH is not set for " + what);
}

void source_is_entry(Case& c) {
  Loop loop(c, {.type = QpType::ud});
  const std::vector<ibv_gid_entry> there = gid_entries(c, c.other(), loop.b().port);
  for (const ibv_gid_entry& own : gid_entries(c, c.device(), loop.a().port)) {
    const auto peer = std::find_if(there.begin(), there.end(),
                                   [&](const ibv_gid_entry& one) { return kind_of(one) == kind_of(own); });
    if (peer == there.end()) continue;
    const std::string what = "a datagram from entry " + std::to_string(own.gid_index) + " (" + kind_of(own) + ")";
    datagram(c, loop, between(loop.path(loop.a(), loop.b()), own, peer->gid).address, what);
    const bool ipv4 = own.gid_type == IBV_GID_TYPE_ROCE_V2 && is_ipv4(own.gid);
    const ibv_gid source = source_in(loop.b().data(), ipv4);
    c.holds(std::memcmp(source.raw, own.gid.raw, sizeof source.raw) == 0, Seen::value,
            "the header of " + what + " names another source");
  }
}

/// A move to RTR with this address vector is refused, and with the right one taken.
template <class Change>
void rtr_refused(Case& c, Change change, const std::string& what, std::initializer_list<int> errnos = {}) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, {.type = type}, false);
    const Move init = to_init(type, loop.a().port);
    c.need(c.accepted(c.way().modify(loop.a().qp.raw(), init.attr, init.mask), "ibv_modify_qp to INIT"));
    const PathTo right = loop.path(loop.a(), loop.b());
    PathTo wrong = right;
    change(wrong.address);
    Move rtr = to_rtr(type, wrong);
    c.refused(c.way().modify(loop.a().qp.raw(), rtr.attr, rtr.mask), "ibv_modify_qp to RTR " + what, errnos);
    c.in_state(loop.a().qp.raw(), IBV_QPS_INIT, "after the refusal");
    rtr = to_rtr(type, right);
    c.accepted(c.way().modify(loop.a().qp.raw(), rtr.attr, rtr.mask), "ibv_modify_qp to RTR by the right address");
  }
}

void index_empty(Case& c) {
  const std::vector<ibv_gid_entry> entries = gid_entries(c, c.device(), c.port());
  ibv_port_attr attr{};
  c.need(c.accepted(c.verbs().query_port(c.context(), c.port(), attr), "ibv_query_port"));
  for (int index = 0; index < std::min(attr.gid_tbl_len, 256); ++index) {
    if (std::any_of(entries.begin(), entries.end(),
                    [&](const ibv_gid_entry& entry) { return entry.gid_index == static_cast<std::uint32_t>(index); })) {
      continue;
    }
    return rtr_refused(
        c,
        [&](ibv_ah_attr& to) {
          to.is_global = 1;
          to.grh.sgid_index = static_cast<std::uint8_t>(index);
        },
        "with the empty GID entry " + std::to_string(index));
  }
  c.note("the GID table has no empty entry");
}

void index_above(Case& c) {
  ibv_port_attr attr{};
  c.need(c.accepted(c.verbs().query_port(c.context(), c.port(), attr), "ibv_query_port"));
  if (attr.gid_tbl_len > 255) return c.note("gid_tbl_len is above what an index of 8 bits can name");
  rtr_refused(
      c,
      [&](ibv_ah_attr& to) {
        to.is_global = 1;
        to.grh.sgid_index = static_cast<std::uint8_t>(attr.gid_tbl_len);
      },
      "with sgid_index gid_tbl_len");
}

void grh_required(Case& c) {
  rtr_refused(c, [](ibv_ah_attr& to) { to.is_global = 0; }, "without GRH", {EINVAL});
}

/// An address of the kind of `used` that the network answers for: another of its own port, else of another NIC here;
/// where there is none, an emulated NIC's interface gets one, which `link` keeps.
ibv_gid another_answered(Case& c, const ibv_gid_entry& used, std::optional<Link>& link) {
  const auto fits = [&](const ibv_gid_entry& entry) {
    return kind_of(entry) == kind_of(used) && std::memcmp(entry.gid.raw, used.gid.raw, sizeof used.gid.raw) != 0;
  };
  for (const ibv_gid_entry& entry : gid_entries(c, c.device(), c.port())) {
    if (fits(entry)) return entry.gid;
  }
  int count = 0;
  const verbena::Made<ibv_device*> list = c.verbs().get_device_list(count);
  c.need(c.accepted(list ? 0 : list.error, "ibv_get_device_list"));
  std::optional<ibv_gid> found;
  for (int index = 0; index < count && !found; ++index) {
    const verbena::Made<ibv_context> context = c.verbs().open_device(list.handle[index]);
    if (!context) continue;
    ibv_device_attr attr{};
    if (c.verbs().query_device(context.handle, attr) != 0) attr.phys_port_cnt = 0;
    for (int port = 1; port <= attr.phys_port_cnt && !found; ++port) {
      for (const ibv_gid_entry& entry : gid_entries(c, context.handle, static_cast<std::uint8_t>(port))) {
        if (fits(entry)) found = entry.gid;
      }
    }
    c.verbs().close_device(context.handle);
  }
  c.verbs().free_device_list(list.handle);
  if (!found && verbena::emulated_host(c.verbs()) != nullptr) {
    constexpr std::uint32_t kAddress = 0xc0000278;  // 192.0.2.120, RFC 5737: for documentation, so nobody's
    c.need(c.accepted(link.emplace(c).add_address(kAddress), "adding an address to the interface"));
    for (const ibv_gid_entry& entry : gid_entries(c, c.device(), c.port())) {
      if (fits(entry)) found = entry.gid;
    }
  }
  if (!found) c.blocked("link_control", "no second address of the kind " + kind_of(used) + " on this host");
  return *found;
}

/// The receiver's address vector names an address that isn't the sender's; of one kind, so that nothing else differs.
void other_source(Case& c) {
  const std::vector<ibv_gid_entry> entries = gid_entries(c, c.device(), c.port());
  Loop loop(c, {.type = QpType::rc}, false);
  const PathTo there = loop.path(loop.a(), loop.b());
  PathTo back = loop.path(loop.b(), loop.a());
  const auto used = std::find_if(entries.begin(), entries.end(), [&](const ibv_gid_entry& entry) {
    return entry.gid_index == there.address.grh.sgid_index;
  });
  c.need(c.holds(used != entries.end(), Seen::value, "the entry in use is not in the table"));
  std::optional<Link> link;
  if (back.address.is_global != 0) {
    back.address.grh.dgid = another_answered(c, *used, link);
  } else {
    ++back.address.dlid;  // a LID has nobody to answer for it
  }
  connect_by(c, loop, there, back, impatient(), impatient());
  never_arrives(c, loop, 64, "a message from another address than that of the receiver's address vector");
}

/// A socket address as a GID holds it.
ibv_gid as_gid(const sockaddr& address) {
  ibv_gid gid{};
  if (address.sa_family == AF_INET) {
    gid.raw[10] = gid.raw[11] = 0xff;
    std::memcpy(gid.raw + 12, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, 4);
  } else {
    std::memcpy(gid.raw, &reinterpret_cast<const sockaddr_in6&>(address).sin6_addr, 16);
  }
  return gid;
}

/// The device that the id is bound to has the id's own address: in its GID table, or, since the GIDs of iWARP and of
/// InfiniBand are no IP addresses, on its interface.
void bound_by(Case& c, const rdma_cm_id& id) {
  const ibv_gid own = as_gid(id.route.addr.src_addr);
  const std::string name = c.verbs().get_device_name(id.verbs->device);
  ibv_port_attr port_attr{};
  c.need(c.accepted(c.verbs().query_port(id.verbs, id.port_num, port_attr), "ibv_query_port"));
  if (id.verbs->device->transport_type == IBV_TRANSPORT_IWARP || port_attr.link_layer == IBV_LINK_LAYER_INFINIBAND) {
    const auto device = c.ground().library->open(name);
    c.need(c.holds(device.has_value(), Seen::value, "the id's device cannot be opened"));
    std::vector<verbena::IpAddress> addresses;
    c.accepted(c.verbs().interface_addresses(cm_interface(c, *device, id.port_num), addresses), "listing addresses");
    const bool found = std::any_of(addresses.begin(), addresses.end(), [&](const verbena::IpAddress& address) {
      return std::memcmp(address.data(), own.raw, sizeof own.raw) == 0;
    });
    c.holds(found, Seen::value, "the interface of " + name + " lacks the id's address " + text_of(own));
    return;
  }
  bool found = false;
  for (const ibv_gid_entry& entry : gid_entries(c, id.verbs, id.port_num)) {
    found = found || std::memcmp(entry.gid.raw, own.raw, sizeof own.raw) == 0;
  }
  c.holds(found, Seen::value,
          "the GID table of " + name + ", port " + std::to_string(id.port_num) + ", lacks the id's address " +
              text_of(own));
}

/// The id of an address of the port is bound to a device that has the address it sends from: through the connection
/// manager itself, in both columns alike.
void cm_finds(Case& c) {
  const std::string interface = cm_interface(c, c.device(), c.port());
  std::vector<verbena::IpAddress> addresses;
  if (interface.empty() || c.verbs().interface_addresses(interface, addresses) != 0 || addresses.empty()) {
    c.blocked("link_control", "the port's interface has no IP address");
  }
  ibv_gid target{};
  std::memcpy(target.raw, addresses.front().data(), sizeof target.raw);
  if (!is_ipv4(target) && target.raw[0] == 0xfe)
    c.blocked("link_control", "the interface has no address of wider scope");
  sockaddr_storage storage{};
  if (is_ipv4(target)) {
    auto& to = reinterpret_cast<sockaddr_in&>(storage);
    to.sin_family = AF_INET;
    std::memcpy(&to.sin_addr, target.raw + 12, 4);
  } else {
    auto& to = reinterpret_cast<sockaddr_in6&>(storage);
    to.sin6_family = AF_INET6;
    std::memcpy(&to.sin6_addr, target.raw, 16);
  }
  const auto channel = c.verbs().cm_create_event_channel();
  c.need(c.accepted(channel ? 0 : channel.error, "rdma_create_event_channel"));
  const auto id = c.verbs().cm_create_id(channel.handle, nullptr, RDMA_PS_TCP);
  if (c.accepted(id ? 0 : id.error, "rdma_create_id")) {
    auto* to = reinterpret_cast<sockaddr*>(&storage);
    rdma_cm_event* event = nullptr;
    if (c.accepted(c.verbs().cm_resolve_addr(id.handle, nullptr, to, 2000), "rdma_resolve_addr") &&
        c.accepted(c.verbs().wait_readable(channel.handle->fd, static_cast<int>(c.ground().completion_within.count())),
                   "waiting for an event of rdma_resolve_addr") &&
        c.accepted(c.verbs().cm_get_event(channel.handle, &event), "rdma_get_cm_event")) {
      c.equal(static_cast<int>(event->event), static_cast<int>(RDMA_CM_EVENT_ADDR_RESOLVED), "the event");
      c.verbs().cm_ack_event(event);
      if (c.holds(id.handle->verbs != nullptr, Seen::value, "the id is bound to no device")) bound_by(c, *id.handle);
    }
    c.accepted(c.verbs().cm_destroy_id(id.handle), "rdma_destroy_id");
  }
  c.verbs().cm_destroy_event_channel(channel.handle);
}

void traffic_class(Case& c) {
  Loop loop(c, {.type = QpType::ud});
  for (const std::uint8_t wanted : {std::uint8_t{0x60}, std::uint8_t{0x28}}) {  // nothing in the two bits of congestion
    ibv_ah_attr attr = loop.path(loop.a(), loop.b()).address;
    attr.is_global = 1;
    attr.grh.traffic_class = wanted;
    datagram(c, loop, attr, "a datagram of a traffic class");
    const std::uint8_t* head = loop.b().data();
    const bool ipv4 = is_ipv4(attr.grh.dgid);
    const unsigned found = ipv4 ? head[21] : (head[0] & 0x0fU) << 4 | head[1] >> 4;
    c.equal(found, unsigned{wanted}, "the traffic class in the header");
  }
}

void hop_limit(Case& c) {
  Loop loop(c, {.type = QpType::ud});
  for (const std::uint8_t wanted : {std::uint8_t{1}, std::uint8_t{33}, std::uint8_t{255}}) {
    ibv_ah_attr attr = loop.path(loop.a(), loop.b()).address;
    attr.is_global = 1;
    attr.grh.hop_limit = wanted;
    datagram(c, loop, attr, "a datagram of a hop limit");
    const std::uint8_t* head = loop.b().data();
    const unsigned found = is_ipv4(attr.grh.dgid) ? head[28] : head[7];
    c.holds(found != 0, Seen::value, "the hop limit in the header is 0");
    // The kernel's own is that of its route, whatever was asked for.
    if (found != wanted)
      c.note("hop limit " + std::to_string(found) + " where " + std::to_string(wanted) + " was asked for");
  }
}

void service_level(Case& c) {
  Loop loop(c, {.type = QpType::ud});
  ibv_ah_attr attr = loop.path(loop.a(), loop.b()).address;
  attr.sl = 3;
  const Object<ibv_ah> ah = c.made(loop.a().way->ah(loop.a().pd.raw(), attr), "ibv_create_ah");
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, kGrhBytes + 64), "ibv_post_recv"));
  ibv_sge sge = loop.a().sge(0, 64);
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.wr.ud = {ah.raw(), loop.b().qp->qp_num, loop.b().qkey};
  ibv_send_wr* bad = nullptr;
  c.need(c.accepted(loop.a().way->post_send(loop.a().qp.raw(), wr, bad), "ibv_post_send"));
  const std::optional<ibv_wc> wc = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(wc, IBV_WC_SUCCESS, "the receive"));
  c.equal(static_cast<int>(wc->sl), 3, "sl of the completion");
}

}  // namespace

Bodies address_gid_bodies() {
  static constexpr Body kBodies[] = {
      {"address.gid.ib", ib},
      {"address.gid.roce_v1", roce_v1},
      {"address.gid.roce_v2_ipv4", roce_v2_ipv4},
      {"address.gid.roce_v2_ipv6", roce_v2_ipv6},
      {"address.gid.every_entry", every_entry},
      {"address.gid.source_is_the_entry", source_is_entry},
      {"address.gid.index_empty_refused", index_empty},
      {"address.gid.index_above_refused", index_above},
      {"address.gid.other_source_dropped", other_source},
      {"address.grh.required_on_roce", grh_required},
      {"address.grh.traffic_class", traffic_class},
      {"address.grh.hop_limit", hop_limit},
      {"address.sl.reported", service_level},
      {"address.cm.finds_device", cm_finds},
  };
  return kBodies;
}

}  // namespace conform
