// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>

#include "verbena/qp.hpp"
#include "verbena/qp_facts.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// What both sides compute alike from their two facts.
struct Agreement {
  std::uint32_t mtu = 0;               ///< bytes: the smaller of the two
  std::uint8_t max_rd_atomic = 0;      ///< this side's, never above what the peer answers
  std::uint8_t max_dest_rd_atomic = 0; ///< this side's, no more than the peer will use
  bool dials = false;                  ///< over rdma_cm: this side dials, the other listens

  friend bool operator==(const Agreement&, const Agreement&) = default;
};

/// Error: invalid_request naming the fact that does not fit (version, type, transport, no rdma_cm on one side).
[[nodiscard]] Result<Agreement> agree(const QpFacts& own, const QpFacts& peer);

/// A connection under way, driven by progress(); no thread stands behind it. Shares the queue pair, which may be moved
/// meanwhile. One thread at a time.
class Connecting {
public:
  Connecting(Connecting&&) noexcept;
  Connecting& operator=(Connecting&&) noexcept;
  ~Connecting();

  /// Does what can be done without waiting for the peer: true once the queue pair is in RTS. Over rdma_cm the kernel's
  /// own TCP connect waits inside, for as long as TCP does. Errors: timeout, those of agree(), refused (with rdma_cm's
  /// event and status).
  [[nodiscard]] Result<bool> progress();
  /// Becomes readable when progress() has something to do; -1 when there is nothing to wait for.
  int descriptor() const noexcept;
  /// What was lowered on the way, the same as the transitions report.
  const TransitionNotes& notes() const noexcept;

  struct State;
  explicit Connecting(std::unique_ptr<State> state) noexcept;

private:
  std::unique_ptr<State> state_;
};

/// Begins to connect; nothing is sent before progress(). Errors: those of agree() and of Qp::facts().
[[nodiscard]] Result<Connecting> start_connect(Qp& qp, const QpFacts& peer, std::chrono::milliseconds within);

/// Connects: after it returns the queue pair is in RTS (UD: ready for any peer). The peer must do the same with this
/// side's facts, at the same time where rdma_cm connects. Errors: timeout, and those of start_connect and progress.
[[nodiscard]] Result<TransitionNotes> connect(Qp& qp, const QpFacts& peer, std::chrono::milliseconds within);

/// Connects two queue pairs of this process from one thread. Errors: as connect.
[[nodiscard]] Result<TransitionNotes> connect_pair(Qp& one, Qp& other, std::chrono::milliseconds within);

}  // namespace verbena
#pragma GCC visibility pop
