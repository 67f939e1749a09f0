// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cases/multicast/group.hpp"

#include <arpa/inet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace conform {

namespace {

bool ipv4_mapped(const ibv_gid& gid) {
  return std::all_of(gid.raw, gid.raw + 10, [](std::uint8_t byte) { return byte == 0; }) && gid.raw[10] == 0xff &&
         gid.raw[11] == 0xff;
}

}  // namespace

IpMember::IpMember(Case& c, const End& end, const ibv_gid& group) {
  const verbena::PortCaps* port = end.device->caps().port(end.port);
  std::string interface;
  if (port != nullptr) {
    for (const verbena::GidEntry& entry : port->gids) {
      if (!entry.netdev.empty()) interface = entry.netdev;
    }
  }
  if (interface.empty()) return;
  const unsigned index = if_nametoindex(interface.c_str());
  int failed = 0;
  if (ipv4_mapped(group)) {
    socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ip_mreqn request{};
    std::memcpy(&request.imr_multiaddr, group.raw + 12, 4);
    request.imr_ifindex = static_cast<int>(index);
    failed = setsockopt(socket_, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request);
  } else {
    socket_ = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    ipv6_mreq request{};
    std::memcpy(&request.ipv6mr_multiaddr, group.raw, sizeof request.ipv6mr_multiaddr);
    request.ipv6mr_interface = index;
    failed = setsockopt(socket_, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof request);
  }
  if (failed != 0) c.blocked("two_ends", "the interface cannot become a member of an IP multicast group");
}

IpMember::~IpMember() {
  if (socket_ >= 0) close(socket_);
}

ibv_gid group_of(Case& c, Loop& loop, std::uint8_t index) {
  const PathTo path = loop.path(loop.a(), loop.b());
  const auto salt = static_cast<std::uint8_t>(c.random()() & 0x7fU);
  ibv_gid group{};
  if (path.address.is_global != 0 && ipv4_mapped(path.address.grh.dgid)) {
    group = path.address.grh.dgid;
    const std::uint8_t address[4] = {239, 77, salt, index};
    std::memcpy(group.raw + 12, address, sizeof address);
  } else {
    group.raw[0] = 0xff;
    group.raw[1] = 0x0e;
    group.raw[13] = 77;
    group.raw[14] = salt;
    group.raw[15] = index;
  }
  return group;
}

Attached::Attached(Case& c, ibv_qp* qp, const ibv_gid& group) : case_(c), qp_(qp), group_(group) {
  c.need(c.accepted(c.verbs().attach_mcast(qp, group, kGroupLid), "ibv_attach_mcast"));
}

Attached::~Attached() {
  if (attached_) case_.verbs().detach_mcast(qp_, group_, kGroupLid);
}

int Attached::detach() {
  const int error = case_.verbs().detach_mcast(qp_, group_, kGroupLid);
  if (error == 0) attached_ = false;
  return error;
}

void send_to_group(Case& c, Loop& loop, End& from, const End& near, const ibv_gid& group, std::uint8_t fill) {
  PathTo path = loop.path(from, near);
  path.address.is_global = 1;
  path.address.grh.dgid = group;
  const Object<ibv_ah> ah = c.made(from.way->ah(from.pd.raw(), path.address), "ibv_create_ah of a multicast group");
  std::fill_n(from.data(), kDatagram, fill);
  ibv_sge sge = from.sge(0, kDatagram);
  ibv_send_wr wr{};
  wr.wr_id = fill;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.wr.ud.ah = ah.raw();
  wr.wr.ud.remote_qpn = 0xffffff;
  wr.wr.ud.remote_qkey = from.qkey;
  ibv_send_wr* bad = nullptr;
  c.need(c.accepted(from.way->post_send(from.qp.raw(), wr, bad), "ibv_post_send to a multicast group"));
  c.need(c.completed(next(c, from.send_cq.raw()), IBV_WC_SUCCESS, "a datagram to a multicast group"));
}

}  // namespace conform
