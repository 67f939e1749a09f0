// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>

#include "runner/case_list.hpp"

namespace cli {

/// The list of a folder that is laid out like conformance/, or with an empty name the one that is built in. When it
/// has faults, all of them are printed and the first is the error.
verbena::Result<conform::CaseList> read_case_list(const std::string& folder);

}  // namespace cli
