// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "run.hpp"

namespace conform {

/// One thing that two runs say differently.
struct Change {
  std::string what;  ///< `verdict`, `table`, `findings`, `adjustments`; of an identity, its key (`device.kernel`)
  std::string a;
  std::string b;

  friend bool operator==(const Change&, const Change&) = default;
};

struct CaseDiff {
  std::string id;
  Side side = Side::raw;
  std::vector<Change> changes;

  friend bool operator==(const CaseDiff&, const CaseDiff&) = default;
};

/// What changed from one run to another. Times, notes and the wording of a finding are no changes.
struct RunDiff {
  std::vector<Change>
      identity;  ///< of device, peer, tables, suite and Verbena: why results may differ, no result itself
  std::vector<CaseDiff> cases;   ///< in the order of A
  std::vector<std::string> only_a;
  std::vector<std::string> only_b;

  /// Neither result nor case differs.
  bool same() const noexcept { return cases.empty() && only_a.empty() && only_b.empty(); }
  friend bool operator==(const RunDiff&, const RunDiff&) = default;
};

RunDiff diff_runs(const Run& a, const Run& b);

/// Text for a terminal.
std::string diff_to_text(const RunDiff& diff, const std::string& a_name, const std::string& b_name);

/// One JSON document of schema 1: `schema`, `a`, `b`, `same`, `identity`, `cases`, `only_a`, `only_b`.
std::string diff_to_json(const RunDiff& diff, const std::string& a_name, const std::string& b_name);

}  // namespace conform
