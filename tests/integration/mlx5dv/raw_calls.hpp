// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>

#include "checks.hpp"

namespace mlx5dv_paths {

/// mlx5dv's own calls, without Verbena: what the genuine libmlx5 grants, and who refuses the rest. Most of it the
/// library has no use for; the table says why in docs/verification.md.
void try_raw_calls(const std::string& device, const Expected& expected, Checks& checks);

}  // namespace mlx5dv_paths
