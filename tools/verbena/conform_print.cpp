// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "conform_print.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <map>

#include "json.hpp"
#include "report.hpp"
#include "report/summary.hpp"
#include "say.hpp"
#include "table.hpp"

namespace cli {
namespace {

using conform::Verdict;

std::string joined(const std::vector<verbena::Feature>& features) {
  std::string text;
  for (const verbena::Feature one : features) text += (text.empty() ? "" : " ") + std::string(verbena::name(one));
  return text;
}

/// Cases that wait for another kind of run, by what they wait for.
void print_waiting(const conform::Run& run) {
  std::map<std::string, unsigned> waiting;
  for (const conform::CaseResult& one : run.cases)
    if (one.raw.verdict == Verdict::not_run && !one.raw.reason.empty()) ++waiting[one.raw.reason];
  for (const auto& [reason, count] : waiting) say("  {} not run: {}\n", count, reason);
}

}  // namespace

void print_list(const std::vector<const conform::ListedCase*>& cases, bool json) {
  if (json) {
    Json out;
    out["schema"] = kSchema;
    out["cases"] = Json::array();
    for (const conform::ListedCase* one : cases) {
      Json entry;
      entry["id"] = one->id;
      entry["says"] = one->says;
      entry["area"] = one->area;
      entry["covers"] = one->covers;
      entry["impact"] = conform::word(one->impact);
      entry["needs"] = Json::array();
      for (const verbena::Feature need : one->conditions.needs) entry["needs"].push_back(verbena::name(need));
      entry["qp_types"] = Json::array();
      for (const verbena::Feature type : one->conditions.qp_types) entry["qp_types"].push_back(verbena::name(type));
      entry["setup"] = one->conditions.setup;
      entry["source"] = one->source;
      out["cases"].push_back(std::move(entry));
    }
    print(out);
    return;
  }
  Table table({"case", "impact", "needs", "what must hold"});
  for (const conform::ListedCase* one : cases)
    table.row({one->id, std::string(conform::word(one->impact)), joined(one->conditions.needs), one->says});
  say("{}{} cases\n", table.text(0), cases.size());
}

void print_summary(const conform::Run& run, const std::string& folder) {
  say("{}", conform::run_to_summary(run, screen_columns()));
  print_waiting(run);
  if (run.red) {
    say("What to do: look a case up with --list --case ID. What violates is the device's fault, or its driver's table "
        "of "
        "expectations has yet to say it; stale means that this table must change and the device is fine.\n");
  }
  if (!folder.empty()) say("Reports: {}/index.html, run.json, junit.xml\n", folder);
}

void print_proofs(const verbena::DeviceId& device, conform::Substrate substrate,
                  const std::vector<conform::Proof>& proofs) {
  std::map<conform::ProofOutcome, unsigned> counts;
  Table table({"rule", "proof", "outcome", "why"});
  for (const conform::Proof& one : proofs) {
    ++counts[one.outcome];
    table.row({one.rule, one.proof, std::string(conform::word(one.outcome)), one.why});
  }
  say("{} ({}): {} rules match\n{}", device.name, conform::word(substrate), proofs.size(), table.text(2));
  for (const auto& [outcome, count] : counts) say("{} {}\n", count, conform::word(outcome));
}

void show_progress(std::size_t done, std::size_t all, const std::string& id) {
  fmt::print(stderr, "\r\x1b[K{}/{} {}", done, all, id);
  std::fflush(stderr);
}

void clear_progress() {
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
}

}  // namespace cli
