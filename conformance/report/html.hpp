// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run.hpp"

namespace conform {

/// One page that needs nothing beside it: the run's outcome, areas, cases, findings, expectations and adjustments.
std::string run_to_html(const Run& run);

/// A page of many runs: models down, areas across, pairs as a second matrix. A page holds runs on emulated NICs or runs
/// on others, never both, so that no model is taken for hardware.
struct MatrixPages {
  std::optional<std::string> devices;  ///< empty: no run was on anything else than an emulated NIC
  std::optional<std::string> models;  ///< empty: no run was on an emulated NIC
};

/// `devices_file` and `models_file` are what the pages call each other in a link.
MatrixPages runs_to_matrix(const std::vector<Run>& runs, const std::string& devices_file,
                           const std::string& models_file);

}  // namespace conform
