// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/wire/internet_checksum.hpp"

#include "engine/wire/bytes.hpp"

namespace verbena::engine::wire {

void InternetChecksum::add(std::span<const std::byte> bytes) noexcept {
  if (odd_ && !bytes.empty()) {
    sum_ += std::to_integer<std::uint64_t>(bytes.front());
    bytes = bytes.subspan(1);
    odd_ = false;
  }
  std::size_t at = 0;
  // 2^16 is 1 in ones' complement, so that words of any width may be added; 32 bits leave room for 2^32 of them.
  for (; at + 4 <= bytes.size(); at += 4) sum_ += load<std::uint32_t>(bytes.data() + at);
  for (; at + 2 <= bytes.size(); at += 2) sum_ += load<std::uint16_t>(bytes.data() + at);
  if (at < bytes.size()) {
    sum_ += std::to_integer<std::uint64_t>(bytes[at]) << 8;
    odd_ = true;
  }
}

std::uint16_t InternetChecksum::value() const noexcept {
  std::uint64_t sum = sum_;
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<std::uint16_t>(~sum & 0xffff);
}

}  // namespace verbena::engine::wire
