// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rig/case.hpp"
#include "runner/case_list.hpp"
#include "runner/run_suite.hpp"

namespace conform {

/// What came of running a rule's proof without the rule and with it.
enum class ProofOutcome : std::uint8_t {
  needed_and_enough,  ///< fails without the rule, holds with it
  not_enough,         ///< fails with it too
  wrong,              ///< it calls absent what works without it
  informs,            ///< holds without it too, but then the contract no longer says what the rule does
  unnecessary,        ///< holds without it too, and the contract says as much
  not_shown_here,     ///< the case could not be run here
};
inline constexpr Words<6> kProofOutcomeWords = {"needed and enough", "not enough",  "wrong",
                                                "informs",           "unnecessary", "not shown here"};
constexpr const auto& words_of(ProofOutcome) noexcept {
  return kProofOutcomeWords;
}

struct Proof {
  std::string rule;
  std::string proof;  ///< the case's id
  ProofOutcome outcome = ProofOutcome::not_shown_here;
  /// The first finding without the rule (with it, where it is not enough); what of the contract the rule changes, where
  /// nothing fails without it; or why it is not shown.
  std::string why;
};

/// The run's device under rules of which one is turned off, and workers under the same.
struct WithoutRule {
  std::shared_ptr<const Ground> ground;
  StartWorker start_worker;
};
using TurnOff = std::function<verbena::Result<WithoutRule>(const std::string& rule)>;

/// Proves each rule that matches the ground's device, through Verbena. A rule whose severity is `safety` is proven on
/// emulated NICs alone.
verbena::Result<std::vector<Proof>> prove_quirks(const CaseList& list, const Ground& ground,
                                                 const SuiteOptions& options, const TurnOff& turn_off);

}  // namespace conform
