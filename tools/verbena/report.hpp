// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "commands.hpp"
#include "report/run.hpp"

namespace cli {

void add_report_show(CLI::App& report, Run& run);
void add_report_html(CLI::App& report, Run& run);
void add_report_junit(CLI::App& report, Run& run);
void add_report_matrix(CLI::App& report, Run& run);
void add_report_diff(CLI::App& report, Run& run);

/// The run of a file, or of run.json in a folder that `verbena conform --report` left. The exit code where there is
/// none is kUsage, since kFinding says something of results.
verbena::Result<conform::Run> read_run(const std::string& file_or_folder);

/// The width of the terminal that standard output is; 0, which is no bound, where it is none.
std::size_t screen_columns() noexcept;

/// Writes a report, to standard output for `-`, and gives the exit code; prints why it cannot be written.
int write_report(const std::string& file, const std::string& text);

}  // namespace cli
