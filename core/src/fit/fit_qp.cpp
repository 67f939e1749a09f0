// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <array>
#include <optional>

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

Error unsupported(Feature feature, const Contract& contract, std::string text) {
  Error error;
  error.kind = ErrorKind::unsupported;
  error.field = name(feature);
  error.by = contract.provenance(contract.feature(feature).by);
  error.text = std::move(text);
  return error;
}

/// What nothing denies is let through: a device that no table knows must not be refused for that.
std::optional<Error> check_type(const QpRequest& request, const Contract& contract) {
  const Feature feature = feature_of(request.type);
  const Support support = contract.feature(feature).support;
  if (support == Support::absent)
    return unsupported(feature, contract,
                       fmt::format("the device has no {} queue pairs; ask for another type", name(request.type)));
  if (support == Support::substituted && request.substitutes == Policy::require)
    return unsupported(feature, contract,
                       fmt::format("the device has no {0} queue pairs; an rc one can stand in where the policy for "
                                   "substitutes allows it",
                                   name(request.type)));
  if (request.srq && contract.feature(Feature::srq).support == Support::absent)
    return unsupported(Feature::srq, contract,
                       "the device has no shared receive queues; give the queue pair a receive queue of its own");
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
void drop_inline(FieldFit& fit, const Contract& contract) noexcept {
  const FeatureState& state = contract.feature(Feature::inline_data);
  if (state.support != Support::absent || fit.value == 0) return;
  fit.value = 0;
  fit.by = state.by;
}

struct QpFields {
  FieldFit send_wr, recv_wr, send_sge, recv_sge, inline_data;
};

Result<QpFields> clip_all(const QpRequest& request, const Contract& contract) {
  QpFields fields;
  const std::array<std::pair<FieldFit*, std::pair<Field, const Wish*>>, 5> all{{
      {&fields.send_wr, {Field::max_send_wr, &request.max_send_wr}},
      {&fields.send_sge, {Field::max_send_sge, &request.max_send_sge}},
      {&fields.inline_data, {Field::max_inline_data, &request.max_inline_data}},
      {&fields.recv_wr, {Field::max_recv_wr, &request.max_recv_wr}},
      {&fields.recv_sge, {Field::max_recv_sge, &request.max_recv_sge}},
  }};
  for (const auto& [slot, what] : all) {
    const bool receives = what.first == Field::max_recv_wr || what.first == Field::max_recv_sge;
    if (receives && request.srq) {
      // Receives come from the SRQ: ibv_create_qp ignores these fields (man ibv_create_qp).
      slot->field = what.first;
      slot->want = what.second->want;
      continue;
    }
    auto fit = fitting::clip(what.first, *what.second, request.policy, contract);
    if (!fit) return Failure(std::move(fit.error()));
    *slot = *fit;
  }
  drop_inline(fields.inline_data, contract);
  if (auto error = fitting::forbidden(fields.inline_data, contract)) return Failure(std::move(*error));
  return fields;
}

}  // namespace

Result<QpFit> fit(const QpRequest& request, const Contract& contract) {
  if (auto error = check_type(request, contract)) return Failure(std::move(*error));
  if (auto error = fitting::check_send_ops(request, contract)) return Failure(std::move(*error));
  auto clipped = clip_all(request, contract);
  if (!clipped) return Failure(std::move(clipped.error()));
  QpFields& fields = *clipped;

  QpFit result;
  result.declare_ops = !request.ops.is_all() && contract.native(Feature::create_qp_ex);

  Ring send;
  send.queue = Queue::send;
  const bool substituted = stands_in(request, contract);
  send.shape.type = substituted ? QpType::rc : request.type;
  send.shape.ops = request.ops;
  send.shape.ops_declared = result.declare_ops;
  send.depth = &fields.send_wr;
  send.sges = &fields.send_sge;
  send.inline_data = &fields.inline_data;
  if (auto error = fitting::share(send, request.give_way, contract)) return Failure(std::move(*error));

  Ring recv;
  recv.queue = Queue::recv;
  recv.shape = send.shape;
  recv.depth = &fields.recv_wr;
  recv.sges = &fields.recv_sge;
  if (!request.srq)
    if (auto error = fitting::share(recv, request.give_way, contract)) return Failure(std::move(*error));

  QpGrant& grant = result.grant;
  grant.type = send.shape.type;
  grant.ops = request.ops;
  grant.quirks_hash = contract.quirks_hash();
  if (substituted) note_substitute(request, contract, grant);
  const std::array<const FieldFit*, 5> in_order{&fields.send_wr, &fields.recv_wr, &fields.send_sge, &fields.recv_sge,
                                                &fields.inline_data};
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    const FieldFit& field = *in_order[i];
    const bool receives = i == 1 || i == 3;
    grant.fields[i] = fitting::grant_of(field, contract);
    if (request.srq && receives) {
      grant.fields[i].passed = 0;
      continue;
    }
    fitting::note(field, contract, field.joint ? fitting::arithmetic(field, receives ? recv : send) : std::string{},
                  grant);
  }
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
