// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>

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

/// plan_transition() without a copy: `plan` comes with the attributes and, as its mask, which of them are given, and
/// leaves with what to send. Empty when it can be.
std::optional<Error> settle_plan(const Edge& edge, const Contract& contract, TransitionPlan& plan);

}  // namespace verbena
