// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks/canonical.hpp"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "quirks/effect_reader.hpp"
#include "quirks/scalars.hpp"

namespace verbena::quirks {
namespace {

/// Sorted, each once.
std::string any_order(std::vector<std::string> parts, std::string_view between) {
  std::sort(parts.begin(), parts.end());
  parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
  return fmt::format("{}", fmt::join(parts, between));
}

std::string text_of(NumberSet numbers) {
  std::sort(numbers.begin(), numbers.end(), [](const Range& left, const Range& right) { return left.low < right.low; });
  NumberSet joined;
  for (const Range& range : numbers) {
    if (!joined.empty() && range.low <= joined.back().high + (joined.back().high + 1 != 0 ? 1 : 0))
      joined.back().high = std::max(joined.back().high, range.high);
    else
      joined.push_back(range);
  }
  std::string text;
  for (const Range& range : joined) text += fmt::format("{}{}-{}", text.empty() ? "" : ",", range.low, range.high);
  return text;
}

std::string text_of(const VersionBound& bound) {
  // 6.1 and 6.1.0 are one version.
  std::vector<std::uint64_t> parts = bound.version.parts;
  while (parts.size() > 1 && parts.back() == 0) parts.pop_back();
  return fmt::format("{}:{}", static_cast<int>(bound.relation), fmt::join(parts, "."));
}

std::string text_of(const VersionSet& versions) {
  std::vector<std::string> alternatives;
  for (const auto& bounds : versions.alternatives) {
    std::vector<std::string> all;
    for (const VersionBound& bound : bounds) all.push_back(text_of(bound));
    alternatives.push_back(any_order(std::move(all), " "));
  }
  return any_order(std::move(alternatives), ",");
}

std::string text_of(const Condition& condition) {
  switch (form(condition.key)) {
    case MatchForm::words:
      return any_order(condition.words, ",");
    case MatchForm::numbers:
      return text_of(condition.numbers);
    case MatchForm::flag:
      return condition.flag ? "true" : "false";
    case MatchForm::versions:
      return text_of(condition.versions);
  }
  return {};
}

/// A parameter that is left out is the one that it falls back to.
std::string text_of(const JointChoice& joint) {
  std::string text{joint.formula->name};
  for (std::size_t i = 0; i < joint.formula->params.size(); ++i) {
    std::string value = fmt::format("{}", joint.formula->params[i].fallback);
    for (const auto& [index, amount] : joint.params)
      if (index == i) value = to_string(amount);
    text += fmt::format(" {}={}", joint.formula->params[i].name, value);
  }
  return text;
}

std::string effects_of(const Rule& rule) {
  Rule limits;  // one part of the effect at a time, in the words of effect_text()
  std::vector<std::string> parts;
  std::string asks;  // these are applied in the order in which they are written
  for (const FieldOp& op : rule.limits) {
    limits.limits = {op};
    if (op.kind == FieldOp::Kind::ask)
      asks += effect_text(limits) + ';';
    else
      parts.push_back(effect_text(limits));
  }
  for (const auto& [feature, support] : rule.features)
    parts.push_back(fmt::format("feature {} {}", name(feature), name(support)));
  for (const auto& [flag, choice] : rule.sets) parts.push_back(fmt::format("set {} {}", name(flag), name(choice)));
  return fmt::format("{}|{}|{}", any_order(std::move(parts), ";"), asks, rule.joint ? text_of(*rule.joint) : "");
}

}  // namespace

std::string canonical_text(const Rule& rule) {
  std::vector<std::string> conditions;
  for (const Condition& condition : rule.match)
    conditions.push_back(fmt::format("{} {}", name(condition.key), text_of(condition)));
  for (const WhenTest& test : rule.when)
    conditions.push_back(
        fmt::format("when {} {}", test.cap ? name(*test.cap) : name(*test.port_cap), text_of(test.numbers)));
  return fmt::format("{}|{}|{}|{}|{}|{}", rule.summary.id, any_order(std::move(conditions), ";"), effects_of(rule),
                     rule.summary.replaces, name(rule.summary.by.severity), name(rule.summary.on));
}

}  // namespace verbena::quirks
