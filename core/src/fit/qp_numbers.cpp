// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "fit/qp_numbers.hpp"

namespace verbena::fitting {
namespace {

/// Inline bytes on a device that has none at all.
void drop_inline(FieldFit& fit, const Contract& contract) noexcept {
  const FeatureState& state = contract.feature(Feature::inline_data);
  if (state.support != Support::absent || fit.value == 0) return;
  fit.value = 0;
  fit.passed = 0;
  fit.empty = false;
  fit.by = state.by;
}

Place place_of(Queue queue, Competitor competitor) noexcept {
  if (competitor == Competitor::inline_data) return kInlineData;
  const bool depth = competitor == Competitor::depth;
  if (queue == Queue::send) return depth ? kSendWr : kSendSge;
  return depth ? kRecvWr : kRecvSge;
}

}  // namespace

const QpNumber& number_at(Place place) noexcept {
  constexpr std::array<std::size_t, kPlaces> kOrder{0, 3, 1, 4, 2};
  static_assert([&] {
    for (std::size_t at = 0; at < kPlaces; ++at)
      if (kQpNumbers[kOrder[at]].place != at) return false;
    return true;
  }());
  return kQpNumbers[kOrder[place]];
}

Ring QpNumbers::ring_of(Place place) noexcept {
  if (number_at(place).receives)
    return {.queue = Queue::recv, .shape = shape, .depth = fields[kRecvWr], .sges = fields[kRecvSge]};
  return {.queue = Queue::send,
          .shape = shape,
          .depth = fields[kSendWr],
          .sges = fields[kSendSge],
          .inline_data = &fields[kInlineData]};
}

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

bool stands_in(const QpRequest& request, const Contract& contract) noexcept {
  return contract.feature(feature_of(request.type)).support == Support::substituted;
}

void fit_alone(const QpNumber& number, const QpRequest& request, const Contract& contract, FieldFit& fit) noexcept {
  const Wish& wish = request.*number.wish;
  if (number.receives && request.srq)
    ignore(number.field, wish, request.policy, fit);
  else
    clip(number.field, wish, request.policy, contract, fit);
  if (number.place == kInlineData) drop_inline(fit, contract);
}

QueueShape shape_for(const QpRequest& request, const Contract& contract) noexcept {
  return {.type = stands_in(request, contract) ? QpType::rc : request.type,
          .ops = request.ops,
          .ops_declared = request.declare_ops && !request.ops.is_all() && contract.native(Feature::create_qp_ex)};
}

std::optional<Place> fit_numbers(const QpRequest& request, const Contract& contract, QpNumbers& numbers) noexcept {
  for (const QpNumber& number : kQpNumbers) {
    FieldFit& fit = numbers.fields[number.place];
    fit_alone(number, request, contract, fit);
    if (fit.contradicts() || fit.forbidden()) return number.place;
  }
  numbers.shape = shape_for(request, contract);
  for (const Place place : {kSendWr, kRecvWr}) {
    if (number_at(place).receives && request.srq) break;
    Ring ring = numbers.ring_of(place);
    if (const auto competitor = share(ring, request.give_way, contract)) return place_of(ring.queue, *competitor);
  }
  return std::nullopt;
}

}  // namespace verbena::fitting
