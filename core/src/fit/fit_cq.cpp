// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <array>

#include "contract/lacking.hpp"
#include "fit/field_fit.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

std::uint64_t slots(const FieldGrant& field) noexcept {
  return std::max(field.granted, field.returned.value_or(0));
}

std::optional<Error> refused_vector(const CqRequest& request, const Contract& contract) {
  const auto vectors = contract.caps()[Cap::num_comp_vectors];
  if (!vectors || *vectors == 0 || request.comp_vector < *vectors) return std::nullopt;
  Error error;
  error.kind = ErrorKind::invalid_request;
  error.field = "comp_vector";
  error.asked = request.comp_vector;
  error.allowed = *vectors - 1;
  error.by.reason = fmt::format("the device has {} completion vectors, counted from 0", *vectors);
  error.by.source = "core/uverbs_cmd.c create_cq (Linux 6.12)";
  error.text = "no such completion vector";
  return error;
}

}  // namespace

Result<CqGrant> fit(const CqRequest& request, const Contract& contract) {
  if (auto none = fitting::none_of(Field::max_cq, "completion queue", contract)) return Failure(std::move(*none));
  if (request.wc_flags != 0 && contract.feature(Feature::create_cq_ex).support == Support::absent)
    return Failure(
        lacking(contract, Feature::create_cq_ex,
                "the device has no extended completion queues; leave wc_flags out and read plain completions"));
  constexpr std::uint64_t kTimestamps =
      IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
  if ((request.wc_flags & kTimestamps) != 0 &&
      contract.feature(Feature::completion_timestamp).support == Support::absent)
    return Failure(lacking(contract, Feature::completion_timestamp,
                           "completions carry no time on this device; leave the timestamps out of wc_flags"));
  if (request.ignore_overrun && contract.feature(Feature::cq_ignore_overrun).support == Support::absent)
    return Failure(lacking(contract, Feature::cq_ignore_overrun,
                           "the device cannot ignore an overrun; size the queue so that it cannot overflow"));
  auto refused = refused_vector(request, contract);
  fitting::FieldFit cqe;
  auto short_cqe = fitting::clip_or_refuse(Field::cqe, request.cqe, request.policy, contract, cqe);
  if (refused && short_cqe && short_cqe->allowed)
    fitting::also_short(*refused,
                        std::array{fitting::AlsoShort{name(Field::cqe), request.cqe.want, *short_cqe->allowed}});
  // Where no depth is taken at all, that is what has to be told.
  if (short_cqe && (!refused || !short_cqe->allowed)) refused = std::move(short_cqe);
  if (refused) return Failure(std::move(*refused));
  Result<CqGrant> result(tl::in_place);
  result->cqe = fitting::grant_of(cqe);
  result->quirks_hash = contract.quirks_hash();
  if (fitting::noteworthy(cqe, contract)) fitting::note(cqe, contract, {}, *result);
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
