// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "verbena/device_id.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// One key of a rule's `match` and the values that it lists.
struct MatchEntry {
  std::string key;
  std::vector<std::string> values;
  friend bool operator==(const MatchEntry&, const MatchEntry&) = default;
};

/// Whether the device is one that such a match names, as for a rule that only tightens: a version that is not known
/// matches. Error: bad_table for a key that no rule has, or a value that cannot be read.
[[nodiscard]] Result<bool> device_matches(std::span<const MatchEntry> match, const DeviceId& device, std::uint8_t port);

}  // namespace verbena
#pragma GCC visibility pop
