// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "fit/shared_ring.hpp"

#include <algorithm>

#include <fmt/compile.h>
#include <fmt/format.h>

#include "fit/largest.hpp"

namespace verbena::fitting {

namespace {

/// Depth, SGEs and inline bytes, by Competitor.
using Amounts = std::array<std::uint64_t, 3>;

constexpr std::array kCompetitors{Competitor::depth, Competitor::sges, Competitor::inline_data};

constexpr std::size_t index(Competitor competitor) noexcept {
  return static_cast<std::size_t>(competitor);
}

FieldFit* field_of(const Ring& ring, Competitor competitor) noexcept {
  if (competitor == Competitor::depth) return &ring.depth;
  return competitor == Competitor::sges ? &ring.sges : ring.inline_data;
}

std::string_view word(Competitor competitor) noexcept {
  if (competitor == Competitor::depth) return "depth";
  return competitor == Competitor::sges ? "SGEs" : "inline bytes";
}

Competitor competitor_of(const Ring& ring, const FieldFit& field) noexcept {
  if (&field == &ring.depth) return Competitor::depth;
  return &field == &ring.sges ? Competitor::sges : Competitor::inline_data;
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

/// The least that a field may be given: all of it where it is required, so that the others give way; else the caller's
/// floor, or the least that its own domain takes (some devices refuse zero) where that is more.
std::uint64_t floor_of(const FieldFit* field, const Contract& contract) noexcept {
  if (!field) return 0;
  if (field->policy == Policy::require) return field->value;
  return std::min(field->value, std::max(field->floor, least_grant(contract.domain(field->field))));
}

/// What is looked at to say why a competitor is not given more than it stands at: the depth's WQEs as they stand; one
/// more SGE or inline byte, with the fewest of the other.
Amounts blocked(const Ring& ring, Competitor competitor, const Contract& contract) noexcept {
  Amounts amounts{};
  for (const Competitor other : kCompetitors) {
    const FieldFit* field = field_of(ring, other);
    amounts[index(other)] = field ? field->value : 0;
  }
  if (competitor == Competitor::depth) return amounts;
  const Competitor other = competitor == Competitor::sges ? Competitor::inline_data : Competitor::sges;
  amounts[index(competitor)] += 1;
  amounts[index(other)] = floor_of(field_of(ring, other), contract);
  return amounts;
}

void settle(Ring& ring, Competitor competitor, std::uint64_t value, const Contract& contract) noexcept {
  FieldFit* field = field_of(ring, competitor);
  if (!field || value >= field->value) return;
  field->value = static_cast<std::uint32_t>(value);
  field->passed = contract.domain(field->field).passed_for(value);
}

/// Who is told that even the floors do not fit: the first that may still be lowered, and whose being lowered is enough;
/// where no single one's is, the first that may be lowered at all.
Competitor short_of(const Ring& ring, const Amounts& floors, const Contract& contract) {
  std::optional<Competitor> lowerable;
  for (const Competitor competitor : {Competitor::depth, Competitor::inline_data, Competitor::sges}) {
    const FieldFit* field = field_of(ring, competitor);
    if (!field) continue;
    Amounts lowered = floors;
    lowered[index(competitor)] = least_grant(contract.domain(field->field));
    if (lowered[index(competitor)] >= floors[index(competitor)]) continue;
    if (fits(ring, lowered, contract)) return competitor;
    if (!lowerable) lowerable = competitor;
  }
  return lowerable.value_or(Competitor::depth);
}

/// Lowers what has to give way so that a ring holds what it does not hold as it stands.
std::optional<Competitor> give_way_to_ring(Ring& ring, const std::array<Competitor, 3>& give_way,
                                           const Contract& contract) {
  Amounts wishes{}, floors{};
  for (const Competitor competitor : kCompetitors) {
    const FieldFit* field = field_of(ring, competitor);
    wishes[index(competitor)] = field ? field->value : 0;
    floors[index(competitor)] = floor_of(field, contract);
  }
  if (!fits(ring, floors, contract)) return short_of(ring, floors, contract);

  const Competitor first = give_way[0], second = give_way[1], last = give_way[2];
  const auto most = [&](Competitor competitor, std::uint64_t high, const Amounts& amounts) {
    return most_of(competitor, floors[index(competitor)], high, amounts, ring, contract);
  };
  // Each beside the floors of those that give way before it; so nothing that would cost nothing is left lying.
  Amounts decided = floors;
  for (const Competitor competitor : {last, second, first})
    decided[index(competitor)] = most(competitor, wishes[index(competitor)], decided);

  for (const Competitor competitor : kCompetitors) settle(ring, competitor, decided[index(competitor)], contract);
  for (const Competitor competitor : kCompetitors) {
    FieldFit* field = field_of(ring, competitor);
    if (!field || decided[index(competitor)] >= wishes[index(competitor)]) continue;
    std::uint64_t entries = 0;
    field->joint = tightest(ring, passed(ring, blocked(ring, competitor, contract), contract), contract, entries);
    field->by = field->joint->by;
    if (field->forbidden()) return competitor;
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

std::optional<Competitor> share(Ring& ring, const std::array<Competitor, 3>& give_way, const Contract& contract) {
  if (contract.joints().empty() || holds(ring, as_it_stands(ring), contract)) return std::nullopt;
  return give_way_to_ring(ring, give_way, contract);
}

std::optional<NeverHolds> never_holds(const Ring& ring, const Contract& contract) {
  Amounts least{};
  for (const Competitor competitor : kCompetitors)
    if (const FieldFit* field = field_of(ring, competitor))
      least[index(competitor)] = least_grant(contract.domain(field->field));
  if (contract.joints().empty() || fits(ring, least, contract)) return std::nullopt;
  NeverHolds found;
  for (const Competitor competitor : kCompetitors) {
    if (least[index(competitor)] == 0) continue;
    Amounts without = least;
    without[index(competitor)] = 0;
    if (!found.field || fits(ring, without, contract)) found.field = field_of(ring, competitor);
    if (fits(ring, without, contract)) break;
  }
  if (!found.field) return std::nullopt;  // the ring takes no work request at all
  std::uint64_t entries = 0;
  const Amounts create = passed(ring, least, contract);
  found.joint = tightest(ring, create, contract, entries);
  found.arithmetic = found.joint->formula->explain(found.joint->params, ring.queue, shape_of(ring, create),
                                                   create[index(Competitor::depth)]);
  return found;
}

InTheWay in_the_way(const Ring& ring, const FieldFit& field, const Contract& contract) {
  const Competitor competitor = competitor_of(ring, field);
  const Amounts create = passed(ring, blocked(ring, competitor, contract), contract);
  InTheWay found;
  std::uint64_t entries = 0;
  found.joint = tightest(ring, create, contract, entries);
  if (found.joint) {
    const Domain& depth = contract.domain(ring.depth.field);
    found.arithmetic = found.joint->formula->explain(found.joint->params, ring.queue, shape_of(ring, create),
                                                     std::max(ring.depth.want, least_grant(depth)));
  }
  return found;
}

/// Why fewer are granted than the ring holds: what is passed for a grant is more than that.
std::string beyond_the_grant(const FieldFit& depth, const Contract& contract) {
  if (depth.passed <= depth.value) return {};
  const Domain& domain = contract.domain(depth.field);
  const Provenance& by = contract.provenance(domain.reserve != 0 ? domain.reserve_by : domain.asks[0].by);
  return fmt::format("; for {} granted {} are passed ({})", depth.value, depth.passed, who(by));
}

std::string arithmetic(const FieldFit& field, const Ring& ring, const std::array<Competitor, 3>& give_way,
                       const Contract& contract) {
  if (!field.joint) return {};
  std::string text = in_the_way(ring, field, contract).arithmetic;
  const Competitor competitor = competitor_of(ring, field);
  if (competitor == Competitor::depth) return text + beyond_the_grant(field, contract);
  if (competitor != give_way[0]) {
    // What is protected more keeps a floor, often one that nobody wrote down.
    if (ring.depth.reduced() && ring.depth.floor > 0)
      text += fmt::format(FMT_COMPILE("; at least {} of {} are to be had"), ring.depth.floor, name(ring.depth.field));
    return text;
  }
  Amounts more = blocked(ring, competitor, contract);
  more[index(Competitor::depth)] = 1;
  // No work request takes one more: nothing is kept by giving way.
  if (!fits(ring, more, contract)) return text;
  const Competitor kept = field_of(ring, give_way[2]) ? give_way[2] : give_way[1];
  text += fmt::format(FMT_COMPILE("; {} give way first: that is the price of keeping {}"), word(competitor),
                      word(give_way[1]));
  if (field_of(ring, give_way[1]) && kept != give_way[1]) text += fmt::format(FMT_COMPILE(" and {}"), word(kept));
  return text;
}

}  // namespace verbena::fitting
