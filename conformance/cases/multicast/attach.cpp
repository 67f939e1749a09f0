// SPDX-License-Identifier: Apache-2.0 OR MIT
// Groups that queue pairs are attached to by verbs. Verbena has no multicast of its own: both columns ask libibverbs.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/multicast/group.hpp"

namespace conform {

namespace {

using verbena::QpType;

LoopShape datagrams() {
  LoopShape shape;
  shape.type = QpType::ud;
  shape.bytes = 8192;
  return shape;
}

/// A receive whose header and datagram lie in a slot of their own.
void receive(Case& c, Loop& loop, End& at, std::uint64_t wr_id, std::size_t slot) {
  c.need(c.accepted(loop.receive(at, wr_id, slot * 256, kGrhBytes + kDatagram), "ibv_post_recv"));
}

bool received(Case& c, End& at, std::uint64_t wr_id, std::size_t slot, std::uint8_t fill, std::string_view what) {
  const std::optional<ibv_wc> wc = next(c, at.recv_cq.raw());
  return c.completed(wc, IBV_WC_SUCCESS, what) && c.equal(wc->wr_id, wr_id, fmt::format("wr_id of {}", what)) &&
         c.holds(at.data()[slot * 256 + kGrhBytes] == fill, Seen::data, fmt::format("{} holds other bytes", what));
}

void attach_receives(Case& c) {
  Loop loop(c, datagrams());
  Loop second(c, datagrams());
  const ibv_gid group = group_of(c, loop, 1);
  const IpMember member(c, loop.b(), group);
  const Attached one(c, loop.b().qp.raw(), group);
  const Attached other(c, second.b().qp.raw(), group);
  for (std::uint64_t id = 0; id < 2; ++id) {
    receive(c, loop, loop.b(), id, id);
    receive(c, second, second.b(), id, id);
  }
  send_to_group(c, loop, loop.a(), loop.b(), group, 0x11);
  received(c, loop.b(), 0, 0, 0x11, "the first member's receive");
  received(c, second.b(), 0, 0, 0x11, "the second member's receive");
  c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::data, "the first member received the datagram twice");
  c.holds(quiet(c, second.b().recv_cq.raw(), std::chrono::milliseconds(1)), Seen::data,
          "the second member received the datagram twice");
}

void attach_twice_one_copy(Case& c) {
  Loop loop(c, datagrams());
  const ibv_gid group = group_of(c, loop, 2);
  const IpMember member(c, loop.b(), group);
  const Attached once(c, loop.b().qp.raw(), group);
  // Whether the second call is taken is left open.
  const bool twice = c.verbs().attach_mcast(loop.b().qp.raw(), group, kGroupLid) == 0;
  for (std::uint64_t id = 0; id < 2; ++id) receive(c, loop, loop.b(), id, id);
  send_to_group(c, loop, loop.a(), loop.b(), group, 0x22);
  received(c, loop.b(), 0, 0, 0x22, "the receive of a member that was attached twice");
  c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::data, "a member that was attached twice received two copies");
  if (twice) c.verbs().detach_mcast(loop.b().qp.raw(), group, kGroupLid);
}

void attach_not_attached(Case& c) {
  Loop loop(c, datagrams());
  const ibv_gid group = group_of(c, loop, 3);
  const ibv_gid other = group_of(c, loop, 4);
  const IpMember member(c, loop.b(), group);
  const IpMember of_other(c, loop.b(), other);
  const Attached attached(c, loop.b().qp.raw(), other);
  for (std::uint64_t id = 0; id < 2; ++id) receive(c, loop, loop.b(), id, id);
  send_to_group(c, loop, loop.a(), loop.b(), group, 0x33);
  c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::data, "a datagram of a group was received by another one's member");
  send_to_group(c, loop, loop.a(), loop.b(), other, 0x34);
  received(c, loop.b(), 0, 0, 0x34, "the receive of the member's own group");
}

