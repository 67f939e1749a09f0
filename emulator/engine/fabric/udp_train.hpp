// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/fabric/flow_cache.hpp"
#include "engine/transport/train.hpp"

namespace verbena::engine::fabric {

/// Packets that go to the kernel in one piece, without their IP and UDP: it parts them after every `segment` bytes and
/// counts their identification up from 0.
struct Segments {
  std::span<const std::byte> data;
  std::size_t segment = 0;  ///< bytes of each but the last, which has no more
  std::uint32_t packets = 0;
};

/// A train as what a UDP socket takes. The payload is copied once, and the ICRC is that of the copy: what a program
/// changes meanwhile is sent as it was or as it is, and never damaged.
class UdpTrain {
public:
  /// As much as UDP over IPv4 takes.
  static constexpr std::size_t kMostBytes = 0xffff - wire::Ip::kV4Bytes - wire::Udp::kBytes;
  /// Linux include/linux/udp.h UDP_MAX_SEGMENTS was 64 before it became 128.
  static constexpr std::uint32_t kMostSegments = 64;

  /// `udp` is what the socket will write.
  UdpTrain(const transport::Train& train, const wire::Udp& udp, FlowCache& flows) noexcept
      : train_(train), udp_(udp), flows_(flows) {
    ip_ = train.head.ip;
    ip_.dont_fragment = true;
    ip_.identification = 0;
  }

  bool done() const noexcept { return index_ == train_.packets; }
  /// False where it is no train that can be written.
  bool well_formed() const noexcept;
  /// Writes the next packets of one size, as many as there are, as `room` holds and as `most` says. At least one where
  /// `room` holds that.
  Segments next(std::span<std::byte> room, std::uint32_t most) noexcept;

private:
  std::uint64_t payload_of(std::uint32_t index) const noexcept;
  std::size_t bytes_of(std::uint32_t index) const noexcept;
  void write(std::uint32_t index, std::uint16_t identification, std::span<std::byte> to) noexcept;
  void copy_payload(std::byte* to, std::uint64_t bytes) noexcept;

  const transport::Train& train_;
  wire::Ip ip_;
  wire::Udp udp_;
  FlowCache& flows_;
  std::uint32_t index_ = 0;
  // Where its payload goes on.
  std::size_t piece_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace verbena::engine::fabric
