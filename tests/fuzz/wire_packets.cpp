// SPDX-License-Identifier: Apache-2.0 OR MIT
// Whatever the bytes: a packet is read or refused with one reason that is counted, and what was read can be written
// again to the same bytes, but for those that no description holds.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "engine/wire/encode.hpp"
#include "engine/wire/internet_checksum.hpp"
#include "engine/wire/parse.hpp"

namespace {

using namespace verbena::engine::wire;
using Bytes = std::span<const std::byte>;

void require(bool holds) {
  if (!holds) std::abort();
}

/// Lets the fuzzer past the sums: lengths, header checksum and ICRC are made right.
std::vector<std::byte> sealed(Bytes bytes) {
  std::vector<std::byte> packet(bytes.begin(), bytes.end());
  if (packet.size() < Ip::kV6Bytes + Udp::kBytes + Bth::kBytes + Icrc::kBytes || packet.size() > 0xffff) return packet;
  const bool v6 = (packet[0] & std::byte{0x20}) != std::byte{0};
  const std::size_t ip_bytes = v6 ? Ip::kV6Bytes : Ip::kV4Bytes;
  const auto put = [&packet](std::size_t at, std::size_t number) {
    packet[at] = static_cast<std::byte>(number >> 8);
    packet[at + 1] = static_cast<std::byte>(number);
  };
  packet[0] = (packet[0] & std::byte{0x0f}) | (v6 ? std::byte{0x60} : std::byte{0x40});
  packet[v6 ? 6 : 9] = std::byte{kUdpProtocol};
  put(v6 ? 4 : 2, v6 ? packet.size() - ip_bytes : packet.size());
  put(ip_bytes + 2, kRocePort);
  put(ip_bytes + 4, packet.size() - ip_bytes);
  put(ip_bytes + 6, 0);
  if (!v6) {
    put(10, 0);
    InternetChecksum checksum;
    checksum.add(Bytes(packet).first(ip_bytes));
    put(10, checksum.value());
  }
  const std::size_t headers = ip_bytes + Udp::kBytes + Bth::kBytes;
  Icrc icrc(v6 ? IpVersion::v6 : IpVersion::v4, packet);
  icrc.add(Bytes(packet).subspan(headers, packet.size() - headers - Icrc::kBytes));
  icrc.write(packet.data() + packet.size() - Icrc::kBytes);
  return packet;
}

bool judge(Bytes bytes) {
  RefusalCounts counts;
  const Parsed parsed = parse(bytes, counts);
  if (!parsed) {
    require(counts.all() == 1 && counts[parsed.error()] == 1 && !name(parsed.error()).empty());
    return false;
  }
  require(counts.all() == 0);
  require(parsed->payload.empty() ||
          (parsed->payload.data() >= bytes.data() &&
           parsed->payload.data() + parsed->payload.size() <= bytes.data() + bytes.size() - Icrc::kBytes));
  std::vector<std::byte> out(0x10000);
  const auto size = encode(parsed->packet, parsed->payload, out);
  // A pad of more than the payload needs is read, since it is the QP's to judge; it is never written.
  if (parsed->packet.bth.pad != pad_after(parsed->payload.size())) return true;
  require(size.has_value() && *size <= bytes.size());
  RefusalCounts again;
  const Parsed second = parse(Bytes(out).first(*size), again);
  require(second.has_value() && second->packet == parsed->packet);
  require(second->payload.size() == parsed->payload.size());
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  judge(bytes);
  judge(sealed(bytes));
  RefusalCounts counts;
  Ip ip;
  ip.source = ip.destination = mapped(10, 0, 0, 1);
  static_cast<void>(parse_datagram(ip, Udp{}, bytes, counts));
  return 0;
}
