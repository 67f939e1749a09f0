// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <optional>

#include "qp/transition_rows.hpp"
#include "verbena/transition.hpp"

namespace verbena {

std::optional<TransitionRow> find_transition(QpType type, ibv_qp_state from, ibv_qp_state to) noexcept {
  const transitions::Masks* const masks = transitions::masks_of(type, from, to);
  if (masks == nullptr) return std::nullopt;
  return TransitionRow{type, from, to, masks->required, masks->optional};
}

}  // namespace verbena
