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
/// more of another. Empty when it fits; else the error names the attribute and shows the arithmetic.
std::optional<Error> share(Ring& ring, const std::array<Competitor, 3>& give_way, const Contract& contract);

/// The arithmetic of the joint limit that changed this field; empty when none did.
std::string arithmetic(const FieldFit& field, const Ring& ring);

}  // namespace verbena::fitting
