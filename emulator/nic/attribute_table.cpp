// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/attribute_table.hpp"

namespace verbena::emulator {

namespace {

constexpr int kPath = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kAlternate = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS;

Attributes to_init(ibv_qp_type type) noexcept {
  const int connected = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
  return {type == IBV_QPT_UD ? IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY : connected, 0};
}

Attributes to_rtr(ibv_qp_type type) noexcept {
  switch (type) {
    case IBV_QPT_RC:
      return {kPath | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, kAlternate | IBV_QP_PKEY_INDEX};
    case IBV_QPT_UC:
      return {kPath, kAlternate | IBV_QP_PKEY_INDEX};
    default:
      return {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY};
  }
}

Attributes from_rtr_to_rts(ibv_qp_type type) noexcept {
  const int may = IBV_QP_CUR_STATE | kAlternate | IBV_QP_PATH_MIG_STATE;
  switch (type) {
    case IBV_QPT_RC:
      return {IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
              may | IBV_QP_MIN_RNR_TIMER};
    case IBV_QPT_UC:
      return {IBV_QP_SQ_PSN, may};
    default:
      return {IBV_QP_SQ_PSN, IBV_QP_CUR_STATE | IBV_QP_QKEY};
  }
}

/// RTS to itself, and SQD to RTS.
Attributes staying(ibv_qp_type type) noexcept {
  const int may = IBV_QP_CUR_STATE | kAlternate | IBV_QP_PATH_MIG_STATE;
  switch (type) {
    case IBV_QPT_RC:
      return {0, may | IBV_QP_MIN_RNR_TIMER};
    case IBV_QPT_UC:
      return {0, may};
    default:
      return {0, IBV_QP_CUR_STATE | IBV_QP_QKEY};
  }
}

Attributes in_sqd(ibv_qp_type type) noexcept {
  const int may = IBV_QP_AV | kAlternate | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE;
  switch (type) {
    case IBV_QPT_RC:
      return {0, may | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC |
                     IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER};
    case IBV_QPT_UC:
      return {0, may};
    default:
      return {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY};
  }
}

Attributes from_sqe(ibv_qp_type type) noexcept {
  switch (type) {
    case IBV_QPT_RC:
      return {0, 0};
    case IBV_QPT_UC:
      return {0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS};
    default:
      return {0, IBV_QP_CUR_STATE | IBV_QP_QKEY};
  }
}

}  // namespace

std::optional<Attributes> attributes_of(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) noexcept {
  if (to == IBV_QPS_RESET) return Attributes{};
  if (to == IBV_QPS_ERR) return from == IBV_QPS_RESET ? std::nullopt : std::optional(Attributes{});
  switch (from) {
    case IBV_QPS_RESET:
      if (to == IBV_QPS_INIT) return to_init(type);
      break;
    case IBV_QPS_INIT:
      if (to == IBV_QPS_INIT) return Attributes{0, to_init(type).required};
      if (to == IBV_QPS_RTR) return to_rtr(type);
      break;
    case IBV_QPS_RTR:
      if (to == IBV_QPS_RTS) return from_rtr_to_rts(type);
      break;
    case IBV_QPS_RTS:
      if (to == IBV_QPS_RTS) return staying(type);
      if (to == IBV_QPS_SQD) return Attributes{0, IBV_QP_EN_SQD_ASYNC_NOTIFY};
      break;
    case IBV_QPS_SQD:
      if (to == IBV_QPS_RTS) return staying(type);
      if (to == IBV_QPS_SQD) return in_sqd(type);
      break;
    case IBV_QPS_SQE:
      if (to == IBV_QPS_RTS) return from_sqe(type);
      break;
    default:
      break;
  }
  return std::nullopt;
}

bool allowed(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to, int mask) noexcept {
  // IBV_QP_CUR_STATE names where the caller thinks that the queue pair is, and only where that may be in doubt.
  if ((mask & IBV_QP_CUR_STATE) != 0 && from != IBV_QPS_RTR && from != IBV_QPS_RTS && from != IBV_QPS_SQD &&
      from != IBV_QPS_SQE) {
    return false;
  }
  const auto attributes = attributes_of(type, from, to);
  if (!attributes) return false;
  const int named = mask & ~IBV_QP_STATE;
  return (named & attributes->required) == attributes->required &&
         (named & ~(attributes->required | attributes->optional)) == 0;
}

}  // namespace verbena::emulator
