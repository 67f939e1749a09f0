// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/run.hpp"
#include "rig/case.hpp"

namespace conform {

/// The word of a Stop that is blocked because the peer can't be reached.
inline constexpr std::string_view kPeer = "peer";

/// What one run of one body in one column came to, before anything is judged.
struct Outcome {
  std::vector<Finding> findings;
  std::optional<Stop> stop;  ///< blocked or absent; a body that stopped as broken has its finding
  std::string fault;         ///< an exception that left the body: the suite's own fault, never the device's
  std::vector<Adjustment> adjustments;
  std::vector<std::string> notes;
  double ms = 0;
};

/// Runs the body; nothing that it throws comes out.
Outcome run_body(const Body& body, Case& c);

}  // namespace conform
