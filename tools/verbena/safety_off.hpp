// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "json.hpp"
#include "session.hpp"

namespace cli {

/// A safety rule that would hold on a device, had this host's own tables not taken it out.
struct SafetyOff {
  std::string rule, why;
};

std::vector<SafetyOff> safety_off(const Session& session, const verbena::Contract& contract);

/// `warning: ...` a line, told before what is said of the device; empty when there is none.
std::string to_text(const std::vector<SafetyOff>& off);
Json to_json(const std::vector<SafetyOff>& off);

}  // namespace cli
