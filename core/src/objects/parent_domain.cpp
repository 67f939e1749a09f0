// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "objects/refusal.hpp"
#include "objects/states.hpp"
#include "verbena/errno_family.hpp"
#include "verbena/pd.hpp"

namespace verbena {
namespace {

Provenance refused_by_device(const char* verb, int error) {
  Provenance by;
  by.set_by = SetBy::probed;
  by.reason = fmt::format("{} answers {}", verb, errno_name(error));
  by.source = "this device, when the domain was made";
  return by;
}

/// One domain of the two, and what comes of it where the device has none.
class Wanted {
public:
  Wanted(Feature feature, const Contract& contract, const ParentDomainRequest& request)
      : feature_(feature), contract_(contract), request_(request) {}

  bool absent() const { return contract_.feature(feature_).support == Support::absent; }
  Provenance who_says() const { return contract_.provenance(contract_.feature(feature_).by); }

  /// Does without it, or under `require` says why not.
  std::optional<Error> without(Pd::State& state, Provenance by) const {
    if (request_.policy == Policy::require) {
      CountersState::add(state.device->counters.refused);
      Error error = lacking(
          contract_, feature_,
          fmt::format("{} has no {}s, and the policy requires one; its protection domain serves as well, with "
                      "every lock in place",
                      state.device->name(), feature_ == Feature::parent_domain ? "parent domain" : "thread domain"));
      error.by = std::move(by);
      return error;
    }
    Adjustment& adjustment = state.notes.adjustments.emplace_back();
    adjustment.field = name(feature_);
    adjustment.asked = 1;
    adjustment.granted = 0;
    adjustment.kind = AdjustmentKind::reduced;
    adjustment.by = std::move(by);
    return std::nullopt;
  }

private:
  Feature feature_;
  const Contract& contract_;
  const ParentDomainRequest& request_;
};

/// The thread domain into `state`, or an adjustment there.
std::optional<Error> make_thread_domain(Pd::State& state, const Wanted& wanted) {
  if (wanted.absent()) return wanted.without(state, wanted.who_says());
  ibv_td_init_attr attr{};
  const Made<ibv_td> made = state.device->verbs().alloc_td(state.device->context, attr);
  if (made) {
    state.thread_domain = made.handle;
    return std::nullopt;
  }
  if (errno_family(made.error) == ErrnoFamily::unsupported) {
    return wanted.without(state, refused_by_device("ibv_alloc_td", made.error));
  }
  return refusal(*state.device, {"ibv_alloc_td", "thread domain"}, {false, made.error, made.errno_missing});
}

void free_thread_domain(Pd::State& state) {
  if (state.thread_domain == nullptr) return;
  state.device->destroyed("ibv_dealloc_td", state.device->verbs().dealloc_td(state.thread_domain));
  state.thread_domain = nullptr;
}

}  // namespace

Result<Pd> Pd::alloc_parent(const Pd& pd, const ParentDomainRequest& request) {
  Device::State& on = *pd.state()->device;
  if (on.gone()) return gone(on);
  const auto contract = on.contract();
  if (!contract) return gone(on);
  const Wanted parent(Feature::parent_domain, *contract, request);
  const Wanted thread(Feature::thread_domain, *contract, request);

  auto state = std::make_shared<State>();
  state->device = pd.state()->device;
  state->parent = pd.state();
  state->raw = pd.raw();
  state->owned = false;
  if (parent.absent()) {
    if (auto error = parent.without(*state, parent.who_says())) return Failure(std::move(*error));
  } else {
    if (request.thread_domain) {
      if (auto error = make_thread_domain(*state, thread)) return Failure(std::move(*error));
    }
    ibv_parent_domain_init_attr attr{};
    attr.pd = pd.raw();
    attr.td = state->thread_domain;
    const Made<ibv_pd> made = on.verbs().alloc_parent_domain(on.context, attr);
    if (made) {
      state->raw = made.handle;
      state->owned = true;
    } else {
      free_thread_domain(*state);
      if (errno_family(made.error) != ErrnoFamily::unsupported) {
        return Failure(
            refusal(on, {"ibv_alloc_parent_domain", "parent domain"}, {false, made.error, made.errno_missing}));
      }
      auto error = parent.without(*state, refused_by_device("ibv_alloc_parent_domain", made.error));
      if (error) return Failure(std::move(*error));
    }
  }
  made_it(on, "parent domain", state->notes, request.policy);
  return Pd(std::move(state));
}

}  // namespace verbena
