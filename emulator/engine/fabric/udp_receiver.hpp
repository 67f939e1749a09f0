// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "engine/fabric/udp_address.hpp"
#include "engine/fabric/udp_arrivals.hpp"

namespace verbena::engine::fabric {

/// Takes what has arrived at sockets, several messages a call. Its buffers are used again by each call.
class UdpReceiver {
public:
  static constexpr std::size_t kMostMessages = 16;

  UdpReceiver();

  /// Up to `most` messages that came to a UDP socket of that address; how many there were.
  std::size_t receive(int socket, std::size_t most);
  /// The same of a packet socket. `unreadable` are those that the kernel has no words for and threw away: joined
  /// datagrams before linux 6.2 (include/linux/virtio_net.h virtio_net_hdr_from_skb).
  std::size_t receive_frames(int socket, std::size_t most, std::uint64_t& unreadable);

  /// Of the messages of the last receive(), which were of `to`.
  UdpArrival arrival(std::size_t index, const wire::Gid& to) const noexcept;
  /// Of those of receive_frames(), from the link's head on.
  struct Frame {
    std::span<std::byte> bytes;     ///< from the IP header on
    std::size_t segment = 0;        ///< as UdpArrival has it
    bool checksum_pending = false;  ///< it was never worked out
    bool for_this_host = false;
    bool known_link = false;
    bool splittable = false;
  };
  Frame frame(std::size_t index) const noexcept;

private:
  // The largest IP packet, behind what a packet socket writes in front of it and the head of its link.
  static constexpr std::size_t kBytes = (std::size_t{64} << 10) + std::size_t{4} * 64;
  // Not a power of two, or the beginnings of all of them would share the same few lines of a cache.
  static constexpr std::size_t kStride = kBytes + std::size_t{5} * 64;

  std::size_t take(int socket, std::size_t most);
  std::span<std::byte> data(std::size_t index) const noexcept;

  struct Control {
    alignas(cmsghdr) std::array<std::byte, 192> bytes;
  };
  std::unique_ptr<std::byte[]> room_;
  std::array<mmsghdr, kMostMessages> heads_{};
  std::array<iovec, kMostMessages> pieces_{};
  std::array<Control, kMostMessages> controls_{};
  std::array<sockaddr_storage, kMostMessages> from_{};
  int failure_ = 0;  ///< errno of the last call, where it took nothing
  std::size_t expected_ = 1;  ///< messages; another call for nothing costs as much as one that gets something
};

}  // namespace verbena::engine::fabric
