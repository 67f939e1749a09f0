// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>

#include "engine/transport/time.hpp"

namespace verbena::engine::transport {

/// Somebody besides the transports of NICs who takes what has come to them, and has deadlines. Whoever brings trains to
/// a NIC and serves its timers does it for these too, with the NIC locked.
class Served {
public:
  virtual ~Served() = default;
  /// Does what can be done now; false where that was nothing.
  virtual bool serve() = 0;
  /// When something will be due.
  virtual std::optional<Time> next() const noexcept = 0;
};

}  // namespace verbena::engine::transport
