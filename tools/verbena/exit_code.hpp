// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cerrno>

#include "verbena/result.hpp"

namespace cli {

/// What the command tells a script.
enum ExitCode : int {
  kOk = 0,
  kFinding = 1,        ///< something was refused, failed, or found
  kUsage = 2,          ///< the command line names something that does not exist or contradicts itself
  kNothingTested = 77  ///< no device, or none that this process may open
};

inline int exit_code(const verbena::Error& error) noexcept {
  switch (error.kind) {
    case verbena::ErrorKind::invalid_request:
      return kUsage;
    // ENODEV or none: no device or model of that name. Else the device is there and cannot be reached.
    case verbena::ErrorKind::no_device:
      return error.errno_value == 0 || error.errno_value == ENODEV ? kUsage : kNothingTested;
    // A file that the command line names and that is not there is a name like any other.
    case verbena::ErrorKind::io:
      return error.errno_value == ENOENT ? kUsage : kFinding;
    case verbena::ErrorKind::permission:
    case verbena::ErrorKind::device_gone:
      return kNothingTested;
    default:
      return kFinding;
  }
}

}  // namespace cli
