// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#pragma GCC visibility push(default)
namespace verbena {

/// Who holds how much of a device-wide budget.
struct LedgerEntry {
  std::uint32_t qp_num = 0;
  std::uint32_t responder_resources = 0;   ///< max_dest_rd_atomic in force
  std::uint64_t work_requests = 0;
  friend bool operator==(const LedgerEntry&, const LedgerEntry&) = default;
};

struct LedgerSnapshot {
  std::optional<std::uint64_t> responder_total;   ///< max_res_rd_atom; empty where the device tells none
  std::uint64_t responder_used = 0;
  std::optional<std::uint64_t> work_request_total;  ///< only where a rule gives a budget
  std::uint64_t work_requests_used = 0;
  std::vector<LedgerEntry> entries;
  friend bool operator==(const LedgerSnapshot&, const LedgerSnapshot&) = default;
};

}  // namespace verbena
#pragma GCC visibility pop
