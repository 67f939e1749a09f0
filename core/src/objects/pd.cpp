// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/pd.hpp"

#include <utility>

#include "objects/adopted.hpp"
#include "objects/refusal.hpp"
#include "objects/states.hpp"

namespace verbena {

Pd::State::~State() {
  if (owned) device->destroyed("ibv_dealloc_pd", device->verbs().dealloc_pd(raw));
  if (thread_domain != nullptr) device->destroyed("ibv_dealloc_td", device->verbs().dealloc_td(thread_domain));
}

Pd::Pd(std::shared_ptr<State> state) noexcept : state_(std::move(state)), raw_(state_->raw) {}

Result<Pd> Pd::alloc(const Device& device) {
  Device::State& on = *device.state();
  if (on.gone()) return gone(on);
  auto state = std::make_shared<State>();
  state->owned = false;
  state->device = device.state();
  const Made<ibv_pd> made = on.verbs().alloc_pd(on.context);
  if (!made) {
    return Failure(refusal(on, {"ibv_alloc_pd", "protection domain"}, {false, made.error, made.errno_missing}));
  }
  state->raw = made.handle;
  state->owned = true;
  CountersState::add(on.counters.created);
  return Pd(std::move(state));
}

Result<Pd> Pd::adopt(const Device& device, ibv_pd* pd, Ownership ownership) {
  if (auto error = not_adoptable(pd, *device.state(), "protection domain")) return Failure(std::move(*error));
  auto state = std::make_shared<State>();
  state->device = device.state();
  state->raw = pd;
  state->owned = ownership == Ownership::taken;
  return Pd(std::move(state));
}

Device Pd::device() const noexcept {
  return Device(state_->device);
}

const GrantNotes& Pd::notes() const noexcept {
  return state_->notes;
}

ibv_td* Pd::thread_domain() const noexcept {
  return state_->thread_domain;
}

ibv_pd* Pd::release() noexcept {
  if (!state_) return nullptr;
  state_->owned = false;
  state_->thread_domain = nullptr;
  state_.reset();
  return raw_.take();
}

}  // namespace verbena
