// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "report/run.hpp"
#include "runner/case_list.hpp"
#include "runner/run_body.hpp"
#include "verbena/contract.hpp"

namespace conform {

/// How one run of one case in one column ended.
struct Ended {
  std::optional<Outcome> outcome;  ///< empty: the process died or was ended
  bool timed_out = false;
  std::string how;  ///< of a process that died: `signal 11 (Segmentation fault)`, `exit 3`
  double ms = 0;
};

/// What this driver's table says of this device; entries of other versions are left out.
struct Known {
  std::vector<const ExpectationEntry*> expectations;
  std::set<verbena::Feature> must_be_native;
  std::set<const ExpectationEntry*> never_stale = {};  ///< expectations of which it says nothing that they don't show
  std::set<const ExpectationEntry*> of_other = {};  ///< they explain only what shows between two devices
  std::set<verbena::Feature> unclaimed = {};  ///< what the second device's contract doesn't call native
};

/// On a vendor's driver over a shell the kernel's driver is there in part, as a copy of what it checks: an entry whose
/// first source is a kernel's explains what shows, and isn't missed. Error: bad_table for a match that cannot be read.
verbena::Result<Known> known_of(const DriverTable* table, const verbena::DeviceId& device, std::uint8_t port,
                                Substrate substrate);
/// The same of the table of the device's driver, and on an emulated NIC of that of emulated NICs too.
verbena::Result<Known> known_of(const CaseList& list, const verbena::DeviceId& device, std::uint8_t port,
                                Substrate substrate);

/// What is known of the second device explains what shows between the two, and isn't missed where nothing does.
void add_others(Known& known, const Known& other, const verbena::Contract& contract);

/// Judges one run. A pure function: staleness, which needs all cases, is judge_staleness()'s.
Column judge(const ListedCase& listed, Side side, const Ended& ended, const verbena::Contract& contract,
             const Known& known);

/// Several runs of one column as one: flaky with the rate when they differ.
Column judge_all(const ListedCase& listed, Side side, const std::vector<Ended>& runs, const verbena::Contract& contract,
                 const Known& known);

/// The features that must be native on this device and that its contract does not call so.
std::vector<verbena::Feature> denied_features(const verbena::Contract& contract, const Known& known);

/// Marks as stale each raw column that conforms although an entry expects otherwise: where every case of `all` that
/// covers the requirement ran and none shows what is expected. A case that this contract or run leaves out is none.
void judge_staleness(const std::vector<ListedCase>& all, const Known& known, std::vector<CaseResult>& results);

/// Does the finding look as the entry says?
bool explains(const ExpectationEntry& entry, const ListedCase& listed, const Finding& finding);

}  // namespace conform
