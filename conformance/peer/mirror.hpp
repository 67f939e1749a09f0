// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>

#include "peer/changes.hpp"

namespace conform::peer {

/// The near side of memory that is registered at the far end, at the same addresses. Bodies read and write it as their
/// own; what they wrote goes with the next question, and what the far device wrote comes with an answer.
class Mirror {
public:
  /// Counts one more region over these addresses. False, and nothing is held, where this process can't read all of
  /// them: the far end then has none either, and its driver refuses them.
  bool hold(std::uint64_t address, std::size_t length);
  void drop(std::uint64_t address, std::size_t length);
  bool empty() const noexcept { return pieces_.empty(); }

  /// What this process wrote since it was last asked; false where that is nothing.
  bool changes(Packet& out);
  /// Takes what the far end's memory became. False for a packet that can't be read.
  bool apply(Packet& in);

private:
  struct Piece {
    unsigned users = 0;
    std::array<std::uint8_t, kGrain> last{};  // fresh memory of the far end is zero
  };
  std::map<std::uint64_t, Piece> pieces_;  // by address
};

}  // namespace conform::peer
