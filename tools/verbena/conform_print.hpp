// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "report/run.hpp"
#include "runner/case_list.hpp"
#include "runner/prove_quirks.hpp"

namespace cli {

void print_list(const std::vector<const conform::ListedCase*>& cases, bool json);
/// What a run said, on one screen; `folder` is where the rest stands, empty when nowhere.
void print_summary(const conform::Run& run, const std::string& folder);
/// Each rule with what came of its proof, and how many of each outcome.
void print_proofs(const verbena::DeviceId& device, conform::Substrate substrate,
                  const std::vector<conform::Proof>& proofs);
/// One line on a terminal, over the one before.
void show_progress(std::size_t done, std::size_t all, const std::string& id);
void clear_progress();

}  // namespace cli
