// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "conform_ground.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <vector>

#include "cases/bodies.hpp"
#include "conform_peer.hpp"
#include "emulated_nics.hpp"
#include "runner/worker.hpp"
#include "runner/worker_spawner.hpp"
#include "verbena/verbs.hpp"

namespace cli {

using conform::Ground;
using verbena::Failure;

namespace {

/// The library over this host's own verbs, with no device opened.
verbena::Result<std::shared_ptr<Opened>> load_library(const GroundOptions& options) {
  auto opened = std::make_shared<Opened>();
  auto settings = verbena::load_settings();
  if (!settings) return Failure(settings.error());
  auto verbs = verbs_for(options.nics, options.faults, options.loss);
  if (!verbs) return Failure(verbs.error());
  opened->ground.verbs = *std::move(verbs);
  if (!options.peer.empty()) {
    if (auto far = load_far(options, *settings, *opened); !far) return Failure(far.error());
  }
  verbena::LibraryOptions library;
  library.verbs = opened->ground.verbs;
  if (!options.without_rule.empty()) {
    library.layers = verbena::default_layers(settings->values.quirks_path, settings->privileged);
    verbena::LayerSource off{.kind = verbena::LayerKind::etc, .path = {}, .texts = {}};
    off.texts.push_back({"prove-quirks.yaml", fmt::format("schema: 1\ndisable:\n  - id: {}\n    reason: what it is "
                                                          "good for is being shown\n    expires: 2100-01-01\n",
                                                          options.without_rule)});
    library.layers.push_back(std::move(off));
  }
  library.settings = *std::move(settings);
  auto made = verbena::Library::create(std::move(library));
  if (!made) return Failure(made.error());
  opened->library.emplace(*std::move(made));
  Ground& ground = opened->ground;
  ground.library = &*opened->library;
  ground.port = ground.other_port = static_cast<std::uint8_t>(options.port);
  ground.seed = options.seed;
  ground.alone = !options.shared;
  ground.carries_data = !options.without_data;
  ground.made_by_libibverbs = options.nics.empty();
  return opened;
}

verbena::Result<void> open_devices(const GroundOptions& options, Opened& opened) {
  auto first = opened.library->open(options.device);
  if (!first) return Failure(first.error());
  opened.ground.device = *std::move(first);
  if (opened.far) return open_far(options, opened);
  if (options.other.empty()) return {};
  auto second = opened.library->open(options.other);
  if (!second) return Failure(second.error());
  opened.ground.other = *std::move(second);
  return {};
}

}  // namespace

verbena::Result<std::shared_ptr<Opened>> open_ground(const GroundOptions& options) {
  auto opened = load_library(options);
  if (!opened) return opened;
  if (const auto devices = open_devices(options, **opened); !devices) return Failure(devices.error());
  return opened;
}

conform::StartWorker exec_workers(const GroundOptions& options) {
  std::vector<std::string> words = {
      "verbena", "conform", "-i", fmt::format("{}", options.port), "--seed", fmt::format("{}", options.seed)};
  if (options.nics.empty()) {
    words.insert(words.end(), {"-d", options.device});
  } else {
    words.insert(words.end(), {"--nic", fmt::format("{}", fmt::join(options.nics, ","))});
  }
  for (const std::string& fault : options.faults) words.insert(words.end(), {"--fault", fault});
  if (options.loss) words.insert(words.end(), {"--loss", fmt::format("{:.6f}", *options.loss)});
  if (!options.other.empty()) words.insert(words.end(), {"--other", options.other});
  if (!options.peer.empty())
    words.insert(words.end(), {"--peer", options.peer, "--peer-device", options.peer_device, "--peer-run",
                               to_word(options.peer_run)});
  if (!options.without_rule.empty()) words.insert(words.end(), {"--without-rule", options.without_rule});
  if (options.shared) words.emplace_back("--shared-ok");
  if (options.without_data) words.insert(words.end(), {"--substrate", "vendor-driver"});
  const auto spawner = conform::WorkerSpawner::start([&words](int control) {
    fcntl(control, F_SETFD, 0);
    words.insert(words.end(), {"--workers", fmt::format("{}", control)});
    std::vector<char*> argv;
    argv.reserve(words.size() + 1);
    for (std::string& one : words) argv.push_back(one.data());
    argv.push_back(nullptr);
    execv("/proc/self/exe", argv.data());
    return 127;
  });
  return {[spawner](int channel) { return spawner ? spawner->spawn(channel) : pid_t{-1}; }};
}

int be_spawner(const GroundOptions& options, int control) {
  // A case may start a program, which must not hold this open.
  fcntl(control, F_SETFD, FD_CLOEXEC);
  // What a driver prints must not stand between the lines of the report.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const auto loaded = load_library(options);
  // Each worker has a connection of its own.
  if (loaded && (*loaded)->far) (*loaded)->far->disconnect();
  const std::vector<conform::Body> bodies = conform::all_bodies();
  return conform::spawn_workers(control, [&](int channel) {
    if (!options.peer.empty()) {
      const auto again = loaded ? connect_far_again(options, **loaded) : verbena::Result<void>(Failure(loaded.error()));
      if (!again && again.error().kind == verbena::ErrorKind::io)
        return conform::work_without_peer(channel, channel, again.error().text);
    }
    if (!loaded) return conform::refuse_to_work(channel, verbena::to_string(loaded.error()));
    if (const auto devices = open_devices(options, **loaded); !devices)
      return conform::refuse_to_work(channel, verbena::to_string(devices.error()));
    return conform::work(channel, channel, (*loaded)->ground, bodies);
  });
}

}  // namespace cli
