// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a packet costs before and after any fabric: the ICRC by itself, and writing and reading a whole packet.
#include <benchmark/benchmark.h>

#include <array>
#include <vector>

#include "engine/wire/encode.hpp"
#include "engine/wire/parse.hpp"

namespace {

using namespace verbena::engine::wire;

Packet rc_packet(Opcode opcode, IpVersion version) {
  Packet packet;
  packet.ip.version = version;
  packet.ip.source = mapped(10, 0, 0, 1);
  packet.ip.destination = mapped(10, 0, 0, 2);
  packet.bth.opcode = opcode;
  packet.bth.dest_qp = 17;
  return packet;
}

void bytes_per_second(benchmark::State& state, std::size_t bytes) {
  state.SetBytesProcessed(static_cast<std::int64_t>(bytes) * state.iterations());
}

/// Headers of IPv4 and a payload of `range(0)` bytes, which is what is counted as bytes.
void icrc(benchmark::State& state) {
  const std::vector<std::byte> payload(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
  std::array<std::byte, kMostHeadBytes> headers{};
  for (auto iteration : state) {
    static_cast<void>(iteration);
    Icrc crc(IpVersion::v4, headers);
    crc.add(payload);
    benchmark::DoNotOptimize(crc.value());
  }
  bytes_per_second(state, payload.size());
}
BENCHMARK(icrc)->Arg(0)->Arg(64)->Arg(1024)->Arg(kLargestMtu);

void encode_send(benchmark::State& state) {
  const Packet packet = rc_packet(Opcode::rc_send_only, IpVersion::v4);
  const std::vector<std::byte> payload(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
  std::array<std::byte, kMostPacketBytes> out;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    benchmark::DoNotOptimize(encode(packet, payload, out));
    benchmark::ClobberMemory();
  }
  bytes_per_second(state, payload.size());
}
BENCHMARK(encode_send)->Arg(64)->Arg(1024)->Arg(kLargestMtu);

void parse_send(benchmark::State& state) {
  const std::vector<std::byte> payload(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
  std::vector<std::byte> bytes(kMostPacketBytes);
  bytes.resize(*encode(rc_packet(Opcode::rc_send_only, IpVersion::v4), payload, bytes));
  RefusalCounts counts;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    benchmark::DoNotOptimize(parse(bytes, counts));
  }
  if (counts.all() != 0) state.SkipWithError("the packet was refused");
  bytes_per_second(state, payload.size());
}
BENCHMARK(parse_send)->Arg(64)->Arg(1024)->Arg(kLargestMtu);

void encode_and_parse(benchmark::State& state, IpVersion version) {
  Packet packet = rc_packet(Opcode::rc_send_only, version);
  const std::vector<std::byte> payload(static_cast<std::size_t>(state.range(0)), std::byte{0x5a});
  std::array<std::byte, kMostPacketBytes> out;
  RefusalCounts counts;
  for (auto iteration : state) {
    static_cast<void>(iteration);
    ++packet.bth.psn;
    const auto size = encode(packet, payload, out);
    benchmark::DoNotOptimize(parse(std::span(out).first(*size), counts));
  }
  if (counts.all() != 0) state.SkipWithError("a packet was refused");
  bytes_per_second(state, payload.size());
}
BENCHMARK_CAPTURE(encode_and_parse, ipv4, IpVersion::v4)->Arg(64)->Arg(1024)->Arg(kLargestMtu);
BENCHMARK_CAPTURE(encode_and_parse, ipv6, IpVersion::v6)->Arg(64)->Arg(1024)->Arg(kLargestMtu);

}  // namespace
