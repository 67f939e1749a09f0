// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <string>

#include "peer/mirror.hpp"
#include "peer/pace.hpp"
#include "peer/protocol.hpp"
#include "peer/socket.hpp"

namespace conform::peer {

/// The client's end of a connection: questions and answers, one at a time from any thread, each with what changed in
/// mirrored memory. After the first fault every answer is that the device is gone (EIO).
class Line {
public:
  explicit Line(Socket socket);

  /// The answer, read up to behind its errno, which is `error`.
  struct Answer {
    int error = 0;  ///< positive errno or 0; EIO where there was no answer
    Packet rest;
  };
  template <Plain... T>
  Answer ask(Call call, const T&... values) {
    Packet packet;
    (packet.put(values), ...);
    return ask(call, packet);
  }
  Answer ask(Call call, const Packet& values);

  /// Sends what this process wrote into mirrored memory and takes what the far device wrote.
  void sync();
  /// As sync(), where this process wrote something.
  void push();
  /// As sync(), at a pace: for what is asked again and again.
  void sync_at_leisure();

  /// Mirrors memory for as long as a region is over it. False, and nothing is done, where this process can't read it.
  bool hold(void* address, std::size_t length);
  void drop(void* address, std::size_t length);

  void disconnect();
  /// Another connection, of this process; nothing is mirrored over it yet.
  void connect_again(Socket socket);

  /// What went wrong on the way, the first time; empty: nothing. A connection that was lost meanwhile is noticed.
  std::string trouble();
  void fail(const std::string& text);

private:
  Answer ask_locked(Call call, const Packet& values);
  void fail_locked(const std::string& text);

  std::mutex mutex_;
  Socket socket_;
  pid_t owner_;  // a child that a case forks has no part in it
  Mirror mirror_;
  std::string trouble_;
  Pace pace_;
};

}  // namespace conform::peer
