// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/srq.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "objects/adopted.hpp"
#include "objects/ladder.hpp"
#include "objects/refusal.hpp"
#include "objects/states.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

constexpr std::uint64_t kSgeBytes = 16;  // struct of address, length and lkey in every ring

// What to do where the driver lacks a call.
constexpr const char* kNoQuery =
    "its depth and SGEs are those of Srq::grant(), and no driver call tells the limit that is armed";
constexpr const char* kNoLimit = "no limit event will come: count the receives that are left, and refill in time";
constexpr const char* kAdoptWithoutQuery =
    "it cannot be adopted, since nothing else tells what it holds: create it with Srq::create, or use its raw handle";

}  // namespace

Srq::State::~State() {
  if (owned) pd->device->destroyed("ibv_destroy_srq", pd->device->verbs().destroy_srq(raw));
}

Srq::Srq(std::shared_ptr<State> state) noexcept : state_(std::move(state)), raw_(state_->raw) {}

Result<Srq> Srq::create(const Pd& pd, const SrqRequest& request, void* srq_context) {
  Device::State& on = *pd.state()->device;
  if (on.gone()) return gone(on);
  const auto contract = on.contract();
  if (!contract) return gone(on);
  auto fitted = fit(request, *contract);
  if (!fitted) return unfit(on, std::move(fitted.error()));

  auto state = std::make_shared<State>();
  state->owned = false;
  state->pd = pd.state();
  state->contract = contract;
  state->grant = std::move(*fitted);
  SrqGrant& grant = state->grant;
  const std::array floors{std::min(floor_of(Field::max_wr, request.max_wr, request.policy), grant.max_wr.granted),
                          std::min(floor_of(Field::max_sge, request.max_sge, request.policy), grant.max_sge.granted)};
  std::array rungs{Rung{&grant.max_wr, floors[0], StepDown::by_half, 0},
                   Rung{&grant.max_sge, floors[1], StepDown::by_half, 1}};
  const std::array before{grant.max_wr.granted, grant.max_sge.granted};
  ibv_srq_init_attr attr{};
  auto attempt = [&]() -> TryResult {
    attr = ibv_srq_init_attr{};
    attr.srq_context = srq_context;
    attr.attr.max_wr = grant.max_wr.passed;
    attr.attr.max_sge = grant.max_sge.passed;
    attr.attr.srq_limit = std::min(grant.srq_limit.passed, grant.max_wr.granted);
    const Made<ibv_srq> made = on.verbs().create_srq(pd.raw(), attr);
    state->raw = made.handle;
    return {made.handle != nullptr, made.error, made.errno_missing};
  };
  const LadderOutcome outcome = climb_down(rungs, *contract, on.library->settings.values.ladder_tries, attempt);
  if (!outcome.last.made) {
    Attempt what{"ibv_create_srq", "shared receive queue"};
    what.need_bytes = std::uint64_t{grant.max_wr.passed} * grant.max_sge.passed * kSgeBytes;
    return Failure(refusal(on, what, outcome.last, outcome.steps));
  }
  state->owned = true;
  note_ladder(grant, rungs, before, outcome);
  read_back(grant.max_wr, attr.attr.max_wr, *contract, grant);
  read_back(grant.max_sge, attr.attr.max_sge, *contract, grant);
  if (grant.srq_limit.granted > grant.max_wr.granted) {
    grant.srq_limit.granted = grant.srq_limit.passed = grant.max_wr.granted;
    note_reduction(
        grant, grant.srq_limit,
        fmt::format("the queue that was made is {} deep, which its limit cannot exceed", grant.max_wr.granted));
  }
  if (grant.max_wr.granted < floors[0]) return Failure(fell_short(on, grant.max_wr, floors[0]));
  if (grant.max_sge.granted < floors[1]) return Failure(fell_short(on, grant.max_sge, floors[1]));
  made_it(on, "shared receive queue", grant, request.policy);
  return Srq(std::move(state));
}

