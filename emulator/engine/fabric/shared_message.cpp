// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/shared_message.hpp"

#include <cstring>

namespace verbena::engine::fabric {

namespace {

using transport::Train;

enum Flags : std::uint8_t {
  kSolicited = 1 << 0,
  kMigrated = 1 << 1,
  kFecn = 1 << 2,
  kBecn = 1 << 3,
  kAckRequest = 1 << 4,
};
enum IpFlags : std::uint8_t { kDontFragment = 1 << 0, kChecksummed = 1 << 1 };

constexpr std::uint8_t flag(bool set, unsigned bit) noexcept {
  return static_cast<std::uint8_t>(set ? bit : 0U);
}

std::uint32_t rounded(std::size_t bytes) noexcept {
  return static_cast<std::uint32_t>((bytes + kRingStep - 1) / kRingStep * kRingStep);
}

/// A train says what its first and what its last packet say.
wire::HeaderSet headers_of(wire::Opcode first, wire::Opcode last) noexcept {
  return static_cast<wire::HeaderSet>(wire::info(first).headers | wire::info(last).headers);
}

template <class Header>
void put(wire::HeaderSet headers, wire::HeaderSet which, const Header& header, std::byte*& at) noexcept {
  if ((headers & which) == 0) return;
  header.write(at);
  at += Header::kBytes;
}

template <class Header>
void take(wire::HeaderSet headers, wire::HeaderSet which, Header& header, const std::byte*& at) noexcept {
  if ((headers & which) == 0) return;
  header = Header::read(at);
  at += Header::kBytes;
}

/// Each in the order in which a packet has them.
template <class Packet, class Place, class Each>
void each_header(Packet& packet, wire::HeaderSet headers, Place& at, Each each) noexcept {
  each(headers, wire::kDeth, packet.deth, at);
  each(headers, wire::kFeth, packet.feth, at);
  each(headers, wire::kReth, packet.reth, at);
  each(headers, wire::kAtomicEth, packet.atomic, at);
  each(headers, wire::kAeth, packet.aeth, at);
  each(headers, wire::kAtomicAckEth, packet.atomic_ack, at);
  each(headers, wire::kImmDt, packet.immediate, at);
  each(headers, wire::kIeth, packet.invalidate, at);
}

MessageHead head_of(const Train& train, std::size_t bytes, std::uint32_t kind) noexcept {
  const wire::Packet& packet = train.head;
  const wire::Bth& bth = packet.bth;
  MessageHead head;
  head.frame = {static_cast<std::uint32_t>(bytes), kind};
  head.bytes = static_cast<std::uint32_t>(train.bytes);
  head.packets = train.packets;
  head.psn = bth.psn.value();
  head.dest_qp = bth.dest_qp;
  head.pkey = bth.pkey;
  head.mtu = static_cast<std::uint16_t>(train.mtu);
  head.opcode = static_cast<std::uint8_t>(bth.opcode);
  head.last_opcode = static_cast<std::uint8_t>(train.last_opcode);
  head.flags =
      static_cast<std::uint8_t>(flag(bth.solicited, kSolicited) | flag(bth.migrated, kMigrated) |
                                flag(bth.fecn, kFecn) | flag(bth.becn, kBecn) | flag(bth.ack_request, kAckRequest));
  head.ip_version = static_cast<std::uint8_t>(packet.ip.version);
  head.traffic_class = packet.ip.traffic_class;
  head.hop_limit = packet.ip.hop_limit;
  head.ip_flags = static_cast<std::uint8_t>(flag(packet.ip.dont_fragment, kDontFragment) |
                                            flag(packet.udp.checksummed, kChecksummed));
  head.flow_label = packet.ip.flow_label;
  head.identification = packet.ip.identification;
  head.source_port = packet.udp.source_port;
  head.destination_port = packet.udp.destination_port;
  head.source = packet.ip.source;
  head.destination = packet.ip.destination;
  std::byte* at = head.extended.data();
  each_header(packet, headers_of(bth.opcode, train.last_opcode), at,
              [](auto headers, auto which, const auto& header, std::byte*& to) { put(headers, which, header, to); });
  return head;
}

/// Packets of one message that may follow each other as the train says.
bool one_message(wire::Opcode first, wire::Opcode last, std::uint32_t packets) noexcept {
  const wire::OpcodeInfo& one = wire::info(first);
  const wire::OpcodeInfo& other = wire::info(last);
  if (!one.known || !other.known || one.transport == wire::Transport::cnp) return false;
  if (packets == 1) return first == last;
  return one.transport == other.transport && one.operation == other.operation && one.request == other.request &&
         one.payload == wire::Payload::any && !one.ends() && !other.begins();
}

/// As much payload as so many packets have.
bool fits(const MessageHead& head, wire::Payload payload) noexcept {
  if (head.packets > 1) {
    const std::uint64_t before = std::uint64_t{head.packets - 1} * head.mtu;
    return head.bytes > before && head.bytes <= before + head.mtu;
  }
  switch (payload) {
    case wire::Payload::none:
      return head.bytes == 0;
    case wire::Payload::eight_bytes:
      return head.bytes == sizeof(std::uint64_t);
    case wire::Payload::any:
      break;
  }
  return head.bytes <= wire::kLargestMtu;
}

void read_head(const MessageHead& head, Train& train) noexcept {
  train = {};
  wire::Packet& packet = train.head;
  packet.bth = {.opcode = static_cast<wire::Opcode>(head.opcode),
                .solicited = (head.flags & kSolicited) != 0,
                .migrated = (head.flags & kMigrated) != 0,
                .pkey = head.pkey,
                .fecn = (head.flags & kFecn) != 0,
                .becn = (head.flags & kBecn) != 0,
                .dest_qp = head.dest_qp & wire::kLow24,
                .ack_request = (head.flags & kAckRequest) != 0,
                .psn = wire::Psn(head.psn)};
  packet.ip = {.version = head.ip_version == static_cast<std::uint8_t>(wire::IpVersion::v6) ? wire::IpVersion::v6
                                                                                            : wire::IpVersion::v4,
               .traffic_class = head.traffic_class,
               .hop_limit = head.hop_limit,
               .dont_fragment = (head.ip_flags & kDontFragment) != 0,
               .identification = head.identification,
               .flow_label = head.flow_label,
               .source = head.source,
               .destination = head.destination};
  packet.udp = {.source_port = head.source_port,
                .destination_port = head.destination_port,
                .checksummed = (head.ip_flags & kChecksummed) != 0};
  train.last_opcode = static_cast<wire::Opcode>(head.last_opcode);
  train.packets = head.packets;
  train.mtu = head.mtu;
  train.bytes = head.bytes;
  const std::byte* at = head.extended.data();
  each_header(
      packet, headers_of(packet.bth.opcode, train.last_opcode), at,
      [](auto headers, auto which, auto& header, const std::byte*& from) { take(headers, which, header, from); });
}

}  // namespace

std::uint32_t copied_bytes(const Train& train) noexcept {
  return rounded(sizeof(MessageHead) + train.bytes);
}

std::uint32_t lent_bytes(const Train& train) noexcept {
  return rounded(sizeof(MessageHead) + train.payload.size() * sizeof(MessagePiece));
}

void write_copied(const Train& train, std::span<std::byte> to) noexcept {
  const MessageHead head = head_of(train, to.size(), MessageHead::kCopied);
  std::memcpy(to.data(), &head, sizeof head);
  if (train.bytes == 0) return;
  const memory::Piece target{to.data() + sizeof head, train.bytes};
  memory::copy({&target, 1}, 0, train.payload, 0, train.bytes);
}

void write_lent(const Train& train, std::span<std::byte> to) noexcept {
  MessageHead head = head_of(train, to.size(), MessageHead::kLent);
  head.pieces = static_cast<std::uint8_t>(train.payload.size());
  std::memcpy(to.data(), &head, sizeof head);
  std::byte* at = to.data() + sizeof head;
  for (const memory::Piece& piece : train.payload) {
    const MessagePiece named{reinterpret_cast<std::uintptr_t>(piece.data), piece.bytes};
    std::memcpy(at, &named, sizeof named);
    at += sizeof named;
  }
}

void withdraw_message(std::byte* message) noexcept {
  auto* const flag = reinterpret_cast<std::uint32_t*>(message + offsetof(MessageHead, withdrawn));
  std::atomic_ref<std::uint32_t>(*flag).store(1, std::memory_order_relaxed);
}

bool read_message(std::span<std::byte> from, Message& message) noexcept {
  MessageHead head;
  if (from.size() < sizeof head) return false;
  std::memcpy(&head, from.data(), sizeof head);
  const std::span<std::byte> rest = from.subspan(sizeof head);
  const auto first = static_cast<wire::Opcode>(head.opcode);
  const auto last = static_cast<wire::Opcode>(head.last_opcode);
  if (head.packets == 0 || !one_message(first, last, head.packets) || !fits(head, wire::info(first).payload) ||
      wire::bytes_of(headers_of(first, last)) > head.extended.size()) {
    return false;
  }
  read_head(head, message.train);
  message.lent = head.frame.kind == MessageHead::kLent;
  if (head.frame.kind == MessageHead::kCopied) {
    if (head.bytes > rest.size()) return false;
    message.pieces[0] = {rest.data(), head.bytes};
    if (head.bytes > 0) message.train.payload = {message.pieces.data(), 1};
    return true;
  }
  if (!message.lent || head.pieces > kMostPieces || head.pieces * sizeof(MessagePiece) > rest.size()) return false;
  std::uint64_t bytes = 0;
  for (std::size_t index = 0; index < head.pieces; ++index) {
    MessagePiece named;
    std::memcpy(&named, rest.data() + index * sizeof named, sizeof named);
    if (named.bytes > head.bytes - bytes) return false;
    bytes += named.bytes;
    message.pieces[index] = {reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(named.address)),
                             static_cast<std::size_t>(named.bytes)};
  }
  if (bytes != head.bytes) return false;
  message.withdrawn =
      reinterpret_cast<const std::atomic<std::uint32_t>*>(from.data() + offsetof(MessageHead, withdrawn));
  message.train.payload = {message.pieces.data(), head.pieces};
  return true;
}

}  // namespace verbena::engine::fabric
