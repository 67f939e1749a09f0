// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <algorithm>
#include <chrono>

namespace conform::peer {

/// How often something costly is done by one who is asked again and again: not within a millisecond, nor for more than
/// a tenth of the time.
class Pace {
public:
  using Clock = std::chrono::steady_clock;

  bool due() const { return Clock::now() >= next_; }
  /// It was begun then, and is done now.
  void done(Clock::time_point begun) {
    const Clock::time_point now = Clock::now();
    next_ = now + std::max<Clock::duration>(std::chrono::milliseconds(1), 10 * (now - begun));
  }

private:
  Clock::time_point next_{};
};

}  // namespace conform::peer
