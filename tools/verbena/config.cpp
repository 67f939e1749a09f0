// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>
#include <unistd.h>

#include "commands.hpp"
#include "exit_code.hpp"
#include "json.hpp"
#include "say.hpp"

namespace cli {
namespace {

/// As load_settings() reads it where none is named.
constexpr const char* kSiteFile = "/etc/verbena/site.yaml";

}  // namespace

void add_config(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand("config", "Show every setting, its value and where that comes from");
  auto json = std::make_shared<bool>(false);
  command->add_flag("-j,--json", *json, "Print one JSON document");
  command->footer("Example: VERBENA_FIT_BEYOND_DECLARED=forbid verbena config");
  command->callback([json, &run] {
    run = [json] {
      const verbena::Result<verbena::LoadedSettings> settings = verbena::load_settings();
      if (!settings) return fail(settings.error());
      for (const verbena::Finding& finding : settings->findings) complain(to_string(finding));
      Json out;
      out["schema"] = kSchema;
      out["environment_read"] = !settings->privileged;
      const bool present = access(kSiteFile, F_OK) == 0;
      out["site_file"]["path"] = kSiteFile;
      out["site_file"]["present"] = present;
      if (!*json) say("site file {}{}\n", kSiteFile, present ? "" : ", which is not there");
      out["settings"] = Json::array();
      for (const verbena::SettingInfo& info : settings->info) {
        if (!*json) {
          say("{} = {}\n    from {}; in the environment {}\n    {}\n", info.key,
              info.value.empty() ? "(empty)" : info.value, info.from, info.variable, info.help);
          continue;
        }
        Json row;
        row["key"] = info.key;
        row["variable"] = info.variable;
        row["value"] = info.value;
        row["from"] = info.from;
        row["help"] = info.help;
        out["settings"].push_back(std::move(row));
      }
      out["findings"] = Json::array();
      for (const verbena::Finding& finding : settings->findings) out["findings"].push_back(to_json(finding));
      if (*json) print(out);
      return static_cast<int>(kOk);
    };
  });
}

}  // namespace cli
