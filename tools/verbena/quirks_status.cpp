// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include "exit_code.hpp"
#include "json.hpp"
#include "quirks.hpp"
#include "say.hpp"
#include "table.hpp"
#include "verbena/rule_state.hpp"

namespace cli {
namespace {

std::string state(const verbena::LayerReport& layer) {
  if (!layer.present) return "not there";
  if (layer.loaded && layer.kind != verbena::LayerKind::builtin && !holds_a_table(layer.path)) return "no table in it";
  return layer.loaded ? "loaded" : "left out";
}

/// Something that a site must look at: a fault that keeps the layer out, or a place that was named and holds no table.
bool wants_a_look(const verbena::LayerReport& layer) {
  if (layer.loaded) return layer.kind == verbena::LayerKind::env && !holds_a_table(layer.path);
  return layer.present || !layer.findings.empty();
}

int status(bool json) {
  const verbena::Result<verbena::LoadedSettings> settings = verbena::load_settings();
  if (!settings) return fail(settings.error());
  verbena::QuirkOptions options;
  options.layers = verbena::default_layers(settings->values.quirks_path, settings->privileged);
  options.privileged = settings->privileged;
  const auto quirks = verbena::load_quirks(options, verbena::BackendRegistry::builtin());
  if (!quirks) return fail(quirks.error());
  Json out;
  out["schema"] = kSchema;
  out["hash"] = hash_text((*quirks)->hash());
  out["strict"] = settings->values.strict_quirks;
  out["not_in_force"] = Json::array();
  for (const verbena::RuleSummary& rule : (*quirks)->rules()) {
    const std::string why_not = why_not_in_force(rule);
    if (!why_not.empty()) out["not_in_force"].push_back({{"rule", rule.id}, {"why_not", why_not}});
  }
  out["layers"] = Json::array();
  Table table({"layer", "path", "state", "version", "rules", "skipped", "disabled"});
  int code = kOk;
  bool faulty = false;
  for (const verbena::LayerReport& layer : (*quirks)->layers()) {
    if (wants_a_look(layer)) code = kFinding;
    faulty = faulty || (!layer.loaded && (layer.present || !layer.findings.empty()));
    table.row({std::string(name(layer.kind)), layer.path.empty() ? "(in the library)" : layer.path, state(layer),
               layer.version, fmt::format("{}", layer.rules), fmt::format("{}", layer.skipped),
               fmt::format("{}", layer.disabled)});
    Json row;
    row["layer"] = name(layer.kind);
    row["path"] = layer.path;
    row["present"] = layer.present;
    row["loaded"] = layer.loaded;
    row["holds_a_table"] = layer.present && (layer.kind == verbena::LayerKind::builtin || holds_a_table(layer.path));
    row["version"] = layer.version;
    row["rules"] = layer.rules;
    row["skipped"] = layer.skipped;
    row["disabled"] = layer.disabled;
    row["findings"] = Json::array();
    for (const verbena::Finding& finding : layer.findings) row["findings"].push_back(to_json(finding));
    row["left_out"] = layer.left_out;
    out["layers"].push_back(std::move(row));
  }
  if (json) {
    print(out);
    return code;
  }
  say("rules {}, {} of them, {} in force\n{}", hash_text((*quirks)->hash()), (*quirks)->rules().size(),
      (*quirks)->rules().size() - out["not_in_force"].size(), table.text());
  for (const Json& one : out["not_in_force"]) {
    say("not in force: {}: {}\n", one["rule"].get<std::string>(), one["why_not"].get<std::string>());
  }
  for (const verbena::LayerReport& layer : (*quirks)->layers()) {
    for (const verbena::Finding& finding : layer.findings) say("{}\n", to_string(finding));
    if (layer.loaded || layer.left_out.empty()) continue;
    say("{}: one fault keeps the whole layer out, so that this is not in force either:\n", layer.path);
    for (const std::string& lost : layer.left_out) say("  {}\n", lost);
  }
  if (faulty && settings->values.strict_quirks) {
    say("with VERBENA_QUIRKS_STRICT no device opens until that is mended\n");
  }
  return code;
}

}  // namespace

void add_quirks_status(CLI::App& quirks, Run& run) {
  CLI::App* command = quirks.add_subcommand(
      "status", "Show what a process starting now would load, and every place that it looks at; exit 1 if one is bad");
  auto json = std::make_shared<bool>(false);
  command->add_flag("-j,--json", *json, "Print one JSON document");
  command->footer("Example: VERBENA_QUIRKS=./site.yaml verbena quirks status");
  command->callback([json, &run] { run = [json] { return status(*json); }; });
}

}  // namespace cli
