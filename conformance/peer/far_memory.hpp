// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "peer/changes.hpp"

namespace conform::peer {

/// The far side: memory at the addresses that the client's memory has, so that no key or address needs translating.
class FarMemory {
public:
  explicit FarMemory(std::size_t page) : page_(page) {}
  FarMemory(const FarMemory&) = delete;
  FarMemory& operator=(const FarMemory&) = delete;
  ~FarMemory();

  /// Counts one more region over these addresses, and maps what isn't there. 0 or a positive errno: EEXIST where this
  /// process has something else at one of them.
  int hold(std::uint64_t address, std::size_t length);
  void drop(std::uint64_t address, std::size_t length);

  /// Writes what the client wrote. False for a packet that can't be read, or that writes elsewhere.
  bool apply(Packet& in);
  /// What the device wrote since it was last asked.
  void changes(Packet& out);

private:
  struct Piece {
    unsigned users = 0;
    std::array<std::uint8_t, kGrain> last{};
  };
  /// Maps the pages from the first to before the last that are not there yet.
  int map_pages(std::uint64_t first, std::uint64_t last);

  std::size_t page_;
  std::map<std::uint64_t, Piece> pieces_;  // by address
  std::map<std::uint64_t, unsigned> pages_;  // by address: pieces in them
};

}  // namespace conform::peer
