// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "objects/ladder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "verbena/errno_family.hpp"

namespace verbena {
namespace {

std::uint32_t clipped(std::uint64_t value) {
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

bool on_floor(const Rung& rung) {
  return rung.field->granted <= rung.floor;
}

/// The next rung to lower: of the first group that has one above its floor, the one after `last` in turn.
Rung* next_rung(std::span<Rung> rungs, const Rung* last) {
  std::uint8_t group = std::numeric_limits<std::uint8_t>::max();
  for (const Rung& rung : rungs) {
    if (!on_floor(rung)) group = std::min(group, rung.group);
  }
  const std::size_t start = last != nullptr ? static_cast<std::size_t>(last - rungs.data()) + 1 : 0;
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    Rung& rung = rungs[(start + i) % rungs.size()];
    if (rung.group == group && !on_floor(rung)) return &rung;
  }
  return nullptr;
}

void lower(Rung& rung, const Contract& contract) {
  FieldGrant& field = *rung.field;
  const std::uint32_t above = field.granted - rung.floor;
  field.granted = rung.how == StepDown::to_floor ? rung.floor : rung.floor + above / 2;
  field.passed = clipped(contract.domain(field.field).passed_for(field.granted));
}

Adjustment& adjustment_for(GrantNotes& notes, const FieldGrant& field) {
  const std::string_view name = verbena::name(field.field);
  for (Adjustment& adjustment : notes.adjustments) {
    if (adjustment.field == name) return adjustment;
  }
  notes.adjustments.emplace_back();
  notes.adjustments.back().field = name;
  return notes.adjustments.back();
}

}  // namespace

std::string describe_passed(std::span<const Rung> rungs) {
  std::string text;
  for (const Rung& rung : rungs) {
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name(rung.field->field), rung.field->passed);
  }
  return text;
}

LadderOutcome climb_down(std::span<Rung> rungs, const Contract& contract, unsigned tries, TryRef attempt) {
  return climb_down_from(attempt(), rungs, contract, tries, attempt);
}

LadderOutcome climb_down_from(const TryResult& first, std::span<Rung> rungs, const Contract& contract, unsigned tries,
                              TryRef attempt) {
  LadderOutcome outcome;
  outcome.last = first;
  Rung* last = nullptr;
  for (unsigned made = 1; !outcome.last.made; ++made) {
    LadderStep& step = outcome.steps.emplace_back();
    step.passed = describe_passed(rungs);
    step.errno_value = outcome.last.error;
    if (made >= tries || !may_be_too_much(outcome.last.error)) return outcome;
    Rung* const rung = next_rung(rungs, last);
    if (rung == nullptr) return outcome;
    step.changed = name(rung->field->field);
    lower(*rung, contract);
    last = rung;
    outcome.last = attempt();
  }
  if (!outcome.steps.empty()) outcome.steps.push_back({describe_passed(rungs), 0, {}});
  return outcome;
}

std::uint32_t floor_of(Field field, const Wish& wish, Policy request_policy) noexcept {
  if (wish.policy.value_or(request_policy) == Policy::require) return wish.want;
  if (wish.at_least) return *wish.at_least;
  switch (field) {
    case Field::max_send_sge:
    case Field::max_recv_sge:
    case Field::max_sge:
      return wish.want == 0 ? 0 : 1;
    case Field::max_inline_data:
      return 0;
    default:
      return wish.want / 8 + (wish.want % 8 != 0 ? 1 : 0);
  }
}

void note_reduction(GrantNotes& notes, const FieldGrant& field, std::string reason) {
  Adjustment& adjustment = adjustment_for(notes, field);
  adjustment.asked = field.asked;
  adjustment.granted = field.granted;
  adjustment.kind = AdjustmentKind::reduced;
  adjustment.by = Provenance{};
  adjustment.by.set_by = SetBy::probed;
  adjustment.by.reason = std::move(reason);
  adjustment.by.source = "this device, when the object was made";
}

void note_ladder(GrantNotes& notes, std::span<const Rung> rungs, std::span<const std::uint32_t> before,
                 const LadderOutcome& outcome) {
  if (outcome.steps.empty()) return;
  notes.ladder = outcome.steps;
  for (std::size_t i = 0; i < rungs.size(); ++i) {
    const FieldGrant& field = *rungs[i].field;
    if (field.granted >= before[i]) continue;
    note_reduction(notes, field,
                   fmt::format("the device refused {} with {} although its contract allows it, and took {}", before[i],
                               errno_name(outcome.steps.front().errno_value), field.granted));
  }
}

void read_back(FieldGrant& field, std::uint32_t returned, const Contract& contract, GrantNotes& notes) {
  const bool of_qp = field.field != Field::cqe && field.field != Field::max_wr && field.field != Field::max_sge;
  if (of_qp && contract.is(Behaviour::caps_written_back, Choice::no)) return;
  if (field.field == Field::cqe && contract.is(Behaviour::cqe_reported, Choice::unset)) return;
  const bool counts_zero = field.field == Field::max_inline_data;
  if (returned == 0 && !counts_zero) return;
  field.returned = returned;
  const std::uint64_t reserve = contract.domain(field.field).reserve;
  const std::uint32_t usable = clipped(returned > reserve ? returned - reserve : 0);
  if (usable >= field.granted) return;
  const std::uint32_t fitted = field.granted;
  field.granted = usable;
  note_reduction(notes, field,
                 fmt::format("the provider accepted {} and wrote back {}{}", field.passed, returned,
                             usable < returned ? fmt::format(", {} of which it keeps", reserve)
                             : usable == 0     ? fmt::format(" where {} was granted: none can be counted on", fitted)
                                               : std::string()));
}

}  // namespace verbena
