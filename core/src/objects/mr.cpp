// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/mr.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <utility>

#include "objects/adopted.hpp"
#include "objects/refusal.hpp"
#include "objects/states.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

/// Fits, registers through `reg` and wraps; `reg` gets the access flags to pass.
template <class Register>
Result<Mr> register_region(const Pd& pd, const MrRequest& request, const char* verb, const char* object, Register reg) {
  Device::State& on = *pd.state()->device;
  if (on.gone()) return gone(on);
  const auto contract = on.contract();
  if (!contract) return gone(on);
  auto fitted = fit(request, *contract);
  if (!fitted) return unfit(on, std::move(fitted.error()));
  auto state = std::make_shared<Mr::State>();
  state->owned = false;
  state->pd = pd.state();
  state->grant = std::move(*fitted);
  state->kind = request.kind;
  state->pinned_access = state->grant.access;
  const Made<ibv_mr> made = reg(on.verbs(), state->grant.access);
  if (!made) {
    Attempt what{verb, object};
    what.need_bytes = request.length;
    Error error = refusal(on, what, {false, made.error, made.errno_missing});
    if (made.error == EFAULT)
      error.text += "; part of the memory is not mapped, or not with the rights that were asked";
    return Failure(std::move(error));
  }
  state->raw = made.handle;
  state->owned = true;
  made_it(on, "memory region", state->grant, request.policy);
  return Mr(std::move(state));
}

}  // namespace

Mr::State::~State() {
  if (owned) pd->device->destroyed("ibv_dereg_mr", pd->device->verbs().dereg_mr(raw));
}

Mr::Mr(std::shared_ptr<State> state) noexcept : state_(std::move(state)), raw_(state_->raw) {}

Result<Mr> Mr::reg(const Pd& pd, void* address, const MrRequest& request) {
  return register_region(pd, request, "ibv_reg_mr", "memory region", [&](Verbs& verbs, std::uint32_t access) {
    const auto length = static_cast<std::size_t>(request.length);
    if (request.iova) return verbs.reg_mr_iova(pd.raw(), address, length, *request.iova, access);
    return verbs.reg_mr(pd.raw(), address, length, access);
  });
}

Result<Mr> Mr::reg_dmabuf(const Pd& pd, int descriptor, std::uint64_t offset, const MrRequest& request) {
  return register_region(pd, request, "ibv_reg_dmabuf_mr", "dma-buf region", [&](Verbs& verbs, std::uint32_t access) {
    return verbs.reg_dmabuf_mr(pd.raw(), offset, static_cast<std::size_t>(request.length),
                               request.iova.value_or(offset), descriptor, access);
  });
}

Result<Mr> Mr::adopt(const Pd& pd, ibv_mr* mr, std::uint32_t access, Ownership ownership) {
  Device::State& on = *pd.state()->device;
  if (auto error = not_adoptable(mr, on, "memory region")) return Failure(std::move(*error));
  auto state = std::make_shared<State>();
  state->pd = pd.state();
  state->grant.length = mr->length;
  state->grant.access = access;
  state->pinned_access = access;
  state->raw = mr;
  state->owned = ownership == Ownership::taken;
  return Mr(std::move(state));
}

const MrGrant& Mr::grant() const noexcept {
  return state_->grant;
}

MemoryKind Mr::kind() const noexcept {
  return state_->kind;
}

Device Mr::device() const noexcept {
  return Device(state_->pd->device);
}

ibv_mr* Mr::release() noexcept {
  if (!state_) return nullptr;
  state_->owned = false;
  state_.reset();
  return raw_.take();
}

}  // namespace verbena
