// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks/quirk_set.hpp"

#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "contract/contract_builder.hpp"
#include "quirks/match.hpp"
#include "verbena/rule_state.hpp"

namespace verbena::quirks {
namespace {

std::uint64_t hash_of(const std::vector<Rule>& rules) {
  // FNV-1a, 64 bits, over the rules in force in id order (merge_layers sorts them).
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto mix = [&](std::string_view text) {
    for (const char c : text) {
      hash ^= static_cast<unsigned char>(c);
      hash *= 0x100000001b3ULL;
    }
    hash ^= 0xffU;
    hash *= 0x100000001b3ULL;
  };
  for (const Rule& rule : rules)
    if (in_force(rule)) mix(rule.canonical);
  return hash;
}

void apply_limits(const Rule& rule, const Caps& caps, ContractBuilder& builder, ProvenanceIndex by) {
  for (const FieldOp& op : rule.limits) {
    if (op.kind == FieldOp::Kind::ask) {
      builder.ask(op.field, op.ask, op.amount.literal, by);
      continue;
    }
    const auto value = value_of(op.amount, caps);
    if (!value) continue;  // the cap that it refers to is unknown: nothing can be said
    switch (op.kind) {
      case FieldOp::Kind::min:
        builder.at_least(op.field, *value, by);
        break;
      case FieldOp::Kind::max:
        if (rule.replaces_declared)
          builder.replace_declared_max(op.field, *value, by);
        else
          builder.at_most(op.field, *value, by);
        break;
      case FieldOp::Kind::reserve:
        builder.reserve(op.field, *value, by);
        break;
      case FieldOp::Kind::ask:
        break;
    }
  }
}

void apply_joint(const Rule& rule, const Caps& caps, ContractBuilder& builder, ProvenanceIndex by) {
  if (!rule.joint) return;
  JointParams params{};
  const JointFormula& formula = *rule.joint->formula;
  for (std::size_t i = 0; i < formula.params.size() && i < kMaxJointParams; ++i) params[i] = formula.params[i].fallback;
  for (const auto& [index, amount] : rule.joint->params)
    if (const auto value = value_of(amount, caps)) {
      const ParamInfo& bounds = formula.params[index];
      const auto top = static_cast<std::uint64_t>(bounds.max);
      params[index] = std::max(bounds.min, static_cast<std::int64_t>(std::min(*value, top)));
    }
  builder.joint(formula, params, by);
}

/// The rule among these that stands in place of `rule`; a rule that is itself replaced replaces nothing. Where rules
/// replace each other in a circle the first by id stays.
const Rule* replaced_by(const Rule& rule, const std::vector<const Rule*>& matched, int depth = 0) {
  constexpr int kLongestChain = 16;
  for (const Rule* other : matched) {
    if (!other->loosens || other->replaces_declared || other->summary.replaces != rule.summary.id) continue;
    if (other == &rule || depth >= kLongestChain) continue;
    if (rule.summary.replaces == other->summary.id && rule.summary.id < other->summary.id) continue;
    if (!replaced_by(*other, matched, depth + 1)) return other;
  }
  return nullptr;
}

/// Whether `other` sets a value of `rule` so that it is no longer `rule` that decides it.
bool sets_tighter(const Rule& other, const Rule& rule, const Caps& caps) {
  for (const FieldOp& op : rule.limits)
    for (const FieldOp& its : other.limits) {
      if (its.field != op.field || its.kind != op.kind || op.kind == FieldOp::Kind::ask) continue;
      const auto mine = value_of(op.amount, caps);
      const auto theirs = value_of(its.amount, caps);
      if (!mine || !theirs) continue;
      if (op.kind == FieldOp::Kind::max ? *theirs < *mine : *theirs > *mine) return true;
      if (*theirs == *mine && other.summary.id < rule.summary.id) return true;
    }
  for (const auto& [feature, support] : rule.features)
    for (const auto& [its, theirs] : other.features)
      if (its == feature && theirs > support && !rule.loosens) return true;
  for (const auto& [flag, choice] : rule.sets)
    for (const auto& [its, theirs] : other.sets)
      if (its == flag && theirs != choice &&
          std::pair(other.summary.by.severity, other.summary.id) < std::pair(rule.summary.by.severity, rule.summary.id))
        return true;
  return false;
}

}  // namespace

std::optional<std::uint64_t> value_of(const Amount& amount, const Caps& caps) {
  if (!amount.cap) return amount.literal;
  const auto cap = caps[*amount.cap];
  if (!cap) return std::nullopt;
  if (amount.offset >= 0) {
    const auto more = static_cast<std::uint64_t>(amount.offset);
    return *cap > std::numeric_limits<std::uint64_t>::max() - more ? std::numeric_limits<std::uint64_t>::max()
                                                                   : *cap + more;
  }
  const auto less = static_cast<std::uint64_t>(-amount.offset);
  return *cap < less ? 0 : *cap - less;
}

bool in_force(const Rule& rule) noexcept {
  return rule.summary.enabled && rule.summary.requires_features.empty();
}

LoadedQuirks::LoadedQuirks(std::vector<Layer> layers, std::vector<Rule> rules)
    : layers_(std::move(layers)), rules_(std::move(rules)), hash_(hash_of(rules_)) {
  for (const Layer& layer : layers_) reports_.push_back(layer.report);
  for (std::uint32_t i = 0; i < rules_.size(); ++i) {
    summaries_.push_back(rules_[i].summary);
    if (const Condition* driver = rules_[i].condition(MatchKey::driver))
      for (const std::string& word : driver->words) by_driver_[word].push_back(i);
    else
      any_driver_.push_back(i);
  }
  // Ready lists, in id order and each rule once: a match then costs what it looks at.
  for (auto& [driver, indices] : by_driver_) {
    indices.insert(indices.end(), any_driver_.begin(), any_driver_.end());
    std::sort(indices.begin(), indices.end());
    indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  }
}

std::span<const std::uint32_t> LoadedQuirks::candidates(std::string_view driver) const noexcept {
  const auto found = by_driver_.find(driver);
  return found == by_driver_.end() ? std::span<const std::uint32_t>{any_driver_} : found->second;
}

Contract LoadedQuirks::contract(const DeviceId& device, const Caps& caps, std::uint8_t port,
                                bool beyond_declared_allowed) const {
  ContractBuilder builder(device, caps, port, beyond_declared_allowed);
  const Subject subject(device, caps, port);
  const auto indices = candidates(device.driver);
  std::vector<RuleTrace> traces;
  std::vector<const Rule*> matched;
  traces.reserve(indices.size());
  for (const std::uint32_t index : indices) {
    const Rule& rule = rules_[index];
    RuleTrace trace;
    trace.id = rule.summary.id;
    if (matches(rule, subject, &trace.why_not, DriverCondition::answered)) {
      trace.why_not = why_not_in_force(rule.summary);
      trace.applied = trace.why_not.empty();
      if (trace.applied) matched.push_back(&rule);
    }
    traces.push_back(std::move(trace));
  }
  const auto trace_of = [&](const Rule& rule) -> RuleTrace& {
    return *std::lower_bound(traces.begin(), traces.end(), rule.summary.id,
                             [](const RuleTrace& trace, const std::string& id) { return trace.id < id; });
  };
  std::vector<const Rule*> applied;
  for (const Rule* rule : matched) {
    const Rule* by = replaced_by(*rule, matched);
    if (!by) {
      applied.push_back(rule);
      continue;
    }
    RuleTrace& trace = trace_of(*rule);
    trace.applied = false;
    trace.beaten_by = by->summary.id;
    trace.why_not = fmt::format("replaced by {}", trace.beaten_by);
  }
  for (const Rule* rule : applied) {
    Provenance provenance = rule->summary.by;
    provenance.reason += held_unknown(*rule, subject);
    const ProvenanceIndex by = builder.add(std::move(provenance));
    apply_limits(*rule, caps, builder, by);
    apply_joint(*rule, caps, builder, by);
    for (const auto& [feature, support] : rule->features) builder.feature(feature, support, rule->loosens, by);
    for (const auto& [flag, choice] : rule->sets) builder.behaviour(flag, choice, by);
    for (const Rule* other : applied)
      if (other != rule && sets_tighter(*other, *rule, caps)) {
        trace_of(*rule).beaten_by = other->summary.id;
        break;
      }
  }
  for (RuleTrace& trace : traces) builder.trace(std::move(trace));
  return std::move(builder).build(hash_);
}

}  // namespace verbena::quirks

