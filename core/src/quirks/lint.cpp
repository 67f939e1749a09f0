// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "builtin/embedded.hpp"
#include "quirks/firmware.hpp"
#include "quirks/layers.hpp"
#include "quirks/lint.hpp"
#include "quirks/match.hpp"
#include "quirks/quirk_set.hpp"
#include "quirks/scalars.hpp"
#include "verbena/model.hpp"
#include "verbena/quirks.hpp"
#include "yaml/tree.hpp"

namespace verbena {

Finding quirks::about(const Rule& rule, FindingLevel level, const std::string& text) {
  Finding finding = yaml::error_at(rule.summary.by.file, rule.at, text);
  finding.level = level;
  finding.rule = rule.summary.id;
  return finding;
}

bool quirks::of_a_site(LayerKind layer) noexcept {
  return layer == LayerKind::etc || layer == LayerKind::run || layer == LayerKind::env;
}

namespace {

using quirks::about;
using quirks::FieldOp;
using quirks::in_force;
using quirks::KnownPort;
using quirks::Layer;
using quirks::of_a_site;
using quirks::Rule;

std::set<std::string, std::less<>> case_ids() {
  std::set<std::string, std::less<>> ids;
  for (const builtin::EmbeddedTable& table : builtin::conformance_tables()) {
    const auto root = yaml::parse(table.text, table.name);
    if (!root) continue;
    const yaml::Node* cases = root->find("cases");
    if (!cases) continue;
    for (const yaml::Node& item : cases->items)
      if (const yaml::Node* id = item.find("id")) ids.insert(id->scalar);
  }
  return ids;
}

std::vector<Model> models_with_variants() {
  std::vector<Model> models;
  for (const std::string& name : builtin_models()) {
    auto model = load_model(name);
    if (!model) continue;
    for (const std::string& variant : model->variants)
      if (auto other = load_model(fmt::format("{}@{}", name, variant))) models.push_back(std::move(*other));
    models.push_back(std::move(*model));
  }
  return models;
}

/// `>=6.5 <6.1`: a slip of the pen that would make the rule hold nowhere.
void check_versions(const Rule& rule, std::vector<Finding>& findings) {
  for (const quirks::Condition& condition : rule.match)
    for (const auto& bounds : condition.versions.alternatives) {
      const quirks::VersionSet alone{{bounds}};
      if (bounds.empty() || alone.meets(alone)) continue;
      findings.push_back(about(
          rule, FindingLevel::error,
          fmt::format("matches no {} at all: no version is all of '{}'", name(condition.key), condition.written)));
    }
}

void check_until(const Rule& rule, std::vector<Finding>& findings) {
  const std::string& until = rule.summary.until;
  const std::size_t space = until.find(' ');
  if (space == std::string::npos) return;
  const auto key = quirks::find_match_key(until.substr(0, space));
  const auto bounds = quirks::read_version_bounds(std::string_view{until}.substr(space + 1));
  if (!key || !bounds) return;
  const quirks::Condition* condition = rule.condition(*key);
  const std::string_view fixed = std::string_view{until}.substr(until.rfind(' ') + 1);
  if (condition == nullptr && !rule.when.empty()) return;  // what the device says tells better where it ends
  if (condition == nullptr) {
    findings.push_back(about(rule, FindingLevel::error,
                             fmt::format("matches every {}, and is fixed by one: until '{}'; add {}: \"<{}\" to match",
                                         name(*key), until, name(*key), fixed)));
  } else if (condition->versions.all_at_least(bounds->front().version)) {
    findings.push_back(
        about(rule, FindingLevel::error,
              fmt::format("matches {} {}, where it is fixed: until '{}'", name(*key), condition->written, until)));
  } else if (condition->versions.meets({{*bounds}})) {
    findings.push_back(about(rule, FindingLevel::error,
                             fmt::format("matches {} {}, which runs past what fixes it: until '{}'; end it with <{}",
                                         name(*key), condition->written, until, fixed)));
  }
}

/// A bound that the driver's firmware can never be compared with would hold, or not, whatever the firmware.
void check_firmware(const Rule& rule, std::vector<Finding>& findings) {
  const quirks::Condition* firmware = rule.condition(quirks::MatchKey::firmware);
  const quirks::Condition* drivers = rule.condition(quirks::MatchKey::driver);
  if (firmware == nullptr || drivers == nullptr) return;
  std::size_t longest = 0;
  for (const auto& bounds : firmware->versions.alternatives)
    for (const quirks::VersionBound& bound : bounds) longest = std::max(longest, bound.version.parts.size());
  for (const std::string& driver : drivers->words) {
    const quirks::FirmwareScheme* scheme = quirks::firmware_scheme(driver);
    if (scheme == nullptr) {
      findings.push_back(about(rule, FindingLevel::warning,
                               fmt::format("bounds the firmware of {}, and how that is written is not known: a text "
                                           "that is more than numbers and dots counts as unknown",
                                           driver)));
    } else if (scheme->numbers == 0) {
      findings.push_back(about(rule, FindingLevel::error,
                               fmt::format("bounds the firmware of {}, a software device, which has none", driver)));
    } else if (longest > scheme->numbers) {
      findings.push_back(about(
          rule, FindingLevel::error,
          fmt::format("bounds the firmware by {} numbers, and that of {} has {}", longest, driver, scheme->numbers)));
    }
  }
}

std::vector<KnownPort> known_ports(const QuirkSet& set, const std::vector<Model>& models) {
  std::vector<KnownPort> known;
  for (const Model& model : models)
    for (const PortId& port : model.device.ports)
      known.push_back({&model, quirks::Subject(model.device, model.caps, port.number),
                       set.contract(model.device, model.caps, port.number, true)});
  return known;
}

/// What of a rule is looser than what holds on that device all the same: `max_inline_data of at most 400, where ...`;
/// empty when there is none.
std::string looser(const Rule& rule, const KnownPort& known) {
  for (const FieldOp& op : rule.limits) {
    if (op.amount.cap) continue;
    const Domain& domain = known.contract.domain(op.field);
    const bool max = op.kind == FieldOp::Kind::max && op.amount.literal > domain.max;
    const bool min = op.kind == FieldOp::Kind::min && op.amount.literal < domain.min;
    if (max || min)
      return fmt::format("{} of at {} {}, where {} holds by {}", name(op.field), max ? "most" : "least",
                         op.amount.literal, max ? domain.max : domain.min,
                         to_string(known.contract.provenance(max ? domain.max_by : domain.min_by)));
  }
  for (const auto& [feature, support] : rule.features) {
    const FeatureState& state = known.contract.feature(feature);
    if (support != Support::absent && state.support == Support::absent)
      return fmt::format("{} as {}, where absent holds by {}", name(feature), name(support),
                         to_string(known.contract.provenance(state.by)));
  }
  return {};
}

/// Rules only tighten: one that would loosen, and does not name what it replaces, comes to nothing. The shipped tables
/// say of a family what a member may bound further, and of a device what this build does not cover.
void check_loosening(const Rule& rule, const std::vector<KnownPort>& known, std::vector<Finding>& findings) {
  if (rule.loosens || !of_a_site(rule.layer)) return;
  std::string first;
  for (const KnownPort& each : known) {
    if (!quirks::matches(rule, each.subject, nullptr)) continue;
    const std::string says = looser(rule, each);
    if (says.empty()) return;
    if (first.empty()) first = fmt::format("{} (on {})", says, each.model->name);
  }
  if (first.empty()) return;
  findings.push_back(
      about(rule, FindingLevel::warning, fmt::format("would loosen, and without 'replaces' it does not: {}", first)));
}

bool matches_some(const Rule& rule, const std::vector<Model>& models) {
  return std::any_of(models.begin(), models.end(), [&](const Model& model) {
    if (model.device.ports.empty()) return quirks::matches(rule, {model.device, model.caps, 1}, nullptr);
    return std::any_of(model.device.ports.begin(), model.device.ports.end(), [&](const PortId& port) {
      return quirks::matches(rule, {model.device, model.caps, port.number}, nullptr);
    });
  });
}

/// Says so when an id of the rule is written in decimal, and read in hexadecimal it would be a known model's.
std::string forgotten_0x(const Rule& rule, const std::vector<Model>& models) {
  for (const quirks::Condition& condition : rule.match) {
    if (condition.key != quirks::MatchKey::part_id && condition.key != quirks::MatchKey::pci_vendor) continue;
    for (const quirks::Range& range : condition.numbers) {
      const auto meant = quirks::read_number(fmt::format("0x{}", range.low));
      if (range.low != range.high || !meant ||
          condition.written.find(fmt::format("{}", range.low)) == std::string::npos)
        continue;
      for (const Model& model : models) {
        const auto& id = condition.key == quirks::MatchKey::part_id ? model.device.part_id : model.device.pci_vendor;
        if (id && *id == *meant)
          return fmt::format(": {} {} is decimal, and 0x{} is that of {}", name(condition.key), range.low, range.low,
                             model.name);
      }
    }
  }
  return {};
}

/// Says so when the rule is of a driver that no model has; empty when one has it.
std::string unknown_driver(const Rule& rule, const std::vector<Model>& models) {
  std::vector<std::string_view> drivers;
  for (const Model& model : models) drivers.push_back(model.device.driver);
  for (const quirks::Condition& condition : rule.match)
    for (const std::string& word : condition.words)
      if (condition.key == quirks::MatchKey::driver && std::find(drivers.begin(), drivers.end(), word) == drivers.end())
        return fmt::format(": none has the driver '{}'{}", word, quirks::did_you_mean(word, drivers));
  return {};
}

}  // namespace

std::vector<Finding> lint_quirks(const QuirkOptions& options, const BackendRegistry& registry) {
  std::vector<Layer> layers;
  layers.reserve(options.layers.size());
  for (const LayerSource& source : options.layers)
    layers.push_back(quirks::read_layer(source, options.privileged, registry));
  std::vector<Rule> rules = quirks::merge_layers(layers);
  std::vector<Finding> findings;
  for (const Layer& layer : layers)
    findings.insert(findings.end(), layer.report.findings.begin(), layer.report.findings.end());

  // One that takes the place of a rule by its id has named what it replaces.
  std::set<std::pair<std::string, int>> take_a_place;
  for (const Finding& finding : findings)
    if (finding.level == FindingLevel::note && finding.text.starts_with("replaces the rule of the same id"))
      take_a_place.emplace(finding.rule, finding.line);

  const auto cases = case_ids();
  const std::vector<std::string_view> case_names(cases.begin(), cases.end());
  const auto models = models_with_variants();
  std::vector<std::string_view> ids;
  ids.reserve(rules.size());
  for (const Rule& rule : rules) ids.push_back(rule.summary.id);

  QuirkOptions relaxed = options;
  relaxed.strict = false;
  const auto set = load_quirks(relaxed, registry);
  const auto known = set ? known_ports(**set, models) : std::vector<KnownPort>{};

  for (const Rule& rule : rules) {
    check_until(rule, findings);
    check_versions(rule, findings);
    check_firmware(rule, findings);
    if (rule.summary.by.evidence == Evidence::claim && rule.summary.enabled && rule.layer == LayerKind::builtin &&
        rule.summary.by.layer == name(LayerKind::builtin))
      findings.push_back(about(rule, FindingLevel::error, "a claim ships 'enabled: false'; a site turns it on"));
    if (!cases.empty() && !cases.contains(rule.summary.proof))
      findings.push_back(about(rule, FindingLevel::error,
                               fmt::format("proof '{}' is no conformance case{}", rule.summary.proof,
                                           quirks::did_you_mean(rule.summary.proof, case_names))));
    if (!rule.summary.replaces.empty() && !rule.replaces_declared &&
        std::find(ids.begin(), ids.end(), rule.summary.replaces) == ids.end())
      findings.push_back(about(rule, FindingLevel::error,
                               fmt::format("replaces '{}', which is no rule{}", rule.summary.replaces,
                                           quirks::did_you_mean(rule.summary.replaces, ids))));
    if (!rule.summary.requires_features.empty())
      findings.push_back(about(
          rule, FindingLevel::note,
          fmt::format("is skipped by this version, which lacks: {}", fmt::join(rule.summary.requires_features, ", "))));
    if (!matches_some(rule, models)) {
      const bool site = of_a_site(rule.layer);
      std::string slip = unknown_driver(rule, models);
      if (slip.empty()) slip = forgotten_0x(rule, models);
      const FindingLevel level = slip.empty() ? FindingLevel::note : FindingLevel::warning;
      findings.push_back(
          about(rule, site ? level : FindingLevel::error, fmt::format("matches no known model{}", slip)));
    }
    if (!in_force(rule)) continue;
    quirks::check_replaces(rule, rules, findings);
    const bool shadowed = quirks::check_against_others(rule, rules, known, findings);
    if (!shadowed && !take_a_place.contains({rule.summary.id, rule.at.line})) check_loosening(rule, known, findings);
  }
  quirks::check_numbers(rules, known, findings);
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& left, const Finding& right) {
    return std::tie(left.file, left.line, left.column) < std::tie(right.file, right.line, right.column);
  });
  findings.erase(std::unique(findings.begin(), findings.end()), findings.end());
  return findings;
}

}  // namespace verbena
