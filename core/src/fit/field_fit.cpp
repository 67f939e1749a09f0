// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "fit/field_fit.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "fit/largest.hpp"

namespace verbena::fitting {
namespace {

std::uint32_t narrow(std::uint64_t value) noexcept {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

/// The same provenance with a reason of its own; what is replaced is not copied first.
Provenance with_reason(const Provenance& from, std::string reason) {
  return {.set_by = from.set_by,
          .rule = from.rule,
          .reason = std::move(reason),
          .source = from.source,
          .evidence = from.evidence,
          .severity = from.severity,
          .layer = from.layer,
          .file = from.file,
          .line = from.line};
}

/// Who has more passed for that grant than the domain takes: the reserve, or the first ask that goes beyond.
ProvenanceIndex rounds_beyond(const Domain& domain, std::uint64_t granted) noexcept {
  Domain part = domain;
  part.ask_count = 0;
  if (part.passed_for(granted) > domain.max) return domain.reserve_by;
  for (part.ask_count = 1; part.ask_count < domain.ask_count; ++part.ask_count)
    if (part.passed_for(granted) > domain.max) break;
  return domain.asks[part.ask_count - 1U].by;
}

Provenance by_verbs() {
  Provenance by;
  by.set_by = SetBy::build;
  by.reason = "receives come from the shared receive queue, and verbs ignores what a queue pair asks for beside it";
  by.source = "man ibv_create_qp";
  return by;
}

Provenance provenance_of(const FieldFit& fit, const Contract& contract, std::string why) {
  if (fit.ignored) return by_verbs();
  const Provenance& standing = contract.provenance(fit.by);
  if (why.empty() && fit.rounded && !fit.joint) {
    const Domain& domain = contract.domain(fit.field);
    why = fmt::format("{}; at most {} can be passed: {}", standing.reason, domain.max,
                      contract.provenance(domain.max_by).reason);
  }
  Provenance by = why.empty() ? standing : with_reason(standing, std::move(why));
  if (fit.joint != nullptr) by.set_by = SetBy::formula;
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

std::uint32_t least_grant(const Domain& domain) noexcept {
  const auto short_of = [&](std::uint64_t value) { return domain.passed_for(value) < domain.min; };
  // passed_for(min) is at least min.
  return short_of(0) ? narrow(largest(0, domain.min, short_of) + 1) : 0;
}

void clip(Field field, const Wish& wish, Policy request_policy, const Contract& contract, FieldFit& fit) noexcept {
  fit.field = field;
  fit.want = fit.value = wish.want;
  fit.policy = wish.policy.value_or(request_policy);
  fit.floor = wish.at_least ? *wish.at_least : default_floor(field, wish.want);
  const Domain& domain = contract.domain(field);
  const std::uint32_t most = narrow(domain.largest_grant());
  if (fit.value > most) {
    fit.value = most;
    fit.by = domain.max_by;
    if (most < domain.max) fit.by = rounds_beyond(domain, std::min<std::uint64_t>(fit.want, domain.max));
    fit.rounded = most < domain.max;
  }
  fit.passed = domain.passed_for(fit.value);
  if (fit.passed < domain.min) {
    fit.value = least_grant(domain);
    fit.passed = domain.passed_for(fit.value);
    fit.by = domain.min_by;
    fit.empty = fit.passed > domain.max || fit.passed < domain.min;
  }
}

void ignore(Field field, const Wish& wish, Policy request_policy, FieldFit& fit) noexcept {
  const bool left_out = wish == Wish{1};
  fit.field = field;
  fit.ignored = true;
  fit.policy = wish.policy.value_or(request_policy);
  fit.want = left_out ? 0 : wish.want;
  fit.floor = wish.at_least.value_or(0);
}

Error floor_above_wish(const FieldFit& fit) {
  Error error;
  error.kind = ErrorKind::invalid_request;
  error.field = name(fit.field);
  error.asked = fit.want;
  error.by.set_by = SetBy::request;
  error.text = fmt::format("at least {} is needed, but only {} is asked for; the floor must not be above the wish",
                           fit.floor, fit.want);
  return error;
}

std::string who(const Provenance& by) {
  Provenance shown = with_reason(by, by.rule.empty() ? by.reason : std::string{});
  shown.source.clear();
  return to_string(shown);
}

Error nothing_left(const FieldFit& fit, const Contract& contract) {
  const Domain& domain = contract.domain(fit.field);
  Error error;
  error.kind = ErrorKind::limit;
  error.field = name(fit.field);
  error.asked = fit.want;
  error.by = contract.provenance(domain.max_by);
  const std::uint64_t rounded = domain.passed_for(least_grant(domain));
  error.text = fmt::format(
      "nothing can be passed: at least {} must be ({}){}, and at most {} may be ({}); a rule of the "
      "two has to be mended or turned off",
      domain.min, who(contract.provenance(domain.min_by)),
      rounded > domain.min && domain.min <= domain.max ? fmt::format(", which comes to {} as it is rounded", rounded)
                                                       : std::string{},
      domain.max, who(error.by));
  return error;
}

std::optional<Error> none_of(Field count, std::string_view what, const Contract& contract) {
  const Domain& domain = contract.domain(count);
  if (domain.max != 0 || contract.provenance(domain.max_by).set_by == SetBy::declared) return std::nullopt;
  Error error;
  error.kind = ErrorKind::unsupported;
  error.field = name(count);
  error.asked = 1;
  error.by = contract.provenance(domain.max_by);
  error.text = fmt::format("no {} can be made on this device", what);
  return error;
}

Error shortfall(const FieldFit& fit, const Contract& contract) {
  if (fit.empty) return nothing_left(fit, contract);
  Error error;
  error.kind = ErrorKind::limit;
  error.field = name(fit.field);
  error.asked = fit.want;
  error.allowed = fit.value;
  error.by = provenance_of(fit, contract, {});
  if (fit.ignored) {
    error.text =
        fit.floor > 0
            ? fmt::format(
                  "at least {} is needed, and beside a shared receive queue it counts for nothing; ask for 0 "
                  "here, and for the receives on the shared queue",
                  fit.floor)
            : "the policy requires it, and beside a shared receive queue it counts for nothing; ask for 0 here, and "
              "for the receives on the shared queue";
    return error;
  }
  error.text =
      fit.value < fit.floor && fit.policy != Policy::require
          ? fmt::format("at least {} is needed and at most {} can be granted; ask for less, or lower the floor",
                        fit.floor, fit.value)
          : fmt::format(
                "the policy requires all of it and at most {} can be granted; ask for less, or prefer "
                "it instead of requiring it",
                fit.value);
  return error;
}

void also_short(Error& error, std::span<const AlsoShort> others) {
  if (others.empty()) return;
  error.allowed.reset();
  std::string_view link = "; no number does alone, since ";
  for (const AlsoShort& other : others) {
    error.text +=
        fmt::format("{}{} must {} to {}", link, other.field, other.need > other.asked ? "rise" : "shrink", other.need);
    link = " and ";
  }
  error.text += " as well";
}

std::optional<Error> clip_or_refuse(Field field, const Wish& wish, Policy request_policy, const Contract& contract,
                                    FieldFit& fit) {
  clip(field, wish, request_policy, contract, fit);
  if (!fit.empty && fit.contradicts()) {
    Error error = floor_above_wish(fit);
    FieldFit at_floor;
    clip(field, {.want = fit.floor}, Policy::prefer, contract, at_floor);
    error.allowed = at_floor.value;
    return error;
  }
  if (fit.forbidden()) return shortfall(fit, contract);
  return std::nullopt;
}

FieldGrant grant_of(const FieldFit& fit) noexcept {
  FieldGrant grant;
  grant.field = fit.field;
  grant.asked = fit.want;
  grant.granted = fit.value;
  grant.passed = narrow(fit.passed);
  return grant;
}

void note(const FieldFit& fit, const Contract& contract, std::string why, GrantNotes& notes) {
  if (fit.value != fit.want) {
    notes.adjustments.push_back({.field = std::string(name(fit.field)),
                                 .asked = fit.want,
                                 .granted = fit.value,
                                 .kind = fit.reduced() ? AdjustmentKind::reduced : AdjustmentKind::raised,
                                 .by = provenance_of(fit, contract, std::move(why))});
  }
  const Domain& domain = contract.domain(fit.field);
  if (domain.declared && fit.value > *domain.declared) {
    const Provenance& proof = contract.provenance(domain.max_by);
    notes.adjustments.push_back(
        {.field = std::string(name(fit.field)),
         .asked = fit.want,
         .granted = fit.value,
         .kind = AdjustmentKind::beyond_declared,
         .by = with_reason(proof, fmt::format("the device declares {}; {}", *domain.declared, proof.reason))});
  }
}

}  // namespace verbena::fitting
