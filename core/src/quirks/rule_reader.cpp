// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks/rule_reader.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "quirks/canonical.hpp"
#include "quirks/effect_reader.hpp"
#include "quirks/scalars.hpp"

namespace verbena::quirks {
namespace {

constexpr std::array<std::string_view, 20> kRuleKeys{
    "id",       "match",    "when",  "on",    "limit",   "joint", "feature", "set",      "because",  "source",
    "evidence", "severity", "until", "proof", "enabled", "for",   "against", "replaces", "requires", "reason"};
constexpr std::array<std::string_view, 5> kEvidence{"measured", "driver-source", "vendor-doc", "field-report", "claim"};
constexpr std::array<std::string_view, 3> kSeverity{"safety", "correctness", "performance"};
/// Operations of tables that this version knows; a rule that requires another is skipped and shown.
constexpr std::array<std::string_view, 4> kOperations{"joint", "replaces", "when", "not_multiple_of"};

std::vector<std::string_view> allowed_words(MatchKey key) {
  switch (key) {
    case MatchKey::transport:
      return {"infiniband", "roce2", "iwarp", "unspecified"};
    case MatchKey::link_layer:
      return {"infiniband", "ethernet"};
    case MatchKey::function:
      return {"pf", "vf", "sf"};
    default:
      return {};
  }
}

std::string written(const yaml::Node& node) {
  if (node.is_scalar()) return node.scalar;
  std::string text = "[";
  for (const yaml::Node& item : node.items) text += (text.size() > 1 ? ", " : "") + item.scalar;
  return text + "]";
}

/// A scalar or a list of scalars, each through `read`.
template <class Read>
bool each_scalar(const yaml::Node& node, std::string_view key, Reporter& report, Read&& read) {
  if (node.is_scalar()) return read(node);
  if (!node.is_sequence() || node.items.empty()) {
    report.error(node.at,
                 fmt::format("found {} for '{}'; allowed is a value or a list of them", yaml::describe(node), key));
    return false;
  }
  bool good = true;
  for (const yaml::Node& item : node.items) {
    if (report.full()) return false;
    if (!item.is_scalar()) {
      report.error(item.at, fmt::format("found {} in '{}'; allowed are plain values", yaml::describe(item), key));
      good = false;
    } else {
      good = read(item) && good;
    }
  }
  return good;
}

bool read_ranges(const yaml::Node& node, std::string_view key, Reporter& report, NumberSet& numbers) {
  return each_scalar(node, key, report, [&](const yaml::Node& item) {
    const auto range = read_range(item.scalar);
    if (!range) {
      report.error(item.at, fmt::format("'{}' for '{}' is no number; allowed are 12, 0x1592 or a range 0x10-0x1f "
                                        "with the smaller number first{}",
                                        item.scalar, key, begins_with_zero(item.scalar)));
      return false;
    }
    numbers.push_back(*range);
    return true;
  });
}

}  // namespace

bool read_condition(MatchKey key, const yaml::Node& node, Reporter& report, Condition& condition) {
  condition.key = key;
  condition.written = written(node);
  switch (form(key)) {
    case MatchForm::words: {
      const auto allowed = allowed_words(key);
      return each_scalar(node, name(key), report, [&](const yaml::Node& item) {
        if (!allowed.empty() && std::find(allowed.begin(), allowed.end(), item.scalar) == allowed.end()) {
          report.error(item.at, fmt::format("'{}' for '{}'; allowed are {}{}", item.scalar, name(key), join(allowed),
                                            did_you_mean(item.scalar, allowed)));
          return false;
        }
        condition.words.push_back(item.scalar);
        return true;
      });
    }
    case MatchForm::numbers:
      return read_ranges(node, name(key), report, condition.numbers);
    case MatchForm::flag: {
      const auto flag = node.is_scalar() ? read_flag(node.scalar) : std::nullopt;
      if (!flag) {
        report.error(node.at,
                     fmt::format("found {} for '{}'; allowed are true, false", yaml::describe(node), name(key)));
        return false;
      }
      condition.flag = *flag;
      return true;
    }
    case MatchForm::versions:
      return each_scalar(node, name(key), report, [&](const yaml::Node& item) {
        auto bounds = read_version_bounds(item.scalar);
        if (!bounds) {
          report.error(item.at, fmt::format("'{}' for '{}' is no version; allowed are '>=5.14', '<6.2', "
                                            "'>=6.1 <6.8'",
                                            item.scalar, name(key)));
          return false;
        }
        condition.versions.alternatives.push_back(std::move(*bounds));
        return true;
      });
  }
  return false;
}

namespace {

void read_match(const yaml::Node& node, Rule& rule, Reporter& report) {
  if (!node.is_map()) {
    report.error(node.at, fmt::format("found {} for 'match'; allowed is a map", yaml::describe(node)));
    return;
  }
  for (const auto& [key, value] : node.entries) {
    if (report.full()) return;
    const auto match_key = find_match_key(key.scalar);
    if (!match_key) {
      const bool forbidden = key.scalar == "vendor_id" || key.scalar == "name" || key.scalar == "device";
      report.error(key.at,
                   fmt::format("unknown key '{}' in match{}; allowed are {}{}", key.scalar,
                               forbidden ? " (an OEM sets vendor_id, udev the name: neither tells the device)" : "",
                               join(match_key_names()), did_you_mean(key.scalar, match_key_names())));
      continue;
    }
    Condition condition;
    if (read_condition(*match_key, value, report, condition)) rule.match.push_back(std::move(condition));
  }
}

void read_when(const yaml::Node& node, Rule& rule, Reporter& report) {
  if (!node.is_map()) {
    report.error(node.at, fmt::format("found {} for 'when'; allowed is a map of caps", yaml::describe(node)));
    return;
  }
  for (const auto& [key, value] : node.entries) {
    if (report.full()) return;
    WhenTest test;
    test.cap = find_cap(key.scalar);
    if (!test.cap) test.port_cap = find_port_cap(key.scalar);
    test.written = written(value);
    if (!test.cap && !test.port_cap) {
      std::vector<std::string_view> known;
      for (Cap cap : all_caps()) known.push_back(name(cap));
      for (PortCap cap : all_port_caps()) known.push_back(name(cap));
      report.error(key.at, fmt::format("unknown cap '{}' in when{}", key.scalar, did_you_mean(key.scalar, known)));
      continue;
    }
    if (read_ranges(value, key.scalar, report, test.numbers)) rule.when.push_back(std::move(test));
  }
}

bool well_formed_id(std::string_view id) {
  return !id.empty() && id.size() <= 100 && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
  });
}

