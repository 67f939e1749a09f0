// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/completions.hpp"

#include <thread>

namespace conform {

namespace {

using Clock = std::chrono::steady_clock;

/// Where no processor is free for the driver's own threads, a poll that never sleeps keeps them waiting.
void breathe(unsigned round) {
  if (round < 64) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

std::optional<ibv_wc> poll_until(Case& c, ibv_cq* cq, Clock::time_point end) {
  for (unsigned round = 0;; ++round) {
    ibv_wc wc{};
    const int count = c.way().poll(cq, 1, &wc);
    if (count == 1) return wc;
    if (count != 0) {
      c.holds(false, Seen::refused, "ibv_poll_cq");
      return std::nullopt;
    }
    if (Clock::now() >= end) return std::nullopt;
    breathe(round);
  }
}

}  // namespace

std::optional<ibv_wc> next(Case& c, ibv_cq* cq) {
  c.needs_data();
  return poll_until(c, cq, Clock::now() + c.ground().completion_within);
}

std::optional<ibv_wc> next_within(Case& c, ibv_cq* cq, std::chrono::milliseconds span) {
  c.needs_data();
  return poll_until(c, cq, Clock::now() + span);
}

std::vector<ibv_wc> next(Case& c, ibv_cq* cq, std::size_t count) {
  std::vector<ibv_wc> found;
  while (found.size() < count) {
    const std::optional<ibv_wc> wc = next(c, cq);
    if (!wc) break;
    found.push_back(*wc);
  }
  return found;
}

bool quiet(Case& c, ibv_cq* cq, std::chrono::milliseconds span) {
  return !poll_until(c, cq, Clock::now() + span).has_value();
}

}  // namespace conform
