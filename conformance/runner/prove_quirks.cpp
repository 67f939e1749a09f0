// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/prove_quirks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "runner/run_units.hpp"

namespace conform {
namespace {

/// Keeps how the one unit ended.
class One final : public Watch {
public:
  bool started(const Unit&) override { return true; }
  bool ended(const Unit&, Ended one) override {
    end = std::move(one);
    return true;
  }
  std::optional<Ended> end;
};

/// How the case does on one set of rules.
struct Tried {
  enum class How : std::uint8_t { holds, holds_so_far, fails, not_run } how = How::not_run;
  std::string text;
};

Tried read(const Ended& end) {
  if (!end.outcome) return {Tried::How::fails, end.timed_out ? "it hangs" : "the process ended with " + end.how};
  const Outcome& outcome = *end.outcome;
  if (!outcome.fault.empty()) return {Tried::How::not_run, "the case itself failed: " + outcome.fault};
  if (!outcome.findings.empty()) return {Tried::How::fails, outcome.findings.front().text};
  if (outcome.stop && outcome.stop->why == Stop::Why::blocked)
    return {Tried::How::not_run, outcome.stop->word + ": " + outcome.stop->text};
  if (outcome.stop && outcome.stop->why == Stop::Why::elsewhere)
    return {Tried::How::holds_so_far, outcome.stop->word + ": " + outcome.stop->text};
  return {Tried::How::holds, outcome.stop ? outcome.stop->text : std::string()};
}

Tried run_on(const ListedCase& listed, const Ground& ground, const StartWorker& start_worker,
             const SuiteOptions& options) {
  const auto contract = ground.device->contract(ground.port);
  if (!contract) return {Tried::How::not_run, verbena::to_string(contract.error())};
  const Environment environment = environment_here(ground.device->id(), ground.other ? &ground.other->id() : nullptr,
                                                   options.substrate, options.shared);
  if (const auto known = settled(listed, Side::verbena, **contract, environment)) {
    return {known->verdict == Verdict::absent ? Tried::How::holds : Tried::How::not_run, known->reason};
  }
  WorkerPlan plan;
  plan.start_worker = start_worker;
  plan.seconds = options.seconds;
  One one;
  const std::string stopped = run_units({{&listed, Side::verbena}}, plan, one);
  if (!one.end) return {Tried::How::not_run, stopped};
  return read(*one.end);
}

Proof prove(const std::string& rule, const ListedCase& listed, const Ground& ground, const WithoutRule& without,
            const SuiteOptions& options) {
  Proof proof{rule, listed.id, ProofOutcome::not_shown_here, {}};
  const Tried bare = run_on(listed, *without.ground, without.start_worker, options);
  const Tried with = run_on(listed, ground, options.start_worker, options);
  if (with.how == Tried::How::not_run) {
    proof.why = with.text;
  } else if (bare.how == Tried::How::not_run || bare.how == Tried::How::holds_so_far) {
    // What only fails later would say nothing here.
    proof.why = bare.text;
  } else if (with.how == Tried::How::fails) {
    proof.outcome = ProofOutcome::not_enough;
    proof.why = with.text;
  } else if (bare.how == Tried::How::holds) {
    proof.outcome = ProofOutcome::unnecessary;
    proof.why = bare.text;
  } else {
    proof.outcome = ProofOutcome::needed_and_enough;
    proof.why = bare.text;
  }
  return proof;
}

}  // namespace

verbena::Result<std::vector<Proof>> prove_quirks(const CaseList& list, const Ground& ground,
                                                 const SuiteOptions& options, const TurnOff& turn_off) {
  const auto contract = ground.device->contract(ground.port);
  if (!contract) return verbena::Failure(contract.error());
  std::set<std::string> applied;
  for (const verbena::RuleTrace& one : (*contract)->trace())
    if (one.applied) applied.insert(one.id);
  std::vector<Proof> proofs;
  const auto rules = ground.library->quirks();
  for (const verbena::RuleSummary& rule : rules->rules()) {
    if (!applied.contains(rule.id) || rule.proof.empty()) continue;
    Proof proof{rule.id, rule.proof, ProofOutcome::not_shown_here, {}};
    const auto listed =
        std::find_if(list.cases.begin(), list.cases.end(), [&](const ListedCase& one) { return one.id == rule.proof; });
    if (options.progress) options.progress(proofs.size(), applied.size(), rule.id);
    if (rule.by.severity == verbena::Severity::safety && options.substrate != Substrate::emulated) {
      proof.why = "a safety rule is proven on emulated NICs alone";
    } else if (listed == list.cases.end()) {
      proof.why = "its proof is no case of this list";
    } else {
      const auto without = turn_off(rule.id);
      if (!without) return verbena::Failure(without.error());
      proof = prove(rule.id, *listed, ground, *without, options);
    }
    proofs.push_back(std::move(proof));
  }
  return proofs;
}

}  // namespace conform
