// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <cstddef>
#include <optional>
#include <utility>

#include "contract/lacking.hpp"
#include "fit/field_fit.hpp"
#include "fit/qp_numbers.hpp"
#include "fit/refused_number.hpp"
#include "fit/send_ops.hpp"
#include "fit/shared_ring.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

using fitting::feature_of;
using fitting::FieldFit;
using fitting::Place;
using fitting::QpNumbers;
using fitting::stands_in;

/// What nothing denies is let through: a device that no table knows must not be refused for that.
std::optional<Error> check_type(const QpRequest& request, const Contract& contract) {
  const Feature feature = feature_of(request.type);
  const Support support = contract.feature(feature).support;
  if (support == Support::absent)
    return lacking(contract, feature,
                   fmt::format("the device has no {} queue pairs; ask for another type", name(request.type)));
  if (support == Support::substituted && request.substitutes == Policy::require)
    return lacking(contract, feature,
                   fmt::format("the device has no {0} queue pairs; an rc one can stand in where the policy for "
                               "substitutes allows it",
                               name(request.type)));
  if (request.srq && contract.feature(Feature::srq).support == Support::absent)
    return lacking(contract, Feature::srq,
                   "the device has no shared receive queues; give the queue pair a receive queue of its own");
  if (request.in_place && contract.feature(Feature::in_place_data).support == Support::absent)
    return lacking(
        contract, Feature::in_place_data,
        "small messages come in the completion and are copied when it is polled; receive into memory that the "
        "CPU can write, and poll before looking");
  return std::nullopt;
}

void note_substitute(const QpRequest& request, const Contract& contract, GrantNotes& notes) {
  Adjustment adjustment;
  adjustment.field = name(request.type);
  adjustment.asked = 1;
  adjustment.granted = 1;
  adjustment.kind = AdjustmentKind::substituted;
  adjustment.by = contract.provenance(contract.feature(feature_of(request.type)).by);
  adjustment.by.reason = fmt::format(
      "an rc queue pair stands in, which acknowledges, resends and can fail by retries: {}", adjustment.by.reason);
  notes.adjustments.push_back(std::move(adjustment));
}

/// One queue pair that is larger than the budget of all of them together; what others hold, the ledger counts when it
/// is made.
std::optional<Error> over_budget(const QpNumbers& numbers, const Contract& contract) {
  const Domain& budget = contract.domain(Field::total_wr);
  const FieldFit& send = numbers.fields[fitting::kSendWr];
  const FieldFit& recv = numbers.fields[fitting::kRecvWr];
  const std::uint64_t wanted = std::uint64_t{send.value} + recv.value;
  if (wanted <= budget.max) return std::nullopt;
  Error error;
  error.kind = ErrorKind::limit;
  error.field = name(Field::total_wr);
  error.asked = wanted;
  error.allowed = budget.max;
  error.by = contract.provenance(budget.max_by);
  error.text = fmt::format(
      "max_send_wr {} and max_recv_wr {} together are more than all queue pairs of this device may "
      "have; ask for at most {} in both",
      send.value, recv.value, budget.max);
  return error;
}

std::optional<Error> fit_into(QpFit& fitted, const QpRequest& request, const Contract& contract) {
  if (auto error = check_type(request, contract)) return error;
  if (auto none = fitting::none_of(Field::max_qp, "queue pair", contract)) return none;
  if (auto error = fitting::check_send_ops(request, contract)) return error;
  QpNumbers numbers;
  if (const auto place = fitting::fit_numbers(request, contract, numbers))
    return fitting::refused_number(request, contract, *place);
  if (auto error = over_budget(numbers, contract)) return error;

  fitted.in_place = request.in_place;
  fitted.declare_ops = numbers.shape.ops_declared;
  QpGrant& grant = fitted.grant;
  grant.type = numbers.shape.type;
  grant.ops = request.ops;
  grant.quirks_hash = contract.quirks_hash();
  if (stands_in(request, contract)) note_substitute(request, contract, grant);
  for (std::size_t place = 0; place < numbers.fields.size(); ++place) {
    const FieldFit& field = numbers.fields[place];
    grant.fields[place] = fitting::grant_of(field);
    if (!fitting::noteworthy(field, contract)) continue;
    fitting::note(
        field, contract,
        field.joint ? fitting::arithmetic(field, numbers.ring_of(static_cast<Place>(place)), request.give_way, contract)
                    : std::string{},
        grant);
  }
  return std::nullopt;
}

}  // namespace

Result<QpFit> fit(const QpRequest& request, const Contract& contract) {
  // Made where it is returned, and in place: the default constructor would zero the room for an Error first.
  Result<QpFit> result(QpFit{});
  if (auto error = fit_into(*result, request, contract)) result = Failure(std::move(*error));
  return result;
}

std::uint64_t ring_bytes(const QpGrant& grant, const Contract& contract) noexcept {
  QueueShape send;
  send.type = grant.type;
  send.ops = grant.ops;
  send.ops_declared = !grant.ops.is_all() && contract.native(Feature::create_qp_ex);
  send.sge = grant.max_send_sge().passed;
  send.inline_data = grant.max_inline_data().passed;
  QueueShape recv = send;
  recv.sge = grant.max_recv_sge().passed;
  recv.inline_data = 0;
  std::uint64_t most = 0;
  for (const Joint& joint : contract.joints()) {
    const std::uint64_t sends = joint.formula->ring_bytes(joint.params, Queue::send, send, grant.max_send_wr().passed);
    const std::uint64_t receives =
        joint.formula->ring_bytes(joint.params, Queue::recv, recv, grant.max_recv_wr().passed);
    const std::uint64_t both = sends > Domain::kUnbounded - receives ? Domain::kUnbounded : sends + receives;
    most = both > most ? both : most;
  }
  return most;
}

}  // namespace verbena
