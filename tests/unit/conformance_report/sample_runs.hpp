// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/run.hpp"

namespace conform {

/// Runs as large and as varied as real ones, by the name that their files get: a case for each requirement of the tree,
/// and the expectations of its drivers. What they say of a device is made up.
std::vector<std::pair<std::string, Run>> sample_runs(const std::string& source_tree);

}  // namespace conform
