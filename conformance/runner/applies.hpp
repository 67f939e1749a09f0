// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "report/run.hpp"
#include "rig/case.hpp"
#include "runner/case_list.hpp"
#include "verbena/contract.hpp"

namespace conform {

/// What a run has beyond one device and one process.
struct Environment {
  /// Setup words that are not there, and why. A case that needs one is blocked.
  std::map<std::string, std::string, std::less<>> lacks;
  /// Setup words that another kind of run has: a case that needs one waits for it, outside this run's closure.
  std::map<std::string, std::string, std::less<>> elsewhere;
  bool shared = false;  ///< others use the device: nothing above `traffic` runs
  /// Of the second device, which must have too what a case of two unlike devices needs; null where there is none.
  std::shared_ptr<const verbena::Contract> other;
};

/// What this process on this host has.
Environment environment_here(const Ground& ground, Substrate substrate, bool shared);

/// What a run lacks whose second device is another host's: such cases belong to a run on one host.
void over_a_peer(Environment& environment);

/// A column that is settled without running the case.
struct Settled {
  Verdict verdict = Verdict::absent;
  Table table = Table::expected;
  std::string reason;
};

/// Empty: the case is to be run.
std::optional<Settled> settled(const ListedCase& listed, Side side, const verbena::Contract& contract,
                               const Environment& environment);

/// Does the case belong to another kind of run, and is it left out of this one's closure?
bool waits_for_another_run(const ListedCase& listed, const Environment& environment);
/// Did this column end where only another kind of run goes on?
bool waits_for_another_run(const Column& column, const Environment& environment);

/// Does it run in a process of its own?
bool alone(const ListedCase& listed);
bool has_setup(const ListedCase& listed, std::string_view word);

}  // namespace conform
