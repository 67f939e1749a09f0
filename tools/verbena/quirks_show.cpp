// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "exit_code.hpp"
#include "json.hpp"
#include "left_out.hpp"
#include "nearest.hpp"
#include "numbers.hpp"
#include "quirks.hpp"
#include "say.hpp"
#include "table.hpp"
#include "verbena/rule_state.hpp"

namespace cli {
namespace {

Json rule_json(const verbena::RuleSummary& rule) {
  Json out;
  out["id"] = rule.id;
  out["driver"] = rule.driver;
  out["on"] = name(rule.on);
  out["enabled"] = rule.enabled;
  out["off"] = rule.off;
  const std::string why_not = why_not_in_force(rule);
  out["in_force"] = why_not.empty();
  out["why_not"] = why_not;
  out["match"] = rule.match;
  out["effect"] = rule.effect;
  out["because"] = rule.by.reason;
  out["source"] = rule.by.source;
  out["evidence"] = name(rule.by.evidence);
  out["severity"] = name(rule.by.severity);
  out["until"] = rule.until;
  out["proof"] = rule.proof;
  out["replaces"] = rule.replaces;
  out["requires"] = rule.requires_features;
  out["for"] = rule.speaks_for;
  out["against"] = rule.speaks_against;
  out["layer"] = rule.by.layer;
  out["file"] = rule.by.file;
  out["line"] = rule.by.line;
  return out;
}

/// What each device's or model's contract says of the rule: applied, why not, what beat it.
using Traces = std::vector<std::pair<std::string, verbena::RuleTrace>>;

Traces traces_of(const std::string& id, const std::vector<Target>& targets) {
  Traces out;
  for (const Target& target : targets) {
    for (const verbena::RuleTrace& trace : target.contract->trace()) {
      if (trace.id == id) out.emplace_back(target.name, trace);
    }
  }
  return out;
}

/// `on`, or what keeps the rule out of force.
std::string_view state_of(const verbena::RuleSummary& rule) {
  if (!rule.enabled) return "off";
  return rule.requires_features.empty() ? "on" : "skipped";
}

std::string text_of(const verbena::RuleTrace& trace) {
  if (!trace.applied) return "no: " + trace.why_not;
  return trace.beaten_by.empty() ? "yes" : "yes, but beaten by " + trace.beaten_by;
}

/// Only the devices that were named: none of the host's own when there is no name.
verbena::Result<std::vector<Target>> named_targets(const Session& session, const Options& options) {
  if (options.devices.empty() && options.positional.empty() && options.nics.empty()) return std::vector<Target>{};
  return session.targets(options);
}

std::string names_of(const std::vector<Target>& targets) {
  std::vector<std::string_view> names;
  for (const Target& target : targets) names.push_back(target.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Drivers of a rule, which names them in a list.
std::vector<std::string_view> drivers_of(const verbena::RuleSummary& rule) {
  std::vector<std::string_view> drivers;
  for (std::string_view rest = rule.driver; !rest.empty();) {
    const std::size_t end = std::min(rest.find(", "), rest.size());
    drivers.push_back(rest.substr(0, end));
    rest.remove_prefix(std::min(rest.size(), end + 2));
  }
  return drivers;
}

/// What is in no rule that is shown: layers that a fault keeps out, and what that comes to where the site is strict.
std::string left_out_text(const Session& session) {
  std::string text = to_text(layers_left_out(*session.library().quirks()));
  const auto layers = session.library().quirks()->layers();
  const bool faulty = std::any_of(layers.begin(), layers.end(), [](const verbena::LayerReport& layer) {
    return !layer.loaded && (layer.present || !layer.findings.empty());
  });
  if (faulty && session.settings().values.strict_quirks)
    text += "with VERBENA_QUIRKS_STRICT no device opens until that is mended\n";
  return text;
}

int list(const Options& options, const std::string& driver) {
  const verbena::Result<Session> session = Session::open(Tables::to_be_shown);
  if (!session) return fail(session.error());
  const verbena::Result<std::vector<Target>> targets = named_targets(*session, options);
  if (!targets) return fail(targets.error());
  const auto of_the_driver = [&](const verbena::RuleSummary& rule) {
    const auto drivers = drivers_of(rule);
    return driver.empty() || std::find(drivers.begin(), drivers.end(), driver) != drivers.end();
  };
  const auto wanted = [&](const verbena::RuleSummary& rule) {
    if (!of_the_driver(rule)) return false;
    if (targets->empty()) return true;
    const Traces traces = traces_of(rule.id, *targets);
    return std::any_of(traces.begin(), traces.end(), [](const auto& entry) { return entry.second.applied; });
  };
  Json out;
  out["schema"] = kSchema;
  out["hash"] = hash_text(session->library().quirks()->hash());
  out["layers_left_out"] = to_json(layers_left_out(*session->library().quirks()));
  out["rules"] = Json::array();
  Table table({"rule", "driver", "on", "state", "effect", "where"});
  std::string out_of_force;
  const auto rules = session->library().quirks()->rules();
  if (std::none_of(rules.begin(), rules.end(), of_the_driver)) {
    std::set<std::string_view> drivers;
    for (const verbena::RuleSummary& rule : rules)
      for (const std::string_view one : drivers_of(rule)) drivers.insert(one);
    const std::vector<std::string_view> known(drivers.begin(), drivers.end());
    return fail(bad_argument("driver", fmt::format("no rule is of a driver '{}'{}; there are rules of {}", driver,
                                                   did_you_mean(driver, known), fmt::join(known, ", "))));
  }
  for (const verbena::RuleSummary& rule : rules) {
    if (!wanted(rule)) continue;
    out["rules"].push_back(rule_json(rule));
    table.row({rule.id, rule.driver, std::string(name(rule.on)), std::string(state_of(rule)), rule.effect,
               fmt::format("{}:{}", rule.by.file, rule.by.line)});
    if (const std::string why = why_not_in_force(rule); !why.empty())
      out_of_force += fmt::format("not in force: {}: {}\n", rule.id, why);
  }
  if (options.json) {
    print(out);
  } else {
    if (table.empty()) {
      say("no rule{} {}\n", driver.empty() ? "" : " of driver " + driver,
          targets->empty() ? "is there" : "applies to " + names_of(*targets));
    } else {
      say("{}{}", table.text(), out_of_force);
    }
    say("{}", left_out_text(*session));
  }
  return kOk;
}

void print_rule(const verbena::RuleSummary& rule, const Traces& traces) {
  const std::string why_not = why_not_in_force(rule);
  say("{}{}\n", rule.id, why_not.empty() ? "" : fmt::format(" ({}, not in force)", state_of(rule)));
  const auto line = [](std::string_view key, const std::string& value) {
    if (!value.empty()) say("  {:<9} {}\n", key, value);
  };
  line("why not", why_not);
  line("driver", rule.driver);
  line("on", std::string(name(rule.on)));
  line("match", rule.match);
  line("effect", rule.effect);
  line("because", rule.by.reason);
  line("source", rule.by.source);
  line("evidence", fmt::format("{}, severity {}", name(rule.by.evidence), name(rule.by.severity)));
  line("until", rule.until);
  line("proof", rule.proof);
  line("replaces", rule.replaces);
  line("requires", fmt::format("{}", fmt::join(rule.requires_features, ", ")));
  line("for", rule.speaks_for);
  line("against", rule.speaks_against);
  line("where", fmt::format("{}:{} (layer {})", rule.by.file, rule.by.line, rule.by.layer));
  for (const auto& [target, trace] : traces) line("applies", fmt::format("to {}: {}", target, text_of(trace)));
}

int show(const Options& options, const std::string& id) {
  const verbena::Result<Session> session = Session::open(Tables::to_be_shown);
  if (!session) return fail(session.error());
  const verbena::Result<std::vector<Target>> targets = named_targets(*session, options);
  if (!targets) return fail(targets.error());
  const auto quirks = session->library().quirks();
  const auto rules = quirks->rules();
  const auto found = std::find_if(rules.begin(), rules.end(), [&](const auto& rule) { return rule.id == id; });
  if (found == rules.end()) {
    std::vector<std::string_view> known;
    for (const verbena::RuleSummary& rule : rules) known.push_back(rule.id);
    return fail(bad_argument(
        "rule", fmt::format("there is no rule '{}'{}; `verbena quirks list` shows all", id, did_you_mean(id, known))));
  }
  const Traces traces = traces_of(id, *targets);
  if (!options.json) {
    print_rule(*found, traces);
    say("{}", left_out_text(*session));
    return kOk;
  }
  Json out;
  out["schema"] = kSchema;
  out["layers_left_out"] = to_json(layers_left_out(*session->library().quirks()));
  out["rule"] = rule_json(*found);
  out["devices"] = Json::array();
  for (const auto& [target, trace] : traces) {
    Json row;
    row["device"] = target;
    row["applied"] = trace.applied;
    row["why_not"] = trace.why_not;
    row["beaten_by"] = trace.beaten_by;
    out["devices"].push_back(std::move(row));
  }
  print(out);
  return kOk;
}

}  // namespace

void add_quirks_list(CLI::App& quirks, Run& run) {
  CLI::App* command = quirks.add_subcommand("list", "List the rules in force, or those that apply to a device");
  auto options = add_target_options(*command);
  auto driver = std::make_shared<std::string>();
  command->add_option("--driver", *driver, "Only the rules of this driver");
  command->footer("Example: verbena quirks list --nic hip09");
  command->callback([options, driver, &run] { run = [options, driver] { return list(*options, *driver); }; });
}

void add_quirks_show(CLI::App& quirks, Run& run) {
  CLI::App* command = quirks.add_subcommand("show", "Print one rule: what it changes, why, and who says so");
  auto id = std::make_shared<std::string>();
  command->add_option("RULE", *id, "The rule's id")->required();
  auto options = add_target_options(*command);
  command->footer("Example: verbena quirks show irdma-gen2-inline --nic e810-roce");
  command->callback([options, id, &run] { run = [options, id] { return show(*options, *id); }; });
}

}  // namespace cli
