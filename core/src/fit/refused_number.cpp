// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "fit/refused_number.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fit/largest.hpp"

namespace verbena::fitting {
namespace {

const Wish& wish_at(const QpRequest& request, Place place) noexcept {
  return request.*number_at(place).wish;
}

Policy policy_at(const QpRequest& request, Place place) noexcept {
  return wish_at(request, place).policy.value_or(request.policy);
}

/// The request with another number in that place, as the wish and as the floor. Under `require` the floor stays as low
/// as it is: there the wish has to come out of the fit in full by itself.
QpRequest with(QpRequest request, Place place, std::uint32_t value) noexcept {
  Wish& wish = request.*number_at(place).wish;
  wish.want = value;
  if (policy_at(request, place) != Policy::require)
    wish.at_least = value;
  else if (wish.at_least)
    wish.at_least = std::min(*wish.at_least, value);
  return request;
}

bool is_granted(const QpRequest& request, Place place, std::uint32_t value, const Contract& contract) noexcept {
  QpNumbers numbers;
  return !fit_numbers(with(request, place, value), contract, numbers) && numbers.fields[place].value >= value;
}

/// The most that would be granted in that place with everything else as it is.
std::optional<std::uint32_t> nearest(const QpRequest& request, Place place, const Contract& contract) noexcept {
  if (!is_granted(request, place, 0, contract)) return std::nullopt;
  const Wish& wish = wish_at(request, place);
  const std::uint32_t high = std::max(wish.want, wish.at_least.value_or(0));
  return static_cast<std::uint32_t>(largest(0, high, [&](std::uint64_t value) {
    return is_granted(request, place, static_cast<std::uint32_t>(value), contract);
  }));
}

/// Another number of the same queue whose being lowered is enough.
std::optional<Place> another(const QpRequest& request, Place place, const Contract& contract) noexcept {
  for (const QpNumber& number : kQpNumbers) {
    if (number.place == place || number.receives != number_at(place).receives) continue;
    if (is_granted(request, number.place, 0, contract)) return number.place;
  }
  return std::nullopt;
}

/// Leaves as few numbers free as it takes to be granted, and lowers each to what it would be granted then.
std::array<bool, kPlaces> shrink(QpRequest& request, const Contract& contract) noexcept {
  std::array<bool, kPlaces> free{};
  QpRequest freed = request;
  QpNumbers numbers;
  for (std::size_t turn = 0; turn < kPlaces; ++turn, numbers = {}) {
    const auto place = fit_numbers(freed, contract, numbers);
    if (!place) break;
    free[*place] = true;
    Wish& wish = freed.*number_at(*place).wish;
    wish.at_least = 0;
    wish.policy = Policy::prefer;
  }
  for (const QpNumber& number : kQpNumbers)
    if (free[number.place]) request = with(request, number.place, numbers.fields[number.place].value);
  return free;
}

/// A minimum that no request can meet, since another bound or the ring does not allow as much; empty when none is.
std::optional<Error> never(const QpRequest& request, const Contract& contract) {
  QpNumbers numbers;
  for (const QpNumber& number : kQpNumbers) {
    FieldFit& field = numbers.fields[number.place];
    fit_alone(number, request, contract, field);
    if (field.empty) return nothing_left(field, contract);
  }
  numbers.shape = shape_for(request, contract);
  for (const Place place : {kSendWr, kRecvWr}) {
    if (number_at(place).receives && request.srq) break;
    const auto found = never_holds(numbers.ring_of(place), contract);
    if (!found) continue;
    const Domain& domain = contract.domain(found->field->field);
    Error error;
    error.kind = ErrorKind::limit;
    error.field = name(found->field->field);
    error.asked = found->field->want;
    error.by = contract.provenance(found->joint->by);
    error.by.set_by = SetBy::formula;
    error.by.reason = found->arithmetic;
    error.text = fmt::format(
        "nothing can be passed: at least {} must be ({}), and the ring does not hold that ({}); "
        "a rule of the two has to be mended or turned off",
        domain.min, who(contract.provenance(domain.min_by)), who(contract.provenance(found->joint->by)));
    return error;
  }
  return std::nullopt;
}

/// What stands beside a number in its ring: `max_send_sge 4 and max_inline_data 60 (rule ...)`, with whose it is where
/// that is not the caller's.
std::string beside(const Ring& ring, const FieldFit& field, bool floors, const Contract& contract) {
  std::string text;
  for (const FieldFit* other : {&ring.depth, &ring.sges, ring.inline_data}) {
    if (other == nullptr || other == &field) continue;
    const Domain& domain = contract.domain(other->field);
    const std::uint32_t least = least_grant(domain);
    const bool may_shrink = floors && other->policy != Policy::require;
    const std::uint32_t value = may_shrink ? std::max(other->floor, least) : other->value;
    text += fmt::format("{}{} {}", text.empty() ? "" : " and ", name(other->field), value);
    if (value == least && least > other->floor) text += fmt::format(" ({})", who(contract.provenance(domain.min_by)));
  }
  return text;
}

/// What is said where `numbers` hold the most that can be granted in that place.
Error told(const QpRequest& request, Place place, QpNumbers& numbers, const Contract& contract) {
  FieldFit own;
  fit_alone(number_at(place), request, contract, own);
  if (own.contradicts()) return floor_above_wish(own);
  FieldFit& field = numbers.fields[place];
  field.want = own.want;
  field.floor = own.floor;
  field.policy = own.policy;
  if (field.value == own.value || field.ignored) {
    own.value = field.value;
    return shortfall(own, contract);
  }
  // The arithmetic tells what was asked for, and not what is proposed instead.
  Ring ring = numbers.ring_of(place);
  InTheWay why = in_the_way(ring, field, contract);
  field.joint = why.joint;
  if (why.joint) field.by = why.joint->by;
  Error error = shortfall(field, contract);
  error.by.reason = std::move(why.arithmetic);
  error.text = field.value < field.floor && field.policy != Policy::require
                   ? fmt::format(
                         "at least {} is needed, and beside at least {} the ring holds {}; ask for less, or lower "
                         "a floor",
                         field.floor, beside(ring, field, true, contract), field.value)
                   : fmt::format(
                         "the policy requires all of it, and beside {} the ring holds {}; ask for less, or prefer "
                         "it instead of requiring it",
                         beside(ring, field, false, contract), field.value);
  return error;
}

}  // namespace

Error refused_number(const QpRequest& request, const Contract& contract, Place place) {
  if (auto error = never(request, contract)) return *error;
  auto most = nearest(request, place, contract);
  if (!most) {
    if (const auto other = another(request, place, contract)) {
      place = *other;
      most = nearest(request, place, contract);
    }
  }
  QpRequest others = request;
  std::array<bool, kPlaces> shrunk{};
  if (!most) {
    shrunk = shrink(others, contract);
    shrunk[place] = false;
    others.*number_at(place).wish = wish_at(request, place);
    most = nearest(others, place, contract);
  }
  QpNumbers numbers;
  fit_numbers(with(others, place, most.value_or(0)), contract, numbers);
  Error error = told(others, place, numbers, contract);
  error.allowed = most;
  std::vector<AlsoShort> also;
  for (const QpNumber& number : kQpNumbers)
    if (shrunk[number.place])
      also.push_back({name(number.field), wish_at(request, number.place).want, wish_at(others, number.place).want});
  also_short(error, also);
  return error;
}

}  // namespace verbena::fitting
