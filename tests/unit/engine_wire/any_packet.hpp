// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/wire/encode.hpp"
#include "engine/wire/internet_checksum.hpp"

namespace verbena::engine::wire {

/// The same numbers on every host (splitmix64).
class Numbers {
public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t number = state_ += 0x9e3779b97f4a7c15;
    number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
    number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
    return number ^ (number >> 31);
  }
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>(next() % bound); }
  bool flip() { return below(2) == 1; }
  template <class Number>
  void fill(Number& number) {
    number = static_cast<Number>(next());
  }

private:
  std::uint64_t state_;
};

/// Every opcode there is.
inline std::vector<Opcode> all_opcodes() {
  std::vector<Opcode> opcodes;
  for (std::size_t number = 0; number < kOpcodes.size(); ++number) {
    if (kOpcodes[number].known) opcodes.push_back(static_cast<Opcode>(number));
  }
  return opcodes;
}

struct AnyPacket {
  Packet packet;
  std::vector<std::byte> payload;

  std::vector<std::byte> encoded() const {
    std::vector<std::byte> bytes(kMostPacketBytes);
    const auto size = encode(packet, payload, bytes);
    bytes.resize(size ? *size : 0);
    return bytes;
  }
};

inline Ip any_ip(Numbers& numbers, IpVersion version) {
  Ip ip;
  ip.version = version;
  numbers.fill(ip.traffic_class);
  numbers.fill(ip.hop_limit);
  if (version == IpVersion::v4) {
    ip.dont_fragment = numbers.flip();
    numbers.fill(ip.identification);
    ip.source = mapped(10, 0, 0, static_cast<std::uint8_t>(1 + numbers.below(250)));
    ip.destination = mapped(10, 0, 1, static_cast<std::uint8_t>(1 + numbers.below(250)));
  } else {
    ip.flow_label = numbers.below(1 << 20);
    for (Gid* gid : {&ip.source, &ip.destination}) {
      for (std::byte& byte : *gid) byte = static_cast<std::byte>(numbers.next());
      (*gid)[0] = std::byte{0x20};  // a global unicast address
    }
  }
  return ip;
}

/// A packet of this opcode with all its fields at random, and a payload of up to `most` bytes if it may have one.
inline AnyPacket any_packet(Numbers& numbers, Opcode opcode, IpVersion version, std::uint32_t most = kLargestMtu) {
  const OpcodeInfo& row = info(opcode);
  AnyPacket any;
  Packet& packet = any.packet;
  packet.ip = any_ip(numbers, version);
  packet.udp.source_port = static_cast<std::uint16_t>(0xc000 | numbers.below(1 << 14));
  packet.udp.checksummed = numbers.flip();
  if (row.payload == Payload::eight_bytes) any.payload.resize(8);
  if (row.payload == Payload::any) any.payload.resize(numbers.below(most + 1));
  for (std::byte& byte : any.payload) byte = static_cast<std::byte>(numbers.next());

  Bth& bth = packet.bth;
  bth.opcode = opcode;
  bth.solicited = numbers.flip();
  bth.migrated = numbers.flip();
  bth.pad = pad_after(any.payload.size());
  numbers.fill(bth.pkey);
  bth.fecn = numbers.flip();
  bth.becn = numbers.flip();
  bth.dest_qp = numbers.below(1 << 24);
  bth.ack_request = numbers.flip();
  bth.psn = Psn(numbers.below(1 << 24));
  if (row.has(kDeth)) {
    numbers.fill(packet.deth.qkey);
    packet.deth.source_qp = numbers.below(1 << 24);
  }
  if (row.has(kFeth))
    packet.feth = {static_cast<std::uint8_t>(numbers.below(16)), static_cast<std::uint8_t>(numbers.below(4))};
  if (row.has(kReth)) {
    numbers.fill(packet.reth.address);
    numbers.fill(packet.reth.rkey);
    numbers.fill(packet.reth.length);
  }
  if (row.has(kAtomicEth)) {
    numbers.fill(packet.atomic.address);
    numbers.fill(packet.atomic.rkey);
    numbers.fill(packet.atomic.swap_or_add);
    numbers.fill(packet.atomic.compare);
  }
  if (row.has(kAeth)) {
    packet.aeth.syndrome = Syndrome(static_cast<std::uint8_t>(numbers.next()));
    packet.aeth.msn = numbers.below(1 << 24);
  }
  if (row.has(kAtomicAckEth)) numbers.fill(packet.atomic_ack.original);
  if (row.has(kImmDt)) numbers.fill(packet.immediate.data);
  if (row.has(kIeth)) numbers.fill(packet.invalidate.rkey);
  return any;
}

/// Writes a right ICRC, and for IPv4 a right header checksum, into a packet that was changed.
inline void seal(std::span<std::byte> bytes) {
  const IpVersion version = std::to_integer<unsigned>(bytes[0] >> 4) == 4 ? IpVersion::v4 : IpVersion::v6;
  const std::size_t headers = (version == IpVersion::v4 ? Ip::kV4Bytes : Ip::kV6Bytes) + Udp::kBytes + Bth::kBytes;
  if (version == IpVersion::v4) {
    bytes[10] = bytes[11] = std::byte{0};
    InternetChecksum checksum;
    checksum.add(bytes.first(Ip::kV4Bytes));
    bytes[10] = static_cast<std::byte>(checksum.value() >> 8);
    bytes[11] = static_cast<std::byte>(checksum.value());
  }
  Icrc icrc(version, bytes);
  icrc.add(bytes.subspan(headers, bytes.size() - headers - Icrc::kBytes));
  icrc.write(bytes.data() + bytes.size() - Icrc::kBytes);
}

}  // namespace verbena::engine::wire
