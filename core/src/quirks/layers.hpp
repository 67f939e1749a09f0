// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "quirks/rule.hpp"
#include "verbena/registry.hpp"

namespace verbena::quirks {

/// One layer as read: usable when its report says loaded.
struct Layer {
  LayerReport report;
  std::vector<Rule> rules;
  std::vector<Switch> disables, enables;
  std::size_t read_findings = 0;  ///< so many of the report's findings are of reading; the rest is of merging
  bool last_good = false;         ///< stands in for the same layer, which has a fault now
};

/// Reads one layer. All or nothing: with an error in one of its files nothing of it is usable.
Layer read_layer(const LayerSource& source, bool privileged, const BackendRegistry& registry);

/// The rules in force and what became of each layer's switches; findings about them go into the layers' reports.
/// A layer that would break the set (a switch for an unknown rule, a safety rule turned off outside /etc) is dropped;
/// of a layer that is its last good self only the switch is, where the rule that it turned on is gone. May be called
/// again when a layer was exchanged.
std::vector<Rule> merge_layers(std::vector<Layer>& layers);

}  // namespace verbena::quirks
