// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "report/run.hpp"
#include "rig/case.hpp"
#include "runner/applies.hpp"
#include "runner/case_list.hpp"
#include "runner/report_folder.hpp"
#include "runner/worker_process.hpp"

namespace conform {

/// Which cases of a list are to run.
struct CaseChoice {
  std::vector<std::string> globs;  ///< of case ids; empty: all
  std::size_t sample = 0;          ///< so many of them, drawn by the seed; 0: all
  std::uint64_t seed = 1;
};

struct SuiteOptions {
  CaseChoice choice;
  unsigned jobs = 1;
  double seconds = 10;
  unsigned repeat = 1;
  bool shared = false;
  bool official = false;
  std::uint32_t blocked_budget = 0;
  Substrate substrate = Substrate::hardware;
  std::vector<std::string> command;  ///< the arguments, for the report
  StartWorker start_worker;
  std::function<void(std::size_t done, std::size_t all, const std::string& id)> progress;
};

/// The cases that are chosen, in the order of the list. The same seed draws the same ones on every host, and nearly the
/// same ones when the list grows.
std::vector<const ListedCase*> select_cases(const CaseList& list, const CaseChoice& choice);

/// Runs the selected cases on the ground's device, in both columns, and judges them. Without a folder nothing is
/// written. Errors: bad_table for a match of the driver's table; io when the folder can't take what is done (what was
/// written before is kept); what Device::contract says.
verbena::Result<Run> run_suite(const CaseList& list, const Ground& ground, const SuiteOptions& options,
                               ReportFolder* folder);

/// What stands below a device: a driver of the kernel alone where there is no PCI device, an emulated NIC under
/// `verbena run`.
Substrate substrate_of(const verbena::Device& opened);

}  // namespace conform
