// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/cq.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "objects/adopted.hpp"
#include "objects/ladder.hpp"
#include "objects/refusal.hpp"
#include "objects/states.hpp"
#include "verbena/errno_family.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

/// Least bytes of one entry in any ring: what a refusal for lack of memory reports as the need.
constexpr std::uint64_t kCqeBytes = 64;

CqGrant grant_as_is(ibv_cq* cq, const Contract& contract) {
  CqGrant grant;
  grant.quirks_hash = contract.quirks_hash();
  const auto entries = static_cast<std::uint32_t>(std::max(cq->cqe, 0));
  grant.cqe.asked = grant.cqe.granted = grant.cqe.passed = entries;
  if (!contract.is(Behaviour::cqe_reported, Choice::unset) && entries != 0) grant.cqe.returned = entries;
  return grant;
}

}  // namespace

Cq::State::~State() {
  if (owned) device->destroyed("ibv_destroy_cq", device->verbs().destroy_cq(raw));
}

Cq::Cq(std::shared_ptr<State> state) noexcept : state_(std::move(state)), raw_(state_->raw), raw_ex_(state_->raw_ex) {}

Result<Cq> Cq::create(const Device& device, const CqRequest& request, const CompChannel* channel, void* cq_context) {
  Device::State& on = *device.state();
  if (on.gone()) return gone(on);
  const auto contract = on.contract();
  if (!contract) return Failure(on.gone_error());
  if (channel != nullptr && channel->raw()->context != on.context) {
    Error error;
    error.kind = ErrorKind::invalid_request;
    error.text = "the completion channel belongs to another context";
    return Failure(std::move(error));
  }
  auto fitted = fit(request, *contract);
  if (!fitted) return unfit(on, std::move(fitted.error()));

  auto state = std::make_shared<State>();
  state->owned = false;
  state->device = device.state();
  if (channel != nullptr) state->channel = channel->state();
  state->contract = contract;
  state->grant = std::move(*fitted);
  CqGrant& grant = state->grant;
  const std::uint32_t floor = std::min(floor_of(Field::cqe, request.cqe, request.policy), grant.cqe.granted);
  std::array rungs{Rung{&grant.cqe, floor, StepDown::by_half, 0}};
  const std::array before{grant.cqe.granted};
  std::uint32_t returned = 0;
  auto attempt = [&]() -> TryResult {
    int error = 0;
    state->raw = on.backend.create_cq(on.verbs(), on.context, request, grant,
                                      channel != nullptr ? channel->raw() : nullptr, cq_context, returned, error);
    return tried(state->raw != nullptr, error);
  };
  const LadderOutcome outcome = climb_down(rungs, *contract, on.library->settings.values.ladder_tries, attempt);
  if (!outcome.last.made) {
    Attempt what{"ibv_create_cq", "completion queue"};
    what.need_bytes = grant.cqe.passed * kCqeBytes;
    what.field = &grant.cqe;
    return Failure(refusal(on, what, outcome.last, outcome.steps));
  }
  state->owned = true;
  if (request.wc_flags != 0 || request.single_threaded || request.ignore_overrun) {
    state->raw_ex = reinterpret_cast<ibv_cq_ex*>(state->raw);
  }
  note_ladder(grant, rungs, before, outcome);
  read_back(grant.cqe, returned, *contract, grant);
  if (grant.cqe.granted < floor) {
    return Failure(fell_short(on, grant.cqe, floor));
  }
  made_it(on, "completion queue", grant, request.cqe.policy.value_or(request.policy));
  return Cq(std::move(state));
}

Result<Cq> Cq::adopt(const Device& device, ibv_cq* cq, Ownership ownership) {
  Device::State& on = *device.state();
  if (auto error = not_adoptable(cq, on, "completion queue")) return Failure(std::move(*error));
  auto state = std::make_shared<State>();
  state->owned = false;
  state->device = device.state();
  state->contract = on.contract();
  if (!state->contract) return gone(on);
  state->grant = grant_as_is(cq, *state->contract);
  state->raw = cq;
  state->owned = ownership == Ownership::taken;
  return Cq(std::move(state));
}

