// SPDX-License-Identifier: Apache-2.0 OR MIT
// From what the kernel gave to what the adapter takes: parted where the kernel had joined, judged, and joined again
// where packets of a message follow each other.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/fabric/flow_cache.hpp"
#include "engine/fabric/udp_counters.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/wire/parse.hpp"

namespace verbena::engine::fabric {

/// Packets of one flow that the kernel gave in one piece, or one.
struct UdpArrival {
  wire::Ip ip;  ///< the first one's
  wire::Udp udp;
  std::span<std::byte> data;  ///< behind UDP; must stay until finish()
  std::size_t segment = 0;    ///< bytes of each packet but the last; 0: it is one
  bool seen = false;          ///< the first one's identification was read; that of those behind is not to be seen
};

class UdpArrivals {
public:
  UdpArrivals(transport::Adapter& adapter, UdpCounters& counters) noexcept : adapter_(adapter), counters_(counters) {
    train_.packets = 0;
  }

  /// This fabric's identifications are below that: they begin with 0 in each message of up to so many segments. But
  /// what arrives may be a part of one, or several joined: links take apart and receiving hosts join as it suits them
  /// (linux net/ipv4/udp_offload.c udp_gro_receive), so that the first that is seen is any of them.
  static constexpr std::uint16_t kOwn = 64;

  /// Judges them, and hands over what is whole, now or at the latest in finish(). True where an identification was
  /// worked out that this fabric doesn't write: the sender is of another make.
  bool take(const UdpArrival& arrival);
  /// Hands over what is left. After each lot of take().
  void finish();

private:
  static constexpr std::size_t kMostPackets = 256;

  /// What a sender's next packet is thought to have.
  struct Counting {
    wire::Gid source{};
    std::uint16_t port = 0;
    std::uint16_t next = 0;
    bool goes_on = false;  ///< its messages come in parts
  };
  Counting& counting(const UdpArrival& arrival) noexcept;
  /// Whole: what it says is in `parsed_`. `hidden`: the identification is what it is thought to be, or another.
  bool judge(const UdpArrival& arrival, std::span<std::byte> data, std::uint16_t& identification, bool hidden) noexcept;
  bool follows(const wire::Received& received) const noexcept;
  void add(const wire::Received& received);

  transport::Adapter& adapter_;
  UdpCounters& counters_;
  FlowCache flows_;
  std::array<Counting, 16> counting_;
  transport::Train train_;
  std::array<memory::Piece, kMostPackets> pieces_;
  wire::Parsed parsed_;  ///< kept here, since it is large and made for each packet
  wire::RefusalCounts first_tries_;
};

}  // namespace verbena::engine::fabric
