// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "peer/packet.hpp"
#include "verbena/result.hpp"

namespace conform::peer {

/// A descriptor, closed at the end of its scope.
class Socket {
public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();

  int fd() const noexcept { return fd_; }
  void close() noexcept;

private:
  int fd_ = -1;
};

struct HostPort {
  std::string host;  ///< empty: none was named
  std::uint16_t port = 0;
};
/// `HOST`, `HOST:PORT`, `:PORT`, `[IPv6]:PORT`; empty when it is none of these. A text without a port has `without`.
std::optional<HostPort> host_port(std::string_view text, std::uint16_t without);

/// Connects by TCP. Errors: io, with where and why.
verbena::Result<Socket> connect_to(const HostPort& where, std::chrono::milliseconds within);
/// Listens; without a host on the loopback address alone. Errors: io, with where and why.
verbena::Result<Socket> listen_on(const HostPort& where);
/// The next client, as ready as what connect_to() gives; without a descriptor when it went away again.
Socket accept_on(int listener);
/// `ADDRESS:PORT` of this end (`peer` false) or of the other.
std::string address_of(int fd, bool peer);

/// Sends the packets as one frame: their length, and their bytes. False when the connection is lost.
bool send_frame(int fd, const Packet& first, const Packet& second = {});
/// The next frame; empty when the connection is lost, when the frame is longer than `most`, or, with a `within` that is
/// not negative, when none came in time.
std::optional<Packet> receive_frame(int fd, std::size_t most,
                                    std::chrono::milliseconds within = std::chrono::milliseconds(-1));

/// The longest frame of a connection that was greeted, and of a greeting.
inline constexpr std::size_t kLongestFrame = std::size_t{768} << 20;
inline constexpr std::size_t kLongestHello = std::size_t{64} << 10;

}  // namespace conform::peer
