// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>

#include <infiniband/verbs.h>

namespace verbena::emulator {

/// What a move from one state to another takes besides IBV_QP_STATE.
struct Attributes {
  int required = 0;
  int optional = 0;
};

/// Empty where there is no such move. Source: linux drivers/infiniband/core/verbs.c qp_state_table.
std::optional<Attributes> attributes_of(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) noexcept;

/// As the kernel judges a call: the move exists, nothing that it wants is missing, and nothing is named beside it.
/// Source: linux drivers/infiniband/core/verbs.c ib_modify_qp_is_ok.
bool allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) noexcept;

}  // namespace verbena::emulator