void read_until(const yaml::Node& node, Rule& rule, Reporter& report) {
  const std::string* word = report.word(node, "until");
  if (!word) return;
  rule.summary.until = *word;
  if (*word == "open") return;
  const std::size_t space = word->find(' ');
  const auto key = find_match_key(word->substr(0, space));
  const auto bounds = space == std::string::npos ? std::nullopt : read_version_bounds(word->substr(space + 1));
  if (!key || form(*key) != MatchForm::versions || !bounds || bounds->size() != 1 ||
      bounds->front().relation != Relation::at_least)
    report.error(node.at, fmt::format("'{}' for 'until'; allowed are 'open', or the version that fixes it as "
                                      "'kernel >= 6.18', 'rdma_core >= 42', 'firmware >= 16.35', 'module_version >= 1'",
                                      *word));
}

void read_provenance(const yaml::Node& node, Rule& rule, Reporter& report) {
  RuleSummary& summary = rule.summary;
  const auto need = [&](std::string_view key, std::string_view why) -> const yaml::Node* {
    const yaml::Node* value = node.find(key);
    if (!value) report.error(node.at, fmt::format("'{}' is missing: {}", key, why));
    return value;
  };
  if (const auto* value = need("because", "an operator must understand why"))
    summary.by.reason = report.sentence(*value, "because");
  if (const auto* value = need("source", "a fact without a source is none"))
    summary.by.source = report.sentence(*value, "source");
  if (const auto* value = need("evidence", "one of measured, driver-source, vendor-doc, field-report, claim"))
    if (const auto index = report.choice(*value, "evidence", kEvidence))
      summary.by.evidence = static_cast<Evidence>(*index);
  if (const auto* value = need("severity", "one of safety, correctness, performance"))
    if (const auto index = report.choice(*value, "severity", kSeverity))
      summary.by.severity = static_cast<Severity>(*index);
  if (const auto* value = need("until", "'open', or the version that fixes it")) read_until(*value, rule, report);
  if (const auto* value = need("proof", "the conformance case that fails without the rule"))
    if (const auto* word = report.word(*value, "proof")) summary.proof = *word;

  if (const auto* value = node.find("enabled")) {
    const auto flag = value->is_scalar() ? read_flag(value->scalar) : std::nullopt;
    if (!flag)
      report.error(value->at, fmt::format("found {} for 'enabled'; allowed are true, false", yaml::describe(*value)));
    else
      summary.enabled = *flag;
  }
  if (const auto* value = node.find("for")) summary.speaks_for = report.sentence(*value, "for");
  if (const auto* value = node.find("against")) summary.speaks_against = report.sentence(*value, "against");
  if (summary.by.evidence == Evidence::claim && (!node.find("for") || !node.find("against")))
    report.error(node.at, "a claim says what speaks 'for' and 'against' it");

  if (const auto* value = node.find("replaces"))
    if (const auto* word = report.word(*value, "replaces")) {
      summary.replaces = *word;
      rule.loosens = true;
      rule.replaces_declared = *word == "declared";
    }
  if (const auto* value = node.find("requires"))
    for (const std::string& operation : report.words(*value, "requires"))
      if (std::find(kOperations.begin(), kOperations.end(), operation) == kOperations.end())
        summary.requires_features.push_back(operation);
}

std::string match_text(const Rule& rule) {
  std::string text;
  for (const Condition& condition : rule.match)
    text += fmt::format("{}{}: {}", text.empty() ? "" : "; ", name(condition.key), condition.written);
  for (const WhenTest& test : rule.when)
    text += fmt::format("{}when {}: {}", text.empty() ? "" : "; ", test.cap ? name(*test.cap) : name(*test.port_cap),
                        test.written);
  return text;
}

}  // namespace

