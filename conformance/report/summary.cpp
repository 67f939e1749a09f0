// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "summary.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "escape.hpp"

namespace conform {
namespace {

/// With every verdict there is, the whole is 23 lines, and the prompt the last.
constexpr std::size_t kReasons = 4;

/// At most so many columns; a character may have several bytes.
std::string cut(const std::string& text, std::size_t columns) {
  std::string clean = escape_terminal(text);
  if (columns == 0) return clean;
  std::size_t shown = 0, at = 0, last = 0;
  for (; at < clean.size() && shown < columns; ++shown) {
    last = at;
    do ++at;
    while (at < clean.size() && (static_cast<unsigned char>(clean[at]) & 0xc0U) == 0x80);
  }
  return at == clean.size() ? clean : clean.substr(0, last) + "…";
}

bool not_tried(const Column& column) {
  return column.verdict == Verdict::blocked || column.verdict == Verdict::not_run;
}

bool departs(const Column& column) {
  return !not_tried(column) && (column.red || !is_clean(column.verdict));
}

/// The areas of the cases whose column is meant, with how many: `state 13, mw 7`; empty for none.
std::string areas(const Run& run, Side side, bool (*meant)(const Column&)) {
  std::vector<std::pair<std::string, int>> areas;
  for (const CaseResult& one : run.cases) {
    if (!meant(one.column(side))) continue;
    const auto at =
        std::find_if(areas.begin(), areas.end(), [&](const auto& entry) { return entry.first == one.area; });
    if (at == areas.end()) {
      areas.emplace_back(one.area, 1);
    } else {
      ++at->second;
    }
  }
  std::stable_sort(areas.begin(), areas.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  std::vector<std::string> texts;
  for (const auto& [area, n] : areas) texts.push_back(fmt::format("{} {}", area, n));
  return fmt::format("{}", fmt::join(texts, ", "));
}

/// In which areas a column departed from what must hold, and of which areas it says nothing.
std::string departures(const Run& run, Side side) {
  std::string text = areas(run, side, departs);
  if (text.empty()) text = "none";
  if (const std::string untried = areas(run, side, not_tried); !untried.empty()) text += "; not tried: " + untried;
  return text;
}

}  // namespace

std::string run_to_summary(const Run& run, std::size_t columns) {
  std::string out;
  const auto line = [&](const std::string& text) { out += cut(text, columns) + '\n'; };
  line(title(run));
  line(fmt::format("{}, {}, {:.1f} s, list {}, Verbena {}", word(run.substrate), run.begun, run.seconds,
                   run.suite_version, run.verbena));
  if (!run.layers_left_out.empty()) {
    const std::size_t others = run.layers_left_out.size() - 1;
    line(fmt::format("warning: a layer is left out{}: {}", others == 0 ? "" : fmt::format(", and {} more", others),
                     run.layers_left_out.front()));
  }

  line(fmt::format("{:<14}{:>8}{:>10}", "", "raw", "verbena"));
  Counts raw = count(run, Side::raw);
  Counts verbena = count(run, Side::verbena);
  for (std::size_t at = 0; at < kVerdictWords.size(); ++at) {
    const auto verdict = static_cast<Verdict>(at);
    if (raw[verdict] == 0 && verbena[verdict] == 0) continue;
    line(fmt::format("{:<14}{:>8}{:>10}", word(verdict), raw[verdict], verbena[verdict]));
  }
  line(fmt::format("{:<14}{:>8}{:>10}   of {} listed", "cases", run.cases.size(), run.cases.size(), run.suite_cases));
  line("departs raw:      " + departures(run, Side::raw));
  line("through Verbena:  " + departures(run, Side::verbena));

  if (!run.red) {
    line("not red");
    return out;
  }
  line(fmt::format("RED, {} reason{}:", run.why_red.size(), run.why_red.size() == 1 ? "" : "s"));
  // One line less, where the last is needed to say how many are left out.
  const std::size_t most = run.layers_left_out.empty() ? kReasons : kReasons - 1;
  const std::size_t shown = run.why_red.size() <= most ? run.why_red.size() : most - 1;
  for (std::size_t i = 0; i < shown; ++i) line("  " + run.why_red[i]);
  if (shown < run.why_red.size()) line(fmt::format("  and {} more", run.why_red.size() - shown));
  return out;
}

}  // namespace conform
