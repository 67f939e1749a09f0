// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>

#include "quirks/rule.hpp"

namespace verbena::quirks {

/// Everything of a rule that changes a contract, in one text: the same for two spellings of one meaning, whatever the
/// order of keys and lists, the base of numbers and the split of ranges.
std::string canonical_text(const Rule& rule);

}  // namespace verbena::quirks
