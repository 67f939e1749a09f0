// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <chrono>

namespace verbena::engine::transport {

/// Since a moment of the clock's own.
using Time = std::chrono::nanoseconds;

/// What the transport takes for time: the host's monotonic clock, or one that a test turns by hand.
class Clock {
public:
  virtual ~Clock() = default;
  virtual Time now() noexcept = 0;
};

}  // namespace verbena::engine::transport
