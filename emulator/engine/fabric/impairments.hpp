// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <chrono>
#include <cstdint>

namespace verbena::engine::fabric {

/// What a bad wire does to a packet. Chances are of a million, each drawn for itself.
struct Impairments {
  std::uint32_t lost = 0;
  std::uint32_t answers_lost = 0;  ///< of those that answer a request, where that is more than `lost`
  std::uint32_t doubled = 0;
  std::uint32_t late = 0;       ///< comes after as many as `behind` that were sent later
  std::uint32_t behind = 4;
  std::uint32_t corrupted = 0;  ///< one bit of it is another
  std::uint32_t delayed = 1'000'000;  ///< by `delay`
  std::chrono::nanoseconds delay{};
};

/// Is the wire bad at all?
inline bool any(const Impairments& wire) noexcept {
  return wire.lost > 0 || wire.answers_lost > 0 || wire.doubled > 0 || wire.late > 0 || wire.corrupted > 0 ||
         wire.delay.count() > 0;
}

inline constexpr std::uint32_t kOfMillion = 1'000'000;

}  // namespace verbena::engine::fabric
