// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbs/offloaded_moves.hpp"

#include <cerrno>

namespace verbena::emulator {

std::optional<int> moved_offloaded(const Profile& profile, engine::transport::QueuePair& qp, ibv_qp_attr& attr,
                                   int& mask) noexcept {
  if (profile.does(Behaviour::rts_driven_by) != Choice::rdma_cm) return std::nullopt;
  if (mask == IBV_QP_PORT) return 0;
  if ((mask & IBV_QP_STATE) == 0) return std::nullopt;
  const bool unconnected = qp.state == IBV_QPS_RESET || qp.state == IBV_QPS_INIT || qp.state == IBV_QPS_RTR;
  switch (attr.qp_state) {
    case IBV_QPS_INIT:
      // rdma_cm names none (linux drivers/infiniband/core/iwcm.c iwcm_init_qp_init_attr), and there is but one.
      if ((mask & IBV_QP_PKEY_INDEX) == 0) attr.pkey_index = 0;
      mask |= IBV_QP_PKEY_INDEX;
      return std::nullopt;
    case IBV_QPS_RTR:
      if (qp.state != IBV_QPS_INIT) return EINVAL;
      if ((mask & IBV_QP_ACCESS_FLAGS) != 0) qp.attr.qp_access_flags = attr.qp_access_flags;
      return 0;
    case IBV_QPS_RTS:
      if (unconnected) return EINVAL;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

}  // namespace verbena::emulator
