// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "report/run.hpp"
#include "runner/applies.hpp"
#include "runner/verdict.hpp"

namespace conform {

/// What a run is judged by at its end, when all columns are.
struct Closing {
  const CaseList* list = nullptr;
  std::vector<const ListedCase*> selected;
  const verbena::Contract* contract = nullptr;
  Known known;
  Environment environment;
  std::string stopped;  ///< why the run ended early; empty: it did not
};

/// Staleness, closure, the budget of blocked cases, and what must be native; fills red, why_red and the expectations.
void close_run(Run& run, const Closing& closing);

/// A line for each selected id that has not exactly one result, or one that did not run and should have.
std::vector<std::string> open_cases(const std::vector<const ListedCase*>& selected,
                                    const std::vector<CaseResult>& results, const Environment& environment);

/// The line of a red column: id, side, verdict, and the first thing to say of it.
std::string red_line(const CaseResult& result, Side side);

}  // namespace conform
