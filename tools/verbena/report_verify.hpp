// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "commands.hpp"

namespace cli {

/// `verbena report verify BUNDLE`.
void add_report_verify(CLI::App& report, Run& run);

}  // namespace cli
