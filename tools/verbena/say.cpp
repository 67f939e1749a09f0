// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "say.hpp"

#include <algorithm>
#include <cstdio>

#include "report/escape.hpp"

namespace cli {

std::string plain(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find_first_of("\n\t"), text.size());
    out += conform::escape_terminal(text.substr(0, end));
    if (end < text.size()) out += text[end];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void say(std::string_view text) {
  const std::string clean = plain(text);
  // main() sees to what cannot be written.
  static_cast<void>(std::fwrite(clean.data(), 1, clean.size(), stdout));
}

}  // namespace cli
