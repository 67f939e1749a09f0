// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "peer/socket.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace conform::peer {

namespace {

using Clock = std::chrono::steady_clock;

verbena::Failure io_failure(std::string text, int error) {
  verbena::Error out{.kind = verbena::ErrorKind::io};
  out.errno_value = error;
  out.text = std::move(text);
  return verbena::Failure(std::move(out));
}

std::string text_of(const HostPort& where) {
  return where.host.find(':') != std::string::npos ? fmt::format("[{}]:{}", where.host, where.port)
                                                   : fmt::format("{}:{}", where.host, where.port);
}

struct Addresses {
  addrinfo* list = nullptr;
  Addresses() = default;
  Addresses(const Addresses&) = delete;
  Addresses& operator=(const Addresses&) = delete;
  ~Addresses() {
    if (list != nullptr) freeaddrinfo(list);
  }
};

/// An empty text, or why there is no such address.
std::string look_up(const HostPort& where, bool passive, Addresses& out) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0);
  const std::string port = std::to_string(where.port);
  const int error = getaddrinfo(where.host.c_str(), port.c_str(), &hints, &out.list);
  return error == 0 ? std::string() : fmt::format("no address is known of {}: {}", where.host, gai_strerror(error));
}

/// Answers are waited for, so nothing is held back to be sent together; and a host that is gone is noticed.
void tune(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  const int idle = 5, between = 2, probes = 5;
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between, sizeof between);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  const unsigned gone_ms = 15000;
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &gone_ms, sizeof gone_ms);
}

/// 0 or the errno of connecting.
int connect_within(int fd, const addrinfo& to, std::chrono::milliseconds within) {
  if (connect(fd, to.ai_addr, to.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd one{fd, POLLOUT, 0};
  if (poll(&one, 1, static_cast<int>(within.count())) <= 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

bool send_all(int fd, const std::uint8_t* from, std::size_t count) {
  while (count > 0) {
    const ssize_t sent = send(fd, from, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return false;
    from += sent;
    count -= static_cast<std::size_t>(sent);
  }
  return true;
}

bool receive_all(int fd, std::uint8_t* into, std::size_t count, std::optional<Clock::time_point> until) {
  while (count > 0) {
    if (until) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(*until - Clock::now());
      pollfd one{fd, POLLIN, 0};
      if (left.count() <= 0 || poll(&one, 1, static_cast<int>(left.count())) <= 0) return false;
    }
    const ssize_t got = recv(fd, into, count, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    into += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace

Socket::~Socket() {
  close();
}

void Socket::close() noexcept {
  if (fd_ >= 0) ::close(std::exchange(fd_, -1));
}

std::optional<HostPort> host_port(std::string_view text, std::uint16_t without) {
  HostPort out{.host = {}, .port = without};
  std::string_view port;
  bool has_port = false;
  if (text.starts_with('[')) {
    const auto end = text.find(']');
    if (end == std::string_view::npos || end == 1) return std::nullopt;
    out.host = text.substr(1, end - 1);
    const std::string_view rest = text.substr(end + 1);
    if (!rest.empty() && rest.front() != ':') return std::nullopt;
    has_port = !rest.empty();
    port = has_port ? rest.substr(1) : rest;
  } else if (const auto colon = text.find(':'); colon != std::string_view::npos && colon == text.rfind(':')) {
    out.host = text.substr(0, colon);
    has_port = true;
    port = text.substr(colon + 1);
  } else {
    out.host = text;  // a name, or an IPv6 address without a port
  }
  if (has_port) {
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
    if (error != std::errc() || end != port.data() + port.size()) return std::nullopt;
  }
  return out;
}

verbena::Result<Socket> connect_to(const HostPort& where, std::chrono::milliseconds within) {
  Addresses found;
  if (std::string wrong = look_up(where, false, found); !wrong.empty()) return io_failure(std::move(wrong), 0);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* one = found.list; one != nullptr; one = one->ai_next) {
    Socket socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, one->ai_protocol));
    if (socket.fd() < 0) continue;
    error = connect_within(socket.fd(), *one, within);
    if (error != 0) continue;
    // Blocking again: a question waits for its answer.
    fcntl(socket.fd(), F_SETFL, fcntl(socket.fd(), F_GETFL) & ~O_NONBLOCK);
    tune(socket.fd());
    return socket;
  }
  const char* hint = error == ECONNREFUSED ? "; is `verbena conform --serve` running there, on an address that this "
                                             "host reaches?"
                                           : "";
  return io_failure(fmt::format("no peer answers at {}: {}{}", text_of(where), std::strerror(error), hint), error);
}

verbena::Result<Socket> listen_on(const HostPort& where) {
  HostPort at = where;
  if (at.host.empty()) at.host = "127.0.0.1";
  Addresses found;
  if (std::string wrong = look_up(at, true, found); !wrong.empty()) return io_failure(std::move(wrong), 0);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* one = found.list; one != nullptr; one = one->ai_next) {
    Socket socket(::socket(one->ai_family, one->ai_socktype | SOCK_CLOEXEC, one->ai_protocol));
    if (socket.fd() < 0) continue;
    const int on = 1;
    setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(socket.fd(), one->ai_addr, one->ai_addrlen) == 0 && listen(socket.fd(), 64) == 0) return socket;
    error = errno;
  }
  return io_failure(fmt::format("{} cannot be served: {}", text_of(at), std::strerror(error)), error);
}

Socket accept_on(int listener) {
  Socket socket(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (socket.fd() >= 0) tune(socket.fd());
  return socket;
}

std::string address_of(int fd, bool peer) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  auto* const plain = reinterpret_cast<sockaddr*>(&address);
  if ((peer ? getpeername(fd, plain, &length) : getsockname(fd, plain, &length)) != 0) return "?";
  std::array<char, 256> host{};
  std::array<char, 32> port{};
  if (getnameinfo(plain, length, host.data(), host.size(), port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV) !=
      0)
    return "?";
  HostPort out;
  out.host = host.data();
  out.port = static_cast<std::uint16_t>(std::strtoul(port.data(), nullptr, 10));
  return text_of(out);
}

bool send_frame(int fd, const Packet& first, const Packet& second) {
  Packet whole;
  whole.put(static_cast<std::uint64_t>(first.bytes().size() + second.bytes().size()));
  whole.put_bytes(first.bytes().data(), first.bytes().size());
  whole.put_bytes(second.bytes().data(), second.bytes().size());
  return send_all(fd, whole.bytes().data(), whole.bytes().size());
}

std::optional<Packet> receive_frame(int fd, std::size_t most, std::chrono::milliseconds within) {
  std::optional<Clock::time_point> until;
  if (within.count() >= 0) until = Clock::now() + within;
  std::uint64_t length = 0;
  if (!receive_all(fd, reinterpret_cast<std::uint8_t*>(&length), sizeof length, until)) return std::nullopt;
  if (length > most) return std::nullopt;
  std::vector<std::uint8_t> bytes(length);
  if (!receive_all(fd, bytes.data(), bytes.size(), until)) return std::nullopt;
  return Packet(std::move(bytes));
}

}  // namespace conform::peer
