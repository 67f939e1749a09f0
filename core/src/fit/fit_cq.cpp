// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "contract/lacking.hpp"
#include "fit/field_fit.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

std::uint64_t slots(const FieldGrant& field) noexcept {
  return std::max(field.granted, field.returned.value_or(0));
}

/// The limit that raises the event lies within the queue; drivers refuse another when it is set.
std::optional<Error> fit_srq_limit(const SrqRequest& request, const fitting::FieldFit& depth, const Contract& contract,
                                   SrqGrant& grant) {
  const Domain& domain = contract.domain(Field::srq_limit);
  const auto most = static_cast<std::uint32_t>(std::min<std::uint64_t>(depth.value, domain.largest_grant()));
  const std::uint32_t limit = std::min(request.srq_limit, most);
  grant.srq_limit.asked = request.srq_limit;
  grant.srq_limit.granted = grant.srq_limit.passed = limit;
  if (limit == request.srq_limit) return std::nullopt;
  Provenance by = contract.provenance(most < depth.value ? domain.max_by : depth.by);
  if (most == depth.value)
    by.reason = fmt::format("the queue is granted with a depth of {}, which its limit cannot exceed: {}", depth.value,
                            by.reason);
  const bool contradicts = request.srq_limit > depth.want;
  if (!contradicts && request.policy != Policy::require) {
    grant.adjustments.push_back({.field = std::string(name(Field::srq_limit)),
                                 .asked = request.srq_limit,
                                 .granted = limit,
                                 .kind = AdjustmentKind::reduced,
                                 .by = std::move(by)});
    return std::nullopt;
  }
  Error error;
  error.kind = contradicts ? ErrorKind::invalid_request : ErrorKind::limit;
  error.field = name(Field::srq_limit);
  error.asked = request.srq_limit;
  error.allowed = limit;
  if (contradicts)
    error.by.set_by = SetBy::request;
  else
    error.by = std::move(by);
  error.text = contradicts ? "the limit that raises the event is above the depth that is asked for"
                           : "the policy requires this limit, and the queue that is granted is not as deep; ask for a "
                             "lower limit, or prefer it instead of requiring it";
  return error;
}

}  // namespace

Result<CqGrant> fit(const CqRequest& request, const Contract& contract) {
  if (const Domain& count = contract.domain(Field::max_cq); count.max == 0) {
    Error error;
    error.kind = ErrorKind::unsupported;
    error.field = name(Field::max_cq);
    error.asked = 1;
    error.by = contract.provenance(count.max_by);
    error.text = "no completion queue can be made on this device";
    return Failure(std::move(error));
  }
  if (request.wc_flags != 0 && contract.feature(Feature::create_cq_ex).support == Support::absent)
    return Failure(
        lacking(contract, Feature::create_cq_ex,
                "the device has no extended completion queues; leave wc_flags out and read plain completions"));
  if (request.ignore_overrun && contract.feature(Feature::cq_ignore_overrun).support == Support::absent)
    return Failure(lacking(contract, Feature::cq_ignore_overrun,
                           "the device cannot ignore an overrun; size the queue so that it cannot overflow"));
  if (const auto vectors = contract.caps()[Cap::num_comp_vectors];
      vectors && *vectors > 0 && request.comp_vector >= *vectors) {
    Error error;
    error.kind = ErrorKind::invalid_request;
    error.field = "comp_vector";
    error.asked = request.comp_vector;
    error.allowed = *vectors - 1;
    error.by.reason = fmt::format("the device has {} completion vectors, counted from 0", *vectors);
    error.by.source = "core/uverbs_cmd.c create_cq (Linux 6.12)";
    error.text = "no such completion vector";
    return Failure(std::move(error));
  }
  fitting::FieldFit cqe;
  if (auto error = fitting::clip_or_refuse(Field::cqe, request.cqe, request.policy, contract, cqe)) {
    return Failure(std::move(*error));
  }
  Result<CqGrant> result(tl::in_place);
  result->cqe = fitting::grant_of(cqe);
  result->quirks_hash = contract.quirks_hash();
  if (fitting::noteworthy(cqe, contract)) fitting::note(cqe, contract, {}, *result);
  return result;
}

Result<SrqGrant> fit(const SrqRequest& request, const Contract& contract) {
  if (contract.feature(Feature::srq).support == Support::absent)
    return Failure(lacking(contract, Feature::srq,
                           "the device has no shared receive queues; give each queue pair a receive queue of its own"));
  fitting::FieldFit wr, sge;
  auto refused = fitting::clip_or_refuse(Field::max_wr, request.max_wr, request.policy, contract, wr);
  auto also = fitting::clip_or_refuse(Field::max_sge, request.max_sge, request.policy, contract, sge);
  if (refused && also) fitting::also_short(*refused, also->field, also->allowed.value_or(0));
  if (!refused) refused = std::move(also);
  if (refused) {
    if (refused->field == name(Field::max_wr) && refused->allowed && request.srq_limit > *refused->allowed)
      fitting::also_short(*refused, name(Field::srq_limit), *refused->allowed);
    return Failure(std::move(*refused));
  }
  Result<SrqGrant> result(tl::in_place);
  result->max_wr = fitting::grant_of(wr);
  result->max_sge = fitting::grant_of(sge);
  result->quirks_hash = contract.quirks_hash();
  for (const fitting::FieldFit* field : {&wr, &sge}) {
    if (fitting::noteworthy(*field, contract)) fitting::note(*field, contract, {}, *result);
  }
  if (auto error = fit_srq_limit(request, wr, contract, *result)) return Failure(std::move(*error));
  return result;
}

std::uint64_t cq_entries_needed(std::span<const QpGrant> senders, std::span<const QpGrant> receivers,
                                std::span<const SrqGrant> shared_receivers) noexcept {
  std::uint64_t entries = 0;
  for (const QpGrant& qp : senders) entries += slots(qp.max_send_wr());
  for (const QpGrant& qp : receivers) entries += slots(qp.max_recv_wr());
  for (const SrqGrant& srq : shared_receivers) entries += slots(srq.max_wr);
  return entries;
}

}  // namespace verbena
