// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "fit/shared_ring.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "fit/largest.hpp"

namespace verbena::fitting {
namespace {

/// Depth, SGEs and inline bytes, by Competitor.
using Amounts = std::array<std::uint64_t, 3>;

constexpr std::size_t index(Competitor competitor) noexcept {
  return static_cast<std::size_t>(competitor);
}

FieldFit* field_of(const Ring& ring, Competitor competitor) noexcept {
  if (competitor == Competitor::depth) return &ring.depth;
  return competitor == Competitor::sges ? &ring.sges : ring.inline_data;
}

QueueShape shape_of(const Ring& ring, const Amounts& amounts) noexcept {
  QueueShape shape = ring.shape;
  shape.sge = static_cast<std::uint32_t>(amounts[index(Competitor::sges)]);
  shape.inline_data = static_cast<std::uint32_t>(amounts[index(Competitor::inline_data)]);
  return shape;
}

/// The joint limit that allows the fewest entries for that shape; null when the contract has none.
const Joint* tightest(const Ring& ring, const Amounts& amounts, const Contract& contract,
                      std::uint64_t& most) noexcept {
  const QueueShape shape = shape_of(ring, amounts);
  const Joint* binding = nullptr;
  most = Domain::kUnbounded;
  for (const Joint& joint : contract.joints()) {
    const std::uint64_t wr = joint.formula->max_wr(joint.params, ring.queue, shape);
    if (!binding || wr < most) {
      binding = &joint;
      most = wr;
    }
  }
  return binding;
}

/// What goes to create for these grants: rounded, and with what the driver keeps, as each field's own domain asks.
Amounts passed(const Ring& ring, const Amounts& granted, const Contract& contract) noexcept {
  Amounts amounts = granted;
  for (std::size_t at = 0; at < amounts.size(); ++at) {
    const FieldFit* field = field_of(ring, static_cast<Competitor>(at));
    if (field) amounts[at] = contract.domain(field->field).passed_for(granted[at]);
  }
  return amounts;
}

/// The ring holds what is passed.
bool holds(const Ring& ring, const Amounts& create, const Contract& contract) noexcept {
  std::uint64_t most = 0;
  tightest(ring, create, contract, most);
  // A queue of no entries still has to have a shape that some WQE can take.
  return std::max<std::uint64_t>(create[index(Competitor::depth)], 1) <= most;
}

/// `amounts` are grants; the ring holds what is passed for them.
bool fits(const Ring& ring, const Amounts& amounts, const Contract& contract) noexcept {
  return holds(ring, passed(ring, amounts, contract), contract);
}

/// The most entries for that shape; what the ring holds, less what is passed beyond a grant.
std::uint64_t deepest(const Ring& ring, const Amounts& amounts, const Contract& contract) noexcept {
  std::uint64_t most = 0;
  tightest(ring, passed(ring, amounts, contract), contract, most);
  Domain depth = contract.domain(ring.depth.field);
  depth.max = std::min(depth.max, most);
  return depth.largest_grant();
}

/// The largest amount of one competitor with the others as they stand in `amounts`.
std::uint64_t most_of(Competitor competitor, std::uint64_t low, std::uint64_t high, Amounts amounts, const Ring& ring,
                      const Contract& contract) {
  if (competitor == Competitor::depth) return std::clamp(deepest(ring, amounts, contract), low, high);
  return largest(low, high, [&](std::uint64_t value) {
    amounts[index(competitor)] = value;
    return fits(ring, amounts, contract);
  });
}

void settle(FieldFit* field, std::uint64_t value, const Joint* joint, const Contract& contract) noexcept {
  if (!field || value >= field->value) return;
  field->value = static_cast<std::uint32_t>(value);
  field->passed = contract.domain(field->field).passed_for(value);
  field->joint = joint;
  if (joint) field->by = joint->by;
}

/// What is said when even the floors do not fit: the depth, unless the shape alone is too large for any WQE.
Error does_not_fit(const Ring& ring, const Amounts& floors, const Contract& contract) {
  std::uint64_t most = 0;
  const Joint* joint = tightest(ring, passed(ring, floors, contract), contract, most);
  if (most > 0) most = deepest(ring, floors, contract);
  const FieldFit& guilty = most > 0                                          ? ring.depth
                           : ring.inline_data && ring.inline_data->floor > 0 ? *ring.inline_data
                                                                             : ring.sges;
  Error error;
  error.kind = ErrorKind::limit;
  error.field = name(guilty.field);
  error.asked = guilty.want;
  if (most > 0) error.allowed = most;
  if (joint) {
    error.by = contract.provenance(joint->by);
    error.by.set_by = SetBy::formula;
    error.by.reason =
        joint->formula->explain(joint->params, ring.queue, shape_of(ring, floors), floors[index(Competitor::depth)]);
  }
  error.text = most > 0
                   ? fmt::format(
                         "at least {} is needed, and with {} SGEs and {} inline bytes at the least the ring holds "
                         "{}; lower a floor",
                         guilty.floor, floors[index(Competitor::sges)], floors[index(Competitor::inline_data)], most)
                   : fmt::format(
                         "{} SGEs and {} inline bytes at the least fit no work request of this device; lower a "
                         "floor",
                         floors[index(Competitor::sges)], floors[index(Competitor::inline_data)]);
  return error;
}

/// Lowers what has to give way so that a ring holds what it does not hold as it stands.
std::optional<Error> give_way_to_ring(Ring& ring, const std::array<Competitor, 3>& give_way, const Contract& contract) {
  Amounts wishes{}, floors{};
  for (const Competitor competitor : {Competitor::depth, Competitor::sges, Competitor::inline_data}) {
    const FieldFit* field = field_of(ring, competitor);
    wishes[index(competitor)] = field ? field->value : 0;
    // The least that the field's own domain takes (some devices refuse zero) stands above the caller's floor.
    floors[index(competitor)] =
        field ? std::min(field->value, std::max(field->floor, least_grant(contract.domain(field->field)))) : 0;
  }
  if (!fits(ring, floors, contract)) return does_not_fit(ring, floors, contract);

  const Competitor first = give_way[0], second = give_way[1], last = give_way[2];
  const auto most = [&](Competitor competitor, std::uint64_t high, const Amounts& amounts) {
    return most_of(competitor, floors[index(competitor)], high, amounts, ring, contract);
  };
  // With the most protected one on its floor: how much the others could have.
  Amounts at_floor = floors;
  at_floor[index(second)] = most(second, wishes[index(second)], at_floor);
  const std::uint64_t first_at_most = most(first, wishes[index(first)], at_floor);

  Amounts decided = floors;
  decided[index(last)] = most(last, wishes[index(last)], decided);
  decided[index(second)] = most(second, wishes[index(second)], decided);
  decided[index(first)] = most(first, first_at_most, decided);

  std::uint64_t entries = 0;
  const Joint* binding = tightest(ring, passed(ring, wishes, contract), contract, entries);
  for (const Competitor competitor : {first, second, last})
    settle(field_of(ring, competitor), decided[index(competitor)], binding, contract);
  for (const FieldFit* field : {&ring.depth, &ring.sges, ring.inline_data}) {
    if (!field || !field->joint || !field->forbidden()) continue;
    Error error = shortfall(*field, contract);
    error.by.reason = arithmetic(*field, ring);
    return error;
  }
  return std::nullopt;
}

/// What goes to create as the fields stand.
Amounts as_it_stands(const Ring& ring) noexcept {
  const auto passed_for = [](const FieldFit* field) { return field ? field->passed : 0; };
  Amounts create{};
  create[index(Competitor::depth)] = passed_for(&ring.depth);
  create[index(Competitor::sges)] = passed_for(&ring.sges);
  create[index(Competitor::inline_data)] = passed_for(ring.inline_data);
  return create;
}

}  // namespace

std::optional<Error> share(Ring& ring, const std::array<Competitor, 3>& give_way, const Contract& contract) {
  if (contract.joints().empty() || holds(ring, as_it_stands(ring), contract)) return std::nullopt;
  return give_way_to_ring(ring, give_way, contract);
}

std::string arithmetic(const FieldFit& field, const Ring& ring) {
  if (!field.joint) return {};
  QueueShape shape = ring.shape;
  shape.sge = ring.sges.value;
  shape.inline_data = ring.inline_data ? ring.inline_data->value : 0;
  // A depth is explained by the shape that it got; SGEs and inline bytes by what they would have cost: inline bytes
  // with the fewest SGEs, since that is how it is decided whether they give way.
  if (&ring.sges == &field) shape.sge = field.want;
  if (ring.inline_data == &field) {
    shape.inline_data = field.want;
    shape.sge = std::min(ring.sges.value, ring.sges.floor);
  }
  return field.joint->formula->explain(field.joint->params, ring.queue, shape, ring.depth.want);
}

}  // namespace verbena::fitting
