// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "objects/refusal.hpp"

#include <fmt/format.h>

#include "device/memlock.hpp"
#include "verbena/errno_family.hpp"

namespace verbena {
namespace {

std::string tries_text(std::span<const LadderStep> steps) {
  if (steps.empty()) return {};
  if (steps.size() == 1) return steps[0].passed.empty() ? std::string() : " with " + steps[0].passed;
  std::string text = fmt::format(" in {} tries:", steps.size());
  for (const LadderStep& step : steps) {
    text += fmt::format("{} {} ({})", &step == steps.data() ? "" : ";", step.passed, errno_name(step.errno_value));
  }
  return text;
}

}  // namespace

Error refusal(Device::State& device, const Attempt& attempt, const TryResult& last, std::span<const LadderStep> steps) {
  if (attempt.creates) CountersState::add(device.counters.refused);
  Error error;
  const ErrnoFamily family = errno_family(last.error);
  if ((family == ErrnoFamily::io || family == ErrnoFamily::gone) && device.look_at(last.error)) {
    error = device.gone_error();
    error.errno_value = last.error;
    return error;
  }
  error.errno_value = last.error;
  if (attempt.field != nullptr) {
    error.field = name(attempt.field->field);
    error.asked = attempt.field->asked;
  }
  const std::string what =
      fmt::format("{} failed on {} with {}{}", attempt.verb, device.name(),
                  last.errno_missing ? "no errno set (an unknown cause, shown as EINVAL)" : errno_name(last.error),
                  tries_text(steps));
  switch (family) {
    case ErrnoFamily::memory:
      error.kind = ErrorKind::no_memory;
      error.text = fmt::format("{}: {}", what, explain_no_memory(device.verbs(), attempt.need_bytes));
      break;
    case ErrnoFamily::permission:
      error.kind = ErrorKind::permission;
      error.text = attempt.creates ? fmt::format("{}: this process lacks the right to make a {}", what, attempt.object)
                                   : fmt::format("{}: this process lacks the right to do it", what);
      break;
    case ErrnoFamily::unsupported:
      error.kind = ErrorKind::unsupported;
      error.text = attempt.creates ? fmt::format("{}: the device or its driver makes no {}, or none like this", what,
                                                 attempt.object)
                                   : fmt::format("{}: the driver does not have this call{}{}", what,
                                                 *attempt.without != '\0' ? "; " : "", attempt.without);
      break;
    default:
      error.kind = ErrorKind::refused;
      error.text = attempt.creates
                       ? fmt::format("{}: the device refuses a {} that its contract allows", what, attempt.object)
                       : fmt::format("{}: the device refuses what its contract does not forbid", what);
      break;
  }
  if (attempt.torn) {
    error.text += fmt::format("; the {} may be half changed: use its keys no more, and destroy it", attempt.object);
  } else if (!attempt.creates) {
    error.text += fmt::format("; the {} is as it was", attempt.object);
  }
  if (steps.size() == 1 && family != ErrnoFamily::memory) error.text += "; nothing in the request may be lowered";
  device.log(LogLevel::error, error.text);
  return error;
}

tl::unexpected<Error> unfit(Device::State& device, Error error) {
  CountersState::add(device.counters.refused);
  return Failure(std::move(error));
}

Error fell_short(Device::State& device, const FieldGrant& field, std::uint32_t floor) {
  CountersState::add(device.counters.refused);
  Error error;
  error.kind = ErrorKind::limit;
  error.field = name(field.field);
  error.asked = field.asked;
  error.allowed = field.granted;
  error.by.set_by = SetBy::probed;
  error.text =
      fmt::format("{} accepted {} and wrote back {}, which leaves {}: fewer than the {} that the request needs",
                  device.name(), field.passed, field.returned.value_or(0), field.granted, floor);
  return error;
}

void made_it(Device::State& device, const char* object, const GrantNotes& notes, Policy policy) {
  CountersState::add(device.counters.created);
  if (notes.adjustments.empty() && notes.ladder.empty()) return;
  if (!notes.adjustments.empty()) CountersState::add(device.counters.adjusted);
  if (notes.ladder.size() > 1) CountersState::add(device.counters.ladder_steps, notes.ladder.size() - 1);
  if (policy == Policy::allow || !device.library->sink) return;
  for (const Adjustment& adjustment : notes.adjustments) {
    device.log(LogLevel::warn, fmt::format("{}: {}", object, to_string(adjustment)));
  }
  for (const LadderStep& step : notes.ladder) {
    device.log(LogLevel::debug, fmt::format("{}: tried {}: {}", object, step.passed,
                                            step.errno_value == 0 ? "accepted" : errno_name(step.errno_value)));
  }
}

tl::unexpected<Error> gone(const Device::State& device) {
  return Failure(device.gone_error());
}

}  // namespace verbena
