// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/wire/parse.hpp"

#include <algorithm>
#include <array>

#include "engine/wire/bytes.hpp"
#include "engine/wire/flow_icrc.hpp"
#include "engine/wire/udp_checksum.hpp"

namespace verbena::engine::wire {
namespace {

using Bytes = std::span<const std::byte>;

/// Reads what an IPv4 header says and cuts `bytes` to what it counts.
tl::expected<void, Refusal> read_v4(Bytes& bytes, Ip& ip) noexcept {
  if (bytes.size() < Ip::kV4Bytes) return tl::unexpected(Refusal::too_short);
  const std::byte* const at = bytes.data();
  if (at[0] != std::byte{0x45}) return tl::unexpected(Refusal::ip_options);
  InternetChecksum checksum;
  checksum.add(bytes.first(Ip::kV4Bytes));
  if (checksum.value() != 0) return tl::unexpected(Refusal::ip_checksum);
  const auto flags = load<std::uint16_t>(at + 6);
  if ((flags & 0xbfff) != 0) return tl::unexpected(Refusal::fragment);
  if (load<std::uint8_t>(at + 9) != kUdpProtocol) return tl::unexpected(Refusal::not_udp);
  const auto total = load<std::uint16_t>(at + 2);
  if (total > bytes.size() || total < Ip::kV4Bytes) return tl::unexpected(Refusal::too_short);
  bytes = bytes.first(total);
  ip.version = IpVersion::v4;
  ip.traffic_class = load<std::uint8_t>(at + 1);
  ip.identification = load<std::uint16_t>(at + 4);
  ip.dont_fragment = (flags & 0x4000) != 0;
  ip.hop_limit = load<std::uint8_t>(at + 8);
  ip.source = ip.destination = mapped(0, 0, 0, 0);
  std::copy_n(at + 12, 4, ip.source.data() + 12);
  std::copy_n(at + 16, 4, ip.destination.data() + 12);
  return {};
}

tl::expected<void, Refusal> read_v6(Bytes& bytes, Ip& ip) noexcept {
  if (bytes.size() < Ip::kV6Bytes) return tl::unexpected(Refusal::too_short);
  const std::byte* const at = bytes.data();
  if (load<std::uint8_t>(at + 6) != kUdpProtocol) return tl::unexpected(Refusal::not_udp);
  const std::size_t total = Ip::kV6Bytes + load<std::uint16_t>(at + 4);
  if (total > bytes.size()) return tl::unexpected(Refusal::too_short);
  bytes = bytes.first(total);
  const auto first = load<std::uint32_t>(at);
  ip.version = IpVersion::v6;
  ip.traffic_class = static_cast<std::uint8_t>(first >> 20);
  ip.flow_label = first & 0xfffff;
  ip.hop_limit = load<std::uint8_t>(at + 7);
  // What counts in IPv4 alone has one value in IPv6, so that equal packets compare equal.
  ip.dont_fragment = true;
  std::copy_n(at + 8, 16, ip.source.data());
  std::copy_n(at + 24, 16, ip.destination.data());
  return {};
}

void read_extended(const OpcodeInfo& opcode, const std::byte* from, Packet& packet) noexcept {
  const auto take = [&](HeaderSet which, auto& header) {
    if (!opcode.has(which)) return;
    header = header.read(from);
    from += header.kBytes;
  };
  if (opcode.headers == 0) return;
  take(kDeth, packet.deth);
  take(kFeth, packet.feth);
  take(kReth, packet.reth);
  take(kAtomicEth, packet.atomic);
  take(kAeth, packet.aeth);
  take(kAtomicAckEth, packet.atomic_ack);
  take(kImmDt, packet.immediate);
  take(kIeth, packet.invalidate);
}

/// Reads BTH and what follows, of which there are enough bytes for BTH and ICRC, and whole words; the ICRC is right.
tl::expected<void, Refusal> read_headers(Bytes data, Received& received) noexcept {
  const Bytes covered = data.first(data.size() - Icrc::kBytes);
  const Bth bth = Bth::read(data.data());
  received.packet.bth = bth;
  if (bth.version != 0) return tl::unexpected(Refusal::transport_version);
  const OpcodeInfo& opcode = info(bth.opcode);
  if (!opcode.known) return tl::unexpected(Refusal::unknown_opcode);
  const std::size_t headers = Bth::kBytes + opcode.header_bytes;
  if (covered.size() < headers) return tl::unexpected(Refusal::too_short);
  const std::size_t padded = covered.size() - headers;
  if (bth.pad > padded) return tl::unexpected(Refusal::pad_beyond_payload);
  const std::size_t payload = padded - bth.pad;
  if ((opcode.payload == Payload::none && padded != 0) || (opcode.payload == Payload::eight_bytes && payload != 8)) {
    return tl::unexpected(Refusal::payload_size);
  }
  read_extended(opcode, data.data() + Bth::kBytes, received.packet);
  received.payload = covered.subspan(headers, payload);
  return {};
}

tl::expected<void, Refusal> read_transport(Bytes headers_to_bth, Bytes data, Received& received) noexcept {
  const Bytes covered = data.first(data.size() - Icrc::kBytes);
  const Icrc icrc(received.packet.ip.version, headers_to_bth, covered.subspan(Bth::kBytes));
  if (icrc.value() != Icrc::read(covered.data() + covered.size())) return tl::unexpected(Refusal::icrc);
  return read_headers(data, received);
}

constexpr std::size_t kLeastData = Bth::kBytes + Icrc::kBytes;

tl::expected<void, Refusal> read_outer(Bytes bytes, UdpChecksum expected_sum, Datagram& outer) noexcept {
  if (bytes.empty()) return tl::unexpected(Refusal::too_short);
  const auto version = std::to_integer<unsigned>(bytes[0] >> 4);
  if (version != 4 && version != 6) return tl::unexpected(Refusal::ip_version);
  const auto ip = version == 4 ? read_v4(bytes, outer.ip) : read_v6(bytes, outer.ip);
  if (!ip) return ip;

  const std::size_t ip_bytes = outer.ip.bytes();
  const Bytes datagram = bytes.subspan(ip_bytes);
  if (datagram.size() < Udp::kBytes) return tl::unexpected(Refusal::too_short);
  outer.udp.source_port = load<std::uint16_t>(datagram.data());
  outer.udp.destination_port = load<std::uint16_t>(datagram.data() + 2);
  if (outer.udp.destination_port != kRocePort) return tl::unexpected(Refusal::not_roce_port);
  if (load<std::uint16_t>(datagram.data() + 4) != datagram.size()) return tl::unexpected(Refusal::length_mismatch);
  outer.data = datagram.subspan(Udp::kBytes);
  if (outer.data.size() < kLeastData) return tl::unexpected(Refusal::too_short);
  if (outer.data.size() % 4 != 0) return tl::unexpected(Refusal::length_mismatch);
  outer.udp.checksummed = load<std::uint16_t>(datagram.data() + 6) != 0;
  if (outer.udp.checksummed && expected_sum == UdpChecksum::stands) {
    InternetChecksum checksum = begin_udp_checksum(outer.ip.version, bytes.first(ip_bytes));
    checksum.add(datagram);
    if (checksum.value() != 0) return tl::unexpected(Refusal::udp_checksum);
  }
  return {};
}

tl::expected<void, Refusal> read_packet(Bytes bytes, Received& received) noexcept {
  Datagram outer;
  if (const auto read = read_outer(bytes, UdpChecksum::stands, outer); !read) return read;
  received.packet.ip = outer.ip;
  received.packet.udp = outer.udp;
  return read_transport(bytes, outer.data, received);
}

/// What a socket gave can be the data of a RoCE packet at all.
tl::expected<void, Refusal> check_datagram(const Udp& udp, std::size_t bytes) noexcept {
  constexpr std::size_t kMostData = 0xffff - Ip::kV6Bytes - Udp::kBytes;
  if (udp.destination_port != kRocePort) return tl::unexpected(Refusal::not_roce_port);
  if (bytes < kLeastData) return tl::unexpected(Refusal::too_short);
  if (bytes % 4 != 0 || bytes > kMostData) return tl::unexpected(Refusal::length_mismatch);
  return {};
}

tl::expected<void, Refusal> read_datagram(Bytes data, Received& received) noexcept {
  const Packet& packet = received.packet;
  if (const auto right = check_datagram(packet.udp, data.size()); !right) return right;
  std::array<std::byte, Ip::kV6Bytes + Udp::kBytes + Bth::kBytes> headers{};
  const auto udp_bytes = static_cast<std::uint16_t>(Udp::kBytes + data.size());
  write_ip(packet.ip, udp_bytes, headers.data());
  write_udp(packet.udp, udp_bytes, headers.data() + packet.ip.bytes());
  std::copy_n(data.data(), Bth::kBytes, headers.data() + packet.ip.bytes() + Udp::kBytes);
  return read_transport(headers, data, received);
}

tl::expected<void, Refusal> read_in_flow(std::uint32_t before, std::span<std::byte> data, Received& received) noexcept {
  if (const auto right = check_datagram(received.packet.udp, data.size()); !right) return right;
  const std::span<std::byte> covered = data.first(data.size() - Icrc::kBytes);
  if (icrc_behind(before, covered) != Icrc::read(covered.data() + covered.size())) return tl::unexpected(Refusal::icrc);
  return read_headers(data, received);
}

}  // namespace

// Each has one object to return, so that it is made where the caller wants it.
Parsed parse(std::span<const std::byte> bytes, RefusalCounts& counts) noexcept {
  Parsed parsed;
  if (const auto read = read_packet(bytes, *parsed); !read) {
    ++counts[read.error()];
    parsed = tl::unexpected(read.error());
  }
  return parsed;
}

Parsed parse_datagram(const Ip& ip, const Udp& udp, std::span<const std::byte> data, RefusalCounts& counts) noexcept {
  Parsed parsed;
  parsed->packet.ip = ip;
  parsed->packet.udp = udp;
  if (const auto read = read_datagram(data, *parsed); !read) {
    ++counts[read.error()];
    parsed = tl::unexpected(read.error());
  }
  return parsed;
}

tl::expected<Datagram, Refusal> parse_outer(std::span<const std::byte> bytes, UdpChecksum checksum,
                                            RefusalCounts& counts) noexcept {
  tl::expected<Datagram, Refusal> outer;
  if (const auto read = read_outer(bytes, checksum, *outer); !read) {
    ++counts[read.error()];
    outer = tl::unexpected(read.error());
  }
  return outer;
}

Parsed parse_in_flow(const Ip& ip, const Udp& udp, std::uint32_t before, std::span<std::byte> data,
                     RefusalCounts& counts) noexcept {
  Parsed parsed;
  parsed->packet.ip = ip;
  parsed->packet.udp = udp;
  if (const auto read = read_in_flow(before, data, *parsed); !read) {
    ++counts[read.error()];
    parsed = tl::unexpected(read.error());
  }
  return parsed;
}

}  // namespace verbena::engine::wire
