// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>
#include <string>

#include "conform_ground.hpp"
#include "runner/case_list.hpp"

namespace cli {

/// PeerRun as one word of a worker's command line, and back; empty for a word that is none.
std::string to_word(const PeerRun& run);
std::optional<PeerRun> peer_run_from(const std::string& word);

/// Connects to the peer, and makes the ground's verbs and a library of the peer's devices over it. Error: io where the
/// peer can't be reached or refuses.
verbena::Result<void> load_far(const GroundOptions& options, const verbena::LoadedSettings& settings, Opened& opened);
/// A connection of this process's own, for one that was made before a fork.
verbena::Result<void> connect_far_again(const GroundOptions& options, Opened& opened);
/// Opens the peer's device as the ground's second one. Errors: no_device where none of that name, or not one alone, is
/// there; unsupported where one of the two connects by rdma_cm alone.
verbena::Result<void> open_far(const GroundOptions& options, Opened& opened);

/// Serves at [ADDRESS][:PORT] until it is ended; the exit code.
int serve(const std::string& where, const conform::CaseList& list);

}  // namespace cli
