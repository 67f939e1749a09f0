// SPDX-License-Identifier: Apache-2.0 OR MIT
// The control of a measurement: the same short work before and after it. A machine that changed meanwhile makes the run
// void, and it is repeated.
#pragma once

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include "blocks.hpp"

namespace bench {

/// Two threads hand one cache line to and fro: nanoseconds of a round trip, the median of many short samples.
inline double cache_line_round_trip() {
  constexpr int kSamples = 401, kTrips = 200;
  std::atomic<int> turn{0};
  std::thread other([&turn] {
    for (int trip = 0; trip < kSamples * kTrips; ++trip) {
      while (turn.load(std::memory_order_acquire) != 1) {
      }
      turn.store(0, std::memory_order_release);
    }
  });
  std::vector<std::int64_t> samples;
  for (int sample = 0; sample < kSamples; ++sample) {
    const std::int64_t start = now_ns();
    for (int trip = 0; trip < kTrips; ++trip) {
      turn.store(1, std::memory_order_release);
      while (turn.load(std::memory_order_acquire) != 0) {
      }
    }
    samples.push_back(now_ns() - start);
  }
  other.join();
  return median(std::move(samples)) / kTrips;
}

/// Where there is one processor: a system call that does nothing.
inline double empty_call() {
  constexpr int kSamples = 101, kCalls = 100;
  std::vector<std::int64_t> samples;
  for (int sample = 0; sample < kSamples; ++sample) {
    const std::int64_t start = now_ns();
    for (int call = 0; call < kCalls; ++call) ::syscall(SYS_getppid);
    samples.push_back(now_ns() - start);
  }
  return median(std::move(samples)) / kCalls;
}

/// Runs `measure` between two readings of the control, at most `kTries` times, until the control has held. Returns what
/// `measure` returned, or 4 when the machine never kept still.
template <class Measure>
int under_control(Measure measure) {
  constexpr int kTries = 3, kVoid = 4;
  constexpr double kMayMove = 0.2;
  const bool one = std::thread::hardware_concurrency() < 2;
  const char* const what = one ? "an empty system call" : "a cache line to and fro";
  for (int attempt = 1; attempt <= kTries; ++attempt) {
    const double before = one ? empty_call() : cache_line_round_trip();
    const int result = measure();
    const double after = one ? empty_call() : cache_line_round_trip();
    const bool held = std::fabs(after - before) <= kMayMove * before;
    std::printf("control (%s): %.1f ns before, %.1f ns after%s\n", what, before, after,
                held ? "" : ": moved by more than 20%, the run is VOID");
    if (held) return result;
  }
  return kVoid;
}

}  // namespace bench
