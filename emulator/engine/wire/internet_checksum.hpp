// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace verbena::engine::wire {

/// The checksum of IPv4 headers and UDP: the ones' complement sum of 16-bit words (RFC 1071), over pieces of any
/// length.
class InternetChecksum {
public:
  void add(std::span<const std::byte> bytes) noexcept;
  void add(std::uint16_t word) noexcept { sum_ += word; }

  /// As it is written into a header. A sum over bytes that hold a right checksum is 0.
  std::uint16_t value() const noexcept;

private:
  std::uint64_t sum_ = 0;
  bool odd_ = false;  ///< the next byte is the low half of a word
};

}  // namespace verbena::engine::wire
