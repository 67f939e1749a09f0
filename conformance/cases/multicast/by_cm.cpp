// SPDX-License-Identifier: Apache-2.0 OR MIT
// Groups that rdma_cm joins, which attaches the queue pair of the id by itself. Both columns ask librdmacm.
#include <fmt/format.h>
#include <netinet/in.h>

#include <cstring>
#include <optional>

#include "cases/bodies.hpp"
#include "cases/multicast/group.hpp"
#include "rig/cm_link.hpp"
#include "rig/on_id.hpp"

namespace conform {

namespace {

constexpr std::uint32_t kFull = RDMA_MC_JOIN_FLAG_FULLMEMBER;
constexpr std::uint32_t kSendOnly = RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER;

/// What the join event said of the group.
struct Joined {
  ibv_ah_attr path{};
  std::uint32_t qp_num = 0;
  std::uint32_t qkey = 0;
  const void* private_data = nullptr;
};

/// An id on the end's device, with a UD queue pair; no member of a group yet.
class Member {
public:
  Member(Case& c, const End& end) : case_(c) {
    c.needs_data();  // a device shell has no connection manager
    const auto channel = c.verbs().cm_create_event_channel();
    if (!channel) c.blocked("two_ends", "there is no rdma_cm: is the module rdma_ucm loaded?");
    channel_ = Object<rdma_event_channel>(channel.handle, [&c, channel] {
      c.verbs().cm_destroy_event_channel(channel.handle);
      return 0;
    });
    c.verbs().set_nonblocking(channel.handle->fd, true);
    const auto id = c.verbs().cm_create_id(channel.handle, nullptr, RDMA_PS_UDP);
    c.need(c.accepted(id.error, "rdma_create_id"));
    id_ = Object<rdma_cm_id>(id.handle, [&c, id] { return c.verbs().cm_destroy_id(id.handle); });
    own_ = cm_address(c, end);
    c.need(c.accepted(c.verbs().cm_bind_addr(id_.raw(), reinterpret_cast<sockaddr*>(&own_)), "rdma_bind_addr"));
    pair_.emplace(c, id_.raw(), IBV_QPT_UD, kGrhBytes + kDatagram);
  }

  /// Until the event came; what fails ends the case.
  Joined join(sockaddr_storage group, std::uint32_t kind, void* context = nullptr) {
    Case& c = case_;
    rdma_cm_join_mc_attr_ex attr{};
    attr.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    attr.join_flags = kind;
    attr.addr = reinterpret_cast<sockaddr*>(&group);
    c.need(c.accepted(c.verbs().cm_join_multicast(id_.raw(), attr, context), "rdma_join_multicast"));
    const auto within = static_cast<int>(c.ground().completion_within.count());
    rdma_cm_event* event = nullptr;
    c.need(c.holds(
        c.verbs().wait_readable(channel_.raw()->fd, within) == 0 && c.verbs().cm_get_event(channel_.raw(), &event) == 0,
        Seen::no_event, "no event came after rdma_join_multicast"));
    const rdma_ud_param& told = event->param.ud;
    const Joined joined{told.ah_attr, told.qp_num, told.qkey, told.private_data};
    const bool good = event->event == RDMA_CM_EVENT_MULTICAST_JOIN;
    const std::string came = fmt::format("{} (status {}) came after rdma_join_multicast",
                                         c.verbs().cm_event_str(event->event), event->status);
    c.verbs().cm_ack_event(event);
    c.need(c.holds(good, Seen::event, came));
    return joined;
  }

  int leave(sockaddr_storage group) {
    return case_.verbs().cm_leave_multicast(id_.raw(), reinterpret_cast<sockaddr*>(&group));
  }

  /// A datagram to the group, completed as sent.
  void send(const Joined& group, std::uint8_t fill) {
    Case& c = case_;
    ibv_ah_attr path = group.path;
    const auto ah = c.verbs().create_ah(pair_->pd(), path);
    c.need(c.accepted(ah.error, "ibv_create_ah of what the join event told"));
    const Object<ibv_ah> kept(ah.handle, [&c, ah] { return c.verbs().destroy_ah(ah.handle); });
    std::memset(pair_->memory().data() + kGrhBytes, fill, kDatagram);
    c.need(c.accepted(pair_->send_to(ah.handle, group.qp_num, group.qkey, kDatagram), "ibv_post_send to a group"));
    c.need(c.completed(next(c, pair_->cq()), IBV_WC_SUCCESS, "a datagram to a group"));
  }

  void receive(std::uint64_t wr_id) { case_.need(case_.accepted(pair_->receive(wr_id), "ibv_post_recv")); }

