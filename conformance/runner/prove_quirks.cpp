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
  enum class How : std::uint8_t {
    holds,
    holds_so_far,
    refused,  ///< the device has no such thing, and says so cleanly
    denied,   ///< not asked of the device, since the contract says that it is absent
    fails,
    not_run,
  } how = How::not_run;
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
  // An absence with a word is the contract's.
  const bool refused = outcome.stop && outcome.stop->why == Stop::Why::absent && outcome.stop->word.empty();
  return {refused ? Tried::How::refused : Tried::How::holds, outcome.stop ? outcome.stop->text : std::string()};
}

Tried run_on(const ListedCase& listed, const Ground& ground, const StartWorker& start_worker,
             const SuiteOptions& options) {
  const auto contract = ground.device->contract(ground.port);
  if (!contract) return {Tried::How::not_run, verbena::to_string(contract.error())};
  const Environment environment = environment_here(ground, options.substrate, options.shared);
  if (const auto known = settled(listed, Side::verbena, **contract, environment)) {
    return {known->verdict == Verdict::absent ? Tried::How::denied : Tried::How::not_run, known->reason};
  }
  WorkerPlan plan;
  plan.start_worker = start_worker;
  plan.seconds = options.seconds;
  One one;
  const std::string stopped = run_units({{&listed, Side::verbena}}, plan, one);
  if (!one.end) return {Tried::How::not_run, stopped};
  return read(*one.end);
}

/// What a contract says less of, or otherwise, without the rule.
struct Difference {
  std::string unsaid;     ///< the first word that it no longer says anything of; empty when there is none
  std::string otherwise;  ///< the first one of which it says something else
};

Difference difference(const verbena::Contract& with, const verbena::Contract& without) {
  Difference difference;
  const auto compare = [&](std::string_view word, bool same, bool said, std::string_view with_rule,
                           std::string_view without_rule) {
    if (same) return;
    std::string& text = said ? difference.otherwise : difference.unsaid;
    if (text.empty()) text = fmt::format("{}: {}, without it {}", word, with_rule, without_rule);
  };
  for (const verbena::FeatureInfo& info : verbena::all_features()) {
    const verbena::Support a = with.feature(info.feature).support;
    const verbena::Support b = without.feature(info.feature).support;
    compare(info.name, a == b, b != verbena::Support::unknown, verbena::name(a), verbena::name(b));
  }
  for (const verbena::BehaviourInfo& info : verbena::all_behaviours()) {
    const verbena::Choice a = with.behaviour(info.behaviour).choice;
    const verbena::Choice b = without.behaviour(info.behaviour).choice;
    compare(info.name, a == b, b != verbena::Choice::unknown, verbena::name(a), verbena::name(b));
  }
  const auto bounds = [](const verbena::Domain& domain) {
    return domain.known ? fmt::format("{} to {}", domain.min, domain.max) : fmt::format("from {}", domain.min);
  };
  for (const verbena::FieldInfo& info : verbena::all_fields()) {
    const verbena::Domain& a = with.domain(info.field);
    const verbena::Domain& b = without.domain(info.field);
    const bool same =
        a.known == b.known && a.min == b.min && a.max == b.max && a.asks == b.asks && a.reserve == b.reserve;
    compare(info.name, same, b.known || !a.known, bounds(a), bounds(b));
  }
  compare("limits of rings", with.joints().size() == without.joints().size(), true,
          fmt::format("{}", with.joints().size()), fmt::format("{}", without.joints().size()));
  return difference;
}

/// Nothing fails without the rule: what is it good for?
Proof spare(Proof proof, const verbena::Contract& with, const verbena::Contract& without, const std::string& why) {
  const Difference found = difference(with, without);
  proof.outcome = found.unsaid.empty() ? ProofOutcome::unnecessary : ProofOutcome::informs;
  proof.why = !found.unsaid.empty()      ? found.unsaid
              : !found.otherwise.empty() ? found.otherwise + "; the case holds on both"
                                         : "the contract says the same without it";
  if (!why.empty()) proof.why += "; " + why;
  return proof;
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
  } else if (bare.how == Tried::How::fails) {
    proof.outcome = ProofOutcome::needed_and_enough;
    proof.why = bare.text;
  } else {
    const auto here = ground.device->contract(ground.port);
    const auto there = without.ground->device->contract(without.ground->port);
    if (!here || !there) return proof;
    if (with.how != Tried::How::denied || bare.how != Tried::How::holds)
      return spare(std::move(proof), **here, **there, bare.text);
    proof.outcome = ProofOutcome::wrong;
    proof.why = with.text + "; without it the case holds";
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
