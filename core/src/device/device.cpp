// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/device.hpp"

#include <fmt/format.h>

#include "device/device_state.hpp"
#include "verbena/pd.hpp"

namespace verbena {

Device::Device(std::shared_ptr<State> state) noexcept : state_(std::move(state)) {}

ibv_context* Device::raw() const noexcept {
  return state_->context;
}

const DeviceId& Device::id() const noexcept {
  return state_->probed->id;
}

const Caps& Device::caps() const noexcept {
  return state_->probed->caps;
}

Result<std::shared_ptr<const Contract>> Device::contract(std::uint8_t port) const {
  if (state_->gone()) return Failure(state_->gone_error());
  auto found = state_->contract_now(port);
  if (state_->gone()) return Failure(state_->gone_error());
  if (found) return found;
  Error error;
  error.kind = ErrorKind::invalid_request;
  error.field = "port_num";
  error.asked = port;
  error.allowed = state_->probed->caps.ports.size();
  error.by.set_by = SetBy::declared;
  error.text =
      fmt::format("{} has {} port{}, counted from 1", state_->name(), *error.allowed, *error.allowed == 1 ? "" : "s");
  return Failure(std::move(error));
}

Result<Pd> Device::alloc_pd() const {
  return Pd::alloc(*this);
}

LedgerSnapshot Device::ledger() const {
  return state_->ledger.snapshot();
}

CountersSnapshot Device::counters() const {
  return state_->counters.snapshot();
}

bool Device::gone() const noexcept {
  return state_->gone();
}

const Verbs& Device::verbs() const noexcept {
  return state_->verbs();
}

const Backend& Device::backend() const noexcept {
  return state_->backend;
}

}  // namespace verbena
