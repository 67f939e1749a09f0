// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>

#include "peer/packet.hpp"

namespace conform::peer {

/// Memory is compared with its last known copy in pieces of this many bytes, which divide a page of every host.
inline constexpr std::size_t kGrain = std::size_t{1} << 12;
/// The piece that holds the address.
constexpr std::uint64_t floor_of(std::uint64_t address) {
  return address / kGrain * kGrain;
}

/// What changed in memory, as it goes with a question or an answer: a count of runs, then each one's address, length
/// and bytes. To the byte: what lies beside a changed byte may be changing at the other end.
class Changes {
public:
  explicit Changes(Packet& out) : out_(out), place_(out.bytes().size()) { out_.put(std::uint32_t{0}); }
  Changes(const Changes&) = delete;
  Changes& operator=(const Changes&) = delete;
  ~Changes() { out_.put_at(place_, count_); }

  /// Adds each run in which `now` differs from `last`, and makes `last` the same as `now`.
  void add(std::uint64_t address, const std::uint8_t* now, std::uint8_t* last, std::size_t length);

private:
  Packet& out_;
  std::size_t place_;
  std::uint32_t count_ = 0;
};

}  // namespace conform::peer
