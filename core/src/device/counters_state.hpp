// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <atomic>
#include <cstdint>

#include "verbena/counters.hpp"

namespace verbena {

/// The numbers behind CountersSnapshot. Each is counted on its own: a snapshot taken while others work may be between
/// two of them.
struct CountersState {
  std::atomic<std::uint64_t> created{0}, refused{0}, adjusted{0}, ladder_steps{0}, transitions{0},
      transitions_refused{0}, destroy_failures{0}, probes{0}, probe_cache_hits{0};

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t n = 1) noexcept {
    counter.fetch_add(n, std::memory_order_relaxed);
  }
  CountersSnapshot snapshot() const noexcept {
    const auto read = [](const std::atomic<std::uint64_t>& counter) { return counter.load(std::memory_order_relaxed); };
    CountersSnapshot out;
    out.created = read(created);
    out.refused = read(refused);
    out.adjusted = read(adjusted);
    out.ladder_steps = read(ladder_steps);
    out.transitions = read(transitions);
    out.transitions_refused = read(transitions_refused);
    out.destroy_failures = read(destroy_failures);
    out.probes = read(probes);
    out.probe_cache_hits = read(probe_cache_hits);
    return out;
  }
};

}  // namespace verbena
