// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <exception>

#include "commands.hpp"
#include "exit_code.hpp"
#include "verbena/version.h"

namespace cli {

std::shared_ptr<Options> add_target_options(CLI::App& command) {
  auto options = std::make_shared<Options>();
  command.add_option("DEVICE", options->positional, "Devices by name, as in `verbena devices`");
  command.add_option("-d,--device", options->devices, "A device by name; repeatable, comma list allowed")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--nic", options->nics, "A model by name, NAME@VARIANT, or a model file; repeatable, comma list")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("-i,--port", options->port, "Port, from 1")->check(CLI::Range(1U, 255U))->capture_default_str();
  command.add_flag("-j,--json", options->json, "Print one JSON document");
  return options;
}

int with_targets(const Options& options, const std::function<int(const Session&, std::vector<Target>&)>& work) {
  const verbena::Result<Session> session = Session::open();
  if (!session) return fail(session.error());
  verbena::Result<std::vector<Target>> targets = session->targets(options);
  if (!targets) return fail(targets.error());
  if (targets->empty()) {
    complain("there is no RDMA device that can be opened; name a model with --nic (see `verbena devices --models`)");
    return kNothingTested;
  }
  return work(*session, *targets);
}

}  // namespace cli

int main(int argc, char** argv) try {
  CLI::App app{"Asks RDMA devices what they can really do, and explains it", "verbena"};
  app.set_version_flag("-V,--version", verbena_version());
  app.require_subcommand(1);
  app.footer("Exit codes: 0 ok; 1 something was refused, failed or found; 2 usage; 77 nothing could be tested");
  cli::Run run;
  cli::add_devices(app, run);
  cli::add_caps(app, run);
  cli::add_explain(app, run);
  cli::add_quirks(app, run);
  cli::add_dump(app, run);
  cli::add_ping(app, run);
  cli::add_config(app, run);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? cli::kOk : cli::kUsage;
  }
  return run ? run() : cli::kUsage;
} catch (const std::exception& error) {
  cli::complain(error.what());
  return cli::kFinding;
}
