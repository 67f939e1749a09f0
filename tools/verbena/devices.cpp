// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include "commands.hpp"
#include "exit_code.hpp"
#include "json.hpp"
#include "say.hpp"
#include "table.hpp"

namespace cli {
namespace {

Json faults_of(const verbena::Model& model) {
  Json list = Json::array();
  for (const verbena::SwitchedFault& one : model.faults) {
    Json entry;
    entry["fault"] = name(one.fault);
    entry["parameters"] = Json::object();
    for (const verbena::SwitchedFault::Parameter& parameter : one.parameters) {
      if (parameter.word.empty())
        entry["parameters"][parameter.name] = parameter.number;
      else
        entry["parameters"][parameter.name] = parameter.word;
    }
    list.push_back(std::move(entry));
  }
  return list;
}

/// Of a list of pairs that have names.
template <class Pairs>
Json by_name(const Pairs& pairs) {
  Json object = Json::object();
  for (const auto& [key, value] : pairs) object[std::string{name(key)}] = name(value);
  return object;
}

int list_models(bool json) {
  Json out;
  out["schema"] = kSchema;
  out["models"] = Json::array();
  Table table({"model", "title", "variants"});
  for (const std::string& model_name : verbena::builtin_models()) {
    const verbena::Result<verbena::Model> model = verbena::load_model(model_name);
    if (!model) return fail(model.error());
    Json row;
    row["model"] = model->name;
    row["title"] = model->title;
    row["variants"] = model->variants;
    row["source"] = model->source;
    row["features"] = by_name(model->features);
    row["behaviours"] = by_name(model->behaviours);
    row["faults"] = faults_of(*model);
    row["deviations"] = Json::array();
    for (const verbena::Deviation deviation : model->deviations) row["deviations"].push_back(name(deviation));
    out["models"].push_back(std::move(row));
    table.row({model->name, model->title, fmt::format("{}", fmt::join(model->variants, ", "))});
  }
  if (json) {
    print(out);
  } else {
    say("{}", table.text());
  }
  return kOk;
}

struct Row {
  verbena::DeviceId id;
  bool openable = false;
  std::string why_not;
};

int list(const Session& session, const Options& options) {
  std::vector<Row> rows;
  std::vector<std::string> wanted = options.devices;
  wanted.insert(wanted.end(), options.positional.begin(), options.positional.end());
  for (const std::string& device_name : wanted) {
    const verbena::Result<Target> target = session.device(device_name, options.port);
    if (!target) return fail(target.error());
    rows.push_back({target->id, true, {}});
  }
  if (options.live && !options.nics.empty()) {
    const verbena::Result<std::vector<Target>> made = session.emulated(options.nics, options.port);
    if (!made) return fail(made.error());
    for (const Target& target : *made) rows.push_back({target.id, true, {}});
  }
  for (const std::string& model_name : options.live ? std::vector<std::string>{} : options.nics) {
    const verbena::Result<Target> target = session.model(model_name, options.port);
    if (!target) return fail(target.error());
    rows.push_back({target->id, false, "a model"});
  }
  if (rows.empty()) {
    const verbena::Result<std::vector<verbena::ListedDevice>> listed = session.library().devices();
    if (!listed) return fail(listed.error());
    for (const verbena::ListedDevice& device : *listed) rows.push_back({device.id, device.openable, device.why_not});
  }
  Json out;
  out["schema"] = kSchema;
  out["devices"] = Json::array();
  Table table({"device", "driver", "ports", "state", "identity"});
  for (const Row& row : rows) {
    Json entry;
    entry["device"] = to_json(row.id);
    entry["openable"] = row.openable;
    entry["why_not"] = row.why_not;
    out["devices"].push_back(std::move(entry));
    table.row({row.id.name.empty() ? row.id.model : row.id.name, row.id.driver, fmt::format("{}", row.id.ports.size()),
               row.openable ? "openable" : row.why_not, to_string(row.id)});
  }
  if (options.json) {
    print(out);
  } else if (rows.empty()) {
    say("no RDMA device on this host\n");
  } else {
    say("{}", table.text());
  }
  return kOk;
}

}  // namespace

void add_devices(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("devices", "List the RDMA devices of this host, openable or not");
  auto options = add_target_options(*command);
  auto models = std::make_shared<bool>(false);
  add_live(*command, *options);
  command->add_flag("--models", *models, "List the models that --nic knows instead");
  command->footer("Example: verbena devices -j");
  command->callback([options, models, &run] {
    run = [options, models] {
      if (*models) return list_models(options->json);
      const verbena::Result<Session> session = Session::open();
      return session ? list(*session, *options) : fail(session.error());
    };
  });
}

}  // namespace cli
