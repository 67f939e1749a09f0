// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "quirks/rule.hpp"

namespace verbena::quirks {

/// Whether `wide` matches every device that `narrow` matches and says at least as much, so that `narrow` adds nothing.
/// May miss a case (versions are compared as written), never invents one.
bool covers(const Rule& wide, const Rule& narrow);

}  // namespace verbena::quirks
