// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/ah.hpp"

#include <fmt/format.h>

#include <utility>

#include "objects/adopted.hpp"
#include "objects/refusal.hpp"
#include "objects/states.hpp"

namespace verbena {
namespace {

/// What can be said of an address before the device is asked.
std::optional<Error> wrong_address(const Device::State& on, const Contract* contract, std::uint8_t port_number,
                                   bool has_grh) {
  Error error;
  error.kind = ErrorKind::invalid_request;
  const PortId* port = on.probed->id.port(port_number);
  if (contract == nullptr || port == nullptr) {
    error.field = "port_num";
    error.asked = port_number;
    error.allowed = on.probed->caps.ports.size();
    error.by.set_by = SetBy::declared;
    error.text = fmt::format("{} has no port {}", on.name(), port_number);
    return error;
  }
  if (contract->feature(Feature::user_ah).support == Support::absent) {
    return lacking(*contract, Feature::user_ah, fmt::format("{} makes no address handles for user space", on.name()));
  }
  if (port->link_layer == LinkLayer::ethernet && !has_grh) {
    error.field = "is_global";
    error.asked = 0;
    error.allowed = 1;
    error.by.set_by = SetBy::build;
    error.by.reason = "there are no LIDs on Ethernet, a GID is the only address";
    error.by.source = "linux drivers/infiniband/core/verbs.c rdma_check_ah_attr";
    error.text = "an address on a RoCE port needs is_global = 1 and a GID";
    return error;
  }
  return std::nullopt;
}

/// `make` creates the handle once the address is known to be right.
template <class Make>
Result<Ah> make_ah(const Pd& pd, const char* verb, std::uint8_t port, bool has_grh, Make make) {
  Device::State& on = *pd.state()->device;
  if (on.gone()) return gone(on);
  const auto contract = on.contract(port);
  if (auto error = wrong_address(on, contract.get(), port, has_grh)) {
    CountersState::add(on.counters.refused);
    return Failure(std::move(*error));
  }
  auto state = std::make_shared<Ah::State>();
  state->owned = false;
  state->pd = pd.state();
  const Made<ibv_ah> made = make(on.verbs());
  if (!made) return Failure(refusal(on, {verb, "address handle"}, {false, made.error, made.errno_missing}));
  state->raw = made.handle;
  state->owned = true;
  CountersState::add(on.counters.created);
  return Ah(std::move(state));
}

}  // namespace

Ah::State::~State() {
  if (owned) pd->device->destroyed("ibv_destroy_ah", pd->device->verbs().destroy_ah(raw));
}

Ah::Ah(std::shared_ptr<State> state) noexcept : state_(std::move(state)), raw_(state_->raw) {}

Result<Ah> Ah::create(const Pd& pd, const ibv_ah_attr& attr) {
  ibv_ah_attr own = attr;
  return make_ah(pd, "ibv_create_ah", attr.port_num, attr.is_global != 0,
                 [&](Verbs& verbs) { return verbs.create_ah(pd.raw(), own); });
}

Result<Ah> Ah::create_from_wc(const Pd& pd, const ibv_wc& wc, ibv_grh* grh, std::uint8_t port) {
  ibv_wc own = wc;
  const bool has_grh = (wc.wc_flags & IBV_WC_GRH) != 0 && grh != nullptr;
  return make_ah(pd, "ibv_create_ah_from_wc", port, has_grh,
                 [&](Verbs& verbs) { return verbs.create_ah_from_wc(pd.raw(), own, grh, port); });
}

Result<Ah> Ah::adopt(const Pd& pd, ibv_ah* ah, Ownership ownership) {
  if (auto error = not_adoptable(ah, *pd.state()->device, "address handle")) return Failure(std::move(*error));
  auto state = std::make_shared<State>();
  state->pd = pd.state();
  state->raw = ah;
  state->owned = ownership == Ownership::taken;
  return Ah(std::move(state));
}

Device Ah::device() const noexcept {
  return Device(state_->pd->device);
}

ibv_ah* Ah::release() noexcept {
  if (!state_) return nullptr;
  state_->owned = false;
  state_.reset();
  return raw_.take();
}

}  // namespace verbena
