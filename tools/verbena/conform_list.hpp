// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>
#include <string>

#include "runner/case_list.hpp"

namespace cli {

/// The list of a folder that is laid out like conformance/, or with an empty name the one that is built in. Nothing,
/// after its faults were printed, when it has any.
std::optional<conform::CaseList> read_case_list(const std::string& folder);

}  // namespace cli
