// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <infiniband/verbs.h>

#include "engine/queues/ring.hpp"

namespace verbena::engine::queues {

/// A receive as it was posted.
struct ReceiveWork {
  std::uint64_t wr_id = 0;
  std::uint16_t sges = 0;
};

/// The receive queue of a queue pair, or a shared one.
class ReceiveQueue {
public:
  ReceiveQueue(std::uint32_t depth, std::uint32_t most_sges)
      : works(depth),
        most_sges_(most_sges),
        sges_(std::make_unique_for_overwrite<ibv_sge[]>(works.slots() * most_sges)) {}

  Ring<ReceiveWork> works;

  std::uint32_t most_sges() const noexcept { return most_sges_; }
  std::span<ibv_sge> sges_of(std::uint64_t place) noexcept {
    return {sges_.get() + works.index(place) * most_sges_, most_sges_};
  }

private:
  std::uint32_t most_sges_;
  std::unique_ptr<ibv_sge[]> sges_;
};

/// A shared receive queue: it says when few receives are left.
struct SharedReceiveQueue {
  ReceiveQueue queue;
  std::uint32_t limit = 0;  ///< fewer than so many raise IBV_EVENT_SRQ_LIMIT_REACHED, once; 0: not armed
  bool failed = false;      ///< raised IBV_EVENT_SRQ_ERR
  void* user = nullptr;     ///< the front's object
};

}  // namespace verbena::engine::queues
