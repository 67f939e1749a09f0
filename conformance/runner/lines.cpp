// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/lines.hpp"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace conform {

std::optional<std::string> LineReader::take() {
  const std::size_t end = held_.find('\n');
  if (end == std::string::npos) return std::nullopt;
  std::string line = held_.substr(0, end);
  held_.erase(0, end + 1);
  return line;
}

bool LineReader::fill() {
  char piece[16384];
  for (;;) {
    const ssize_t got = read(fd_, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    held_.append(piece, static_cast<std::size_t>(got));
    return true;
  }
}

std::optional<std::string> LineReader::next() {
  for (;;) {
    if (auto line = take()) return line;
    if (!fill()) return std::nullopt;
  }
}

bool write_line(int fd, std::string_view line) {
  std::string text(line);
  text += '\n';
  std::string_view left = text;
  while (!left.empty()) {
    // A peer that is gone is no signal: each of these descriptors is a socket.
    const ssize_t wrote = send(fd, left.data(), left.size(), MSG_NOSIGNAL);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    left.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

}  // namespace conform
