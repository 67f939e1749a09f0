// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace conform {

/// Lines of a pipe or a socket.
class LineReader {
public:
  explicit LineReader(int fd) : fd_(fd) {}

  /// Waits for the next whole line; empty at the end of input.
  std::optional<std::string> next();
  /// Reads what is there; false at the end of input. For a descriptor that poll() says is readable.
  bool fill();
  /// A whole line that was read already.
  std::optional<std::string> take();

private:
  int fd_;
  std::string held_;
};

/// The line and its newline, all of it; false when nobody reads any more.
bool write_line(int fd, std::string_view line);

}  // namespace conform
