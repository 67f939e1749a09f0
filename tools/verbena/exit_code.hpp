// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "verbena/result.hpp"

namespace cli {

/// What the command tells a script.
enum ExitCode : int {
  kOk = 0,
  kFinding = 1,        ///< something was refused, failed, or found
  kUsage = 2,          ///< the command line names something that does not exist or contradicts itself
  kNothingTested = 77  ///< no device, or none that this process may open
};

/// The worse of two results of one run: a finding stands over a wrong name, a wrong name over nothing tested.
inline int worse(int left, int right) noexcept {
  for (const int code : {kFinding, kUsage, kNothingTested}) {
    if (left == code || right == code) return code;
  }
  return kOk;
}

inline int exit_code(const verbena::Error& error) noexcept {
  switch (error.kind) {
    case verbena::ErrorKind::invalid_request:
    case verbena::ErrorKind::no_device:
      return kUsage;
    case verbena::ErrorKind::permission:
    case verbena::ErrorKind::device_gone:
      return kNothingTested;
    default:
      return kFinding;
  }
}

}  // namespace cli
