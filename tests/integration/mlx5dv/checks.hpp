// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>

#include "kernel_record.hpp"

namespace mlx5dv_paths {

/// What is expected of libmlx5 where this runs.
struct Expected {
  bool library = true;  ///< libmlx5.so.1 is found, and serves the devices
  bool devx = false;    ///< the kernel gives DevX contexts
};

/// Prints each check in one line, and counts those that failed.
class Checks {
public:
  bool that(bool holds, const std::string& text);
  unsigned failed() const noexcept { return failed_; }
  const agreement::KernelRecord& record() const noexcept { return record_; }

private:
  unsigned failed_ = 0;
  agreement::KernelRecord record_;
};

}  // namespace mlx5dv_paths
