// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "fit/field_fit.hpp"

namespace verbena::fitting {

/// The competitors for one ring. Without inline bytes (a receive queue) `inline_data` is null.
struct Ring {
  Queue queue = Queue::send;
  QueueShape shape{};   ///< type and opcodes; the numbers come from the fields
  FieldFit& depth;
  FieldFit& sges;
  FieldFit* inline_data = nullptr;   ///< a receive queue has none
};

/// Lowers what has to give way until every joint limit of the contract holds. The most protected competitor is decided
/// first, as large as the others' floors allow; then the next; the one that gives way first gets what is left, but no
/// more than it would have had if the most protected one stood on its floor: else asking for more of one would bring
/// more of another. Empty when it fits; else the competitor whose floor, or whose policy, does not allow it: the depth
/// where a smaller one would do, else inline bytes, else SGEs.
std::optional<Competitor> share(Ring& ring, const std::array<Competitor, 3>& give_way, const Contract& contract);

/// The ring does not hold even the least that the fields' own domains take, whatever is asked for: the competitor whose
/// minimum is too much for it, and the joint limit that says so.
struct NeverHolds {
  FieldFit* field = nullptr;
  const Joint* joint = nullptr;
  std::string arithmetic;
};
std::optional<NeverHolds> never_holds(const Ring& ring, const Contract& contract);

/// The joint limit in the way of one more of a field of this ring, and its arithmetic: a depth is explained by the
/// shape that it got; SGEs and inline bytes by what one more of them would cost with the fewest of the other, since
/// that is how it is decided whether they give way. `joint` is null when nothing is in the way.
struct InTheWay {
  const Joint* joint = nullptr;
  std::string arithmetic;
};
InTheWay in_the_way(const Ring& ring, const FieldFit& field, const Contract& contract);

/// The arithmetic of the joint limit that changed this field, and for inline bytes or SGEs that give way first, for
/// what they do; empty when none did.
std::string arithmetic(const FieldFit& field, const Ring& ring, const std::array<Competitor, 3>& give_way,
                       const Contract& contract);

}  // namespace verbena::fitting