void attach_ud_only(Case& c) {
  Loop rc(c, {.type = QpType::rc, .bytes = 4096}, false);
  Loop ud(c, datagrams());
  const ibv_gid group = group_of(c, rc, 5);
  if (!c.refused(c.verbs().attach_mcast(rc.a().qp.raw(), group, kGroupLid), "ibv_attach_mcast of an RC queue pair",
                 {EINVAL})) {
    c.verbs().detach_mcast(rc.a().qp.raw(), group, kGroupLid);
  }
  const Attached attached(c, ud.a().qp.raw(), group);
}

void attach_unicast_refused(Case& c) {
  Loop loop(c, datagrams());
  const PathTo path = loop.path(loop.a(), loop.b());
  ibv_gid own = path.address.grh.dgid;
  if (path.address.is_global == 0) own.raw[0] = 0xfe;
  if (!c.refused(c.verbs().attach_mcast(loop.a().qp.raw(), own, kGroupLid), "ibv_attach_mcast with a unicast GID",
                 {EINVAL})) {
    c.verbs().detach_mcast(loop.a().qp.raw(), own, kGroupLid);
  }
  const Attached attached(c, loop.a().qp.raw(), group_of(c, loop, 6));
}

void attach_lid_range(Case& c) {
  Loop loop(c, datagrams());
  const ibv_gid group = group_of(c, loop, 7);
  for (const std::uint16_t lid : {std::uint16_t{0}, std::uint16_t{1}, std::uint16_t{0xbfff}}) {
    if (c.refused(c.verbs().attach_mcast(loop.a().qp.raw(), group, lid),
                  fmt::format("ibv_attach_mcast with LID 0x{:x}", lid), {EINVAL})) {
      continue;
    }
    c.verbs().detach_mcast(loop.a().qp.raw(), group, lid);
  }
}

/// Two receivers listen for what becomes of the others; the rest are bare queue pairs.
void attach_limit(Case& c) {
  ibv_device_attr device{};
  c.need(c.accepted(c.verbs().query_device(c.context(), device), "ibv_query_device"));
  constexpr int kMost = 256;
  if (device.max_mcast_qp_attach > kMost) {
    return c.note(
        fmt::format("the device takes {} queue pairs a group, more than this case makes", device.max_mcast_qp_attach));
  }
  Loop loop(c, datagrams());
  const ibv_gid group = group_of(c, loop, 8);
  const IpMember member(c, loop.b(), group);
  const Attached first(c, loop.b().qp.raw(), group);
  std::vector<Object<ibv_qp>> pairs;
  std::vector<std::unique_ptr<Attached>> members;
  QpShape shape;
  shape.type = QpType::ud;
  shape.send_cq = loop.b().send_cq.raw();
  for (int count = 1; count < device.max_mcast_qp_attach; ++count) {
    pairs.push_back(c.made(loop.b().way->qp(loop.b().pd.raw(), shape), "ibv_create_qp"));
    members.push_back(std::make_unique<Attached>(c, pairs.back().raw(), group));
  }
  const Object<ibv_qp> over = c.made(loop.b().way->qp(loop.b().pd.raw(), shape), "ibv_create_qp");
  if (!c.refused(c.verbs().attach_mcast(over.raw(), group, kGroupLid),
                 fmt::format("attaching queue pair {} to a group of {}", device.max_mcast_qp_attach + 1,
                             device.max_mcast_qp_attach))) {
    c.verbs().detach_mcast(over.raw(), group, kGroupLid);
  }
  receive(c, loop, loop.b(), 0, 0);
  send_to_group(c, loop, loop.a(), loop.b(), group, 0x44);
  received(c, loop.b(), 0, 0, 0x44, "the receive of a member of a full group");
}

void detach_stops(Case& c) {
  Loop loop(c, datagrams());
  const ibv_gid group = group_of(c, loop, 9);
  const IpMember member(c, loop.b(), group);
  Attached attached(c, loop.b().qp.raw(), group);
  for (std::uint64_t id = 0; id < 2; ++id) receive(c, loop, loop.b(), id, id);
  send_to_group(c, loop, loop.a(), loop.b(), group, 0x55);
  c.need(received(c, loop.b(), 0, 0, 0x55, "the receive of an attached queue pair"));
  c.need(c.accepted(attached.detach(), "ibv_detach_mcast"));
  send_to_group(c, loop, loop.a(), loop.b(), group, 0x56);
  c.holds(quiet(c, loop.b().recv_cq.raw()), Seen::data, "a datagram was received after ibv_detach_mcast");
}

