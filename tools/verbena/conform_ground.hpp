// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "rig/case.hpp"
#include "runner/worker_process.hpp"
#include "verbena/library.hpp"

namespace cli {

/// On what the suite runs, in this process and in each of its workers.
struct GroundOptions {
  std::string device;
  std::string other;  ///< empty: none
  unsigned port = 1;
  std::uint64_t seed = 1;
  bool shared = false;
  std::string without_rule;  ///< id of a quirk rule that is turned off; empty: none
};

/// The library over this host's own verbs, and the devices of one run, opened.
struct Opened {
  std::optional<verbena::Library> library;
  conform::Ground ground;
};
verbena::Result<std::shared_ptr<Opened>> open_ground(const GroundOptions& options);

/// This program again, making workers on the same ground. Ends with the last copy of the result.
conform::StartWorker exec_workers(const GroundOptions& options);
/// What that program does until `control` is closed. Returns its exit code.
int be_spawner(const GroundOptions& options, int control);

}  // namespace cli
