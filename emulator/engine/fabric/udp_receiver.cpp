// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/udp_receiver.hpp"

#include <linux/if_packet.h>
#include <netinet/in.h>
#include <netinet/udp.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/fabric/udp_kernel.hpp"

namespace verbena::engine::fabric {

namespace {

template <class Value>
Value value_of(const cmsghdr& head) noexcept {
  Value value{};
  const std::size_t there = head.cmsg_len - CMSG_LEN(0);
  std::memcpy(&value, CMSG_DATA(&head), std::min(sizeof value, there));
  return value;
}

/// Calls visit(level, type, head) for each.
template <class Visit>
void each_control(const msghdr& message, Visit visit) noexcept {
  auto* const head = const_cast<msghdr*>(&message);
  for (cmsghdr* control = CMSG_FIRSTHDR(head); control != nullptr; control = CMSG_NXTHDR(head, control))
    visit(*control);
}

}  // namespace

UdpReceiver::UdpReceiver() : room_(new std::byte[kStride * kMostMessages]) {
  for (std::size_t index = 0; index < kMostMessages; ++index) {
    pieces_[index] = {room_.get() + index * kStride, kBytes};
    msghdr& head = heads_[index].msg_hdr;
    head.msg_name = &from_[index];
    head.msg_iov = &pieces_[index];
    head.msg_iovlen = 1;
    head.msg_control = controls_[index].bytes.data();
  }
}

std::size_t UdpReceiver::take(int socket, std::size_t most) {
  most = std::min({most, kMostMessages, expected_});
  for (std::size_t index = 0; index < most; ++index) {
    heads_[index].msg_hdr.msg_namelen = sizeof(sockaddr_storage);
    heads_[index].msg_hdr.msg_controllen = sizeof(Control);
    heads_[index].msg_hdr.msg_flags = 0;
  }
  std::size_t taken = 0;
  if (most == 1) {
    const ssize_t bytes = ::recvmsg(socket, &heads_[0].msg_hdr, MSG_DONTWAIT);
    if (bytes >= 0) {
      heads_[0].msg_len = static_cast<unsigned>(bytes);
      taken = 1;
    }
  } else if (most > 1) {
    const int messages = ::recvmmsg(socket, heads_.data(), static_cast<unsigned>(most), MSG_DONTWAIT, nullptr);
    taken = messages > 0 ? static_cast<std::size_t>(messages) : 0;
  }
  failure_ = taken == 0 ? errno : 0;
  if (taken == most) {
    expected_ = std::min(2 * expected_, kMostMessages);
  } else {
    expected_ = std::max<std::size_t>(taken, 1);
  }
  return taken;
}

std::size_t UdpReceiver::receive(int socket, std::size_t most) {
  return take(socket, most);
}

std::size_t UdpReceiver::receive_frames(int socket, std::size_t most, std::uint64_t& unreadable) {
  std::size_t taken = take(socket, most);
  for (std::size_t tries = 0; taken == 0 && failure_ == EINVAL && tries < most; ++tries) {
    ++unreadable;
    taken = take(socket, most);
  }
  return taken;
}

std::span<std::byte> UdpReceiver::data(std::size_t index) const noexcept {
  return {room_.get() + index * kStride, std::min<std::size_t>(heads_[index].msg_len, kBytes)};
}

UdpArrival UdpReceiver::arrival(std::size_t index, const wire::Gid& to) const noexcept {
  UdpArrival arrival;
  SocketAddress from;
  std::memcpy(&from.v6, &from_[index], sizeof from.v6);
  arrival.ip.version = wire::is_mapped(to) ? wire::IpVersion::v4 : wire::IpVersion::v6;
  arrival.ip.source = from.gid();
  arrival.ip.destination = to;
  arrival.udp.source_port = from.port();
  arrival.data = data(index);
  each_control(heads_[index].msg_hdr, [&arrival](const cmsghdr& control) {
    wire::Ip& ip = arrival.ip;
    if (control.cmsg_level == SOL_UDP && control.cmsg_type == UDP_GRO) {
      arrival.segment = static_cast<std::size_t>(std::max(value_of<int>(control), 0));
    } else if (control.cmsg_level == IPPROTO_IP && control.cmsg_type == IP_TOS) {
      ip.traffic_class = value_of<std::uint8_t>(control);
    } else if (control.cmsg_level == IPPROTO_IPV6 && control.cmsg_type == IPV6_TCLASS) {
      ip.traffic_class = static_cast<std::uint8_t>(value_of<int>(control));
    } else if ((control.cmsg_level == IPPROTO_IP && control.cmsg_type == IP_TTL) ||
               (control.cmsg_level == IPPROTO_IPV6 && control.cmsg_type == IPV6_HOPLIMIT)) {
      ip.hop_limit = static_cast<std::uint8_t>(value_of<int>(control));
    } else if (control.cmsg_level == IPPROTO_IPV6 && control.cmsg_type == kIpv6FlowInfo) {
      ip.flow_label = ntohl(value_of<std::uint32_t>(control)) & 0xfffffU;
    }
  });
  return arrival;
}

UdpReceiver::Frame UdpReceiver::frame(std::size_t index) const noexcept {
  Frame frame;
  const std::span<std::byte> all = data(index);
  sockaddr_ll from{};
  std::memcpy(&from, &from_[index], sizeof from);
  frame.for_this_host = from.sll_pkttype != PACKET_OUTGOING && from.sll_pkttype != PACKET_OTHERHOST;
  FrameHead head{};
  if (all.size() < sizeof head) return frame;
  std::memcpy(&head, all.data(), sizeof head);
  const std::span<std::byte> link = all.subspan(sizeof head);
  std::size_t network = link.size() + 1;
  each_control(heads_[index].msg_hdr, [&network](const cmsghdr& control) {
    if (control.cmsg_level == SOL_PACKET && control.cmsg_type == PACKET_AUXDATA)
      network = value_of<tpacket_auxdata>(control).tp_net;
  });
  frame.known_link = network <= link.size();
  if (!frame.known_link) return frame;
  frame.bytes = link.subspan(network);
  frame.checksum_pending = (head.flags & FrameHead::kNeedsChecksum) != 0 || head.segmented != FrameHead::kOnePacket;
  const bool segments = head.segmented == FrameHead::kUdpSegments && head.segment > 0;
  frame.splittable = head.segmented == FrameHead::kOnePacket || segments;
  if (segments) frame.segment = head.segment;
  return frame;
}

}  // namespace verbena::engine::fabric