const CqGrant& Cq::grant() const noexcept {
  return state_->grant;
}

Result<CqGrant> Cq::resize(const Wish& cqe, Policy policy) const {
  Device::State& on = *state_->device;
  if (on.gone()) return gone(on);
  const Contract& contract = *state_->contract;
  if (contract.feature(Feature::cq_resize).support == Support::absent) {
    return Failure(lacking(contract, Feature::cq_resize,
                           fmt::format("{} changes no completion queue's depth; for another size make a new one, and "
                                       "queue pairs on it",
                                       on.name())));
  }
  CqRequest request;
  request.cqe = cqe;
  request.policy = policy;
  auto fitted = fit(request, contract);
  if (!fitted) return Failure(std::move(fitted.error()));
  CqGrant grant = std::move(*fitted);
  // No ladder: a CQ that refuses to shrink or grow keeps what it has, and only the caller knows what would do.
  const int error = on.verbs().resize_cq(raw_.get(), static_cast<int>(grant.cqe.passed));
  if (error != 0) {
    Attempt what{"ibv_resize_cq", "completion queue"};
    what.need_bytes = grant.cqe.passed * kCqeBytes;
    what.field = &grant.cqe;
    what.creates = false;
    what.without = "for another size make a new one, and queue pairs on it";
    return Failure(refusal(on, what, {false, error, false}));
  }
  read_back(grant.cqe, static_cast<std::uint32_t>(std::max(raw_->cqe, 0)), contract, grant);
  return grant;
}

Result<void> Cq::moderate(std::uint16_t count, std::uint16_t microseconds) const {
  Device::State& on = *state_->device;
  if (on.gone()) return gone(on);
  const Contract& contract = *state_->contract;
  if (contract.feature(Feature::cq_moderation).support == Support::absent) {
    return Failure(lacking(contract, Feature::cq_moderation,
                           fmt::format("{} has no moderation: an event may come for every completion", on.name())));
  }
  for (const auto& [field, asked] : {std::pair{Field::cq_count, count}, {Field::cq_period, microseconds}}) {
    const Domain& domain = contract.domain(field);
    if (!domain.known || asked <= domain.max) continue;
    Error error;
    error.kind = ErrorKind::limit;
    error.field = name(field);
    error.asked = asked;
    error.allowed = domain.max;
    error.by = contract.provenance(domain.max_by);
    error.text = fmt::format("{} moderates at most {} {}", on.name(), domain.max,
                             field == Field::cq_count ? "completions" : "microseconds");
    return Failure(std::move(error));
  }
  ibv_modify_cq_attr attr{};
  attr.attr_mask = IBV_CQ_ATTR_MODERATE;
  attr.moderate.cq_count = count;
  attr.moderate.cq_period = microseconds;
  const int error = on.verbs().modify_cq(raw_.get(), attr);
  if (error == 0) return {};
  return Failure(
      refusal(on, {"ibv_modify_cq", "completion queue", 0, nullptr, false, "an event may come for every completion"},
              {false, error, false}));
}

Result<void> Cq::arm(bool solicited_only) const {
  const int error = normalise_errno(ibv_req_notify_cq(raw_.get(), solicited_only ? 1 : 0));
  if (error == 0) return {};
  return Failure(
      refusal(*state_->device,
              {"ibv_req_notify_cq", "completion queue", 0, nullptr, false, "no event will come: poll it instead"},
              {false, error, false}));
}

Device Cq::device() const noexcept {
  return Device(state_->device);
}

ibv_cq* Cq::release() noexcept {
  if (!state_) return nullptr;
  state_->owned = false;
  state_.reset();
  raw_ex_.take();
  return raw_.take();
}

}  // namespace verbena