Result<Srq> Srq::adopt(const Pd& pd, ibv_srq* srq, Ownership ownership) {
  Device::State& on = *pd.state()->device;
  if (auto error = not_adoptable(srq, on, "shared receive queue")) return Failure(std::move(*error));
  auto state = std::make_shared<State>();
  state->owned = false;
  state->pd = pd.state();
  state->contract = on.contract();
  if (!state->contract) return gone(on);
  ibv_srq_attr attr{};
  if (const int failed = on.verbs().query_srq(srq, attr); failed != 0) {
    return Failure(refusal(on, {"ibv_query_srq", "shared receive queue", 0, nullptr, false, kAdoptWithoutQuery},
                           {false, failed, false}));
  }
  SrqGrant& grant = state->grant;
  grant.quirks_hash = state->contract->quirks_hash();
  grant.max_wr.asked = grant.max_wr.granted = grant.max_wr.passed = attr.max_wr;
  grant.max_sge.asked = grant.max_sge.granted = grant.max_sge.passed = attr.max_sge;
  grant.max_wr.returned = attr.max_wr;
  grant.max_sge.returned = attr.max_sge;
  state->raw = srq;
  state->owned = ownership == Ownership::taken;
  return Srq(std::move(state));
}

const SrqGrant& Srq::grant() const noexcept {
  return state_->grant;
}

Result<void> Srq::arm_limit(std::uint32_t limit) const {
  Device::State& on = *state_->pd->device;
  if (on.gone()) return gone(on);
  if (state_->contract->feature(Feature::srq_limit_event).support == Support::absent) {
    return Failure(lacking(*state_->contract, Feature::srq_limit_event,
                           fmt::format("{} raises no SRQ limit event: count the receives that are left, and refill in "
                                       "time",
                                       on.name())));
  }
  const Domain& domain = state_->contract->domain(Field::srq_limit);
  if (limit != 0 && (limit < domain.min || limit > domain.max)) {
    Error error;
    error.kind = ErrorKind::limit;
    error.field = name(Field::srq_limit);
    error.asked = limit;
    error.allowed = limit < domain.min ? domain.min : domain.max;
    error.by = state_->contract->provenance(limit < domain.min ? domain.min_by : domain.max_by);
    error.text = fmt::format("{} takes a limit from {} to {}", on.name(), domain.min, domain.max);
    return Failure(std::move(error));
  }
  if (limit > state_->grant.max_wr.granted) {
    Error error;
    error.kind = ErrorKind::limit;
    error.field = name(Field::srq_limit);
    error.asked = limit;
    error.allowed = state_->grant.max_wr.granted;
    error.by.set_by = SetBy::request;
    error.text = "an SRQ limit cannot exceed the SRQ's own depth";
    return Failure(std::move(error));
  }
  ibv_srq_attr attr{};
  attr.srq_limit = limit;
  const int failed = on.verbs().modify_srq(raw_.get(), attr, IBV_SRQ_LIMIT);
  if (failed == 0) return {};
  return Failure(
      refusal(on, {"ibv_modify_srq", "shared receive queue", 0, nullptr, false, kNoLimit}, {false, failed, false}));
}

Result<ibv_srq_attr> Srq::query() const {
  Device::State& on = *state_->pd->device;
  ibv_srq_attr attr{};
  const int failed = on.verbs().query_srq(raw_.get(), attr);
  if (failed == 0) return attr;
  return Failure(
      refusal(on, {"ibv_query_srq", "shared receive queue", 0, nullptr, false, kNoQuery}, {false, failed, false}));
}

Device Srq::device() const noexcept {
  return Device(state_->pd->device);
}

ibv_srq* Srq::release() noexcept {
  if (!state_) return nullptr;
  state_->owned = false;
  state_.reset();
  return raw_.take();
}

}  // namespace verbena
