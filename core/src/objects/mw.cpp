// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/mw.hpp"

#include <fmt/format.h>

#include <utility>

#include "objects/adopted.hpp"
#include "objects/refusal.hpp"
#include "objects/states.hpp"

namespace verbena {

Mw::State::~State() {
  if (owned) pd->device->destroyed("ibv_dealloc_mw", pd->device->verbs().dealloc_mw(raw));
}

Mw::Mw(std::shared_ptr<State> state) noexcept : state_(std::move(state)), raw_(state_->raw) {}

Result<Mw> Mw::alloc(const Pd& pd, ibv_mw_type type) {
  Device::State& on = *pd.state()->device;
  if (on.gone()) return gone(on);
  const auto contract = on.contract();
  if (!contract) return gone(on);
  const Feature feature = type == IBV_MW_TYPE_1 ? Feature::memory_window_1 : Feature::memory_window_2;
  if (contract->feature(feature).support == Support::absent) {
    CountersState::add(on.counters.refused);
    return Failure(
        lacking(*contract, feature,
                fmt::format("{} has no memory windows of type {}", on.name(), type == IBV_MW_TYPE_1 ? 1 : 2)));
  }
  auto state = std::make_shared<State>();
  state->owned = false;
  state->pd = pd.state();
  const Made<ibv_mw> made = on.verbs().alloc_mw(pd.raw(), type);
  if (!made) return Failure(refusal(on, {"ibv_alloc_mw", "memory window"}, {false, made.error, made.errno_missing}));
  state->raw = made.handle;
  state->owned = true;
  CountersState::add(on.counters.created);
  return Mw(std::move(state));
}

Result<Mw> Mw::adopt(const Pd& pd, ibv_mw* mw, Ownership ownership) {
  if (auto error = not_adoptable(mw, *pd.state()->device, "memory window")) return Failure(std::move(*error));
  auto state = std::make_shared<State>();
  state->pd = pd.state();
  state->raw = mw;
  state->owned = ownership == Ownership::taken;
  return Mw(std::move(state));
}

Device Mw::device() const noexcept {
  return Device(state_->pd->device);
}

ibv_mw* Mw::release() noexcept {
  if (!state_) return nullptr;
  state_->owned = false;
  state_.reset();
  return raw_.take();
}

}  // namespace verbena
