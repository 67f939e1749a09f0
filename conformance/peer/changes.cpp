// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "peer/changes.hpp"

#include <cstring>

namespace conform::peer {

void Changes::add(std::uint64_t address, const std::uint8_t* now, std::uint8_t* last, std::size_t length) {
  if (std::memcmp(now, last, length) == 0) return;
  for (std::size_t at = 0; at < length;) {
    if (now[at] == last[at]) {
      ++at;
      continue;
    }
    std::size_t end = at + 1;
    while (end < length && now[end] != last[end]) ++end;
    out_.put(address + at);
    out_.put(static_cast<std::uint32_t>(end - at));
    out_.put_bytes(now + at, end - at);
    ++count_;
    at = end;
  }
  std::memcpy(last, now, length);
}

}  // namespace conform::peer