void detach_not_attached(Case& c) {
  Loop loop(c, datagrams());
  const ibv_gid group = group_of(c, loop, 10);
  c.refused(c.verbs().detach_mcast(loop.a().qp.raw(), group, kGroupLid), "ibv_detach_mcast without an attachment",
            {EINVAL});
  Attached attached(c, loop.a().qp.raw(), group);
  c.need(c.accepted(attached.detach(), "ibv_detach_mcast"));
  c.refused(c.verbs().detach_mcast(loop.a().qp.raw(), group, kGroupLid), "ibv_detach_mcast a second time", {EINVAL});
}

/// The verb itself in both columns: what Verbena does of a refused destruction is another matter.
void destroy_busy(Case& c) {
  Loop loop(c, datagrams(), false);
  const ibv_gid group = group_of(c, loop, 11);
  ibv_qp_init_attr init{};
  init.send_cq = loop.a().send_cq.raw();
  init.recv_cq = loop.a().recv_cq.raw();
  init.cap = {1, 1, 1, 1, 0};
  init.qp_type = IBV_QPT_UD;
  const auto made = c.verbs().create_qp(loop.a().pd.raw(), init);
  c.need(c.accepted(made.error, "ibv_create_qp"));
  verbena::Verbs* verbs = &c.verbs();
  Object<ibv_qp> qp(made.handle, [verbs, handle = made.handle] { return verbs->destroy_qp(handle); });
  c.need(c.accepted(c.verbs().attach_mcast(qp.raw(), group, kGroupLid), "ibv_attach_mcast"));
  c.need(c.refused(qp.destroy(), "ibv_destroy_qp of an attached queue pair", {EBUSY}));
  c.need(c.accepted(c.verbs().detach_mcast(qp.raw(), group, kGroupLid), "ibv_detach_mcast"));
  c.accepted(qp.destroy(), "ibv_destroy_qp after the detach");
}

/// 40 bytes: an IPv6 header, or 20 bytes of anything and an IPv4 header.
void grh_names_group(Case& c) {
  Loop loop(c, datagrams());
  const ibv_gid group = group_of(c, loop, 12);
  const IpMember member(c, loop.b(), group);
  const Attached attached(c, loop.b().qp.raw(), group);
  receive(c, loop, loop.b(), 0, 0);
  send_to_group(c, loop, loop.a(), loop.b(), group, 0x66);
  const std::optional<ibv_wc> wc = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(wc, IBV_WC_SUCCESS, "the receive of a member"));
  c.holds((wc->wc_flags & IBV_WC_GRH) != 0, Seen::value, "a group datagram completed without IBV_WC_GRH");
  const std::uint8_t* header = loop.b().data();
  const bool ipv6 = (header[0] >> 4U) == 6;
  const bool named =
      ipv6 ? std::memcmp(header + 24, group.raw, 16) == 0 : std::memcmp(header + 36, group.raw + 12, 4) == 0;
  c.holds(named, Seen::value, "the header in front of a group datagram names another destination");
}

}  // namespace

Bodies multicast_attach_bodies() {
  static constexpr Body kBodies[] = {
      {"multicast.attach.receives", attach_receives},
      {"multicast.attach.twice_one_copy", attach_twice_one_copy},
      {"multicast.attach.not_attached", attach_not_attached},
      {"multicast.attach.ud_only", attach_ud_only},
      {"multicast.attach.unicast_refused", attach_unicast_refused},
      {"multicast.attach.lid_range", attach_lid_range},
      {"multicast.attach.limit", attach_limit},
      {"multicast.detach.stops", detach_stops},
      {"multicast.detach.not_attached", detach_not_attached},
      {"multicast.destroy.busy", destroy_busy},
      {"multicast.grh.names_group", grh_names_group},
  };
  return kBodies;
}

}  // namespace conform