namespace verbena {
namespace {

/// A layer that fails now keeps what it had: its report shows the new fault beside the old rules. Where these cannot
/// stand on the layers below as they are now, nothing of it is in force, and its report says that.
std::vector<quirks::Rule> keep_last_good(const quirks::LoadedQuirks& last, std::vector<quirks::Layer>& layers,
                                         std::vector<quirks::Rule> rules) {
  using quirks::Layer;
  std::vector<std::pair<std::size_t, std::vector<Finding>>> kept;  // with the faults of the present layer
  for (std::size_t i = 0; i < layers.size(); ++i) {
    LayerReport& report = layers[i].report;
    if (report.loaded || report.findings.empty()) continue;
    const auto old = std::find_if(last.layer_data().begin(), last.layer_data().end(), [&](const Layer& layer) {
      return layer.report.kind == report.kind && layer.report.path == report.path && layer.report.loaded;
    });
    if (old == last.layer_data().end()) continue;
    kept.emplace_back(i, std::move(report.findings));
    layers[i] = *old;
    layers[i].last_good = true;
    layers[i].report.findings.clear();
    layers[i].read_findings = 0;
  }
  if (kept.empty()) return rules;
  rules = merge_layers(layers);
  for (auto& [i, faults] : kept) {
    LayerReport& report = layers[i].report;
    for (Finding& fault : faults) {
      if (!report.loaded) {
        fault.text += " (nor can the layer's last good rules stay: nothing of it is in force)";
      } else if (fault.level == FindingLevel::error) {
        fault.level = FindingLevel::warning;
        fault.text += quirks::kLastGoodStays;
      }
    }
    const auto known = [&](const Finding& finding) {
      return std::any_of(faults.begin(), faults.end(), [&](const Finding& fault) {
        return fault.file == finding.file && fault.line == finding.line && fault.text.starts_with(finding.text);
      });
    };
    // What merging said once is not said again.
    std::copy_if(report.findings.begin(), report.findings.end(), std::back_inserter(faults),
                 [&](const Finding& finding) { return !known(finding); });
    report.findings = std::move(faults);
  }
  return rules;
}

}  // namespace

Result<std::shared_ptr<const QuirkSet>> load_quirks(const QuirkOptions& options, const BackendRegistry& registry) {
  using namespace quirks;
  const auto* last = dynamic_cast<const LoadedQuirks*>(options.last_good);
  std::vector<Layer> layers;
  layers.reserve(options.layers.size());
  for (const LayerSource& source : options.layers) layers.push_back(read_layer(source, options.privileged, registry));
  std::vector<Rule> rules = merge_layers(layers);

  const Layer* broken = nullptr;
  for (const Layer& layer : layers) {
    const bool faulty = !layer.report.loaded && !layer.report.findings.empty();
    if (faulty && (layer.report.kind == LayerKind::builtin || options.strict) && !broken) broken = &layer;
  }
  if (broken && !(last && !options.strict)) {
    const auto& findings = broken->report.findings;
    const auto first = std::find_if(findings.begin(), findings.end(),
                                    [](const Finding& finding) { return finding.level == FindingLevel::error; });
    Error error;
    error.kind = ErrorKind::bad_table;
    error.text =
        first == findings.end() ? fmt::format("layer {} cannot be loaded", broken->report.path) : to_string(*first);
    if (first != findings.end()) {
      error.by.file = first->file;
      error.by.line = first->line;
      error.by.rule = first->rule;
      if (!first->rule.empty()) error.by.set_by = SetBy::rule;
    }
    return Failure(std::move(error));
  }
  if (last) {
    rules = keep_last_good(*last, layers, std::move(rules));
  }
  return std::shared_ptr<const QuirkSet>(std::make_shared<LoadedQuirks>(std::move(layers), std::move(rules)));
}

std::string why_not_in_force(const RuleSummary& rule) {
  if (!rule.enabled) {
    if (!rule.off.empty()) return "turned off by " + rule.off;
    return rule.by.evidence == Evidence::claim ? "a claim, not turned on here" : "turned off in its own table";
  }
  if (rule.requires_features.empty()) return {};
  return fmt::format("skipped: needs table operations that this version lacks: {}",
                     fmt::join(rule.requires_features, ", "));
}

std::string_view name(LayerKind kind) noexcept {
  constexpr std::array<std::string_view, 5> names{"builtin", "installed", "etc", "run", "env"};
  return names[static_cast<std::size_t>(kind)];
}

std::string_view name(FindingLevel level) noexcept {
  constexpr std::array<std::string_view, 3> names{"error", "warning", "note"};
  return names[static_cast<std::size_t>(level)];
}

std::string to_string(const Finding& finding) {
  std::string place = finding.file;
  if (finding.line > 0) place += fmt::format(":{}:{}", finding.line, finding.column);
  return fmt::format("{}: {}: {}{}", place, name(finding.level), finding.rule.empty() ? "" : finding.rule + ": ",
                     finding.text);
}

}  // namespace verbena
