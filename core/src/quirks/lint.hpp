// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "quirks/match.hpp"
#include "quirks/rule.hpp"
#include "verbena/contract.hpp"
#include "verbena/model.hpp"
#include "verbena/quirks.hpp"

namespace verbena::quirks {

/// A known device, and what holds for it under all rules.
struct KnownPort {
  const Model* model;
  Subject subject;
  Contract contract;
};

/// A finding at the rule's place.
Finding about(const Rule& rule, FindingLevel level, const std::string& text);

/// The layers that a host's owner writes.
bool of_a_site(LayerKind layer) noexcept;

/// A rule in force against all others in force; true when one of these leaves it nothing to say.
bool check_against_others(const Rule& rule, const std::vector<Rule>& rules, const std::vector<KnownPort>& known,
                          std::vector<Finding>& findings);

/// What `replaces` of a rule in force names: another driver's rule, itself, one that is off, or one that itself
/// replaces a third.
void check_replaces(const Rule& rule, const std::vector<Rule>& rules, std::vector<Finding>& findings);

/// Requests of the least there is that are refused on a known device under these rules, and would be granted without
/// one of them; `said` are the rules and numbers that have a finding of their own.
void check_requests(const std::vector<Rule>& rules, const std::vector<KnownPort>& known,
                    const std::set<std::pair<const Rule*, Field>>& said, std::vector<Finding>& findings);

/// Numbers that come to nothing on the known devices: a bound of 0, one by a cap that nobody tells, an empty domain,
/// more reserved than there is, an ask that passes more than is allowed.
void check_numbers(const std::vector<Rule>& rules, const std::vector<KnownPort>& known, std::vector<Finding>& findings);

}  // namespace verbena::quirks
