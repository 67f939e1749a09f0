// SPDX-License-Identifier: Apache-2.0 OR MIT
// Numbers and shapes of the kernel's interface that the C library's headers do not have, and whose own headers do not
// get along with those or with C++.
#pragma once

#include <cstdint>

namespace verbena::engine::fabric {

// linux include/uapi/linux/in6.h
inline constexpr int kIpv6FlowInfo = 11;
inline constexpr int kIpv6MulticastAll = 29;
inline constexpr int kIpv6FlowInfoSend = 33;
inline constexpr int kIpv6AutoFlowLabel = 70;

/// What a packet socket writes in front of a frame. Source: linux include/uapi/linux/virtio_net.h virtio_net_hdr;
/// numbers in the host's order (net/packet/af_packet.c packet_rcv_vnet).
struct FrameHead {
  static constexpr std::uint8_t kNeedsChecksum = 1;
  static constexpr std::uint8_t kOnePacket = 0;
  static constexpr std::uint8_t kUdpSegments = 5;  // since linux 6.2; before, recvmsg fails with EINVAL

  std::uint8_t flags;
  std::uint8_t segmented;
  std::uint16_t head_bytes;
  std::uint16_t segment;
  std::uint16_t checksum_from;
  std::uint16_t checksum_at;
};
static_assert(sizeof(FrameHead) == 10);

}  // namespace verbena::engine::fabric
