// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>

#include "commands.hpp"

namespace cli {

void add_quirks_lint(CLI::App& quirks, Run& run);
void add_quirks_list(CLI::App& quirks, Run& run);
void add_quirks_show(CLI::App& quirks, Run& run);
void add_quirks_status(CLI::App& quirks, Run& run);
void add_quirks_diff(CLI::App& quirks, Run& run);
void add_quirks_words(CLI::App& quirks, Run& run);

/// False for a directory that has no file that is read as a table (quirks.hpp, LayerSource).
bool holds_a_table(const std::string& path);
/// What is said of a directory in which there is nothing to check or compare.
verbena::Error no_table(const std::string& path);

}  // namespace cli
