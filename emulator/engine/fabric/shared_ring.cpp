// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/shared_ring.hpp"

#include <cstring>

namespace verbena::engine::fabric {

RingWriter::RingWriter(RingControl& control, std::byte* data) noexcept : control_(&control), data_(data) {
  control.head.store(0, std::memory_order_relaxed);
  control.pulls.store(0, std::memory_order_relaxed);
  control.wants_room.store(0, std::memory_order_relaxed);
  control.tail.store(0, std::memory_order_release);
}

std::uint64_t RingWriter::read() noexcept {
  // The reader is done with those bytes: what is written over them comes after.
  const std::uint64_t head = control_->head.load(std::memory_order_acquire);
  if (head < head_ || head > tail_) {
    broken_ = true;
    return head_;
  }
  return head_ = head;
}

std::byte* RingWriter::reserve(std::uint32_t bytes) noexcept {
  if (broken_) return nullptr;
  const auto place = static_cast<std::uint32_t>(tail_ % kRingBytes);
  const std::uint32_t to_end = kRingBytes - place;
  const std::uint32_t skipped = bytes > to_end ? to_end : 0;
  const std::uint32_t needed = skipped + bytes;
  if (kRingBytes - (tail_ - head_) < needed) {
    read();
    if (broken_ || kRingBytes - (tail_ - head_) < needed) return nullptr;
  }
  if (skipped > 0) {
    const RingFrame skip{skipped, RingFrame::kSkip};
    std::memcpy(data_ + place, &skip, sizeof skip);
  }
  position_ = tail_ + skipped;
  reserved_ = needed;
  return at(position_);
}

void RingWriter::publish() noexcept {
  tail_ += reserved_;
  reserved_ = 0;
  control_->tail.store(tail_, std::memory_order_release);
}

RingReader::RingReader(RingControl& control, std::byte* data) noexcept : control_(&control), data_(data) {}

std::span<std::byte> RingReader::front() noexcept {
  while (!broken_) {
    if (head_ == tail_) {
      const std::uint64_t tail = control_->tail.load(std::memory_order_acquire);
      if (tail == head_) return {};
      broken_ = tail < head_ || tail - head_ > kRingBytes || tail % kRingStep != 0;
      if (broken_) break;
      tail_ = tail;
    }
    const auto place = static_cast<std::uint32_t>(head_ % kRingBytes);
    RingFrame frame;
    std::memcpy(&frame, data_ + place, sizeof frame);
    broken_ = frame.bytes == 0 || frame.bytes % kRingStep != 0 || frame.bytes > tail_ - head_ ||
              frame.bytes > kRingBytes - place;
    if (broken_) break;
    bytes_ = frame.bytes;
    if (frame.kind != RingFrame::kSkip) return {data_ + place, frame.bytes};
    pop();
  }
  return {};
}

void RingReader::pop() noexcept {
  head_ += bytes_;
  bytes_ = 0;
  control_->head.store(head_, std::memory_order_release);
}

}  // namespace verbena::engine::fabric
