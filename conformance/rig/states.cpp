// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/states.hpp"

namespace conform {

using verbena::QpType;

Move to(ibv_qp_state state) {
  Move move;
  move.attr.qp_state = state;
  move.mask = IBV_QP_STATE;
  return move;
}

Move to_init(QpType type, std::uint8_t port, const Terms& terms) {
  Move move = to(IBV_QPS_INIT);
  move.attr.pkey_index = terms.pkey_index;
  move.attr.port_num = port;
  move.mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (type == QpType::ud) {
    move.attr.qkey = terms.qkey;
    move.mask |= IBV_QP_QKEY;
  } else {
    move.attr.qp_access_flags = terms.access;
    if (type == QpType::uc) {
      move.attr.qp_access_flags &= ~static_cast<unsigned>(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
    }
    move.mask |= IBV_QP_ACCESS_FLAGS;
  }
  return move;
}

Move to_rtr(QpType type, const PathTo& path, const Terms& terms) {
  Move move = to(IBV_QPS_RTR);
  if (type == QpType::ud) return move;
  move.attr.ah_attr = path.address;
  move.attr.path_mtu = path.mtu;
  move.attr.dest_qp_num = path.qp_num;
  move.attr.rq_psn = path.psn;
  move.mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (type == QpType::rc) {
    move.attr.max_dest_rd_atomic = terms.max_dest_rd_atomic;
    move.attr.min_rnr_timer = terms.min_rnr_timer;
    move.mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  }
  return move;
}

Move to_rts(QpType type, const Terms& terms) {
  Move move = to(IBV_QPS_RTS);
  move.attr.sq_psn = terms.psn;
  move.mask |= IBV_QP_SQ_PSN;
  if (type == QpType::rc) {
    move.attr.timeout = terms.timeout;
    move.attr.retry_cnt = terms.retry_cnt;
    move.attr.rnr_retry = terms.rnr_retry;
    move.attr.max_rd_atomic = terms.max_rd_atomic;
    move.mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  return move;
}

}  // namespace conform
