// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "device/host_facts.hpp"
#include "device/probe_cache.hpp"
#include "verbena/library.hpp"
#include "verbena/verbs.hpp"

namespace verbena {

/// What a library object and the devices that it opened share. `quirks` and `host` are under the mutex; the rest is
/// fixed once the library is made.
struct Library::State {
  std::shared_ptr<Verbs> verbs;
  BackendRegistry backends;
  LoadedSettings settings;
  std::vector<LayerSource> layers;
  LogSink sink;
  ProbeCache probes;

  std::shared_ptr<const QuirkSet> quirks() const {
    const std::lock_guard lock(mutex);
    return rules;
  }
  void log(LogLevel level, std::string_view device, std::string text) const;
  /// Facts of the host that no device changes; read once.
  HostFacts host();

  mutable std::mutex mutex;
  std::shared_ptr<const QuirkSet> rules;
  std::unique_ptr<HostFacts> host_facts;
};

}  // namespace verbena
