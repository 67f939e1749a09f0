// SPDX-License-Identifier: Apache-2.0 OR MIT
// From what the kernel gave to what the adapter takes: parted where the kernel had joined, judged, and joined again
// where packets of a message follow each other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "engine/fabric/flow_cache.hpp"
#include "engine/fabric/udp_counters.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/wire/parse.hpp"

namespace verbena::engine::fabric {

/// Packets of one flow that the kernel gave in one piece, or one.
struct UdpArrival {
  wire::Ip ip;  ///< the first one's; the identifications of those behind count up, as linux inet_gso_segment has it
  wire::Udp udp;
  std::span<std::byte> data;  ///< behind UDP; must stay until finish()
  std::size_t segment = 0;    ///< bytes of each packet but the last; 0: it is one
  bool seen = false;          ///< the identification was read, and is not just what is to be expected
};

class UdpArrivals {
public:
  UdpArrivals(transport::Adapter& adapter, UdpCounters& counters) noexcept : adapter_(adapter), counters_(counters) {
    train_.packets = 0;
  }

  /// Judges them, and hands over what is whole, now or at the latest in finish(). True where an identification was
  /// another than expected and had to be worked out: the sender doesn't count as this fabric does.
  bool take(const UdpArrival& arrival);
  /// Hands over what is left. After each lot of take().
  void finish();

private:
  static constexpr std::size_t kMostPackets = 256;

  std::optional<wire::Received> judge(const UdpArrival& arrival, std::span<std::byte> data,
                                      std::uint16_t identification, bool& mended) noexcept;
  bool follows(const wire::Received& received) const noexcept;
  void add(const wire::Received& received);

  transport::Adapter& adapter_;
  UdpCounters& counters_;
  FlowCache flows_;
  transport::Train train_;
  std::array<memory::Piece, kMostPackets> pieces_;
  wire::RefusalCounts first_tries_;
};

}  // namespace verbena::engine::fabric
