// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/library.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "device/library_state.hpp"
#include "device/opening.hpp"
#include "quirks/quirk_set.hpp"

namespace verbena {
namespace {

using LibraryState = Library::State;

void report_layers(const LibraryState& library, const QuirkSet& rules) {
  for (const LayerReport& layer : rules.layers()) {
    if (layer.loaded) {
      for (const Finding& finding : layer.findings)
        if (finding.text.ends_with(quirks::kLastGoodStays))
          library.log(LogLevel::warn, "", fmt::format("quirk layer {}: {}", layer.path, to_string(finding)));
      continue;
    }
    if (layer.findings.empty()) continue;
    const auto error = std::find_if(layer.findings.begin(), layer.findings.end(),
                                    [](const Finding& finding) { return finding.level == FindingLevel::error; });
    const Finding& first = error != layer.findings.end() ? *error : layer.findings.front();
    std::string text = fmt::format("quirk layer {} is left out whole: {}", layer.path, to_string(first));
    for (const std::string& lost : layer.left_out) text += fmt::format("; not in force either: {}", lost);
    library.log(LogLevel::warn, "", text);
  }
}

QuirkOptions quirk_options(const LibraryState& library, const QuirkSet* last_good) {
  QuirkOptions options;
  options.layers = library.layers;
  options.strict = library.settings.values.strict_quirks;
  options.privileged = library.settings.privileged;
  options.last_good = last_good;
  return options;
}

}  // namespace

Library::Library(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}
Library::Library(Library&&) noexcept = default;
Library& Library::operator=(Library&&) noexcept = default;
Library::~Library() = default;

Result<Library> Library::create(LibraryOptions options) {
  auto state = std::make_shared<State>();
  state->verbs = options.verbs ? std::move(options.verbs) : real_verbs();
  state->backends = std::move(options.backends);
  if (!options.settings) {
    auto host = load_settings();
    if (!host) return Failure(std::move(host.error()));
    options.settings = std::move(*host);
  }
  state->settings = std::move(*options.settings);
  state->layers = std::move(options.layers);
  state->sink = std::move(options.log);
  if (state->layers.empty()) {
    state->layers = default_layers(state->settings.values.quirks_path, state->settings.privileged);
  }
  auto rules = load_quirks(quirk_options(*state, nullptr), state->backends);
  if (!rules) return Failure(std::move(rules.error()));
  state->rules = std::move(*rules);
  report_layers(*state, *state->rules);
  return Library(std::move(state));
}

Result<std::vector<ListedDevice>> Library::devices() const {
  return list_host(state_);
}

Result<Device> Library::open(std::string_view name) const {
  return open_device(state_, name);
}

Result<Device> Library::adopt(ibv_context* context) const {
  return adopt_context(state_, context);
}

std::shared_ptr<const QuirkSet> Library::quirks() const {
  return state_->quirks();
}

Result<std::shared_ptr<const QuirkSet>> Library::reload() {
  const auto before = state_->quirks();
  auto rules = load_quirks(quirk_options(*state_, before.get()), state_->backends);
  if (!rules) return Failure(std::move(rules.error()));
  {
    const std::lock_guard lock(state_->mutex);
    state_->rules = *rules;
  }
  report_layers(*state_, **rules);
  state_->log(LogLevel::info, "",
              fmt::format("quirk rules reloaded: hash {:016x}, before {:016x}", (*rules)->hash(), before->hash()));
  return rules;
}

const Settings& Library::settings() const noexcept {
  return state_->settings.values;
}

const BackendRegistry& Library::backends() const noexcept {
  return state_->backends;
}

}  // namespace verbena
