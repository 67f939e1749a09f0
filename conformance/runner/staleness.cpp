// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runner/verdict.hpp"

namespace conform {
namespace {

bool covers(const std::vector<std::string>& covered, const std::string& requirement) {
  return std::find(covered.begin(), covered.end(), requirement) != covered.end();
}

/// Ran to its end on the device, so that it says something of the requirement.
bool tells(const Column& raw) {
  return raw.runs > 0 &&
         (raw.verdict == Verdict::conforms || raw.verdict == Verdict::deviates || raw.verdict == Verdict::violates ||
          raw.verdict == Verdict::crash || raw.verdict == Verdict::timeout || raw.verdict == Verdict::flaky);
}

/// Leaves the requirement open: it could have told, and was not asked or could not be.
bool leaves_open(const Column& raw) {
  return raw.verdict == Verdict::not_run || raw.verdict == Verdict::blocked || raw.verdict == Verdict::withheld;
}

/// Does the column show a departure from this requirement?
bool departs(const Column& raw, const std::string& requirement) {
  // What is red already says nothing of a table.
  if (raw.verdict != Verdict::conforms && raw.verdict != Verdict::deviates) return true;
  return std::any_of(raw.findings.begin(), raw.findings.end(),
                     [&](const Finding& one) { return one.requirement.empty() || one.requirement == requirement; });
}

}  // namespace

void judge_staleness(const std::vector<ListedCase>& all, const Known& known, std::vector<CaseResult>& results) {
  std::map<std::string_view, CaseResult*> by_id;
  for (CaseResult& one : results) by_id.emplace(one.id, &one);
  for (const ExpectationEntry* entry : known.expectations) {
    if (known.never_stale.contains(entry)) continue;
    for (const std::string& requirement : entry->requirements) {
      std::vector<CaseResult*> conforming;
      bool open = false;
      for (const ListedCase& listed : all) {
        if (!covers(listed.covers, requirement)) continue;
        const auto found = by_id.find(listed.id);
        if (found == by_id.end() || leaves_open(found->second->raw)) {
          open = true;
        } else if (tells(found->second->raw)) {
          if (departs(found->second->raw, requirement)) {
            open = true;
          } else {
            conforming.push_back(found->second);
          }
        }
      }
      if (open) continue;
      for (CaseResult* one : conforming) {
        Column& raw = one->raw;
        raw.table = Table::stale;
        raw.red = true;
        if (std::find(raw.expectations.begin(), raw.expectations.end(), entry->id) == raw.expectations.end())
          raw.expectations.push_back(entry->id);
        raw.reason += fmt::format("{}{} expects otherwise of {}, and it holds", raw.reason.empty() ? "" : "; ",
                                  entry->id, requirement);
      }
    }
  }
}

}  // namespace conform
