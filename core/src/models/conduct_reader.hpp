// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <utility>
#include <vector>

#include "quirks/rule_reader.hpp"
#include "verbena/model.hpp"
#include "yaml/tree.hpp"

namespace verbena::models {

/// `features:` of a model or a variant, over what is there already: native or absent, each name once.
void read_features(const yaml::Node& node, std::vector<std::pair<Feature, Support>>& features,
                   quirks::Reporter& report);

/// `behaviours:` of a model or a variant, over what is there already: flags and choices are those of quirk tables.
void read_behaviours(const yaml::Node& node, std::vector<std::pair<Behaviour, Choice>>& behaviours,
                     quirks::Reporter& report);

/// `faults:` of a model or a variant, in place of what is there already: names of known faults, each once, alone or as
/// {name: {parameter: value}}.
void read_faults(const yaml::Node& node, std::vector<SwitchedFault>& faults, quirks::Reporter& report);

/// `deviations:` of a model or a variant, in place of what is there already: known names, each once.
void read_deviations(const yaml::Node& node, std::vector<Deviation>& deviations, quirks::Reporter& report);

}  // namespace verbena::models
