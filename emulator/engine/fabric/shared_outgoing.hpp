// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/fabric/shared_board.hpp"
#include "engine/fabric/shared_counts.hpp"
#include "engine/fabric/shared_ring.hpp"
#include "engine/transport/train.hpp"

namespace verbena::engine::fabric {

/// What goes from this process to one other.
class Outgoing {
public:
  Outgoing(const SharedBoard& board, std::uint32_t to, std::uint32_t incarnation, SharedCounts& counts) noexcept
      : board_(board), counts_(counts), to_(to), incarnation_(incarnation) {}
  Outgoing(const Outgoing&) = delete;
  Outgoing& operator=(const Outgoing&) = delete;
  /// What was lent and not fetched is taken back.
  ~Outgoing();

  std::uint32_t incarnation() const noexcept { return incarnation_; }

  /// Takes the train, or refuses a request for which there is no room. Answers are always taken: what there is no room
  /// for waits here, by name where its memory stays, and is no more than the other end may have asked for.
  bool send(const transport::Train& train);
  /// As send(), but what there is no room for is lost: of a group's datagrams, which others may have got.
  bool send_or_lose(const transport::Train& train);

  /// Something waits here, or was refused.
  bool stuck() const noexcept { return !kept_.empty() || refused_; }
  /// Sends what waits. True where requests that were refused may be sent again.
  bool push();

  void withdraw(std::uint32_t from_qp) noexcept;
  void withdraw(const memory::Piece& memory) noexcept;

  /// The other process wrote what can't be.
  bool broken() const noexcept { return writer_.broken(); }

private:
  /// A train that waits, all of it or what is left.
  struct Kept {
    transport::Train train;
    std::vector<memory::Piece> pieces;
    std::uint32_t sent = 0;  ///< packets of it
  };
  /// A message that names memory of this process, and may not have been read.
  struct Lent {
    std::uint64_t position = 0;
    std::uint32_t from_qp = 0;
    std::uintptr_t begin = 0;  ///< all its pieces lie from here
    std::uintptr_t end = 0;  ///< to before here
  };

  bool open() noexcept;
  bool lends(const transport::Train& train) noexcept;
  bool put(const transport::Train& train);
  bool put_lent(const transport::Train& train);
  bool put_parts(Kept& kept);
  void keep(const transport::Train& train);
  void published() noexcept;
  void forget_read() noexcept;
  template <class Which>
  void withdraw_where(Which which) noexcept;

  const SharedBoard& board_;
  SharedCounts& counts_;
  std::uint32_t to_;
  std::uint32_t incarnation_;  ///< of the other process
  RingMapping ring_;
  RingWriter writer_;
  std::deque<Kept> kept_;
  std::deque<Lent> lent_;
  std::vector<memory::Piece> room_;
  bool refused_ = false;
};

}  // namespace verbena::engine::fabric
