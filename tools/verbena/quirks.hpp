// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "commands.hpp"

namespace cli {

void add_quirks_lint(CLI::App& quirks, Run& run);
void add_quirks_list(CLI::App& quirks, Run& run);
void add_quirks_show(CLI::App& quirks, Run& run);
void add_quirks_status(CLI::App& quirks, Run& run);
void add_quirks_diff(CLI::App& quirks, Run& run);
void add_quirks_words(CLI::App& quirks, Run& run);

}  // namespace cli
