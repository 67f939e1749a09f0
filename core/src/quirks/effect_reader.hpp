// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>

#include "quirks/rule.hpp"
#include "quirks/rule_reader.hpp"
#include "verbena/registry.hpp"

namespace verbena::quirks {

/// Reads what a rule changes: `on`, `limit`, `joint`, `feature`, `set`.
void read_effects(const yaml::Node& node, Rule& rule, const BackendRegistry& registry, Reporter& report);

/// The same in one line.
std::string effect_text(const Rule& rule);

}  // namespace verbena::quirks
