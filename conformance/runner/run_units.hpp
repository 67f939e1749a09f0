// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "runner/case_list.hpp"
#include "runner/verdict.hpp"
#include "runner/worker_process.hpp"

namespace conform {

/// One run of one case in one column.
struct Unit {
  const ListedCase* listed = nullptr;
  Side side = Side::raw;
};

struct WorkerPlan {
  StartWorker start_worker;
  unsigned jobs = 1;
  bool devices_apart = false;  ///< each worker has a device of its own, which no other one can disturb
  double seconds = 10;  ///< deadline of a case that has none of its own
  unsigned deadlines = 1;  ///< each is so many times as long
  std::chrono::milliseconds ready_within{60000};
  std::function<std::string()> lost;  ///< why the peer can't be reached: what has not run then is blocked; may be empty
};

/// Told as it happens. `false` ends the run.
class Watch {
public:
  virtual ~Watch() = default;
  virtual bool started(const Unit& unit) = 0;
  virtual bool ended(const Unit& unit, Ended ended) = 0;
};

/// Runs each unit in a worker: up to `jobs` at a time, and those that want to be alone, or exhaust the device, one
/// after the other at the end (where no worker disturbs another's device, all of them together). A crash or a hang is
/// the running unit's own, and a new worker, which first tries the device, goes on. Returns why it ended early: the
/// device can't be used any more, or the watch said so; empty when all ran.
std::string run_units(const std::vector<Unit>& units, const WorkerPlan& plan, Watch& watch);

}  // namespace conform
