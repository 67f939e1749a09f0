// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>

#include "exit_code.hpp"
#include "json.hpp"
#include "quirks.hpp"
#include "say.hpp"
#include "table.hpp"

namespace cli {
namespace {

int formulas(bool json) {
  const verbena::BackendRegistry registry = verbena::BackendRegistry::builtin();
  Json out;
  out["schema"] = kSchema;
  out["formulas"] = Json::array();
  for (const verbena::JointFormula* formula : registry.formulas()) {
    Json row;
    row["formula"] = formula->name;
    row["meaning"] = formula->meaning;
    row["params"] = Json::array();
    if (!json) say("{}: {}\n", formula->name, formula->meaning);
    Table table({"parameter", "default", "from", "to", "meaning"});
    for (const verbena::ParamInfo& param : formula->params) {
      Json entry;
      entry["name"] = param.name;
      entry["default"] = param.fallback;
      entry["min"] = param.min;
      entry["max"] = param.max;
      entry["meaning"] = param.meaning;
      row["params"].push_back(std::move(entry));
      table.row({std::string(param.name), fmt::format("{}", param.fallback), fmt::format("{}", param.min),
                 fmt::format("{}", param.max), std::string(param.meaning)});
    }
    if (!json) say("{}", table.text(2));
    out["formulas"].push_back(std::move(row));
  }
  if (json) print(out);
  return kOk;
}

int flags(bool json) {
  Json out;
  out["schema"] = kSchema;
  out["flags"] = Json::array();
  for (const verbena::BehaviourInfo& flag : verbena::all_behaviours()) {
    Json row;
    row["flag"] = flag.name;
    row["meaning"] = flag.meaning;
    row["choices"] = Json::array();
    std::string choices;
    for (const verbena::Choice choice : flag.choices) {
      row["choices"].push_back(name(choice));
      choices += fmt::format("{}{}", choices.empty() ? "" : " | ", name(choice));
    }
    row["without_a_rule"] = name(flag.fallback);
    if (!json) {
      say("{}: {}\n    {}\n    without a rule: {}\n", flag.name, choices, flag.meaning, name(flag.fallback));
    }
    out["flags"].push_back(std::move(row));
  }
  if (json) print(out);
  return kOk;
}

void add(CLI::App& quirks, Run& run, const char* word, const char* help, int (*work)(bool)) {
  CLI::App* command = quirks.add_subcommand(word, help);
  auto json = std::make_shared<bool>(false);
  command->add_flag("-j,--json", *json, "Print one JSON document");
  command->footer(fmt::format("Example: verbena quirks {} -j", word));
  command->callback([json, work, &run] { run = [json, work] { return work(*json); }; });
}

}  // namespace

void add_quirks_words(CLI::App& quirks, Run& run) {
  add(quirks, run, "formulas", "List the ring formulas that `joint:` may choose, with their parameters", formulas);
  add(quirks, run, "flags", "List the behaviour flags that `set:` may set, with their choices", flags);
}

}  // namespace cli