void Reporter::error(yaml::Place at, const std::string& text) {
  failed_ = true;
  if (full()) return;
  Finding finding = yaml::error_at(file_, at, text);
  finding.rule = rule_;
  findings_.push_back(std::move(finding));
}

std::vector<std::string> Reporter::words(const yaml::Node& node, std::string_view key) {
  std::vector<std::string> result;
  each_scalar(node, key, *this, [&](const yaml::Node& item) {
    result.push_back(item.scalar);
    return true;
  });
  return result;
}

const std::string* Reporter::word(const yaml::Node& node, std::string_view key) {
  if (node.is_scalar() && !node.scalar.empty()) return &node.scalar;
  error(node.at, fmt::format("found {} for '{}'; allowed is a word or sentence", yaml::describe(node), key));
  return nullptr;
}

std::string Reporter::sentence(const yaml::Node& node, std::string_view key) {
  std::string line = node.is_scalar() ? yaml::one_line(node.scalar) : std::string{};
  if (line.empty()) error(node.at, fmt::format("found {} for '{}'; allowed is a sentence", yaml::describe(node), key));
  return line;
}

std::optional<std::size_t> Reporter::choice(const yaml::Node& node, std::string_view key,
                                            std::span<const std::string_view> allowed) {
  if (node.is_scalar()) {
    const auto found = std::find(allowed.begin(), allowed.end(), node.scalar);
    if (found != allowed.end()) return static_cast<std::size_t>(found - allowed.begin());
  }
  error(node.at, fmt::format("{} for '{}'; allowed are {}{}", yaml::describe(node), key, join(allowed),
                             node.is_scalar() ? did_you_mean(node.scalar, allowed) : std::string{}));
  return std::nullopt;
}

std::optional<Rule> read_rule(const yaml::Node& node, std::string_view file, LayerKind layer,
                              const std::vector<std::string>& drivers, const BackendRegistry& registry,
                              std::vector<Finding>& findings) {
  Reporter report(file, findings);
  if (!node.is_map()) {
    report.error(node.at, fmt::format("found {}; a rule is a map", yaml::describe(node)));
    return std::nullopt;
  }
  Rule rule;
  rule.at = node.at;
  rule.layer = layer;
  rule.summary.by.set_by = SetBy::rule;
  rule.summary.by.layer = std::string{name(layer)};
  rule.summary.by.file = std::string{file};
  rule.summary.by.line = node.at.line;

  if (const yaml::Node* id = node.find("id")) {
    if (const std::string* word = report.word(*id, "id")) {
      report.rule(*word);
      if (!well_formed_id(*word))
        report.error(id->at, fmt::format("id '{}'; allowed are small letters, digits, '.', '-' and '_'", *word));
      rule.summary.id = *word;
      rule.summary.by.rule = *word;
    }
  } else {
    report.error(node.at, "'id' is missing");
  }
  // A later library may give keys that this one does not know to a rule which says so in `requires`.
  bool from_later = false;
  if (const yaml::Node* requires_node = node.find("requires")) {
    std::vector<Finding> ignored;
    Reporter quiet(file, ignored);
    for (const std::string& operation : quiet.words(*requires_node, "requires"))
      from_later |= std::find(kOperations.begin(), kOperations.end(), operation) == kOperations.end();
  }
  for (const auto& [key, value] : node.entries)
    if (!from_later && !report.full() && std::find(kRuleKeys.begin(), kRuleKeys.end(), key.scalar) == kRuleKeys.end())
      report.error(key.at, fmt::format("unknown key '{}' in a rule; allowed are {}{}", key.scalar, join(kRuleKeys),
                                       did_you_mean(key.scalar, kRuleKeys)));
  read_provenance(node, rule, report);
  if (const yaml::Node* match = node.find("match")) read_match(*match, rule, report);
  if (!rule.condition(MatchKey::driver) && !drivers.empty()) {
    Condition condition;
    condition.key = MatchKey::driver;
    condition.words = drivers;
    condition.written = drivers.size() == 1 ? drivers.front() : fmt::format("[{}]", fmt::join(drivers, ", "));
    rule.match.insert(rule.match.begin(), std::move(condition));
  }
  if (const Condition* driver = rule.condition(MatchKey::driver))
    rule.summary.driver = fmt::format("{}", fmt::join(driver->words, ", "));
  else if (rule.match.empty())
    report.error(node.at, "neither the file nor the rule says which driver or device is meant");
  if (const yaml::Node* when = node.find("when")) read_when(*when, rule, report);
  if (!from_later) {
    read_effects(node, rule, registry, report);
  } else if (const yaml::Node* on = node.find("on")) {
    rule.summary.on = find_object(on->scalar).value_or(Object::device);
  }
  if (report.failed()) return std::nullopt;
  rule.summary.match = match_text(rule);
  rule.summary.effect = effect_text(rule);
  rule.canonical = canonical_text(rule);
  return rule;
}

}  // namespace verbena::quirks
