// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "report/run.hpp"
#include "rig/case.hpp"
#include "runner/case_list.hpp"
#include "verbena/result.hpp"

namespace conform {

/// How often an official run runs each case.
inline constexpr unsigned kOfficialRepeat = 3;

/// Adds to the folder of an official run what its reader needs to judge it anew: device.yaml (and other.yaml), as
/// `verbena dump` writes them, dmesg.txt, versions.txt, and at last SHA256SUMS of every file there.
verbena::Result<void> write_bundle(const std::string& folder, const CaseList& list, const Ground& ground,
                                   const Run& run);

/// Every way in which the bundle's run.json is not what its own files and this build's lists make of it: a hash, a
/// count, a verdict, the run's colour. Empty: it holds. Error: io or bad_table for a bundle that can't be read.
verbena::Result<std::vector<std::string>> verify_bundle(const std::string& folder, const CaseList& list);

/// The part of it that needs no file: what judging the run's findings anew makes of it.
std::vector<std::string> verify_run(const Run& run, const CaseList& list, const verbena::Contract& contract);

}  // namespace conform
