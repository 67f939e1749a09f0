// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <unistd.h>
#include <cerrno>
#include <cstring>

#include "exit_code.hpp"
#include "json.hpp"
#include "number_options.hpp"
#include "numbers.hpp"
#include "quirks.hpp"
#include "say.hpp"
#include "table.hpp"

namespace cli {
namespace {

struct QuirksDiffWords {
  std::string from, to;
  bool alone = false;
};

/// One value that differs.
struct Change {
  std::string what, from, to, from_rule, to_rule;
};

using verbena::Contract;

std::string number_text(const verbena::Domain& domain) {
  std::string text = fmt::format("{}..{}", domain.min, domain.known ? fmt::format("{}", domain.max) : "unknown");
  if (domain.reserve != 0) text += fmt::format(", {} reserved", domain.reserve);
  for (std::uint8_t i = 0; i < domain.ask_count; ++i) {
    switch (domain.asks[i].kind) {
      case verbena::AskKind::as_is:
        break;
      case verbena::AskKind::power_of_two:
        text += ", power of two";
        break;
      case verbena::AskKind::multiple_of:
        text += fmt::format(", multiple of {}", domain.asks[i].n);
        break;
      case verbena::AskKind::not_multiple_of:
        text += fmt::format(", not a multiple of {}", domain.asks[i].n);
        break;
      case verbena::AskKind::plus:
        text += fmt::format(", plus {}", domain.asks[i].n);
        break;
    }
  }
  return text;
}

/// The rules behind a number: who bounds it above, below, and by what must be asked.
std::string number_rules(const Contract& contract, const verbena::Domain& domain) {
  std::string rules;
  const auto add = [&](verbena::ProvenanceIndex index) {
    const std::string& rule = contract.provenance(index).rule;
    if (!rule.empty() && rules.find(rule) == std::string::npos) rules += (rules.empty() ? "" : ", ") + rule;
  };
  add(domain.max_by);
  add(domain.min_by);
  add(domain.reserve_by);
  for (std::uint8_t i = 0; i < domain.ask_count; ++i) add(domain.asks[i].by);
  return rules;
}

std::string rings_text(const Contract& contract) {
  std::string text;
  for (const verbena::Joint& joint : contract.joints()) {
    text += fmt::format("{}{} {{", text.empty() ? "" : "; ", joint.formula->name);
    for (std::size_t i = 0; i < joint.formula->params.size(); ++i) {
      text += fmt::format("{}{}: {}", i == 0 ? "" : ", ", joint.formula->params[i].name, joint.params[i]);
    }
    text += '}';
  }
  return text.empty() ? "none" : text;
}

std::string rings_rules(const Contract& contract) {
  std::string rules;
  for (const verbena::Joint& joint : contract.joints()) {
    rules += (rules.empty() ? "" : ", ") + contract.provenance(joint.by).rule;
  }
  return rules;
}

std::vector<Change> compare(const Contract& from, const Contract& to) {
  std::vector<Change> changes;
  const auto add = [&](std::string what, std::string a, std::string b, std::string a_rule, std::string b_rule) {
    if (a != b) changes.push_back({std::move(what), std::move(a), std::move(b), std::move(a_rule), std::move(b_rule)});
  };
  for (const verbena::FieldInfo& field : verbena::all_fields()) {
    const verbena::Domain& a = from.domain(field.field);
    const verbena::Domain& b = to.domain(field.field);
    add(fmt::format("{}.{}", name(field.object), field.name), number_text(a), number_text(b), number_rules(from, a),
        number_rules(to, b));
  }
  for (const verbena::FeatureInfo& feature : verbena::all_features()) {
    const verbena::FeatureState& a = from.feature(feature.feature);
    const verbena::FeatureState& b = to.feature(feature.feature);
    add(fmt::format("feature {}", feature.name), std::string(name(a.support)), std::string(name(b.support)),
        from.provenance(a.by).rule, to.provenance(b.by).rule);
  }
  for (const verbena::BehaviourInfo& flag : verbena::all_behaviours()) {
    const verbena::BehaviourState& a = from.behaviour(flag.behaviour);
    const verbena::BehaviourState& b = to.behaviour(flag.behaviour);
    add(fmt::format("flag {}", flag.name), std::string(name(a.choice)), std::string(name(b.choice)),
        from.provenance(a.by).rule, to.provenance(b.by).rule);
  }
  add("shared rings", rings_text(from), rings_text(to), rings_rules(from), rings_rules(to));
  return changes;
}

/// One side: `builtin` for the built-in tables alone, else a file or directory laid over them, or in place of them.
verbena::Result<std::shared_ptr<const verbena::QuirkSet>> load(const std::string& word, bool alone) {
  verbena::QuirkOptions options;
  options.strict = true;
  if (word == "builtin") {
    options.layers.push_back(verbena::default_layers({}, true).front());
  } else {
    if (access(word.c_str(), R_OK) != 0) {
      return verbena::Failure(
          bad_argument("tables", fmt::format("'{}' cannot be read: {}", word, std::strerror(errno))));
    }
    if (!holds_a_table(word)) return verbena::Failure(no_table(word));
    if (!alone) options.layers.push_back(verbena::default_layers({}, true).front());
    options.layers.push_back({alone ? verbena::LayerKind::builtin : verbena::LayerKind::etc, word, {}});
  }
  return verbena::load_quirks(options, verbena::BackendRegistry::builtin());
}

/// The models that are compared when none is named: all of this build, with their variants.
std::vector<std::string> every_model() {
  std::vector<std::string> names;
  for (const std::string& model_name : verbena::builtin_models()) {
    names.push_back(model_name);
    const verbena::Result<verbena::Model> model = verbena::load_model(model_name);
    if (!model) continue;
    for (const std::string& variant : model->variants) names.push_back(fmt::format("{}@{}", model_name, variant));
  }
  return names;
}

int diff(Options options, const QuirksDiffWords& words) {
  const verbena::Result<Session> session = Session::open(Tables::built_in);
  if (!session) return fail(session.error());
  const auto from = load(words.from, words.alone);
  if (!from) return fail(from.error());
  const auto to = load(words.to, words.alone);
  if (!to) return fail(to.error());
  if (options.devices.empty() && options.nics.empty()) options.nics = every_model();
  const verbena::Result<std::vector<Target>> targets = session->targets(options);
  if (!targets) return fail(targets.error());
  Json out;
  out["schema"] = kSchema;
  out["old"]["tables"] = words.from;
  out["old"]["hash"] = hash_text((*from)->hash());
  out["new"]["tables"] = words.to;
  out["new"]["hash"] = hash_text((*to)->hash());
  out["devices"] = Json::array();
  std::size_t changed = 0;
  for (const Target& target : *targets) {
    const auto port = static_cast<std::uint8_t>(options.port);
    const bool beyond = session->library().settings().beyond_declared;
    const std::vector<Change> changes = compare((*from)->contract(target.id, target.caps, port, beyond),
                                                (*to)->contract(target.id, target.caps, port, beyond));
    if (changes.empty()) continue;
    ++changed;
    Json row;
    row["device"] = target.name;
    row["changes"] = Json::array();
    Table table({"what", "old", "new", "old rule", "new rule"});
    for (const Change& change : changes) {
      Json entry;
      entry["what"] = change.what;
      entry["old"] = change.from;
      entry["new"] = change.to;
      entry["old_rule"] = change.from_rule;
      entry["new_rule"] = change.to_rule;
      row["changes"].push_back(std::move(entry));
      table.row({change.what, change.from, change.to, change.from_rule.empty() ? "-" : change.from_rule,
                 change.to_rule.empty() ? "-" : change.to_rule});
    }
    if (!options.json) say("{}\n{}", target.name, table.text(2));
    out["devices"].push_back(std::move(row));
  }
  if (options.json) {
    print(out);
  } else {
    say("{} of {} contracts change\n", changed, targets->size());
  }
  return changed == 0 ? kOk : kFinding;
}

}  // namespace

void add_quirks_diff(CLI::App& quirks, Run& run) {
  CLI::App* command =
      quirks.add_subcommand("diff", "Show which contracts a change of tables alters; exit 1 if there is one");
  auto words = std::make_shared<QuirksDiffWords>();
  auto options = std::make_shared<Options>();
  command->add_option("OLD", words->from, "A table file, a directory of them, or `builtin`")->required();
  command->add_option("NEW", words->to, "The same")->required();
  add_names(*command, "-d,--device", options->devices, "A device by name; repeatable, comma list allowed");
  add_names(*command, "--nic", options->nics, "A model; without one, every model and variant of this build");
  command->add_option("-i,--port", options->port, "Port, from 1")->check(whole_number(1, 255))->capture_default_str();
  command->add_flag("--alone", words->alone, "OLD and NEW stand in place of the built-in tables, not over them");
  command->add_flag("-j,--json", options->json, "Print one JSON document");
  command->footer("Example: verbena quirks diff builtin /etc/verbena/quirks.d --nic e810-roce");
  command->callback([options, words, &run] { run = [options, words] { return diff(*options, *words); }; });
}

}  // namespace cli
