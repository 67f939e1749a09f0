// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "verbena/ledger.hpp"

namespace verbena {

class LedgerState;

/// A queue pair's line in its device's ledger. The queue pair keeps it, so that finding it takes no search however many
/// there are. It stands in the ledger from its first reservation until it is released or ends.
class LedgerLine {
public:
  LedgerLine() = default;
  LedgerLine(const LedgerLine&) = delete;
  LedgerLine& operator=(const LedgerLine&) = delete;
  ~LedgerLine();

private:
  friend class LedgerState;
  LedgerEntry entry_;
  LedgerState* ledger_ = nullptr;  ///< null: stands in none
  LedgerLine* previous_ = nullptr;
  LedgerLine* next_ = nullptr;
};

/// The device-wide budgets that its queue pairs share. A reservation is made before the device is asked and given back
/// after the queue pair is destroyed, so the ledger never shows less than the device has given away. Outlives its
/// lines. Thread-safe.
class LedgerState {
public:
  LedgerState() noexcept;
  LedgerState(const LedgerState&) = delete;
  LedgerState& operator=(const LedgerState&) = delete;

  /// Totals as the contract tells them; empty: no such budget. With `responder_shared` false the responder total is
  /// shown and not enforced: most drivers derive it (max_qp_rd_atom x max_qp) and never run out of it.
  void set_totals(std::optional<std::uint64_t> responder, bool responder_shared,
                  std::optional<std::uint64_t> work_requests);

  /// Takes min(wanted, what is left) read/atomic responder resources, in place of what the line holds. Empty, and
  /// nothing changed, when that is less than `at_least`.
  std::optional<std::uint32_t> reserve_responder(LedgerLine& line, std::uint32_t qp_num, std::uint32_t wanted,
                                                 std::uint32_t at_least);
  /// Takes that many work requests, in place of what the line holds; false, and nothing changed, when the budget has
  /// not so many left. A queue pair's number is 0 until it is made.
  bool reserve_work_requests(LedgerLine& line, std::uint32_t qp_num, std::uint64_t work_requests);
  /// Gives back the responder resources alone: a reset, or a transition that the device refused.
  void release_responder(LedgerLine& line);
  void release(LedgerLine& line) noexcept;

  LedgerSnapshot snapshot() const;

private:
  LedgerEntry& listed(LedgerLine& line, std::uint32_t qp_num) noexcept;

  mutable std::mutex mutex_;
  std::optional<std::uint64_t> responder_total_;
  std::optional<std::uint64_t> work_request_total_;
  bool responder_shared_ = false;
  std::uint64_t responder_used_ = 0;
  std::uint64_t work_requests_used_ = 0;
  LedgerLine ends_;  ///< before the first line and behind the last
};

/// `16 of 16 read/atomic responder resources in use: QP 0x11 holds 16`, for errors.
std::string to_string(const LedgerSnapshot& ledger);

}  // namespace verbena
