// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <tl/expected.hpp>

#include "engine/wire/mtu.hpp"

namespace verbena::engine::fabric {

/// Why something could not be opened. The text says what is missing and what to do about it.
struct UdpError {
  int number = 0;  ///< errno
  std::string text;
};
using UdpResult = tl::expected<void, UdpError>;

/// The ICRC covers the IPv4 identification, which a UDP socket hides; IPv6 has none.
enum class UdpWay : std::uint8_t {
  /// From who counts as this fabric does (0, and upwards within a train) through the UDP socket; from others through a
  /// packet socket, which shows the identification. Where packet sockets are not permitted, as `socket`.
  by_sender,
  /// All through the UDP socket. An identification that is another than thought is worked out of the ICRC, which then
  /// holds off one wrong packet of 2^16 less well: of 65536 that were damaged on the way one is taken for whole.
  socket,
  /// All through a packet socket, which needs CAP_NET_RAW.
  packets,
};

struct UdpSettings {
  UdpWay way = UdpWay::by_sender;
  std::uint32_t largest_mtu = 1024;  ///< path MTU that queue pairs may have: the link must have room for it
  bool segmentation = true;  ///< UDP_SEGMENT and UDP_GRO: without, each packet is a call of the kernel's
  /// What a batch is owed is sent by the next progress() and not before this one returns: who answers what came does so
  /// first. Whoever then calls no more keeps the other end waiting, until the queue pair is taken away.
  bool late_acknowledgements = false;
  std::size_t receive_bytes = std::size_t{8} << 20;  ///< wished for; the kernel gives less to the unprivileged
};

}  // namespace verbena::engine::fabric
