// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "run.hpp"

#include <algorithm>

namespace conform {
namespace {

std::string one_title(const Identity& id, Substrate substrate) {
  if (substrate == Substrate::emulated) return "model of " + id.model.value_or(id.name);
  std::string text = id.driver.empty() ? id.name : id.driver;
  if (!id.part.empty()) text += ' ' + id.part;
  // A driver without firmware says 0.0.0.
  if (id.firmware.find_first_not_of("0.") != std::string::npos) text += ", firmware " + id.firmware;
  if (!id.kernel.empty()) text += ", kernel " + id.kernel;
  return text;
}

}  // namespace

Counts count(const Run& run, Side side) {
  Counts counts;
  for (const CaseResult& one : run.cases) ++counts[one.column(side).verdict];
  return counts;
}

bool is_red(Verdict verdict, Table table) noexcept {
  switch (verdict) {
    case Verdict::violates:
    case Verdict::misdeclares:
    case Verdict::crash:
    case Verdict::timeout:
      return true;
    default:
      return table == Table::stale || table == Table::missing;
  }
}

bool is_clean(Verdict verdict) noexcept {
  return verdict == Verdict::conforms || verdict == Verdict::degraded || verdict == Verdict::absent;
}

const Expectation* find_expectation(const Run& run, std::string_view id) noexcept {
  const auto at =
      std::find_if(run.expectations.begin(), run.expectations.end(), [&](const Expectation& e) { return e.id == id; });
  return at == run.expectations.end() ? nullptr : &*at;
}

std::string title(const Run& run) {
  std::string text = one_title(run.device, run.substrate);
  if (run.peer) text += " with " + one_title(*run.peer, run.substrate);
  return text;
}

}  // namespace conform
