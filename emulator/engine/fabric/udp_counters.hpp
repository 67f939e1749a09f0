// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>

#include "engine/wire/refusal.hpp"

namespace verbena::engine::fabric {

/// How often the kernel refused to send, by errno. Those of the first eight kinds; more are added to the last.
class SendFailures {
public:
  struct Kind {
    int number = 0;
    std::uint64_t count = 0;
  };
  void add(int number) noexcept {
    for (Kind& kind : kinds_) {
      if (kind.count == 0) kind.number = number;
      if (kind.number == number || &kind == &kinds_.back()) {
        ++kind.count;
        return;
      }
    }
  }
  std::uint64_t of(int number) const noexcept {
    for (const Kind& kind : kinds_) {
      if (kind.number == number) return kind.count;
    }
    return 0;
  }
  std::uint64_t all() const noexcept {
    std::uint64_t sum = 0;
    for (const Kind& kind : kinds_) sum += kind.count;
    return sum;
  }
  const std::array<Kind, 8>& kinds() const noexcept { return kinds_; }

private:
  std::array<Kind, 8> kinds_{};
};

/// What a port did and saw.
struct UdpCounters {
  std::uint64_t packets_out = 0;
  std::uint64_t calls_out = 0;  ///< of the kernel, for those packets
  std::uint64_t packets_in = 0;  ///< that were whole
  std::uint64_t joined_in = 0;   ///< of them, those that came as part of a train that the kernel did not take apart
  std::uint64_t trains_in = 0;   ///< what they were handed over as
  std::uint64_t mended = 0;  ///< their identification, which this fabric would not have written, came out of their ICRC
  std::uint64_t asked_to_wait = 0;  ///< requests that there was no room for
  std::uint64_t answers_dropped = 0;  ///< for which there was no room, and none where they could have waited
  std::uint64_t not_splittable = 0;  ///< several packets in one frame, and the kernel did not say where they part
  std::uint64_t other_links = 0;  ///< frames of links whose head is not known
  wire::RefusalCounts refused;
  SendFailures failures;
};

}  // namespace verbena::engine::fabric
