// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include "commands.hpp"
#include "exit_code.hpp"
#include "json.hpp"
#include "say.hpp"
#include "trial.hpp"

namespace cli {
namespace {

struct DumpWords {
  bool trial = false;
  bool redact = false;
};

int dump(const Options& options, const DumpWords& words, std::vector<Target>& targets) {
  Json all;
  all["schema"] = kSchema;
  all["devices"] = Json::array();
  for (Target& target : targets) {
    std::vector<std::string> notes;
    if (words.trial) {
      verbena::Result<std::vector<std::string>> tried = try_limits(*target.verbs, *target.device, target.caps);
      if (!tried) return fail(tried.error());
      notes = *std::move(tried);
    }
    const std::string yaml = verbena::write_model(target.id, target.caps, words.redact);
    if (options.json) {
      Json row;
      row["name"] = target.name;
      row["model_yaml"] = yaml;
      row["trial"] = notes;
      all["devices"].push_back(std::move(row));
      continue;
    }
    say("{}", yaml);
    for (const std::string& note : notes) say("# trial: {}\n", note);
  }
  if (options.json) print(all);
  return kOk;
}

}  // namespace

void add_dump(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("dump", "Write a device's model file to standard output");
  auto options = add_target_options(*command);
  auto words = std::make_shared<DumpWords>();
  command->add_flag(
      "--trial", words->trial,
      "Find limits that no query tells by creating objects (a bounded number); with --nic on an emulated NIC");
  add_live(*command, *options);
  command->add_flag("--redact", words->redact, "Leave out GUIDs, MACs and addresses");
  command->footer("Example: verbena dump --redact mlx5_0 > my-nic.yaml && verbena caps --nic ./my-nic.yaml");
  command->callback([options, words, &run] {
    run = [options, words] {
      options->live |= words->trial;
      return with_targets(*options, [&](const Session&, std::vector<Target>& targets) {
        if (targets.size() > 1 && !options->json) {
          return fail_usage("a model file describes one device: name it, or use -j");
        }
        return dump(*options, *words, targets);
      });
    };
  });
}

}  // namespace cli
