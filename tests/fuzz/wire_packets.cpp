// SPDX-License-Identifier: Apache-2.0 OR MIT
// Whatever the bytes: a packet is read or refused with one reason that is counted, and what was read can be written
// again to the same bytes, but for those that no description holds.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "engine/wire/encode.hpp"
#include "engine/wire/parse.hpp"
#include "engine/wire/udp_checksum.hpp"

namespace {

using namespace verbena::engine::wire;
using Bytes = std::span<const std::byte>;

void require(bool holds) {
  if (!holds) std::abort();
}

/// A packet with right lengths and sums whose BTH and what follows are these bytes: no fuzzer guesses an ICRC.
std::vector<std::byte> sealed(Bytes data, IpVersion version) {
  constexpr std::size_t kMostData = 60000;
  data = data.first(std::min(data.size() / 4 * 4, kMostData));
  if (data.size() < Bth::kBytes) return {};
  Ip ip;
  ip.version = version;
  ip.source = ip.destination = mapped(10, 0, 0, 1);
  const std::size_t headers = ip.bytes() + Udp::kBytes;
  const auto udp_bytes = static_cast<std::uint16_t>(Udp::kBytes + data.size() + Icrc::kBytes);
  std::vector<std::byte> packet(headers + data.size() + Icrc::kBytes);
  write_ip(ip, udp_bytes, packet.data());
  write_udp(Udp{}, udp_bytes, packet.data() + ip.bytes());
  std::copy(data.begin(), data.end(), packet.begin() + static_cast<std::ptrdiff_t>(headers));
  const Icrc icrc(version, packet, data.subspan(Bth::kBytes));
  icrc.write(packet.data() + packet.size() - Icrc::kBytes);
  return packet;
}

void judge(Bytes bytes) {
  RefusalCounts counts;
  const Parsed parsed = parse(bytes, counts);
  if (!parsed) {
    require(counts.all() == 1 && counts[parsed.error()] == 1 && !name(parsed.error()).empty());
    return;
  }
  require(counts.all() == 0);
  require(parsed->payload.empty() ||
          (parsed->payload.data() >= bytes.data() &&
           parsed->payload.data() + parsed->payload.size() <= bytes.data() + bytes.size() - Icrc::kBytes));
  std::vector<std::byte> out(0x10000);
  const auto size = encode(parsed->packet, parsed->payload, out);
  // A pad of more than the payload needs is read, since it is the QP's to judge; it is never written.
  if (parsed->packet.bth.pad != pad_after(parsed->payload.size())) return;
  require(size.has_value() && *size <= bytes.size());
  RefusalCounts again;
  const Parsed second = parse(Bytes(out).first(*size), again);
  require(second.has_value() && second->packet == parsed->packet);
  require(second->payload.size() == parsed->payload.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes(reinterpret_cast<const std::byte*>(data), size);
  judge(bytes);
  judge(sealed(bytes, IpVersion::v4));
  judge(sealed(bytes, IpVersion::v6));
  RefusalCounts counts;
  Ip ip;
  ip.source = ip.destination = mapped(10, 0, 0, 1);
  static_cast<void>(parse_datagram(ip, Udp{}, bytes, counts));
  return 0;
}