  bool received(std::uint64_t wr_id, std::uint8_t fill, std::string_view what) {
    const std::optional<ibv_wc> wc = next(case_, pair_->cq());
    return case_.completed(wc, IBV_WC_SUCCESS, what) &&
           case_.equal(wc->wr_id, wr_id, fmt::format("wr_id of {}", what)) &&
           case_.holds(pair_->memory().data()[kGrhBytes] == fill, Seen::data,
                       fmt::format("{} holds other bytes", what));
  }

  bool stays_quiet() { return quiet(case_, pair_->cq()); }

  /// A group of the kind of the end's own address that nobody else is likely to use.
  sockaddr_storage group(std::uint8_t index) {
    const auto salt = static_cast<std::uint8_t>(case_.random()() & 0x7fU);
    sockaddr_storage storage{};
    if (own_.ss_family == AF_INET) {
      sockaddr_in in{};
      in.sin_family = AF_INET;
      in.sin_addr.s_addr = htonl(0xef4e0000U | static_cast<std::uint32_t>(salt) << 8U | index);
      std::memcpy(&storage, &in, sizeof in);
    } else {
      sockaddr_in6 in6{};
      in6.sin6_family = AF_INET6;
      in6.sin6_addr.s6_addr[0] = 0xff;
      in6.sin6_addr.s6_addr[1] = 0x0e;
      in6.sin6_addr.s6_addr[13] = 78;
      in6.sin6_addr.s6_addr[14] = salt;
      in6.sin6_addr.s6_addr[15] = index;
      std::memcpy(&storage, &in6, sizeof in6);
    }
    return storage;
  }

private:
  Case& case_;
  Object<rdma_event_channel> channel_;
  Object<rdma_cm_id> id_;
  std::optional<OnId> pair_;  // before the id that it is made on is gone
  sockaddr_storage own_{};
};

LoopShape small_datagrams() {
  LoopShape shape;
  shape.type = verbena::QpType::ud;
  return shape;
}

void join_attaches(Case& c) {
  Loop loop(c, small_datagrams(), false);  // for the devices and their addresses
  Member member(c, loop.b());
  Member sender(c, loop.a());
  const sockaddr_storage group = member.group(1);
  member.receive(7);
  const Joined joined = member.join(group, kFull);
  sender.send(joined, 0x71);
  member.received(7, 0x71, "the receive of a member that rdma_cm attached");
}

void context_returned(Case& c) {
  Loop loop(c, small_datagrams(), false);
  Member member(c, loop.b());
  int mine = 0;
  const Joined joined = member.join(member.group(2), kFull, &mine);
  c.holds(joined.private_data == &mine, Seen::value, "private_data of the join event is not the context of the call");
}

/// A second member shows that the later datagram was on its way.
void leave_stops(Case& c) {
  Loop loop(c, small_datagrams(), false);
  Member leaves(c, loop.b());
  Member stays(c, loop.b());
  Member sender(c, loop.a());
  const sockaddr_storage group = leaves.group(3);
  for (std::uint64_t id = 0; id < 2; ++id) {
    leaves.receive(id);
    stays.receive(id);
  }
  leaves.join(group, kFull);
  const Joined joined = stays.join(group, kFull);
  sender.send(joined, 0x72);
  c.need(leaves.received(0, 0x72, "the receive of a member"));
  c.need(stays.received(0, 0x72, "the receive of another member"));
  c.need(c.accepted(leaves.leave(group), "rdma_leave_multicast"));
  sender.send(joined, 0x73);
  c.need(stays.received(1, 0x73, "the receive of the member that stays"));
  c.holds(leaves.stays_quiet(), Seen::data, "a datagram was received after rdma_leave_multicast");
}

void send_only(Case& c) {
  Loop loop(c, small_datagrams(), false);
  Member speaks(c, loop.a());
  Member hears(c, loop.b());
  Member other(c, loop.b());
  const sockaddr_storage group = speaks.group(4);
  speaks.receive(0);
  for (std::uint64_t id = 0; id < 2; ++id) hears.receive(id);
  const Joined as_full = hears.join(group, kFull);
  const Joined as_sender = speaks.join(group, kSendOnly);
  speaks.send(as_sender, 0x74);
  c.need(hears.received(0, 0x74, "the receive of a full member"));
  other.send(as_full, 0x75);
  c.need(hears.received(1, 0x75, "the full member's second receive"));
  c.holds(speaks.stays_quiet(), Seen::data, "a send-only member received a datagram of the group");
}

}  // namespace

Bodies multicast_by_cm_bodies() {
  static constexpr Body kBodies[] = {
      {"multicast.cm.join_attaches", join_attaches},
      {"multicast.cm.context_returned", context_returned},
      {"multicast.cm.leave_stops", leave_stops},
      {"multicast.cm.send_only", send_only},
  };
  return kBodies;
}

}  // namespace conform
