// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

namespace verbena::fitting {

/// The largest value in [low, high] for which `holds` is true, where it holds up to some value and not beyond. `low`
/// is taken to hold. O(log(high - low)) calls.
template <class Predicate>
std::uint64_t largest(std::uint64_t low, std::uint64_t high, Predicate&& holds) {
  if (low >= high || holds(high)) return low > high ? low : high;
  // Invariant: low holds, high does not.
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    if (holds(middle))
      low = middle;
    else
      high = middle;
  }
  return low;
}

}  // namespace verbena::fitting
