// SPDX-License-Identifier: Apache-2.0 OR MIT
// A port's addresses and sockets.
#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/fabric/address_book.hpp"
#include "engine/fabric/udp.hpp"
#include "engine/fabric/udp_filter.hpp"
#include "engine/fabric/udp_socket.hpp"

namespace verbena::engine::fabric {

namespace {

/// Bytes of a packet with a payload, besides that: the longest headers that go with one are those of a WRITE with
/// immediate.
std::uint32_t around_payload(const wire::Gid& gid) noexcept {
  const std::size_t ip = wire::is_mapped(gid) ? wire::Ip::kV4Bytes : wire::Ip::kV6Bytes;
  return static_cast<std::uint32_t>(ip + wire::Udp::kBytes + wire::Bth::kBytes + wire::Reth::kBytes +
                                    wire::ImmDt::kBytes + wire::Icrc::kBytes);
}

UdpResult check_mtu(const wire::Gid& gid, const Interface& interface, std::uint32_t largest_mtu) {
  const std::uint32_t needed = largest_mtu + around_payload(gid);
  if (interface.mtu == 0 || interface.mtu >= needed) return {};
  std::uint32_t fits = wire::kLargestMtu;
  while (fits > wire::mtu_bytes(1) && fits + around_payload(gid) > interface.mtu) fits /= 2;
  return tl::unexpected(UdpError{EMSGSIZE, "path MTU " + std::to_string(largest_mtu) + " makes packets of " +
                                               std::to_string(needed) + " bytes, and the MTU of " + interface.name +
                                               ", which has " + text(gid) + ", is " + std::to_string(interface.mtu) +
                                               ": `ip link set " + interface.name + " mtu " + std::to_string(needed) +
                                               "`, or take a path MTU of " + std::to_string(fits)});
}

}  // namespace

Udp::Port::Port(const Udp& fabric)
    : settings_(fabric.settings_), poll_(::epoll_create1(EPOLL_CLOEXEC)), sender_(counters_, settings_.segmentation) {}

Udp::Port::~Port() = default;

UdpResult Udp::Port::listen(const wire::Gid& gid) {
  if (!poll_) return tl::unexpected(UdpError{EMFILE, "epoll_create1: no descriptor is left"});
  return multicast(gid) ? add_group(gid) : add_address(gid);
}

UdpResult Udp::Port::add_address(const wire::Gid& gid) {
  if (local(gid) != nullptr) return {};
  const Interface interface = interface_of(gid).value_or(Interface{"?", 0, 0});
  if (const UdpResult fits = check_mtu(gid, interface, settings_.largest_mtu); !fits) return fits;
  if (wire::is_mapped(gid)) {
    if (const UdpResult prepared = prepare_packets(); !prepared) return prepared;
  }
  OpenedSocket socket = open_udp(gid, interface, settings_);
  if (!socket) return tl::unexpected(socket.error());
  if (const UdpResult watched = watch(socket->number()); !watched) return watched;
  filter_socket(socket->number(), gid);
  size_window(socket->number());
  locals_.push_back({gid, interface, std::move(*socket), {}});
  list_arriving();
  return {};
}

UdpResult Udp::Port::add_group(const wire::Gid& gid) {
  if (std::any_of(groups_.begin(), groups_.end(), [&](const Group& one) { return wire::same(one.gid, gid); }))
    return {};
  Group group{gid, {}};
  std::vector<unsigned> joined;
  for (const Local& each : locals_) {
    if (wire::is_mapped(each.gid) != wire::is_mapped(gid)) continue;
    if (std::find(joined.begin(), joined.end(), each.interface.index) != joined.end()) continue;
    OpenedSocket socket = open_udp_group(gid, each.gid, each.interface, settings_);
    if (!socket) return tl::unexpected(socket.error());
    if (const UdpResult watched = watch(socket->number()); !watched) return watched;
    filter_socket(socket->number(), gid);
    group.sockets.push_back(std::move(*socket));
    joined.push_back(each.interface.index);
  }
  if (group.sockets.empty()) {
    return tl::unexpected(UdpError{EADDRNOTAVAIL, "group " + text(gid) + ": the port has no address of IPv" +
                                                      (wire::is_mapped(gid) ? "4" : "6") +
                                                      " whose interface could join it"});
  }
  groups_.push_back(std::move(group));
  list_arriving();
  return {};
}

void Udp::Port::forget(const wire::Gid& gid) noexcept {
  for (const Local& each : locals_) {
    if (!wire::same(each.gid, gid)) continue;
    sender_.forget(each.socket.number());
    for (const Sender& one : each.senders) sender_.forget(one.socket.number());
  }
  waiting_for_ = refused_by_ = -1;
  // A closed socket is watched no more.
  std::erase_if(locals_, [&](const Local& each) { return wire::same(each.gid, gid); });
  std::erase_if(groups_, [&](const Group& each) { return wire::same(each.gid, gid); });
  list_arriving();
}

/// A packet socket, as the settings have it.
UdpResult Udp::Port::prepare_packets() {
  if (settings_.way == UdpWay::socket || packets_) return {};
  OpenedSocket opened = open_packets(settings_);
  if (!opened && settings_.way == UdpWay::packets) return tl::unexpected(opened.error());
  if (!opened) {
    remark_ =
        "no packet socket (" + opened.error().text +
        "): the IPv4 identification of who doesn't count from 0 is worked out of the ICRC, and one damaged packet "
        "of 65536 of theirs is taken for whole";
    return {};
  }
  packets_ = std::move(*opened);
  if (settings_.way != UdpWay::packets) return {};
  if (const int number = take_roce(packets_.number()); number != 0)
    return tl::unexpected(UdpError{number, std::string("SO_ATTACH_FILTER: ") + std::strerror(number)});
  if (const UdpResult bound = bind_packets(packets_); !bound) return bound;
  packets_bound_ = true;
  return watch(packets_.number());
}

UdpResult Udp::Port::watch(int socket) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = socket;
  if (::epoll_ctl(poll_.number(), EPOLL_CTL_ADD, socket, &event) == 0) return {};
  return tl::unexpected(UdpError{errno, std::string("epoll_ctl: ") + std::strerror(errno)});
}

