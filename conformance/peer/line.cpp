// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "peer/line.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace conform::peer {

namespace {

/// More than any case needs that sees its bytes, and no more than goes over a network in a case's time.
constexpr std::size_t kMostMirrored = std::size_t{256} << 20;

}  // namespace

Line::Line(Socket socket) : socket_(std::move(socket)), owner_(getpid()) {}

Line::Answer Line::ask(Call call, const Packet& values) {
  if (getpid() != owner_) return {.error = EIO, .rest = {}};
  const std::lock_guard lock(mutex_);
  return ask_locked(call, values);
}

Line::Answer Line::ask_locked(Call call, const Packet& values) {
  if (!trouble_.empty()) return {.error = EIO, .rest = {}};
  const Pace::Clock::time_point begun = Pace::Clock::now();
  Packet head;
  head.put(call);
  if (waits(call)) {
    head.put(std::uint32_t{0});  // what was written goes with what is not asked as often
  } else {
    mirror_.changes(head);
  }
  if (!send_frame(socket_.fd(), head, values)) {
    fail_locked("the connection to the peer was lost");
    return {.error = EIO, .rest = {}};
  }
  std::optional<Packet> answer = receive_frame(socket_.fd(), kLongestFrame);
  if (!answer) {
    fail_locked("the connection to the peer was lost");
    return {.error = EIO, .rest = {}};
  }
  const bool read = mirror_.apply(*answer);
  Answer out;
  answer->get(out.error);
  if (!read || !answer->good()) {
    fail_locked("the peer gave an answer that cannot be read");
    return {.error = EIO, .rest = {}};
  }
  if (!waits(call)) pace_.done(begun);
  out.rest = std::move(*answer);
  return out;
}

void Line::sync() {
  if (getpid() != owner_) return;
  const std::lock_guard lock(mutex_);
  if (!mirror_.empty()) ask_locked(Call::sync, {});
}

void Line::push() {
  if (getpid() != owner_) return;
  const std::lock_guard lock(mutex_);
  if (mirror_.empty() || !trouble_.empty()) return;
  // What was found has to go on its way: the copy it was found by is up to date now.
  Packet head;
  head.put(Call::sync);
  if (!mirror_.changes(head)) return;
  std::optional<Packet> answer;
  if (send_frame(socket_.fd(), head)) answer = receive_frame(socket_.fd(), kLongestFrame);
  if (!answer || !mirror_.apply(*answer)) fail_locked("the connection to the peer was lost");
}

void Line::sync_at_leisure() {
  if (getpid() != owner_) return;
  const std::lock_guard lock(mutex_);
  if (!mirror_.empty() && pace_.due()) ask_locked(Call::sync, {});
}

bool Line::hold(void* address, std::size_t length) {
  if (length == 0 || getpid() != owner_) return false;
  const std::lock_guard lock(mutex_);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  if (length > kMostMirrored) {
    fail_locked(fmt::format("a region of {} bytes at the peer is more than goes over the connection", length));
    return false;
  }
  if (!mirror_.hold(at, length)) return false;
  Packet values;
  values.put(std::uint64_t{at});
  values.put(std::uint64_t{length});
  // Not with what this process wrote: the far end has no memory there yet.
  mirror_.drop(at, length);
  const Answer answer = ask_locked(Call::hold_memory, values);
  if (answer.error != 0) {
    fail_locked(fmt::format("the peer cannot have memory at {:#x}, where this process has it: {}", at,
                            std::strerror(answer.error)));
    return false;
  }
  return mirror_.hold(at, length);
}

void Line::drop(void* address, std::size_t length) {
  if (getpid() != owner_) return;
  const std::lock_guard lock(mutex_);
  const auto at = reinterpret_cast<std::uintptr_t>(address);
  mirror_.drop(at, length);
  Packet values;
  values.put(std::uint64_t{at});
  values.put(std::uint64_t{length});
  ask_locked(Call::drop_memory, values);
}

void Line::disconnect() {
  const std::lock_guard lock(mutex_);
  socket_.close();
  fail_locked("there is no connection to the peer");
}

void Line::connect_again(Socket socket) {
  const std::lock_guard lock(mutex_);
  socket_ = std::move(socket);
  owner_ = getpid();
  mirror_ = {};
  trouble_.clear();
}

std::string Line::trouble() {
  const std::lock_guard lock(mutex_);
  pollfd one{socket_.fd(), POLLRDHUP, 0};
  if (trouble_.empty() && poll(&one, 1, 0) > 0) fail_locked("the connection to the peer was lost");
  return trouble_;
}

void Line::fail(const std::string& text) {
  const std::lock_guard lock(mutex_);
  fail_locked(text);
}

void Line::fail_locked(const std::string& text) {
  if (trouble_.empty()) trouble_ = text;
}

}  // namespace conform::peer
