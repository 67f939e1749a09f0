// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "contract/lacking.hpp"
#include "fit/field_fit.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

using fitting::FieldFit;

/// The limit that raises the event, beside a depth. It lies within the queue (drivers refuse another when it is set)
/// and within its own bounds; 0 asks for no event.
struct LimitFit {
  std::uint32_t want = 0;
  std::uint32_t value = 0;
  bool above_depth = false;   ///< the depth is what bounds it, and not the limit's own domain
  bool contradicts = false;   ///< more than the depth that is asked for
  bool none_fits = false;     ///< the device's least limit is more than the queue holds
};

LimitFit fit_limit(std::uint32_t want, const FieldFit& depth, const Contract& contract) noexcept {
  const Domain& domain = contract.domain(Field::srq_limit);
  LimitFit limit;
  limit.want = want;
  if (want == 0) return limit;
  limit.above_depth = depth.value <= domain.max;
  const std::uint64_t most = std::min<std::uint64_t>(depth.value, domain.max);
  limit.none_fits = domain.min > most;
  limit.contradicts = want > most && want > depth.want;
  limit.value = limit.none_fits ? 0 : static_cast<std::uint32_t>(std::clamp<std::uint64_t>(want, domain.min, most));
  return limit;
}

Provenance by_of(const LimitFit& limit, const FieldFit& depth, const Contract& contract) {
  const Domain& domain = contract.domain(Field::srq_limit);
  if (limit.none_fits || limit.value > limit.want) return contract.provenance(domain.min_by);
  if (!limit.above_depth) return contract.provenance(domain.max_by);
  Provenance by = contract.provenance(depth.by);
  by.reason =
      fmt::format("the queue is granted with a depth of {}, which its limit cannot exceed: {}", depth.value, by.reason);
  return by;
}

std::optional<Error> refused_limit(const LimitFit& limit, const FieldFit& depth, Policy policy,
                                   const Contract& contract) {
  if (limit.none_fits && contract.domain(Field::srq_limit).empty()) {
    FieldFit none;
    none.field = Field::srq_limit;
    none.want = limit.want;
    Error error = fitting::nothing_left(none, contract);
    error.allowed = 0;  // no event
    return error;
  }
  const bool short_of = limit.value < limit.want && policy == Policy::require;
  if (!limit.none_fits && !limit.contradicts && !short_of) return std::nullopt;
  Error error;
  error.kind = limit.contradicts ? ErrorKind::invalid_request : ErrorKind::limit;
  error.field = name(Field::srq_limit);
  error.asked = limit.want;
  error.allowed = limit.value;
  if (limit.contradicts)
    error.by.set_by = SetBy::request;
  else
    error.by = by_of(limit, depth, contract);
  if (limit.contradicts)
    error.text = "the limit that raises the event is above the depth that is asked for";
  else if (limit.none_fits)
    error.text = fmt::format(
        "the device takes a limit of at least {}, and the queue holds {}; ask for a deeper queue, "
        "or for no event (a limit of 0)",
        contract.domain(Field::srq_limit).min, depth.value);
  else
    error.text =
        "the policy requires this limit, and the queue that is granted is not as deep; ask for a lower limit, or "
        "prefer it instead of requiring it";
  return error;
}

/// The refusal of a request as a whole: the first field that is at fault, and what the others would have to be.
std::optional<Error> refusal_of(const SrqRequest& request, const Contract& contract, FieldFit& wr, FieldFit& sge) {
  auto short_wr = fitting::clip_or_refuse(Field::max_wr, request.max_wr, request.policy, contract, wr);
  auto short_sge = fitting::clip_or_refuse(Field::max_sge, request.max_sge, request.policy, contract, sge);
  for (auto* refused : {&short_wr, &short_sge})
    if (*refused && !(*refused)->allowed) return std::move(*refused);  // nothing can be had of it, whatever is asked

  // The limit is judged beside the depth that would be granted: the one that is proposed where this one is refused.
  FieldFit depth = wr;
  if (short_wr)
    fitting::clip(Field::max_wr, {.want = static_cast<std::uint32_t>(*short_wr->allowed)}, request.policy, contract,
                  depth);
  auto short_limit = refused_limit(fit_limit(request.srq_limit, depth, contract), depth, request.policy, contract);

  std::optional<Error> first;
  std::vector<fitting::AlsoShort> also;
  for (auto* refused : {&short_wr, &short_sge, &short_limit}) {
    if (!*refused) continue;
    if (!first)
      first = std::move(*refused);
    else
      also.push_back({refused == &short_sge ? name(Field::max_sge) : name(Field::srq_limit), *(*refused)->asked,
                      *(*refused)->allowed});
  }
  if (first) fitting::also_short(*first, also);
  return first;
}

}  // namespace

Result<SrqGrant> fit(const SrqRequest& request, const Contract& contract) {
  if (contract.feature(Feature::srq).support == Support::absent)
    return Failure(lacking(contract, Feature::srq,
                           "the device has no shared receive queues; give each queue pair a receive queue of its own"));
  if (auto none = fitting::none_of(Field::max_srq, "shared receive queue", contract)) return Failure(std::move(*none));
  FieldFit wr, sge;
  if (auto refused = refusal_of(request, contract, wr, sge)) return Failure(std::move(*refused));
  Result<SrqGrant> result(tl::in_place);
  result->max_wr = fitting::grant_of(wr);
  result->max_sge = fitting::grant_of(sge);
  result->quirks_hash = contract.quirks_hash();
  for (const FieldFit* field : {&wr, &sge}) {
    if (fitting::noteworthy(*field, contract)) fitting::note(*field, contract, {}, *result);
  }
  const LimitFit limit = fit_limit(request.srq_limit, wr, contract);
  result->srq_limit.asked = limit.want;
  result->srq_limit.granted = result->srq_limit.passed = limit.value;
  if (limit.value != limit.want)
    result->adjustments.push_back({.field = std::string(name(Field::srq_limit)),
                                   .asked = limit.want,
                                   .granted = limit.value,
                                   .kind = limit.value < limit.want ? AdjustmentKind::reduced : AdjustmentKind::raised,
                                   .by = by_of(limit, wr, contract)});
  return result;
}

}  // namespace verbena
