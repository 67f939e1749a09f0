// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace verbena {

/// What a device object did so far; pulled, never pushed.
struct CountersSnapshot {
  std::uint64_t created = 0;          ///< objects made
  std::uint64_t refused = 0;          ///< creations refused for good
  std::uint64_t adjusted = 0;         ///< grants with at least one adjustment
  std::uint64_t ladder_steps = 0;     ///< tries beyond the first
  std::uint64_t transitions = 0;      ///< QP state changes made
  std::uint64_t transitions_refused = 0;
  std::uint64_t destroy_failures = 0; ///< destroys that the driver refused; each also went to the log sink
  std::uint64_t probes = 0;
  std::uint64_t probe_cache_hits = 0;

  friend bool operator==(const CountersSnapshot&, const CountersSnapshot&) = default;
};

}  // namespace verbena
#pragma GCC visibility pop
