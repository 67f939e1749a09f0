// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "commands.hpp"
#include "exit_code.hpp"
#include "json.hpp"
#include "left_out.hpp"
#include "safety_off.hpp"
#include "say.hpp"
#include "table.hpp"

namespace cli {
namespace {

std::string origin(const verbena::Provenance& by) {
  if (by.rule.empty()) return std::string(name(by.set_by));
  return fmt::format("{} {} [{}:{}]", name(by.set_by), by.rule, by.file, by.line);
}

std::string number(const std::optional<std::uint64_t>& value) {
  return value ? fmt::format("{}", *value) : "unknown";
}

std::string declared(const verbena::Domain& domain) {
  return number(domain.declared) + (domain.declared_assumed ? " assumed" : "");
}

void print_raw(const Target& target) {
  Table table({"cap", "value", ""});
  for (const verbena::Cap cap : verbena::all_caps()) {
    const auto& assumed = target.caps.assumed;
    table.row({std::string(name(cap)), number(target.caps[cap]),
               std::find(assumed.begin(), assumed.end(), cap) == assumed.end() ? "" : "assumed"});
  }
  say("{}", table.text(2));
  for (const verbena::PortCaps& port : target.caps.ports) {
    say("  port {}\n", port.number);
    Table ports({"cap", "value"});
    for (const verbena::PortCap cap : verbena::all_port_caps()) ports.row({std::string(name(cap)), number(port[cap])});
    say("{}", ports.text(4));
  }
}

/// Who says that the device has nothing that this number would count; empty when it has.
std::optional<verbena::FeatureState> absent(verbena::Field field, const verbena::Contract& contract) {
  const verbena::FieldInfo& about = verbena::info(field);
  const auto feature = about.object == verbena::Object::srq       ? verbena::Feature::srq
                       : field == verbena::Field::max_inline_data ? verbena::Feature::inline_data
                                                                  : verbena::Feature::rc;
  if (feature == verbena::Feature::rc) return std::nullopt;
  const verbena::FeatureState& state = contract.feature(feature);
  return state.support == verbena::Support::absent ? std::optional(state) : std::nullopt;
}

void print_contract(const verbena::Contract& contract) {
  Table limits({"limit", "min", "max", "declared", "by"});
  for (const verbena::FieldInfo& field : verbena::all_fields()) {
    const verbena::Domain& domain = contract.domain(field.field);
    if (const auto state = absent(field.field, contract)) {
      limits.row({fmt::format("{}.{}", name(field.object), field.name), "absent", "absent", declared(domain),
                  origin(contract.provenance(state->by))});
      continue;
    }
    limits.row({fmt::format("{}.{}", name(field.object), field.name), fmt::format("{}", domain.min),
                domain.known ? fmt::format("{}", domain.max) : "unknown", declared(domain),
                domain.known ? origin(contract.provenance(domain.max_by)) : ""});
  }
  say("{}\n", limits.text(2));
  for (const verbena::Joint& joint : contract.joints()) {
    say("  shared ring: {} ({})\n", joint.formula->name, origin(contract.provenance(joint.by)));
  }
  Table features({"feature", "support", "by"});
  for (const verbena::FeatureInfo& feature : verbena::all_features()) {
    const verbena::FeatureState& state = contract.feature(feature.feature);
    if (state.support == verbena::Support::unknown) continue;
    features.row({std::string(feature.name), std::string(name(state.support)), origin(contract.provenance(state.by))});
  }
  say("\n{}\n", features.text(2));
  Table flags({"behaviour", "choice", "by"});
  for (const verbena::BehaviourInfo& flag : verbena::all_behaviours()) {
    const verbena::BehaviourState& state = contract.behaviour(flag.behaviour);
    if (contract.provenance(state.by).rule.empty()) continue;
    flags.row({std::string(flag.name), std::string(name(state.choice)), origin(contract.provenance(state.by))});
  }
  if (!flags.empty()) say("{}\n", flags.text(2));
}

Json contract_json(const verbena::Contract& contract) {
  Json out;
  for (const verbena::FieldInfo& field : verbena::all_fields()) {
    const verbena::Domain& domain = contract.domain(field.field);
    const auto without = absent(field.field, contract);
    Json entry;
    entry["absent"] = without.has_value();
    entry["min"] = without ? Json(nullptr) : Json(domain.min);
    entry["max"] = without || !domain.known ? Json(nullptr) : Json(domain.max);
    entry["declared"] = domain.declared ? Json(*domain.declared) : Json(nullptr);
    entry["assumed"] = domain.declared_assumed;
    entry["unit"] = name(field.unit);
    add_provenance(entry, contract.provenance(without ? without->by : domain.max_by));
    out["limits"][std::string(name(field.object))][std::string(field.name)] = std::move(entry);
  }
  for (const verbena::FeatureInfo& feature : verbena::all_features()) {
    const verbena::FeatureState& state = contract.feature(feature.feature);
    Json entry;
    entry["support"] = name(state.support);
    add_provenance(entry, contract.provenance(state.by));
    out["features"][std::string(feature.name)] = std::move(entry);
  }
  for (const verbena::BehaviourInfo& flag : verbena::all_behaviours()) {
    const verbena::BehaviourState& state = contract.behaviour(flag.behaviour);
    Json entry;
    entry["choice"] = name(state.choice);
    add_provenance(entry, contract.provenance(state.by));
    out["behaviours"][std::string(flag.name)] = std::move(entry);
  }
  out["shared_rings"] = Json::array();
  for (const verbena::Joint& joint : contract.joints()) {
    Json entry;
    entry["formula"] = joint.formula->name;
    for (std::size_t i = 0; i < joint.formula->params.size(); ++i) {
      entry["params"][std::string(joint.formula->params[i].name)] = joint.params[i];
    }
    add_provenance(entry, contract.provenance(joint.by));
    out["shared_rings"].push_back(std::move(entry));
  }
  return out;
}

int show(const Session& session, const Options& options, bool raw, const std::vector<Target>& targets) {
  Json all;
  all["schema"] = kSchema;
  all["devices"] = Json::array();
  for (const Target& target : targets) {
    if (!options.json) {
      say("{}: {}\n", target.name, to_string(target.id));
      if (raw) {
        print_raw(target);
      } else {
        say("{}{}", to_text(layers_left_out(*session.library().quirks())),
            to_text(safety_off(session, *target.contract)));
        print_contract(*target.contract);
      }
      continue;
    }
    Json out;
    out["device"] = to_json(target.id);
    out["quirks"] = quirks_json(session, target.contract->quirks_hash());
    if (raw) {
      out["caps"] = to_json(target.caps);
    } else {
      out["port"] = target.contract->port();
      if (const auto off = safety_off(session, *target.contract); !off.empty()) out["safety_off"] = to_json(off);
      out["contract"] = contract_json(*target.contract);
    }
    all["devices"].push_back(std::move(out));
  }
  if (options.json) print(all);
  return kOk;
}

}  // namespace

void add_caps(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("caps", "Show what can be asked of a device, and who says so");
  auto options = add_target_options(*command);
  auto raw = std::make_shared<bool>(false);
  add_live(*command, *options);
  command->add_flag("--raw", *raw, "What the device says of itself, before any rule");
  command->footer("Example: verbena caps --nic e810-roce");
  command->callback([options, raw, &run] {
    run = [options, raw] {
      return with_targets(*options, [&](const Session& session, std::vector<Target>& targets) {
        return show(session, *options, *raw, targets);
      });
    };
  });
}

}  // namespace cli
