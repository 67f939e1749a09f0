// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "quirks/lint.hpp"
#include "quirks/match.hpp"
#include "quirks/quirk_set.hpp"
#include "verbena/rule_state.hpp"

namespace verbena::quirks {
namespace {

const Rule* find(const std::vector<Rule>& rules, const std::string& id) {
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const Rule& rule) { return rule.summary.id == id; });
  return found == rules.end() ? nullptr : &*found;
}

/// `irdma-x (irdma.yaml:12)`
std::string place(const Rule& rule) {
  return fmt::format("{} ({}:{})", rule.summary.id, rule.summary.by.file, rule.at.line);
}

/// What the replaced rule says and the one in its place does not say again: as a table would name it.
std::vector<std::string> not_said_again(const Rule& rule, const Rule& target) {
  std::vector<std::string> lost;
  const auto add = [&](std::string what) {
    if (std::find(lost.begin(), lost.end(), what) == lost.end()) lost.push_back(std::move(what));
  };
  for (const FieldOp& op : target.limits) {
    constexpr std::array<std::string_view, 4> kKinds{"min", "max", "ask", "reserve"};
    const bool again = std::any_of(rule.limits.begin(), rule.limits.end(),
                                   [&](const FieldOp& mine) { return mine.field == op.field && mine.kind == op.kind; });
    if (!again) add(fmt::format("{} {}", name(op.field), kKinds[static_cast<std::size_t>(op.kind)]));
  }
  if (target.joint && !rule.joint) add(fmt::format("joint {}", target.joint->formula->name));
  const auto says = [](const auto& words, const auto& word) {
    return std::any_of(words.begin(), words.end(), [&](const auto& each) { return each.first == word.first; });
  };
  for (const auto& feature : target.features)
    if (!says(rule.features, feature)) add(fmt::format("feature {}", name(feature.first)));
  for (const auto& flag : target.sets)
    if (!says(rule.sets, flag)) add(fmt::format("flag {}", name(flag.first)));
  return lost;
}

/// The rules that stand in each other's place, from this one round to it again; empty where there is no circle of three
/// or more, or where a later one by id is to tell of it.
std::vector<const Rule*> circle(const Rule& rule, const std::vector<Rule>& rules) {
  std::vector<const Rule*> round{&rule};
  while (round.size() <= rules.size()) {
    const Rule& last = *round.back();
    const Rule* next = last.loosens && !last.replaces_declared ? find(rules, last.summary.replaces) : nullptr;
    if (next == nullptr || !in_force(*next)) return {};
    if (next == &rule) return round.size() > 2 ? round : std::vector<const Rule*>{};
    if (next->summary.id > rule.summary.id) return {};
    round.push_back(next);
  }
  return {};
}

}  // namespace

void check_replaces(const Rule& rule, const std::vector<Rule>& rules, std::vector<Finding>& findings) {
  if (!rule.loosens) return;
  const auto warn = [&](const std::string& text) { findings.push_back(about(rule, FindingLevel::warning, text)); };
  if (rule.replaces_declared) {
    const bool a_max = std::any_of(rule.limits.begin(), rule.limits.end(),
                                   [](const FieldOp& op) { return op.kind == FieldOp::Kind::max; });
    if (!a_max && rule.features.empty())
      warn("replaces what is declared, and has neither a max nor a feature: nothing declared gives way to it");
    return;
  }
  if (rule.summary.replaces == rule.summary.id) {
    warn(
        "replaces itself: nothing gives way to it. A rule of a later layer takes an earlier one's place by its id "
        "alone");
    return;
  }
  const Rule* target = find(rules, rule.summary.replaces);
  if (target == nullptr) return;  // that is another finding
  if (const std::string why = why_not_in_force(target->summary); !why.empty()) {
    warn(fmt::format("replaces {}, which is not in force: {}", place(*target), why));
    return;
  }
  if (!could_both_match(rule, *target)) {
    warn(fmt::format("replaces {}, and no device matches both: it replaces nothing (that one matches {})",
                     place(*target), target->summary.match));
    return;
  }
  if (const auto round = circle(rule, rules); !round.empty()) {
    std::string way;
    for (const Rule* each : round) way += fmt::format("{} replaces ", each->summary.id);
    findings.push_back(
        about(rule, FindingLevel::error, fmt::format("is replaced in a circle: {}{}", way, rule.summary.id)));
    return;
  }
  if (const auto lost = not_said_again(rule, *target); !lost.empty()) {
    const std::string object =
        rule.summary.on == target->summary.on
            ? std::string{}
            : fmt::format(" (that rule is on {}, this one on {})", name(target->summary.on), name(rule.summary.on));
    warn(fmt::format("replaces {}, and does not say again what is lost with it: {}{}", place(*target),
                     fmt::join(lost, ", "), object));
  }
  const Rule* behind = target->loosens && !target->replaces_declared ? find(rules, target->summary.replaces) : nullptr;
  if (behind != nullptr && behind != &rule && in_force(*behind) && could_both_match(rule, *behind))
    warn(fmt::format("replaces {}, which stands in place of {}: that one holds again where this rule applies",
                     place(*target), place(*behind)));
}

}  // namespace verbena::quirks
