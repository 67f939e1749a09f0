// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "runner/bundle.hpp"
#include "runner/closing.hpp"

namespace conform {
namespace {

/// Found by judging findings, and so to be found again from them.
bool by_findings(const Column& column) {
  switch (column.verdict) {
    case Verdict::conforms:
    case Verdict::degraded:
    case Verdict::deviates:
    case Verdict::violates:
      return true;
    case Verdict::misdeclares:
      return !column.findings.empty();
    default:
      return false;
  }
}

Column judged_anew(const ListedCase& listed, Side side, const Column& column, const verbena::Contract& contract,
                   const Known& known) {
  Ended ended;
  ended.outcome.emplace();
  ended.outcome->findings = column.findings;
  ended.outcome->adjustments = column.adjustments;
  return judge(listed, side, ended, contract, known);
}

void verify_column(const ListedCase& listed, Side side, const Column& column, const verbena::Contract& contract,
                   const Known& known, std::vector<std::string>& wrong) {
  const auto say = [&](const std::string& what) {
    wrong.push_back(fmt::format("{} ({}): {}", listed.id, word(side), what));
  };
  const bool ran = column.runs > 0;
  const auto applies = settled(listed, side, contract, Environment{});
  if (applies && ran) say(fmt::format("ran, and the contract says that it does not apply: {}", applies->reason));
  if (!applies && !ran && column.verdict == Verdict::absent) say("is absent, and the contract says that it applies");
  if (column.red != is_red(column.verdict, column.table) && column.verdict != Verdict::flaky)
    say(fmt::format("{} and {} are {}red", word(column.verdict), word(column.table), column.red ? "not " : ""));
  if (!ran || !by_findings(column)) return;
  const Column anew = judged_anew(listed, side, column, contract, known);
  if (anew.verdict != column.verdict)
    say(fmt::format("is {}, and its findings make it {}", word(column.verdict), word(anew.verdict)));
}

/// What a run may leave for one of another kind.
void leave_to_another_run(const ListedCase& listed, Substrate substrate, Environment& environment) {
  for (const char* setup : {"faults", "lossy_fabric", "unlike_devices", "unlike_transports"})
    if (has_setup(listed, setup)) environment.elsewhere[setup] = "as recorded";
  if (substrate == Substrate::vendor_driver)
    for (const char* word : {"two_ends", "link_control", "data"}) environment.elsewhere[word] = "as recorded";
  if (substrate == Substrate::emulated)
    for (const char* word : {"libibverbs", "link_control"}) environment.elsewhere[word] = "as recorded";
}

}  // namespace

std::vector<std::string> verify_run(const Run& run, const CaseList& list, const verbena::Contract& contract) {
  std::vector<std::string> wrong;
  if (run.suite_version != list.version || run.suite_cases != list.cases.size()) {
    return {fmt::format("it is of list {} with {} cases, and this build has list {} with {}", run.suite_version,
                        run.suite_cases, list.version, list.cases.size())};
  }
  const auto known = known_of(list, contract.device(), contract.port(), run.substrate);
  if (!known) return {verbena::to_string(known.error())};
  std::map<std::string_view, const ListedCase*> by_id;
  Closing closing;
  // An official run selects all.
  for (const ListedCase& one : list.cases) {
    by_id.emplace(one.id, &one);
    closing.selected.push_back(&one);
  }
  closing.list = &list;
  closing.contract = &contract;
  closing.known = *known;
  Run anew = run;
  anew.why_red.clear();
  anew.expectations.clear();
  for (CaseResult& result : anew.cases) {
    const auto found = by_id.find(result.id);
    if (found == by_id.end()) {
      wrong.push_back(fmt::format("{} is no case of this build's list", result.id));
      continue;
    }
    const ListedCase& listed = *found->second;
    for (const Side side : {Side::raw, Side::verbena}) {
      Column& column = result.column(side);
      verify_column(listed, side, column, contract, *known, wrong);
      if (column.verdict == Verdict::not_run) leave_to_another_run(listed, run.substrate, closing.environment);
      if (column.table == Table::stale) {
        column.table = Table::expected;
        column.red = false;
      }
    }
  }
  close_run(anew, closing);
  if (anew.red != run.red) {
    wrong.push_back(fmt::format("the run says that it is {}red, and it is {}red{}", run.red ? "" : "not ",
                                anew.red ? "" : "not ",
                                anew.why_red.empty() ? std::string() : ": " + anew.why_red.front()));
  }
  for (std::size_t at = 0; at < run.cases.size(); ++at) {
    if (run.cases[at].raw.table != anew.cases[at].raw.table && run.cases[at].raw.verdict != Verdict::flaky)
      wrong.push_back(fmt::format("{} (raw): is {}, and the run as a whole makes it {}", run.cases[at].id,
                                  word(run.cases[at].raw.table), word(anew.cases[at].raw.table)));
  }
  return wrong;
}

}  // namespace conform
