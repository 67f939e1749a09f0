// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/shared_outgoing.hpp"

#include <algorithm>

#include "engine/fabric/shared_message.hpp"

namespace verbena::engine::fabric {

namespace {

using transport::Train;

/// Payload from here on is left where it is: below, copying twice should cost less than asking the kernel
/// (engine_shared_bench shows both, by size).
constexpr std::uint64_t kLendFrom = 1U << 14;

bool overlap(std::uintptr_t begin, std::uintptr_t end, std::uintptr_t other, std::uintptr_t other_end) noexcept {
  return begin < other_end && other < end;
}

}  // namespace

Outgoing::~Outgoing() {
  withdraw_where([](const auto&) { return true; });
  SharedBoard::unmap(ring_);
}

/// Makes the ring, at first need.
bool Outgoing::open() noexcept {
  if (ring_.control != nullptr) return true;
  const RingMapping ring = board_.map(board_.slot(), to_, true);
  if (ring.control == nullptr) {
    ++counts_.no_memory;
    return false;
  }
  RingControl& control = *ring.control;
  // The other process may still read what one before this wrote from this slot; it will see that this is another.
  const bool read = control.attached.load(std::memory_order_acquire) != 0;
  if (read && control.reader.load(std::memory_order_relaxed) == incarnation_) {
    SharedBoard::unmap(ring);
    board_.knock(to_);
    return false;
  }
  // Again: whoever read it gave its memory back before it let go of it.
  if (!board_.give(board_.slot(), to_)) {
    SharedBoard::unmap(ring);
    ++counts_.no_memory;
    return false;
  }
  ring_ = ring;
  control.attached.store(0, std::memory_order_relaxed);
  control.writer.store(board_.incarnation(), std::memory_order_relaxed);
  control.reader.store(incarnation_, std::memory_order_relaxed);
  writer_ = RingWriter(control, ring.data);
  board_.at(to_).made[board_.slot()].store(board_.incarnation(), std::memory_order_release);
  board_.knock(to_);
  return true;
}

/// Whether its payload may be read from here: it stays, the other process can, and it is worth it.
bool Outgoing::lends(const Train& train) noexcept {
  if (!train.stays || train.bytes < kLendFrom || train.payload.size() > kMostPieces) return false;
  if (std::any_of(train.payload.begin(), train.payload.end(), [](const auto& piece) { return piece.data == nullptr; }))
    return false;
  return ring_.control->pulls.load(std::memory_order_relaxed) != 0;
}

bool Outgoing::put(const Train& train) {
  if (!open()) return false;
  if (lends(train)) return put_lent(train);
  const std::uint32_t bytes = copied_bytes(train);
  std::byte* const room = writer_.reserve(bytes);
  if (room == nullptr) return false;
  write_copied(train, {room, bytes});
  // Before the reader has come to look at the ring, it is not known what it may.
  if (train.stays && train.bytes >= kLendFrom && ring_.control->attached.load(std::memory_order_relaxed) != 0)
    ++counts_.copied;
  published();
  return true;
}

bool Outgoing::put_lent(const Train& train) {
  const std::uint32_t bytes = lent_bytes(train);
  std::byte* const room = writer_.reserve(bytes);
  if (room == nullptr) return false;
  forget_read();
  Lent lent{writer_.position(), train.from_qp, UINTPTR_MAX, 0};
  for (const memory::Piece& piece : train.payload) {
    const auto at = reinterpret_cast<std::uintptr_t>(piece.data);
    lent.begin = std::min(lent.begin, at);
    lent.end = std::max(lent.end, at + piece.bytes);
  }
  lent_.push_back(lent);
  write_lent(train, {room, bytes});
  published();
  ++counts_.lent;
  return true;
}

void Outgoing::published() noexcept {
  writer_.publish();
  // Between what was written and the question whether anybody has to be woken for it: the sleeper does the same the
  // other way round, and only a fence that orders a store before a load lets neither miss the other.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (board_.at(to_).asleep.load(std::memory_order_relaxed) == 0) return;
  ++counts_.wakes;
  board_.wake(to_);
}

bool Outgoing::send(const Train& train) {
  const bool request = train.info().request;
  if (kept_.empty() || !request) {
    const bool whole = train.bytes <= kMostCopied || (open() && lends(train));
    if (!whole && !train.stays) {  // Port::most_packets() was not asked
      ++counts_.lost;
      return true;
    }
    if (kept_.empty() && whole && put(train)) return true;
    if (!request || !whole) {
      keep(train);
      push();
      return true;
    }
  }
  ++counts_.refused;
  refused_ = true;
  if (ring_.control != nullptr) ring_.control->wants_room.store(1, std::memory_order_relaxed);
  return false;
}

bool Outgoing::send_or_lose(const Train& train) {
  if (kept_.empty() && train.bytes <= kMostCopied && put(train)) return true;
  ++counts_.lost;
  return false;
}

void Outgoing::keep(const Train& train) {
  ++counts_.kept;
  Kept& kept = kept_.emplace_back();
  kept.train = train;
  kept.pieces.assign(train.payload.begin(), train.payload.end());
  kept.train.payload = kept.pieces;
}

/// All of it is in the ring.
bool Outgoing::put_parts(Kept& kept) {
  const Train& train = kept.train;
  if (kept.sent == 0 && (train.bytes <= kMostCopied || (open() && lends(train)))) return put(train);
  const std::uint32_t most = std::max<std::uint32_t>(1, kMostCopied / std::max<std::uint32_t>(1, train.mtu));
  room_.resize(train.payload.size());
  while (kept.sent < train.packets) {
    const std::uint32_t packets = std::min(most, train.packets - kept.sent);
    Train part = transport::part(train, kept.sent, packets, room_);
    // What takes long is answered on the way, or its sender's patience ends.
    if (part.info().request) part.head.bth.ack_request = true;
    if (!put(part)) return false;
    kept.sent += packets;
  }
  return true;
}

bool Outgoing::push() {
  while (!kept_.empty() && put_parts(kept_.front())) kept_.pop_front();
  if (!kept_.empty()) {
    if (ring_.control != nullptr) ring_.control->wants_room.store(1, std::memory_order_relaxed);
    return false;
  }
  // A quarter of the ring: what was refused needs no more.
  const bool room = open() && writer_.reserve(kMostMessage) != nullptr;
  if (!room || !refused_) return false;
  refused_ = false;
  return true;
}

/// Messages that were read are nobody's any more.
void Outgoing::forget_read() noexcept {
  if (lent_.empty()) return;
  const std::uint64_t read = writer_.read();
  while (!lent_.empty() && lent_.front().position < read) lent_.pop_front();
}

template <class Which>
void Outgoing::withdraw_where(Which which) noexcept {
  std::erase_if(kept_, [&which](const Kept& kept) {
    if (!kept.train.stays || kept.pieces.empty()) return false;
    return std::any_of(kept.pieces.begin(), kept.pieces.end(), [&](const memory::Piece& piece) {
      const auto begin = reinterpret_cast<std::uintptr_t>(piece.data);
      return which(Lent{0, kept.train.from_qp, begin, begin + piece.bytes});
    });
  });
  forget_read();
  bool any = false;
  for (const Lent& lent : lent_) {
    if (!which(lent)) continue;
    withdraw_message(writer_.at(lent.position));
    any = true;
  }
  // Whoever reads what is written to that memory from now on sees the mark too (memory::pull).
  if (any) std::atomic_thread_fence(std::memory_order_seq_cst);
}

void Outgoing::withdraw(std::uint32_t from_qp) noexcept {
  if (lent_.empty() && kept_.empty()) return;
  withdraw_where([from_qp](const Lent& lent) { return lent.from_qp == from_qp; });
}

void Outgoing::withdraw(const memory::Piece& memory) noexcept {
  if (lent_.empty() && kept_.empty()) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(memory.data);
  withdraw_where([&](const Lent& lent) { return overlap(begin, begin + memory.bytes, lent.begin, lent.end); });
}

}  // namespace verbena::engine::fabric
