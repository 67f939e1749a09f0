// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

#include "engine/queues/ring.hpp"
#include "engine/queues/send_queue.hpp"

namespace verbena::engine::queues {

/// A completion as the ring keeps it.
struct Completion {
  ibv_wc wc{};
  std::uint64_t at = 0;  ///< nanoseconds of the NIC's clock
  SendQueue* queue = nullptr;      ///< whose slots before `frees_before` are free once this is polled
  std::uint64_t frees_before = 0;
};

/// A completion queue. It doesn't know who waits for it: add() says when an event is due.
class CompletionQueue {
public:
  explicit CompletionQueue(std::uint32_t depth) : ring_(depth) {}

  std::uint32_t depth() const noexcept { return ring_.depth(); }
  std::uint32_t size() const noexcept { return ring_.size(); }

  enum class Added : std::uint8_t {
    quietly,
    event,     ///< and an event is due
    overflow,  ///< not added: there was no room
  };
  /// `solicited`: of a receive whose sender asked for an event, or anything that failed.
  Added add(const Completion& completion, bool solicited) noexcept;

  /// At most `count` of the oldest; how many those were.
  int poll(int count, ibv_wc* to) noexcept;
  /// The oldest, for one who reads field by field; null where there is none. It stays until drop().
  const Completion* oldest() const noexcept { return ring_.empty() ? nullptr : &ring_[ring_.begin()]; }
  void drop() noexcept {
    const Completion& gone = ring_[ring_.begin()];
    if (gone.queue != nullptr) gone.queue->works.free_before(gone.frees_before);
    ring_.free_before(ring_.begin() + 1);
  }

  /// Asks for one event: for the next completion, or the next solicited one. One that was asked for stays, and `any`
  /// wins over `solicited`.
  enum class Arm : std::uint8_t { none, solicited, any };
  void arm(Arm how) noexcept {
    if (how > armed_) armed_ = how;
  }

  /// False where more completions wait than so many.
  bool resize(std::uint32_t depth);

  /// Takes out what the queue pair of that number left, as drivers do that purge at its end.
  void purge(std::uint32_t qp_num) noexcept;
  /// What it left stays, but its queue is gone.
  void forget(const SendQueue& queue) noexcept;

  /// Where it overflows, completions are lost and nothing fails (IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN).
  bool ignores_overrun = false;
  bool stamped = false;  ///< its completions say when they were made
  bool failed = false;   ///< overflowed
  void* user = nullptr;  ///< the front's object

private:
  Ring<Completion> ring_;
  Arm armed_ = Arm::none;
};

}  // namespace verbena::engine::queues