void Udp::Port::list_arriving() {
  arriving_.clear();
  if (packets_bound_) arriving_.push_back({packets_.number(), {}});
  for (const Local& each : locals_) arriving_.push_back({each.socket.number(), each.gid});
  for (const Group& each : groups_) {
    for (const Descriptor& socket : each.sockets) arriving_.push_back({socket.number(), each.gid});
  }
  hot_ = 0;
}

/// What may be under way so that the other end's socket, if it is as large as this one, has room for it.
void Udp::Port::size_window(int socket) noexcept {
  int bytes = 0;
  socklen_t size = sizeof bytes;
  if (::getsockopt(socket, SOL_SOCKET, SO_RCVBUF, &bytes, &size) != 0) return;
  // Half for others, or for what the kernel counts besides the data.
  constexpr std::uint32_t kEach = wire::kLargestMtu + 512;
  constexpr std::uint32_t kUnit = 62;  // packets of a path MTU of 1024 that UDP_SEGMENT takes at once
  window_ = std::clamp(static_cast<std::uint32_t>(std::max(bytes, 0)) / 2 / kEach, kUnit, 6 * kUnit);
  most_packets_ = std::min(2 * kUnit, window_);
}

Udp::Port::Local* Udp::Port::local(const wire::Gid& gid) noexcept {
  const auto found =
      std::find_if(locals_.begin(), locals_.end(), [&](const Local& one) { return wire::same(one.gid, gid); });
  return found == locals_.end() ? nullptr : &*found;
}

bool Udp::Port::is_mine(const wire::Gid& gid) const noexcept {
  return std::any_of(locals_.begin(), locals_.end(), [&](const Local& one) { return wire::same(one.gid, gid); }) ||
         std::any_of(groups_.begin(), groups_.end(), [&](const Group& one) { return wire::same(one.gid, gid); });
}

/// The socket of a source port. Where somebody else has the port, or there are many already, packets come from 4791:
/// switches then spread them less, and nothing else is lost.
const Udp::Port::Sender& Udp::Port::sender(Local& from, std::uint16_t wanted) {
  for (const Sender& each : from.senders) {
    if (each.wanted == wanted) return each;
  }
  if (from.senders.empty()) from.senders.push_back({wire::kRocePort, wire::kRocePort, {}});
  if (wanted == wire::kRocePort || from.senders.size() > kMostSenders) return from.senders.front();
  OpenedSocket socket = open_udp_sender(from.gid, from.interface, wanted);
  if (socket) return from.senders.emplace_back(Sender{wanted, wanted, std::move(*socket)});
  return from.senders.emplace_back(Sender{wanted, wire::kRocePort, {}});
}

bool Udp::Port::send(const transport::Train& train) noexcept {
  Local* const from = local(train.head.ip.source);
  if (from == nullptr || wire::is_mapped(train.head.ip.destination) != wire::is_mapped(from->gid)) {
    counters_.failures.add(EADDRNOTAVAIL);
    return true;
  }
  const Sender& by = sender(*from, train.head.udp.source_port);
  const int socket = by.socket ? by.socket.number() : from->socket.number();
  const bool taken = sender_.send(socket, by.port, from->interface.index, train);
  if (!taken) {
    refused_ = true;
    refused_by_ = socket;
  }
  if (refused_ || sender_.waiting() || waiting_for_ >= 0) watch_waiting();
  return taken;
}

std::vector<int> Udp::Port::sockets() const {
  std::vector<int> numbers;
  for (const Arriving& each : arriving_) numbers.push_back(each.socket);
  return numbers;
}

}  // namespace verbena::engine::fabric
