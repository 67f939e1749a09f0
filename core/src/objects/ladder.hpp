// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cerrno>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "verbena/contract.hpp"
#include "verbena/grant.hpp"
#include "verbena/request.hpp"
#include "verbena/result.hpp"

namespace verbena {

/// How a rung gives way when the device refuses what its contract allows.
enum class StepDown : std::uint8_t {
  to_floor,  ///< in one step (inline bytes: the cheapest to lose)
  by_half,   ///< half of what lies between it and its floor (at least 1)
};

/// One number of the object being made: where it stands, and how far it may go down.
struct Rung {
  FieldGrant* field = nullptr;  ///< `granted` and `passed` are lowered in place
  std::uint32_t floor = 0;
  StepDown how = StepDown::by_half;
  /// Rungs of one group take turns; a group is lowered only once the groups before it stand on their floors.
  std::uint8_t group = 0;
};

/// What a try answered.
struct TryResult {
  bool made = false;
  int error = 0;  ///< positive errno when not made
  bool errno_missing = false;
};

/// What a backend's create answered: a refusal without an errno counts as EINVAL, and is told as such.
constexpr TryResult tried(bool made, int errno_value) noexcept {
  return {made, made ? 0 : errno_value != 0 ? errno_value : EINVAL, !made && errno_value == 0};
}

/// A reference to the caller's try function; it makes the object with the numbers that the fields hold now.
class TryRef {
public:
  template <class Try>
  TryRef(Try& attempt) noexcept  // NOLINT(google-explicit-constructor): a reference, like std::function_ref
      : object_(&attempt), call_([](void* object) { return (*static_cast<Try*>(object))(); }) {}
  TryResult operator()() const { return call_(object_); }

private:
  void* object_;
  TryResult (*call_)(void*);
};

struct LadderOutcome {
  TryResult last;
  std::vector<LadderStep> steps;  ///< empty when the first try was accepted
};

/// Makes something; while the device refuses for a reason that smaller numbers may cure (errno_family.hpp,
/// may_be_too_much), lowers one rung and tries again, at most `tries` times in all. Every try is recorded once one was
/// refused. A first try that is accepted allocates nothing.
LadderOutcome climb_down(std::span<Rung> rungs, const Contract& contract, unsigned tries, TryRef attempt);
/// The same from a first try that was made already.
LadderOutcome climb_down_from(const TryResult& first, std::span<Rung> rungs, const Contract& contract, unsigned tries,
                              TryRef attempt);

/// The least that may be granted for a wish: its own at_least; the wish itself under `require`; else the default of
/// that field (an eighth rounded up for depths and CQs, 1 for SGEs, 0 for inline bytes).
std::uint32_t floor_of(Field field, const Wish& wish, Policy request_policy) noexcept;

/// Writes one adjustment for a field that the device gave less of than was fitted, in place of the fit's own for it.
/// `set_by` is probed: the device itself was the judge.
void note_reduction(GrantNotes& notes, const FieldGrant& field, std::string reason);

/// After a ladder: an adjustment for each rung that stands lower than `before` says it stood when fitted.
void note_ladder(GrantNotes& notes, std::span<const Rung> rungs, std::span<const std::uint32_t> before,
                 const LadderOutcome& outcome);

/// Takes in what the provider wrote back for one field: a number below what was granted lowers the grant, with an
/// adjustment. For depths and CQ entries 0 means 'not reported', for inline bytes it means none (facts: TrueScale and
/// siw leave caps, mana leaves cqe unset; libfabric #1938). `reserve` slots of the returned number are the driver's.
void read_back(FieldGrant& field, std::uint32_t returned, const Contract& contract, GrantNotes& notes);

/// `max_send_wr=64 max_recv_wr=64 ...`: what goes to create.
std::string describe_passed(std::span<const Rung> rungs);

}  // namespace verbena
