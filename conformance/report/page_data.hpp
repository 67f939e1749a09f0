// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "run.hpp"

namespace conform {

/// What the script of run_to_html's page reads: the run as its JSON has it, without what is empty, and its title.
nlohmann::ordered_json run_page_data(const Run& run);

/// What the script of a matrix reads: the runs, and once what they say alike of a case.
nlohmann::ordered_json matrix_page_data(const std::vector<const Run*>& runs);

}  // namespace conform
