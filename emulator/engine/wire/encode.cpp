// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/wire/encode.hpp"

#include <algorithm>

#include "engine/wire/bytes.hpp"
#include "engine/wire/udp_checksum.hpp"

namespace verbena::engine::wire {
namespace {

/// Sizes of a packet that can be written.
struct Layout {
  std::size_t head = 0;
  std::size_t payload = 0;
  std::size_t pad = 0;

  std::size_t tail() const noexcept { return pad + Icrc::kBytes; }
  std::size_t all() const noexcept { return head + payload + tail(); }
};

constexpr std::size_t kMostIpBytes = 0xffff;

tl::expected<Layout, EncodeError> layout(const Packet& packet, std::size_t payload_bytes) noexcept {
  const OpcodeInfo& opcode = info(packet.bth.opcode);
  if (!opcode.known) return tl::unexpected(EncodeError::unknown_opcode);
  const Ip& ip = packet.ip;
  if (ip.version == IpVersion::v4 && !(is_mapped(ip.source) && is_mapped(ip.destination))) {
    return tl::unexpected(EncodeError::addresses);
  }
  if ((packet.bth.dest_qp | packet.deth.source_qp | packet.aeth.msn) > kLow24 || ip.flow_label > 0xfffff ||
      packet.bth.version > 0xf || packet.feth.placement > 0xf || packet.feth.selectivity > 3) {
    return tl::unexpected(EncodeError::field_width);
  }
  Layout bytes;
  bytes.payload = payload_bytes;
  if (payload_bytes > kMostIpBytes) return tl::unexpected(EncodeError::payload_size);
  if ((opcode.payload == Payload::none && bytes.payload != 0) ||
      (opcode.payload == Payload::eight_bytes && bytes.payload != 8)) {
    return tl::unexpected(EncodeError::payload_size);
  }
  bytes.head = ip.bytes() + Udp::kBytes + Bth::kBytes + opcode.header_bytes;
  bytes.pad = pad_after(bytes.payload);
  if (bytes.all() > kMostIpBytes) return tl::unexpected(EncodeError::payload_size);
  return bytes;
}

tl::expected<Layout, EncodeError> layout(const Packet& packet, std::span<const Piece> payload) noexcept {
  std::size_t bytes = 0;
  for (const Piece piece : payload) {
    bytes += piece.size();
    if (bytes > kMostIpBytes) return tl::unexpected(EncodeError::payload_size);
  }
  return layout(packet, bytes);
}

std::byte* write_extended(const Packet& packet, const OpcodeInfo& opcode, std::byte* to) noexcept {
  const auto put = [&](HeaderSet which, const auto& header) {
    if (!opcode.has(which)) return;
    header.write(to);
    to += header.kBytes;
  };
  if (opcode.headers == 0) return to;
  put(kDeth, packet.deth);
  put(kFeth, packet.feth);
  put(kReth, packet.reth);
  put(kAtomicEth, packet.atomic);
  put(kAeth, packet.aeth);
  put(kAtomicAckEth, packet.atomic_ack);
  put(kImmDt, packet.immediate);
  put(kIeth, packet.invalidate);
  if (opcode.has(kCnpReserved)) to = std::fill_n(to, kCnpReservedBytes, std::byte{0});
  return to;
}

void write_head(const Packet& packet, const Layout& bytes, std::byte* head) noexcept {
  const std::size_t ip_bytes = packet.ip.bytes();
  const auto udp_bytes = static_cast<std::uint16_t>(bytes.all() - ip_bytes);
  write_ip(packet.ip, udp_bytes, head);
  std::byte* const udp = head + ip_bytes;
  write_udp(packet.udp, udp_bytes, udp);
  write_transport_headers(packet, bytes.payload, udp + Udp::kBytes);
}

/// Where the payload is. It can't be told by comparing addresses: two buffers may lie just so.
enum class Lies : bool { between_head_and_tail, elsewhere };

/// Writes pad and ICRC, and then the UDP checksum into the head: it covers the ICRC.
void write_tail(const Packet& packet, const Layout& bytes, std::span<const Piece> payload, Lies payload_lies,
                std::byte* head, std::byte* tail) noexcept {
  std::fill_n(tail, bytes.pad, std::byte{0});
  const std::size_t masked = packet.ip.bytes() + Udp::kBytes + Bth::kBytes;
  const bool in_one = payload_lies == Lies::between_head_and_tail;
  Icrc icrc(packet.ip.version, {head, masked}, {head + masked, in_one ? tail + bytes.pad : head + bytes.head});
  if (!in_one) {
    for (const Piece piece : payload) icrc.add(piece);
    icrc.add({tail, bytes.pad});
  }
  icrc.write(tail + bytes.pad);
  if (!packet.udp.checksummed) return;
  InternetChecksum checksum = begin_udp_checksum(packet.ip.version, {head, packet.ip.bytes()});
  checksum.add({head + packet.ip.bytes(), head + bytes.head});
  for (const Piece piece : payload) checksum.add(piece);
  checksum.add({tail, bytes.tail()});
  store(head + packet.ip.bytes() + 6, udp_checksum_field(checksum));
}

}  // namespace

std::size_t write_transport_headers(const Packet& packet, std::size_t payload_bytes, std::byte* to) noexcept {
  Bth bth = packet.bth;
  bth.pad = pad_after(payload_bytes);
  bth.write(to);
  return static_cast<std::size_t>(write_extended(packet, info(bth.opcode), to + Bth::kBytes) - to);
}

tl::expected<void, EncodeError> check_encodable(const Packet& packet, std::size_t payload_bytes) noexcept {
  const auto bytes = layout(packet, payload_bytes);
  if (!bytes) return tl::unexpected(bytes.error());
  return {};
}

std::string_view name(EncodeError error) noexcept {
  switch (error) {
    case EncodeError::no_room:
      return "no_room";
    case EncodeError::unknown_opcode:
      return "unknown_opcode";
    case EncodeError::payload_size:
      return "payload_size";
    case EncodeError::addresses:
      return "addresses";
    case EncodeError::field_width:
      return "field_width";
  }
  return "?";
}

tl::expected<std::size_t, EncodeError> encode(const Packet& packet, std::span<const Piece> payload,
                                              std::span<std::byte> out) noexcept {
  const auto bytes = layout(packet, payload);
  if (!bytes) return tl::unexpected(bytes.error());
  if (bytes->all() > out.size()) return tl::unexpected(EncodeError::no_room);
  write_head(packet, *bytes, out.data());
  std::byte* to = out.data() + bytes->head;
  for (const Piece piece : payload) to = std::copy(piece.begin(), piece.end(), to);
  write_tail(packet, *bytes, payload, Lies::between_head_and_tail, out.data(), to);
  return bytes->all();
}

tl::expected<std::size_t, EncodeError> encode(const Packet& packet, Piece payload, std::span<std::byte> out) noexcept {
  return encode(packet, {&payload, 1}, out);
}

tl::expected<Around, EncodeError> encode_around(const Packet& packet, std::span<const Piece> payload,
                                                std::span<std::byte, kMostHeadBytes> head,
                                                std::span<std::byte, kMostTailBytes> tail) noexcept {
  const auto bytes = layout(packet, payload);
  if (!bytes) return tl::unexpected(bytes.error());
  write_head(packet, *bytes, head.data());
  write_tail(packet, *bytes, payload, Lies::elsewhere, head.data(), tail.data());
  return Around{bytes->head, bytes->tail()};
}

}  // namespace verbena::engine::wire
