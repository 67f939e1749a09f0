// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>

#include "verbena/quirks.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// Why the rule holds on no device at all: it is turned off, or is skipped by this version. Empty when it is in force.
/// The trace of a contract says the same of a rule that would else apply.
std::string why_not_in_force(const RuleSummary& rule);

}  // namespace verbena
#pragma GCC visibility pop
