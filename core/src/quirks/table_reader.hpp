// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string_view>

#include "quirks/rule.hpp"
#include "verbena/registry.hpp"

namespace verbena::quirks {

/// Reads one table. Everything wrong with it is a finding with its place; nothing is guessed or left out silently.
Table read_table(std::string_view text, std::string_view file, LayerKind layer, const BackendRegistry& registry);

}  // namespace verbena::quirks
