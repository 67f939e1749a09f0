// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>

#include <fmt/format.h>

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
  const Rule* behind = target->loosens && !target->replaces_declared ? find(rules, target->summary.replaces) : nullptr;
  if (behind != nullptr && behind != &rule && in_force(*behind) && could_both_match(rule, *behind))
    warn(fmt::format("replaces {}, which stands in place of {}: that one holds again where this rule applies",
                     place(*target), place(*behind)));
}

}  // namespace verbena::quirks
