// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/queues/completion_queue.hpp"

#include <utility>

namespace verbena::engine::queues {

CompletionQueue::Added CompletionQueue::add(const Completion& completion, bool solicited) noexcept {
  if (ring_.full()) return Added::overflow;
  ring_.grow() = completion;
  if (armed_ == Arm::none || (armed_ == Arm::solicited && !solicited)) return Added::quietly;
  armed_ = Arm::none;
  return Added::event;
}

int CompletionQueue::poll(int count, ibv_wc* to) noexcept {
  int done = 0;
  while (done < count && !ring_.empty()) {
    to[done++] = ring_[ring_.begin()].wc;
    drop();
  }
  return done;
}

bool CompletionQueue::resize(std::uint32_t depth) {
  if (ring_.size() > depth) return false;
  Ring<Completion> other(depth);
  for (std::uint64_t place = ring_.begin(); place != ring_.end(); ++place) other.grow() = ring_[place];
  ring_ = std::move(other);
  return true;
}

void CompletionQueue::purge(std::uint32_t qp_num) noexcept {
  const std::uint64_t end = ring_.end();
  std::uint64_t to = ring_.begin();
  for (std::uint64_t place = to; place != end; ++place) {
    if (ring_[place].wc.qp_num != qp_num) ring_[to++] = ring_[place];
  }
  ring_.shrink(to);
}

void CompletionQueue::forget(const SendQueue& queue) noexcept {
  for (std::uint64_t place = ring_.begin(); place != ring_.end(); ++place) {
    if (ring_[place].queue == &queue) ring_[place].queue = nullptr;
  }
}

}  // namespace verbena::engine::queues
