// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "session.hpp"

namespace cli {

/// What the chosen subcommand does; set while the command line is read.
using Run = std::function<int()>;

void add_devices(CLI::App& app, Run& run);
void add_caps(CLI::App& app, Run& run);
void add_explain(CLI::App& app, Run& run);
void add_quirks(CLI::App& app, Run& run);
void add_dump(CLI::App& app, Run& run);
void add_ping(CLI::App& app, Run& run);
void add_conform(CLI::App& app, Run& run);
void add_run(CLI::App& app, Run& run);
void add_config(CLI::App& app, Run& run);
void add_report(CLI::App& app, Run& run);

/// Gives `command` the options that all share: devices, --nic, --port and --json.
std::shared_ptr<Options> add_target_options(CLI::App& command);

/// An option that names things: repeatable, and a comma list each time, in which no name is empty.
CLI::Option* add_names(CLI::App& command, const std::string& option, std::vector<std::string>& names,
                       const std::string& help);

/// --live, for what can be asked of a model too.
void add_live(CLI::App& command, Options& options);

/// Opens the session and the targets, and hands them to `work`; prints why when that cannot be.
int with_targets(const Options& options, const std::function<int(const Session&, std::vector<Target>&)>& work);

}  // namespace cli
