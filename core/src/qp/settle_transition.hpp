// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "verbena/transition.hpp"

namespace verbena {

/// A change of state without its attributes.
struct Edge {
  QpType type = QpType::rc;
  ibv_qp_state from = IBV_QPS_RESET;
  ibv_qp_state to = IBV_QPS_INIT;
  std::uint8_t port = 1;
  std::uint8_t min_rnr_timer = 12;
  Policy policy = Policy::prefer;
};

/// plan_transition() without a copy: qp_state is the edge's target, `mask` comes as which of `attr` are given, and both
/// leave as what to send; nothing is to be sent when the mask leaves as 0. What had to be lowered or raised is added to
/// `settled`. Empty when it can be.
std::optional<Error> settle_transition(const Edge& edge, const Contract& contract, ibv_qp_attr& attr,
                                       QpAttributes& mask, std::vector<Adjustment>& settled);

}  // namespace verbena
