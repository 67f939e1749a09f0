// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/shared_incoming.hpp"

#include <cerrno>
#include <utility>

namespace verbena::engine::fabric {

Incoming::Incoming(const SharedBoard& board, std::uint32_t from, const SlotSays& says, const RingMapping& ring,
                   SharedCounts& counts) noexcept
    : board_(board),
      counts_(counts),
      from_(from),
      incarnation_(says.incarnation),
      owner_(says.owner),
      ring_(ring),
      reader_(*ring.control, ring.data) {
  ring.control->attached.store(incarnation_, std::memory_order_release);
}

Incoming::~Incoming() {
  const bool gone = board_.at(from_).incarnation.load(std::memory_order_relaxed) != incarnation_;
  // Before the ring is anybody's else.
  if (gone) board_.empty(from_, board_.slot());
  ring_.control->attached.store(0, std::memory_order_release);
  SharedBoard::unmap(ring_);
}

int Incoming::try_pull() noexcept {
  std::uint64_t word = 0;
  const memory::Piece to{reinterpret_cast<std::byte*>(&word), sizeof word};
  const memory::Piece from{reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(owner_.witness_at)), sizeof word};
  const int error = memory::pull(owner_, {&to, 1}, 0, {&from, 1}, 0, sizeof word, nullptr);
  ring_.control->pulls.store(error == 0 ? 1 : 0, std::memory_order_relaxed);
  return error;
}

Message* Incoming::next() noexcept {
  if (broken_) return nullptr;
  const std::span<std::byte> bytes = reader_.front();
  if (bytes.empty()) {
    broken_ = reader_.broken();
    return nullptr;
  }
  if (!read_message(bytes, message_)) {
    broken_ = true;
    return nullptr;
  }
  if (message_.lent) message_.train.lender = this;
  return &message_;
}

void Incoming::tell_of_room() noexcept {
  std::atomic<std::uint32_t>& wants = ring_.control->wants_room;
  if (wants.load(std::memory_order_relaxed) == 0) return;
  wants.store(0, std::memory_order_relaxed);
  if (board_.at(from_).asleep.load(std::memory_order_relaxed) != 0) board_.wake(from_);
}

int Incoming::taught() noexcept {
  return std::exchange(refused_, 0);
}

bool Incoming::copy(memory::Pieces to, std::uint64_t to_offset, memory::Pieces from, std::uint64_t from_offset,
                    std::uint64_t bytes) noexcept {
  const int error = memory::pull(owner_, to, to_offset, from, from_offset, bytes, message_.withdrawn);
  if (error == 0) return true;
  if (error == ECANCELED) {
    ++counts_.withdrawn;
    return false;
  }
  ++counts_.unreachable;
  if (error == EPERM || error == ENOSYS) {
    refused_ = error;
    ring_.control->pulls.store(0, std::memory_order_relaxed);
  }
  return false;
}

}  // namespace verbena::engine::fabric
