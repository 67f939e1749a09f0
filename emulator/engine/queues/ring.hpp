// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace verbena::engine::queues {

/// Slots that are used in turn. A place is a number that only grows, so that it says how many came before it.
template <class Slot>
class Ring {
public:
  /// Holds at most `depth`.
  explicit Ring(std::uint32_t depth) : depth_(depth), slots_(std::bit_ceil(depth < 1 ? 1U : depth)) {}

  std::uint32_t depth() const noexcept { return depth_; }
  std::uint64_t begin() const noexcept { return begin_; }
  std::uint64_t end() const noexcept { return end_; }
  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(end_ - begin_); }
  bool empty() const noexcept { return begin_ == end_; }
  bool full() const noexcept { return size() >= depth_; }

  /// `place` is from begin() to before end().
  Slot& operator[](std::uint64_t place) noexcept { return slots_[place & (slots_.size() - 1)]; }
  const Slot& operator[](std::uint64_t place) const noexcept { return slots_[place & (slots_.size() - 1)]; }
  /// Where the slot of this place lies: below slots().
  std::size_t index(std::uint64_t place) const noexcept { return place & (slots_.size() - 1); }
  std::size_t slots() const noexcept { return slots_.size(); }

  /// The slot behind the last, as it was left; not full() before.
  Slot& grow() noexcept { return (*this)[end_++]; }
  /// All before `place` are free again.
  void free_before(std::uint64_t place) noexcept {
    if (place > begin_) begin_ = place;
  }
  /// Those from `place` on are taken back.
  void shrink(std::uint64_t place) noexcept { end_ = place; }
  void clear() noexcept { begin_ = end_; }

private:
  std::uint32_t depth_;
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace verbena::engine::queues
