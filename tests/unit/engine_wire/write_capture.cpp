// SPDX-License-Identifier: Apache-2.0 OR MIT
// engine_wire_capture FILE PACKETS: writes a pcapng file of packets of every opcode, in turn over IPv4 and IPv6. They
// have Ethernet in front: of raw IP tshark sees some as PPP.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>

#include "engine/wire/bytes.hpp"
#include "engine/wire/capture.hpp"
#include "engine_wire/any_packet.hpp"

int main(int argc, char** argv) {
  using namespace verbena::engine::wire;
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FILE PACKETS\n", argv[0]);
    return 2;
  }
  const auto packets = std::strtoul(argv[2], nullptr, 10);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(argv[1], "wb"), std::fclose);
  if (!file) {
    std::perror(argv[1]);
    return 1;
  }
  const auto put = [&file](std::span<const std::byte> bytes) {
    return std::fwrite(bytes.data(), 1, bytes.size(), file.get()) == bytes.size();
  };
  bool written = put(capture_head(LinkType::ethernet));
  const std::vector<Opcode> opcodes = all_opcodes();
  Numbers numbers(2014);
  for (unsigned long index = 0; written && index < packets; ++index) {
    const Opcode opcode = opcodes[index / 2 % opcodes.size()];
    const IpVersion version = index % 2 == 0 ? IpVersion::v4 : IpVersion::v6;
    const std::vector<std::byte> bytes =
        any_packet(numbers, opcode, version, index % 7 == 0 ? kLargestMtu : 100).encoded();
    std::vector<std::byte> frame(12, std::byte{2});
    frame.resize(14);
    store(frame.data() + 12, static_cast<std::uint16_t>(version == IpVersion::v4 ? 0x0800 : 0x86dd));
    frame.insert(frame.end(), bytes.begin(), bytes.end());
    std::vector<std::byte> block(capture_bytes(frame.size()));
    written = !bytes.empty() &&
              put(std::span(block).first(write_captured(std::chrono::microseconds(index), frame, "", block)));
  }
  if (!written || std::fflush(file.get()) != 0) {
    std::fprintf(stderr, "%s: could not be written\n", argv[1]);
    return 1;
  }
  return 0;
}
