// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>

#include "run.hpp"

namespace conform {

/// JUnit XML: the identities as properties, one testcase for each case and column (`raw.cq`, `verbena.cq` as its class)
/// and one, `run`, that fails when the run is red for any reason. What did not run is skipped with its reason.
std::string run_to_junit(const Run& run);

}  // namespace conform
