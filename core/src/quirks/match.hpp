// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "quirks/rule.hpp"
#include "verbena/caps.hpp"
#include "verbena/device_id.hpp"

namespace verbena::quirks {

/// A device as conditions look at it: its words looked up and its versions parsed once, not once a rule.
struct Subject {
  const DeviceId& device;
  const Caps& caps;
  std::uint8_t port;
  std::array<std::string_view, kWordKeys> words;    ///< by MatchKey, the first of which are words; empty: unknown
  std::array<std::optional<Version>, 4> versions;   ///< by VersionKey; empty: lineage unknown

  Subject(const DeviceId& device, const Caps& caps, std::uint8_t port);
};

/// The rules that LoadedQuirks::candidates lists have answered the condition on the driver.
enum class DriverCondition : std::uint8_t { open, answered };

/// Whether a rule applies; when not and `why_not` is given, the first condition that failed, in words.
bool matches(const Rule& rule, const Subject& subject, std::string* why_not,
             DriverCondition driver = DriverCondition::open);

/// For a rule that matches: which conditions hold only because nothing is known, in words to put behind its reason;
/// empty when all of them were answered.
std::string held_unknown(const Rule& rule, const Subject& subject);

/// Whether some device could match both rules; conditions on different keys never exclude each other.
bool could_both_match(const Rule& left, const Rule& right);

}  // namespace verbena::quirks
