// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "column_text.hpp"

#include <fmt/format.h>

namespace conform {

std::string seen_text(const Finding& finding) {
  std::string text(word(finding.seen));
  if (finding.error) text += ' ' + *finding.error;
  if (finding.status) text += ' ' + *finding.status;
  if (finding.state) text += ", state " + *finding.state;
  return text;
}

std::string adjustment_text(const Adjustment& a) {
  return fmt::format("{}: asked {}, granted {} ({})", a.field, a.asked, a.granted, a.kind);
}

std::string one_line(const Column& column) {
  std::string text(word(column.verdict));
  if (column.table == Table::stale || column.table == Table::missing) text += fmt::format(" ({})", word(column.table));
  if (column.rate) text += " " + *column.rate;
  if (!column.reason.empty()) {
    text += ": " + column.reason;
  } else if (!column.findings.empty()) {
    text += ": " + column.findings.front().text;
  }
  return text;
}

std::string full_text(const CaseResult& result, Side side) {
  const Column& column = result.column(side);
  std::string text = result.says + '\n' + one_line(column);
  for (const Finding& f : column.findings) {
    text += fmt::format("\n{}: seen {}: {}", f.requirement, seen_text(f), f.text);
  }
  for (const std::string& id : column.expectations) text += "\nexpected: " + id;
  for (const Adjustment& a : column.adjustments) {
    text +=
        fmt::format("\nadjusted: {}{}{}: {}", adjustment_text(a), a.rule.empty() ? "" : ", rule ", a.rule, a.reason);
  }
  for (const std::string& note : column.notes) text += "\nnote: " + note;
  return text;
}

}  // namespace conform
