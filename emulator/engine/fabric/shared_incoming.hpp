// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

#include "engine/fabric/shared_board.hpp"
#include "engine/fabric/shared_counts.hpp"
#include "engine/fabric/shared_message.hpp"
#include "engine/fabric/shared_ring.hpp"
#include "engine/memory/lender.hpp"

namespace verbena::engine::fabric {

/// What comes from one other process to this one.
class Incoming final : public memory::Lender {
public:
  /// `ring` is the one from that slot to this process's.
  Incoming(const SharedBoard& board, std::uint32_t from, const SlotSays& says, const RingMapping& ring,
           SharedCounts& counts) noexcept;
  Incoming(const Incoming&) = delete;
  Incoming& operator=(const Incoming&) = delete;
  /// The other process may use the ring anew.
  ~Incoming() override;

  std::uint32_t from() const noexcept { return from_; }
  std::uint32_t incarnation() const noexcept { return incarnation_; }

  /// Tries to read the other process's memory, and tells it whether that goes. 0, or the errno of why not.
  int try_pull() noexcept;

  /// The oldest message, which stays until pop(); null where there is none.
  Message* next() noexcept;
  void pop() noexcept { reader_.pop(); }
  /// It wakes the other process where that waits for room.
  void tell_of_room() noexcept;
  /// The other process wrote what is no message. Nothing more comes.
  bool broken() const noexcept { return broken_; }
  /// The errno of what the kernel refused since it was last asked; 0: nothing.
  int taught() noexcept;

  bool copy(memory::Pieces to, std::uint64_t to_offset, memory::Pieces from, std::uint64_t from_offset,
            std::uint64_t bytes) noexcept override;

private:
  const SharedBoard& board_;
  SharedCounts& counts_;
  std::uint32_t from_;
  std::uint32_t incarnation_;
  memory::Owner owner_;
  RingMapping ring_;
  RingReader reader_;
  Message message_;
  bool broken_ = false;
  int refused_ = 0;
};

}  // namespace verbena::engine::fabric
