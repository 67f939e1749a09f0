// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "engine/fabric/flow_cache.hpp"
#include "engine/fabric/udp_address.hpp"
#include "engine/fabric/udp_counters.hpp"
#include "engine/fabric/udp_train.hpp"
#include "engine/transport/train.hpp"

namespace verbena::engine::fabric {

/// Gives trains to the kernel, and keeps what that has no room for, in order and up to a bound.
class UdpSender {
public:
  UdpSender(UdpCounters& counters, bool segmentation);

  /// Through that socket, which sends from `port`. What the kernel refuses for good is lost, and counted. False where
  /// the train has to wait, of which nothing was sent then; an answer is never told so.
  bool send(int socket, std::uint16_t port, unsigned scope, const transport::Train& train) noexcept;
  /// Tries again what waits; true where none is left.
  bool flush() noexcept;
  bool waiting() const noexcept { return !waiting_.empty(); }
  /// The socket that the first of what waits is for.
  int blocked_socket() const noexcept { return waiting_.front().socket; }
  /// What waits for this socket is lost.
  void forget(int socket) noexcept;

private:
  static constexpr std::size_t kMostMessages = 4;
  static constexpr std::size_t kMostWaiting = std::size_t{1} << 20;  // bytes
  static constexpr std::size_t kRoom = std::size_t{128} << 10;

  /// What the kernel is told of a message besides its data.
  struct Marks {
    std::size_t segment = 0;  ///< 0: one packet
    std::uint8_t traffic_class = 0;
    std::uint8_t hop_limit = 0;
    bool group = false;
  };
  struct Message {
    SocketAddress to;
    Marks marks;
    std::span<std::byte> data;
    std::uint32_t packets = 0;
  };
  struct Waiting {
    int socket = -1;
    Message message;
    std::vector<std::byte> data;
  };

  std::size_t pass(int socket, std::span<Message> messages) noexcept;
  void keep(int socket, const Message& message, bool answer) noexcept;

  UdpCounters& counters_;
  std::uint32_t most_segments_;
  FlowCache flows_;
  std::unique_ptr<std::byte[]> room_;
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;
};

}  // namespace verbena::engine::fabric
