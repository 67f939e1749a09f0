// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/udp_sender.hpp"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/fabric/address_book.hpp"

namespace verbena::engine::fabric {

namespace {

constexpr std::uint8_t kUsualHopLimit =
    64;  // of a socket, unless the host was told another: linux net.ipv4.ip_default_ttl

/// Room for what is said of one message.
struct Control {
  alignas(cmsghdr) std::array<std::byte, 3 * CMSG_SPACE(sizeof(int))> bytes;
  std::size_t used = 0;

  template <class Value>
  void add(int level, int type, Value value) noexcept {
    cmsghdr head{};
    head.cmsg_level = level;
    head.cmsg_type = type;
    head.cmsg_len = CMSG_LEN(sizeof value);
    std::memset(bytes.data() + used, 0, CMSG_SPACE(sizeof value));
    std::memcpy(bytes.data() + used, &head, sizeof head);
    std::memcpy(bytes.data() + used + CMSG_LEN(0), &value, sizeof value);
    used += CMSG_SPACE(sizeof value);
  }
};

}  // namespace

UdpSender::UdpSender(UdpCounters& counters, bool segmentation)
    : counters_(counters),
      most_segments_(segmentation ? UdpTrain::kMostSegments : 1),
      room_(std::make_unique<std::byte[]>(kRoom)) {}

bool UdpSender::send(int socket, std::uint16_t port, unsigned scope, const transport::Train& train) noexcept {
  const bool answer = !train.info().request;
  if (waiting() && !flush() && !answer) {
    ++counters_.asked_to_wait;
    return false;
  }
  const wire::Ip& ip = train.head.ip;
  UdpTrain writer(train, {.source_port = port}, flows_);
  if (!writer.well_formed()) {
    counters_.failures.add(EINVAL);
    return true;
  }
  const SocketAddress to(ip.destination, wire::kRocePort, scope, ip.flow_label);
  const bool group = multicast(ip.destination);
  bool first = true;
  while (!writer.done()) {
    std::array<Message, kMostMessages> messages;
    std::size_t used = 0;
    std::span<std::byte> room(room_.get(), kRoom);
    while (!writer.done() && used < messages.size() && room.size() >= UdpTrain::kMostBytes) {
      const Segments segments = writer.next(room, most_segments_);
      const std::span<std::byte> data = room.first(segments.data.size());
      messages[used++] = {to,
                          {segments.packets > 1 ? segments.segment : 0, ip.traffic_class, ip.hop_limit, group},
                          data,
                          segments.packets};
      room = room.subspan(data.size());
    }
    const std::span<Message> all = std::span(messages).first(used);
    const std::size_t passed = waiting() ? 0 : pass(socket, all);
    if (first && passed == 0 && !answer) {
      ++counters_.asked_to_wait;
      return false;
    }
    first = false;
    for (const Message& message : all.subspan(passed)) keep(socket, message, answer);
  }
  return true;
}

/// How many of them are done with, sent or refused for good; the others have to wait.
std::size_t UdpSender::pass(int socket, std::span<Message> messages) noexcept {
  std::array<mmsghdr, kMostMessages> heads;
  std::array<iovec, kMostMessages> data;
  std::array<Control, kMostMessages> controls;
  for (std::size_t at = 0; at < messages.size(); ++at) {
    Message& message = messages[at];
    Control& control = controls[at];
    const Marks& marks = message.marks;
    const bool v4 = message.to.any.sa_family == AF_INET;
    if (marks.segment != 0) control.add(SOL_UDP, UDP_SEGMENT, static_cast<std::uint16_t>(marks.segment));
    // A group's is 1 unless said.
    if (marks.hop_limit != kUsualHopLimit || marks.group)
      control.add(v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TTL : IPV6_HOPLIMIT, int{marks.hop_limit});
    if (marks.traffic_class != 0)
      control.add(v4 ? IPPROTO_IP : IPPROTO_IPV6, v4 ? IP_TOS : IPV6_TCLASS, int{marks.traffic_class});
    data[at] = {message.data.data(), message.data.size()};
    heads[at] = {};
    msghdr& head = heads[at].msg_hdr;
    head.msg_name = &message.to.any;
    head.msg_namelen = message.to.bytes;
    head.msg_iov = &data[at];
    head.msg_iovlen = 1;
    head.msg_control = control.used > 0 ? control.bytes.data() : nullptr;
    head.msg_controllen = control.used;
  }
  std::size_t done = 0;
  while (done < messages.size()) {
    const int sent =
        messages.size() - done == 1
            ? (::sendmsg(socket, &heads[done].msg_hdr, MSG_DONTWAIT) < 0 ? -1 : 1)
            : ::sendmmsg(socket, &heads[done], static_cast<unsigned>(messages.size() - done), MSG_DONTWAIT);
    ++counters_.calls_out;
    if (sent > 0) {
      for (int each = 0; each < sent; ++each) counters_.packets_out += messages[done++].packets;
      continue;
    }
    if (errno == EAGAIN || errno == EWOULDBLOCK) break;
    if (errno == EINTR) continue;
    SocketAddress& to = messages[done].to;
    if (errno == EINVAL && to.any.sa_family == AF_INET6 && to.v6.sin6_flowinfo != 0) {
      // Where anybody has leased a flow label for himself alone, others may not be used unleased: linux
      // net/ipv6/ip6_flowlabel.c fl6_sock_lookup. The ICRC doesn't cover it.
      to.v6.sin6_flowinfo = 0;
      continue;
    }
    // The device has no checksum offload, which segments need: linux net/ipv4/udp.c udp_send_skb, before 6.11. What
    // is sent again goes packet by packet.
    if (errno == EIO && messages[done].marks.segment != 0) most_segments_ = 1;
    counters_.failures.add(errno);
    ++done;
  }
  return done;
}

void UdpSender::keep(int socket, const Message& message, bool answer) noexcept {
  if (answer && waiting_bytes_ + message.data.size() > kMostWaiting) {
    ++counters_.answers_dropped;
    return;
  }
  Waiting& last = waiting_.emplace_back();
  last.socket = socket;
  last.data.assign(message.data.begin(), message.data.end());
  last.message = message;
  last.message.data = last.data;
  waiting_bytes_ += last.data.size();
}

bool UdpSender::flush() noexcept {
  while (!waiting_.empty()) {
    Waiting& first = waiting_.front();
    if (pass(first.socket, {&first.message, 1}) == 0) return false;
    waiting_bytes_ -= first.data.size();
    waiting_.pop_front();
  }
  return true;
}

void UdpSender::forget(int socket) noexcept {
  std::erase_if(waiting_, [this, socket](const Waiting& each) {
    if (each.socket != socket) return false;
    waiting_bytes_ -= each.data.size();
    return true;
  });
}

}  // namespace verbena::engine::fabric
