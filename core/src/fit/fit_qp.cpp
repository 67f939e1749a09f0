// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <optional>
#include <tuple>
#include <utility>

#include "contract/lacking.hpp"
#include "fit/field_fit.hpp"
#include "fit/send_ops.hpp"
#include "fit/shared_ring.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

using fitting::FieldFit;
using fitting::Ring;

Feature feature_of(QpType type) noexcept {
  switch (type) {
    case QpType::rc:
      return Feature::rc;
    case QpType::uc:
      return Feature::uc;
    case QpType::ud:
      return Feature::ud;
  }
  return Feature::rc;
}

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

/// An RC queue pair does what a UC one does, but also acknowledges and resends.
bool stands_in(const QpRequest& request, const Contract& contract) noexcept {
  return contract.feature(feature_of(request.type)).support == Support::substituted;
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

/// Inline bytes on a device that has none at all.
std::optional<Error> drop_inline(FieldFit& fit, const Contract& contract) {
  const FeatureState& state = contract.feature(Feature::inline_data);
  if (state.support != Support::absent || fit.value == 0) return std::nullopt;
  fit.value = 0;
  fit.passed = 0;
  fit.by = state.by;
  if (fit.forbidden()) return fitting::shortfall(fit, contract);
  return std::nullopt;
}

/// The numbers of a queue pair, by their places in QpGrant::fields.
using QpFields = std::array<FieldFit, std::tuple_size_v<decltype(QpGrant::fields)>>;
enum Place : std::size_t { kSendWr, kRecvWr, kSendSge, kRecvSge, kInlineData };

struct QpNumber {
  Place place;
  Field field;
  Wish QpRequest::* wish;
  bool receives;
};
/// In the order in which shortfalls are told.
constexpr std::array<QpNumber, std::tuple_size_v<QpFields>> kNumbers{{
    {kSendWr, Field::max_send_wr, &QpRequest::max_send_wr, false},
    {kSendSge, Field::max_send_sge, &QpRequest::max_send_sge, false},
    {kInlineData, Field::max_inline_data, &QpRequest::max_inline_data, false},
    {kRecvWr, Field::max_recv_wr, &QpRequest::max_recv_wr, true},
    {kRecvSge, Field::max_recv_sge, &QpRequest::max_recv_sge, true},
}};

std::optional<Error> clip_all(const QpRequest& request, const Contract& contract, QpFields& fields) {
  for (const QpNumber& number : kNumbers) {
    FieldFit& fit = fields[number.place];
    const Wish& wish = request.*number.wish;
    if (number.receives && request.srq) {
      // Receives come from the SRQ: ibv_create_qp ignores these fields (man ibv_create_qp).
      fit.field = number.field;
      fit.want = wish.want;
      continue;
    }
    if (auto error = fitting::clip(number.field, wish, request.policy, contract, fit)) return error;
  }
  return drop_inline(fields[kInlineData], contract);
}

std::optional<Error> fit_into(QpFit& fitted, const QpRequest& request, const Contract& contract) {
  if (auto error = check_type(request, contract)) return error;
  if (auto error = fitting::check_send_ops(request, contract)) return error;
  QpFields fields;
  if (auto error = clip_all(request, contract, fields)) return error;

  fitted.in_place = request.in_place;
  fitted.declare_ops = !request.ops.is_all() && contract.native(Feature::create_qp_ex);
  const bool substituted = stands_in(request, contract);
  const QueueShape shape{
      .type = substituted ? QpType::rc : request.type, .ops = request.ops, .ops_declared = fitted.declare_ops};
  Ring send{.queue = Queue::send,
            .shape = shape,
            .depth = fields[kSendWr],
            .sges = fields[kSendSge],
            .inline_data = &fields[kInlineData]};
  if (auto error = fitting::share(send, request.give_way, contract)) return error;
  Ring recv{.queue = Queue::recv, .shape = shape, .depth = fields[kRecvWr], .sges = fields[kRecvSge]};
  if (!request.srq) {
    if (auto error = fitting::share(recv, request.give_way, contract)) return error;
  }

  QpGrant& grant = fitted.grant;
  grant.type = shape.type;
  grant.ops = request.ops;
  grant.quirks_hash = contract.quirks_hash();
  if (substituted) note_substitute(request, contract, grant);
  for (std::size_t place = 0; place < fields.size(); ++place) {
    const FieldFit& field = fields[place];
    const bool receives = place == kRecvWr || place == kRecvSge;
    grant.fields[place] = fitting::grant_of(field);
    if ((request.srq && receives) || !fitting::noteworthy(field, contract)) continue;
    fitting::note(field, contract, field.joint ? fitting::arithmetic(field, receives ? recv : send) : std::string{},
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
