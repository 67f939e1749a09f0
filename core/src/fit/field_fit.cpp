// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "fit/field_fit.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "fit/largest.hpp"

namespace verbena::fitting {
namespace {

std::uint32_t narrow(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

Provenance provenance_of(const FieldFit& fit, const Contract& contract, const std::string& why) {
  Provenance by = contract.provenance(fit.by);
  if (fit.joint != nullptr) by.set_by = SetBy::formula;
  if (!why.empty()) by.reason = why;
  return by;
}

}  // namespace

std::uint32_t default_floor(Field field, std::uint32_t want) noexcept {
  switch (field) {
    case Field::max_send_wr:
    case Field::max_recv_wr:
    case Field::cqe:
    case Field::max_wr:
      return want / 8 + (want % 8 != 0 ? 1 : 0);
    case Field::max_send_sge:
    case Field::max_recv_sge:
    case Field::max_sge:
      return std::min<std::uint32_t>(want, 1);
    default:
      return 0;
  }
}

Result<FieldFit> clip(Field field, const Wish& wish, Policy request_policy, const Contract& contract) {
  FieldFit fit;
  fit.field = field;
  fit.want = wish.want;
  fit.value = wish.want;
  fit.policy = wish.policy.value_or(request_policy);
  fit.floor = wish.at_least.value_or(default_floor(field, wish.want));
  if (wish.at_least && *wish.at_least > wish.want) {
    Error error;
    error.kind = ErrorKind::invalid_request;
    error.field = name(field);
    error.asked = wish.want;
    error.allowed = wish.want;
    error.by.set_by = SetBy::request;
    error.text = fmt::format("at least {} is needed, but only {} is asked for; the floor must not be above the wish",
                             *wish.at_least, wish.want);
    return Failure(std::move(error));
  }
  const Domain& domain = contract.domain(field);
  const std::uint32_t most = narrow(domain.largest_grant());
  if (fit.value > most) {
    fit.value = most;
    fit.by = domain.max_by;
  }
  if (domain.passed_for(fit.value) < domain.min) {
    // The smallest grant for which enough is passed; passed_for(min) is at least min.
    const auto least = [&](std::uint64_t value) { return domain.passed_for(value) < domain.min; };
    const std::uint64_t short_of = largest(fit.value, domain.min, least);
    fit.value = narrow(short_of + 1);
    fit.by = domain.min_by;
  }
  if (auto error = forbidden(fit, contract)) return Failure(std::move(*error));
  return fit;
}

std::optional<Error> forbidden(const FieldFit& fit, const Contract& contract, const std::string& why) {
  if (!fit.reduced()) return std::nullopt;
  const bool below_floor = fit.value < fit.floor;
  if (!below_floor && fit.policy != Policy::require) return std::nullopt;
  Error error;
  error.kind = ErrorKind::limit;
  error.field = name(fit.field);
  error.asked = fit.want;
  error.allowed = fit.value;
  error.by = provenance_of(fit, contract, why);
  error.text =
      below_floor ? fmt::format("at least {} is needed and at most {} can be granted; ask for less, or lower the floor",
                                fit.floor, fit.value)
                  : fmt::format(
                        "the policy requires all of it and at most {} can be granted; ask for less, or prefer "
                        "it instead of requiring it",
                        fit.value);
  return error;
}

FieldGrant grant_of(const FieldFit& fit, const Contract& contract) noexcept {
  FieldGrant grant;
  grant.field = fit.field;
  grant.asked = fit.want;
  grant.granted = fit.value;
  grant.passed = narrow(contract.domain(fit.field).passed_for(fit.value));
  return grant;
}

void note(const FieldFit& fit, const Contract& contract, const std::string& why, GrantNotes& notes) {
  if (fit.value != fit.want) {
    Adjustment adjustment;
    adjustment.field = name(fit.field);
    adjustment.asked = fit.want;
    adjustment.granted = fit.value;
    adjustment.kind = fit.reduced() ? AdjustmentKind::reduced : AdjustmentKind::raised;
    adjustment.by = provenance_of(fit, contract, why);
    notes.adjustments.push_back(std::move(adjustment));
  }
  const Domain& domain = contract.domain(fit.field);
  if (domain.declared && fit.value > *domain.declared) {
    Adjustment adjustment;
    adjustment.field = name(fit.field);
    adjustment.asked = fit.want;
    adjustment.granted = fit.value;
    adjustment.kind = AdjustmentKind::beyond_declared;
    adjustment.by = contract.provenance(domain.max_by);
    adjustment.by.reason =
        fmt::format("the device declares {}; {}", *domain.declared, contract.provenance(domain.max_by).reason);
    notes.adjustments.push_back(std::move(adjustment));
  }
}

}  // namespace verbena::fitting
