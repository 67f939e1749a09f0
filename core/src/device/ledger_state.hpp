// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "verbena/ledger.hpp"

namespace verbena {

/// The device-wide budgets that its queue pairs share. A reservation is made before the device is asked and given back
/// after the queue pair is destroyed, so the ledger never shows less than the device has given away. Thread-safe.
class LedgerState {
public:
  /// Totals as the contract tells them; empty: no such budget. With `responder_shared` false the responder total is
  /// shown and not enforced: most drivers derive it (max_qp_rd_atom x max_qp) and never run out of it.
  void set_totals(std::optional<std::uint64_t> responder, bool responder_shared,
                  std::optional<std::uint64_t> work_requests);

  /// Takes min(wanted, what is left) read/atomic responder resources for the queue pair `owner`, in place of what it
  /// holds. Empty, and nothing changed, when that is less than `at_least`.
  std::optional<std::uint32_t> reserve_responder(const void* owner, std::uint32_t qp_num, std::uint32_t wanted,
                                                 std::uint32_t at_least);
  /// Takes that many work requests; false, and nothing changed, when the budget has not so many left.
  bool reserve_work_requests(const void* owner, std::uint32_t qp_num, std::uint64_t work_requests);
  /// The queue pair's number is known only once it is made; reservations may come before.
  void name(const void* owner, std::uint32_t qp_num);
  /// Gives back the responder resources alone: a reset, or a transition that the device refused.
  void release_responder(const void* owner);
  void release(const void* owner);

  LedgerSnapshot snapshot() const;

private:
  struct Held {
    const void* owner = nullptr;
    LedgerEntry entry;
  };
  Held& held_by(const void* owner, std::uint32_t qp_num);

  mutable std::mutex mutex_;
  std::optional<std::uint64_t> responder_total_;
  std::optional<std::uint64_t> work_request_total_;
  bool responder_shared_ = false;
  std::uint64_t responder_used_ = 0;
  std::uint64_t work_requests_used_ = 0;
  std::vector<Held> held_;
};

/// `16 of 16 read/atomic responder resources in use: QP 0x11 holds 16`, for errors.
std::string to_string(const LedgerSnapshot& ledger);

}  // namespace verbena
