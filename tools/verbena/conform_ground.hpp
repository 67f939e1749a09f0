// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "peer/far_verbs.hpp"
#include "rig/case.hpp"
#include "runner/worker_process.hpp"
#include "verbena/library.hpp"

namespace cli {

/// What a peer is told of a run: the list that it is of, and in each connection but the first the token that the peer
/// gave to the run.
struct PeerRun {
  std::uint32_t list_version = 0;
  std::uint64_t list_hash = 0;
  std::uint64_t token = 0;
};

/// On what the suite runs, in this process and in each of its workers.
struct GroundOptions {
  std::string device;
  std::string other;  ///< empty: none
  std::vector<std::string> nics;  ///< models: emulated NICs in place of this host's devices; the first is the device's
  std::vector<std::string> faults;  ///< switched on in each of those
  std::optional<double> loss;  ///< of packets between those, which then go as bytes
  unsigned port = 1;
  std::uint64_t seed = 1;
  bool shared = false;
  bool without_data = false;  ///< nothing that is posted completes: a device shell
  std::string without_rule;  ///< id of a quirk rule that is turned off; empty: none
  std::string peer;  ///< HOST[:PORT] of a server that has the other end; empty: none
  std::string peer_device;  ///< there; empty: the only one
  PeerRun peer_run;
};

/// The library over this host's own verbs, and the devices of one run, opened.
struct Opened {
  std::shared_ptr<conform::peer::FarVerbs> far;  ///< null without a peer
  std::optional<verbena::Library> library;
  std::optional<verbena::Library> far_library;  ///< over a peer: of its devices
  conform::Ground ground;
};
verbena::Result<std::shared_ptr<Opened>> open_ground(const GroundOptions& options);

/// This program again, making workers on the same ground. Ends with the last copy of the result.
conform::StartWorker exec_workers(const GroundOptions& options);
/// What that program does until `control` is closed. Returns its exit code.
int be_spawner(const GroundOptions& options, int control);

}  // namespace cli
