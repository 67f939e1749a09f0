// SPDX-License-Identifier: Apache-2.0 OR MIT
// What has arrived at a port, and who sent it.
#include <sys/epoll.h>

#include <algorithm>
#include <array>

#include "engine/fabric/address_book.hpp"
#include "engine/fabric/udp.hpp"
#include "engine/fabric/udp_filter.hpp"
#include "engine/fabric/udp_socket.hpp"

namespace verbena::engine::fabric {

namespace {

/// As long as something comes to one socket, the others are asked after so many turns.
constexpr unsigned kTurnsOfOne = 16;

}  // namespace

std::size_t Udp::Port::progress(std::size_t budget) {
  if (adapter_ == nullptr || arriving_.empty()) return 0;
  if (sender_.waiting() && sender_.flush()) watch_waiting();
  adapter_->begin_batch();
  const std::size_t taken = take_ready(budget);
  if (!settings_.late_acknowledgements || owing_ || taken == 0) {
    adapter_->end_batch();
    owing_ = false;
  } else {
    owing_ = adapter_->owes();
    if (!owing_) adapter_->end_batch();
  }
  if (refused_ && !sender_.waiting()) {
    refused_ = false;
    adapter_->retry_refused();
    watch_waiting();
  }
  return taken;
}

std::size_t Udp::Port::take_ready(std::size_t budget) {
  const std::size_t taken = take_from(arriving_[hot_], budget);
  if (arriving_.size() == 1 || (taken > 0 && ++cold_turns_ < kTurnsOfOne)) return taken;
  cold_turns_ = 0;
  return taken + take_others(budget - std::min(budget, taken));
}

std::size_t Udp::Port::take_others(std::size_t budget) {
  std::array<epoll_event, 16> events;
  const int ready = ::epoll_wait(poll_.number(), events.data(), static_cast<int>(events.size()), 0);
  std::size_t taken = 0;
  for (int index = 0; index < ready && taken < budget; ++index) {
    const int socket = events[static_cast<std::size_t>(index)].data.fd;
    const auto from = std::find_if(arriving_.begin(), arriving_.end(),
                                   [socket](const Arriving& one) { return one.socket == socket; });
    if (from == arriving_.end() || from - arriving_.begin() == static_cast<std::ptrdiff_t>(hot_)) continue;
    const auto place = static_cast<std::size_t>(from - arriving_.begin());
    const std::size_t before = arriving_.size();
    const std::size_t now = take_from(*from, budget - taken);
    taken += now;
    if (arriving_.size() != before) break;  // a packet socket joined them, and all have other places
    if (now > 0) hot_ = place;
  }
  return taken;
}

std::size_t Udp::Port::take_from(const Arriving& from, std::size_t budget) {
  if (packets_bound_ && from.socket == packets_.number()) return take_frames(budget);
  const wire::Gid to = from.gid;
  const std::size_t taken = receiver_.receive(from.socket, budget);
  std::optional<wire::Gid> stranger;
  for (std::size_t index = 0; index < taken; ++index) {
    const UdpArrival arrival = receiver_.arrival(index, to);
    if (arrivals_->take(arrival)) stranger = arrival.ip.source;
  }
  arrivals_->finish();
  if (stranger) foreign(*stranger);
  return taken;
}

std::size_t Udp::Port::take_frames(std::size_t budget) {
  const std::size_t taken = receiver_.receive_frames(packets_.number(), budget, counters_.not_splittable);
  for (std::size_t index = 0; index < taken; ++index) {
    const UdpReceiver::Frame frame = receiver_.frame(index);
    if (!frame.known_link) ++counters_.other_links;
    if (!frame.known_link || !frame.for_this_host) continue;
    if (!frame.splittable) {
      ++counters_.not_splittable;
      continue;
    }
    const auto outer =
        wire::parse_outer(frame.bytes, frame.checksum_pending ? wire::UdpChecksum::pending : wire::UdpChecksum::stands,
                          counters_.refused);
    if (!outer || !is_mine(outer->ip.destination)) continue;
    const auto offset = static_cast<std::size_t>(outer->data.data() - frame.bytes.data());
    arrivals_->take({.ip = outer->ip,
                     .udp = outer->udp,
                     .data = frame.bytes.subspan(offset, outer->data.size()),
                     .segment = frame.segment,
                     .seen = true});
  }
  arrivals_->finish();
  return taken;
}

/// Its identification was another than is expected of this fabric's like: from here on its packets are taken from where
/// that shows, if such a socket is to be had. What comes between the two steps is lost, and sent again.
void Udp::Port::foreign(const wire::Gid& source) {
  if (settings_.way != UdpWay::by_sender || !packets_) return;
  if (std::any_of(foreign_.begin(), foreign_.end(), [&](const wire::Gid& one) { return wire::same(one, source); }))
    return;
  foreign_.push_back(source);
  const bool named = foreign_.size() <= kMostNamedSources;
  if ((named ? take_roce_from(packets_.number(), foreign_) : take_roce(packets_.number())) != 0) return;
  for (const Arriving& each : arriving_) {
    if (each.socket != packets_.number()) filter_socket(each.socket, each.gid);
  }
  if (packets_bound_) return;
  if (!bind_packets(packets_) || !watch(packets_.number())) return;
  packets_bound_ = true;
  list_arriving();
}

/// A UDP socket of IPv4 leaves to the packet socket what that takes.
void Udp::Port::filter_socket(int socket, const wire::Gid& gid) noexcept {
  if (!wire::is_mapped(gid) || !packets_) return;
  if (settings_.way == UdpWay::packets || foreign_.size() > kMostNamedSources) {
    static_cast<void>(drop_all(socket));
  } else if (!foreign_.empty()) {
    static_cast<void>(drop_sources(socket, foreign_));
  }
}

/// While something waits to be sent, descriptor() tells when there is room.
void Udp::Port::watch_waiting() noexcept {
  const int now = sender_.waiting() ? sender_.blocked_socket() : refused_ ? refused_by_ : -1;
  if (now == waiting_for_) return;
  const auto arrives = [this](int socket) {
    return std::any_of(arriving_.begin(), arriving_.end(),
                       [socket](const Arriving& one) { return one.socket == socket; });
  };
  if (waiting_for_ >= 0) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = waiting_for_;
    static_cast<void>(
        ::epoll_ctl(poll_.number(), arrives(waiting_for_) ? EPOLL_CTL_MOD : EPOLL_CTL_DEL, waiting_for_, &event));
  }
  if (now >= 0) {
    epoll_event event{};
    event.events = arrives(now) ? EPOLLIN | EPOLLOUT : EPOLLOUT;
    event.data.fd = now;
    static_cast<void>(::epoll_ctl(poll_.number(), arrives(now) ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, now, &event));
  }
  waiting_for_ = now;
}

}  // namespace verbena::engine::fabric
