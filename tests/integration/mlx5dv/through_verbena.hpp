// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "checks.hpp"
#include "verbena/library.hpp"

namespace mlx5dv_paths {

/// What Verbena makes of a device: log, caps, contract, grants, and queue pairs with their data in place.
void try_through_verbena(const verbena::Library& library, const std::vector<verbena::LogRecord>& log,
                         const std::string& device, const Expected& expected, Checks& checks);

}  // namespace mlx5dv_paths
