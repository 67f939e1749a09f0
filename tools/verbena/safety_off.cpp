// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "safety_off.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "verbena/rule_state.hpp"

namespace cli {
namespace {

bool shipped(const verbena::RuleSummary& rule) {
  return rule.by.layer == name(verbena::LayerKind::builtin) || rule.by.layer == name(verbena::LayerKind::installed);
}

}  // namespace

std::vector<SafetyOff> safety_off(const Session& session, const verbena::Contract& contract) {
  const auto quirks = session.library().quirks();
  const auto rules = quirks->rules();
  const auto find = [&](const std::string& id) {
    return std::find_if(rules.begin(), rules.end(), [&](const verbena::RuleSummary& rule) { return rule.id == id; });
  };
  std::vector<SafetyOff> off;
  for (const verbena::RuleTrace& trace : contract.trace()) {
    if (trace.applied) continue;
    const auto rule = find(trace.id);
    if (rule == rules.end() || rule->by.severity != verbena::Severity::safety) continue;
    // One shipped rule in another's place is the tables' own doing.
    const auto instead = trace.beaten_by.empty() ? rules.end() : find(trace.beaten_by);
    // What its trace says is why it is off where it would apply, and else which condition fails.
    const std::string out_of_force = why_not_in_force(*rule);
    if ((!out_of_force.empty() && trace.why_not == out_of_force) || (instead != rules.end() && !shipped(*instead)))
      off.push_back({trace.id, trace.why_not});
  }
  return off;
}

std::string to_text(const std::vector<SafetyOff>& off) {
  std::string text;
  for (const SafetyOff& one : off)
    text += fmt::format("warning: the safety rule {} does not hold here: {}\n", one.rule, one.why);
  return text;
}

Json to_json(const std::vector<SafetyOff>& off) {
  Json out = Json::array();
  for (const SafetyOff& one : off) out.push_back({{"rule", one.rule}, {"why", one.why}});
  return out;
}

}  // namespace cli
