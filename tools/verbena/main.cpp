// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <iostream>
#include <span>

#include "commands.hpp"
#include "exit_code.hpp"
#include "nearest.hpp"
#include "number_options.hpp"
#include "numbers.hpp"
#include "verbena/version.h"

namespace cli {

CLI::Option* add_names(CLI::App& command, const std::string& option, std::vector<std::string>& names,
                       const std::string& help) {
  // CLI11 splits a list itself, and takes the next word of the line for a name where nothing stands beside a comma.
  const auto take = [&names, option](const std::vector<std::string>& lists) {
    names.clear();
    for (const std::string& list : lists)
      for (std::size_t start = 0; start <= list.size();) {
        const std::size_t end = std::min(list.find(',', start), list.size());
        if (end == start)
          throw CLI::ValidationError(option, fmt::format("'{}' has an empty name; write NAME or NAME,NAME", list));
        names.push_back(list.substr(start, end - start));
        start = end + 1;
      }
  };
  return command.add_option_function<std::vector<std::string>>(option, take, help)->allow_extra_args(false);
}

std::shared_ptr<Options> add_target_options(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("DEVICE", options->positional, "Devices by name, as in `verbena devices`");
  add_names(command, "-d,--device", options->devices, "A device by name; repeatable, comma list allowed");
  add_names(command, "--nic", options->nics, "A model by name, NAME@VARIANT, or a model file; repeatable, comma list");
  command.add_option("-i,--port", options->port, "Port, from 1")->check(whole_number(1, 255))->capture_default_str();
  command.add_flag("-j,--json", options->json, "Print one JSON document");
  return options;
}

void add_live(CLI::App& command, Options& options) {
  command.add_flag("--live", options.live,
                   "Make each --nic as an emulated NIC of this process, and ask it as a device is asked");
}

int with_targets(const Options& options, const std::function<int(const Session&, std::vector<Target>&)>& work) {
  const verbena::Result<Session> session = Session::open();
  if (!session) return fail(session.error());
  verbena::Result<std::vector<Target>> targets = session->targets(options);
  if (!targets) return fail(targets.error());
  if (targets->empty()) {
    verbena::Error error;
    error.kind = verbena::ErrorKind::no_device;
    error.text = "there is no RDMA device that can be opened; name a model with --nic (see `verbena devices --models`)";
    return fail(error, kNothingTested);
  }
  return work(*session, *targets);
}

namespace {

/// The first word that should be a subcommand and is none; CLI11 would only say that one is required.
std::string unknown_subcommand(const CLI::App& app, std::span<char*> arguments) {
  const CLI::App* level = &app;
  for (const std::string_view word : arguments) {
    const auto known = level->get_subcommands([](const CLI::App*) { return true; });
    if (known.empty() || word.starts_with('-')) return {};
    const auto found =
        std::find_if(known.begin(), known.end(), [&](const CLI::App* a) { return a->get_name() == word; });
    if (found == known.end()) {
      std::vector<std::string> names;
      for (const CLI::App* subcommand : known) names.push_back(subcommand->get_name());
      const std::vector<std::string_view> views(names.begin(), names.end());
      return fmt::format("'{}' is no subcommand{}; there are {}", word, did_you_mean(word, views),
                         fmt::join(names, ", "));
    }
    level = *found;
  }
  return {};
}

}  // namespace

/// Reads the command line and runs what it asks for.
int run_command_line(int argc, char** argv) {
  CLI::App app{"Asks RDMA devices what they can really do, and explains it", "verbena"};
  app.set_version_flag("-V,--version", verbena_version());
  app.require_subcommand(1);
  app.footer("Exit codes: 0 ok; 1 something was refused, failed or found; 2 usage; 77 nothing could be tested");
  const std::span arguments(argv + 1, static_cast<std::size_t>(argc > 0 ? argc - 1 : 0));
  tell_errors_as_json(arguments);
  Run run;
  add_devices(app, run);
  add_caps(app, run);
  add_explain(app, run);
  add_quirks(app, run);
  add_dump(app, run);
  add_ping(app, run);
#ifdef VERBENA_CONFORMANCE
  add_conform(app, run);
#endif
#ifdef VERBENA_EMULATOR
  add_run(app, run);
#endif
  add_config(app, run);
  add_report(app, run);
  const std::string unknown = unknown_subcommand(app, arguments);
  if (!unknown.empty()) {
    return fail_usage(unknown);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (app.exit(error) == 0) return kOk;
    return fail_as(bad_argument("", error.what()), kUsage);
  }
  return run ? run() : kUsage;
}

}  // namespace cli

int main(int argc, char** argv) try {
  const int code = cli::run_command_line(argc, argv);
  // What could not be written was not said: a full disk or a closed output is no success.
  std::cout.flush();
  if (std::cout.fail() || std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    cli::complain("the output could not be written");
    return code == cli::kOk ? cli::kFinding : code;
  }
  return code;
} catch (const std::exception& error) {
  cli::complain(error.what());
  verbena::Error unforeseen;
  unforeseen.kind = verbena::ErrorKind::refused;
  unforeseen.text = error.what();
  return cli::fail_as(unforeseen, cli::kFinding);
}
