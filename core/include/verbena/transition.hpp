// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>

#include "verbena/contract.hpp"
#include "verbena/grant.hpp"
#include "verbena/request.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// Attribute bits of ibv_modify_qp (IBV_QP_*), as verbs' enum holds them.
using QpAttributes = std::uint32_t;

/// What one change of state takes. IBV_QP_STATE goes with every row and is in neither mask.
struct TransitionRow {
  QpType type = QpType::rc;
  ibv_qp_state from = IBV_QPS_RESET;
  ibv_qp_state to = IBV_QPS_RESET;
  QpAttributes required = 0;
  QpAttributes optional = 0;

  friend bool operator==(const TransitionRow&, const TransitionRow&) = default;
};

/// The row for that change of state; empty where there is no such transition (RESET to ERR, RESET to RTR, ...).
/// Source: kernel drivers/infiniband/core/verbs.c, qp_state_table (6.1 and 6.12 agree).
std::optional<TransitionRow> find_transition(QpType type, ibv_qp_state from, ibv_qp_state to) noexcept;

/// `RESET`, `INIT`, `RTR`, `RTS`, `SQD`, `SQE`, `ERR`; `unknown` for anything else.
std::string_view qp_state_name(ibv_qp_state state) noexcept;
/// `IBV_QP_AV, IBV_QP_PATH_MTU`: the names of the bits, lowest first; bits that verbs does not name are given in hex.
std::string attribute_names(QpAttributes mask);
/// Bytes of an IBV_MTU_* value; 0 for a value that is none.
std::uint32_t mtu_bytes(ibv_mtu mtu) noexcept;
/// The largest IBV_MTU_* of at most that many bytes; empty below 256.
std::optional<ibv_mtu> mtu_within(std::uint64_t bytes) noexcept;

/// A wished change of state.
struct TransitionRequest {
  QpType type = QpType::rc;
  ibv_qp_state from = IBV_QPS_RESET;
  ibv_qp_state to = IBV_QPS_INIT;
  ibv_qp_attr attr{};             ///< values of the attributes in `given`
  QpAttributes given = 0;         ///< IBV_QP_STATE may be in it or not
  std::uint8_t port = 1;          ///< the port given in RESET to INIT; an address vector must name it
  std::uint8_t min_rnr_timer = 12;///< timer code in force, sent again where a device wants it in RTR to RTS
  /// `require`: a number outside the contract is an error. `prefer` and `allow`: it is lowered or raised, with an
  /// adjustment.
  Policy policy = Policy::prefer;
};

/// What goes to ibv_modify_qp.
struct TransitionPlan {
  bool issue = true;              ///< false: nothing to do (RESET to RESET), and nothing may be sent
  ibv_qp_attr attr{};
  QpAttributes mask = 0;          ///< never a bit outside required + optional + IBV_QP_STATE
  std::vector<Adjustment> adjustments{};
};

/// Works out what to send, or why nothing can be: the error names current state, target, every attribute that is
/// missing and every one that is too much; or the limit that a value breaks and who set it. Pure; allocates only for
/// adjustments and errors. What the contract says of this device is kept: a RESET of a QP in RESET is never sent, a QP
/// that cannot be recycled is not moved to RESET, SQD is refused where it is absent, RTR and RTS where rdma_cm drives
/// them.
[[nodiscard]] Result<TransitionPlan> plan_transition(const TransitionRequest& request, const Contract& contract);

}  // namespace verbena
#pragma GCC visibility pop
