// SPDX-License-Identifier: Apache-2.0 OR MIT
// What stands behind the objects of rdma/rdma_cma.h that a program holds.
#pragma once

#include <rdma/rdma_cma.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "cm/agent.hpp"
#include "cm/route.hpp"
#include "nic/nic.hpp"

namespace verbena::emulator::cm {

struct Identifier;

/// A membership of a group, or the wish for one.
struct Membership {
  sockaddr_storage address{};
  Group group{};
  void* context = nullptr;
  bool sends_only = false;
  std::uint64_t given = 0;  ///< events that a program was given, and those that it has acknowledged
  std::uint64_t acknowledged = 0;
};

struct Event {
  rdma_cm_event base{};
  Identifier* counted = nullptr;     ///< whose destruction waits for the acknowledgement
  Membership* membership = nullptr;  ///< of an event about a group
  std::array<std::byte, kMadBytes> private_data{};

  static Event& of(rdma_cm_event* event) noexcept { return *reinterpret_cast<Event*>(event); }
};

/// An event channel: its descriptor can be read while events wait, and only then.
class Channel {
public:
  Channel();
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  rdma_event_channel base{};
  static Channel& of(rdma_event_channel* channel) noexcept { return *reinterpret_cast<Channel*>(channel); }

  // With the NICs locked.
  void push(std::unique_ptr<Event> event);
  /// The oldest; null where there is none.
  std::unique_ptr<Event> pop();
  /// Those that `which` is true of, in their order.
  template <class Which>
  std::vector<std::unique_ptr<Event>> take(Which which) {
    std::vector<std::unique_ptr<Event>> taken;
    if (events_.empty()) return taken;
    for (std::unique_ptr<Event>& event : events_) {
      if (which(*event)) taken.push_back(std::move(event));
    }
    std::erase(events_, nullptr);
    if (events_.empty()) silence();
    return taken;
  }

  /// Around a call that may wait for an event.
  void enter() noexcept { ++inside_; }
  void leave() noexcept { --inside_; }
  bool inside() const noexcept { return inside_ != 0; }
  /// The program is done with it: its descriptor is closed, and no event comes any more.
  void end() noexcept;
  bool ended() const noexcept { return base.fd < 0; }

private:
  void ring() const noexcept;
  void silence() const noexcept;

  std::deque<std::unique_ptr<Event>> events_;
  unsigned inside_ = 0;
};

/// Named as in linux drivers/infiniband/core/cma_priv.h enum rdma_cm_state.
enum class Stage : std::uint8_t {
  idle,
  addr_bound,
  addr_query,
  addr_resolved,
  route_query,
  route_resolved,
  connect,
  disconnect,
  listen,
};

struct Identifier {
  rdma_cm_id base{};

  Stage stage = Stage::idle;
  Nic* nic = nullptr;  ///< whose address it is bound to; null: of whichever there is
  Connection* connection = nullptr;
  std::optional<Route> way;
  std::unique_ptr<ibv_sa_path_rec> path;
  engine::transport::Time due{};  ///< of a question about an address that nobody will answer
  std::uint32_t scope = 0;  ///< the interface that its addresses are local to
  std::uint32_t qp_num = 0;
  bool srq = false;
  std::uint32_t qkey = 0;  ///< 0 while it isn't known
  std::uint32_t psn = 0;  ///< what the other end begins to send with
  std::uint8_t traffic_class = 0;
  bool reuses_address = false;
  bool one_family = false;
  bool family_set = false;
  std::optional<std::uint8_t> ack_timeout;
  std::uint16_t port = 0;  ///< that it holds, of the port space of `base.ps`; 0 while it holds none
  int room = 0;  ///< of a listening one: requests that it still takes
  bool known = true;  ///< the program has it, and is told of it
  std::vector<std::unique_ptr<Membership>> memberships;

  std::uint64_t given = 0;  ///< events that a program was given
  std::uint64_t acknowledged = 0;  ///< and those of them that it has acknowledged

  // What librdmacm keeps with an id.
  bool waits = false;  ///< its calls wait for their event (rdma_create_id(3) without a channel)
  std::uint8_t initiator_depth = 0;
  std::uint8_t responder_resources = 0;
  bool failed = false;  ///< its connection came to nothing here, and what follows from that isn't told

  static Identifier& of(rdma_cm_id* id) noexcept { return *reinterpret_cast<Identifier*>(id); }
  sockaddr_storage& source() noexcept { return base.route.addr.src_storage; }
  sockaddr_storage& destination() noexcept { return base.route.addr.dst_storage; }
  bool datagrams() const noexcept { return base.qp_type == IBV_QPT_UD; }
};

}  // namespace verbena::emulator::cm
