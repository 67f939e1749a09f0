// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "checks.hpp"

#include <cstdio>

namespace mlx5dv_paths {

bool Checks::that(bool holds, const std::string& text) {
  std::printf("%s: %s\n", holds ? "ok" : "FAILED", text.c_str());
  if (!holds) ++failed_;
  return holds;
}

}  // namespace mlx5dv_paths
