// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/closing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

namespace conform {
namespace {

constexpr Side kSides[] = {Side::raw, Side::verbena};

/// The entries that a column names, each once.
void copy_expectations(Run& run, const Known& known) {
  std::set<std::string> named;
  for (const CaseResult& one : run.cases)
    for (const Side side : kSides)
      named.insert(one.column(side).expectations.begin(), one.column(side).expectations.end());
  for (const ExpectationEntry* entry : known.expectations) {
    if (named.contains(entry->id))
      run.expectations.push_back({entry->id, entry->says, entry->reason, entry->source, entry->until});
  }
}

void judge_budget(Run& run) {
  std::map<std::string, unsigned> words;
  unsigned blocked = 0;
  for (const CaseResult& one : run.cases) {
    for (const Side side : kSides) {
      if (one.column(side).verdict != Verdict::blocked) continue;
      ++blocked;
      ++words[one.column(side).reason];
      break;
    }
  }
  if (blocked <= run.blocked_budget) return;
  std::string why;
  for (const auto& [reason, count] : words) why += fmt::format("{}{} of {}", why.empty() ? "" : ", ", count, reason);
  run.why_red.push_back(fmt::format("{} cases are blocked, and {} may be: {}", blocked, run.blocked_budget, why));
}

}  // namespace

std::string red_line(const CaseResult& result, Side side) {
  const Column& column = result.column(side);
  const std::string_view verdict = column.table == Table::stale ? word(Table::stale) : word(column.verdict);
  std::string text = column.reason;
  if (text.empty() && !column.findings.empty()) text = column.findings.front().text;
  return fmt::format("{} ({}): {}: {}", result.id, word(side), verdict, text);
}

std::vector<std::string> open_cases(const std::vector<const ListedCase*>& selected,
                                    const std::vector<CaseResult>& results, const Environment& environment) {
  std::map<std::string_view, unsigned> listed;
  std::map<std::string_view, std::vector<const CaseResult*>> ran;
  for (const CaseResult& one : results) ran[one.id].push_back(&one);
  std::vector<std::string> open;
  for (const ListedCase* one : selected) {
    if (++listed[one->id] == 2) open.push_back(fmt::format("{}: is listed twice", one->id));
    const auto found = ran.find(one->id);
    if (found == ran.end()) {
      open.push_back(fmt::format("{}: is listed and did not run", one->id));
    } else if (found->second.size() > 1 && listed[one->id] == 1) {
      open.push_back(fmt::format("{}: ran {} times", one->id, found->second.size()));
    } else if (!waits_for_another_run(*one, environment)) {
      for (const Side side : kSides) {
        const Column& column = found->second.front()->column(side);
        if (column.verdict == Verdict::not_run && !waits_for_another_run(column, environment))
          open.push_back(fmt::format("{} ({}): is listed and did not run{}{}", one->id, word(side),
                                     column.reason.empty() ? "" : ": ", column.reason));
      }
    }
  }
  for (const auto& [id, found] : ran)
    if (!listed.contains(id)) open.push_back(fmt::format("{}: ran and is not listed", id));
  return open;
}

void close_run(Run& run, const Closing& closing) {
  judge_staleness(closing.list->cases, closing.known, run.cases);
  if (!closing.stopped.empty()) run.why_red.push_back(closing.stopped);
  for (const verbena::Feature feature : denied_features(*closing.contract, closing.known)) {
    run.why_red.push_back(fmt::format("{} must be native on {}, and the contract calls it {}", name(feature),
                                      closing.contract->device().driver,
                                      name(closing.contract->feature(feature).support)));
  }
  for (const CaseResult& one : run.cases)
    for (const Side side : kSides)
      if (one.column(side).red) run.why_red.push_back(red_line(one, side));
  const auto open = open_cases(closing.selected, run.cases, closing.environment);
  run.why_red.insert(run.why_red.end(), open.begin(), open.end());
  judge_budget(run);
  copy_expectations(run, closing.known);
  run.red = !run.why_red.empty();
}

}  // namespace conform
