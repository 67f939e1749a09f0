// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "qp/transition_rows.hpp"
#include "verbena/transition.hpp"

namespace verbena {
namespace {

struct AttributeName {
  QpAttributes bit;
  std::string_view name;
};

constexpr std::array kAttributeNames{
    AttributeName{IBV_QP_STATE, "IBV_QP_STATE"},
    AttributeName{IBV_QP_CUR_STATE, "IBV_QP_CUR_STATE"},
    AttributeName{IBV_QP_EN_SQD_ASYNC_NOTIFY, "IBV_QP_EN_SQD_ASYNC_NOTIFY"},
    AttributeName{IBV_QP_ACCESS_FLAGS, "IBV_QP_ACCESS_FLAGS"},
    AttributeName{IBV_QP_PKEY_INDEX, "IBV_QP_PKEY_INDEX"},
    AttributeName{IBV_QP_PORT, "IBV_QP_PORT"},
    AttributeName{IBV_QP_QKEY, "IBV_QP_QKEY"},
    AttributeName{IBV_QP_AV, "IBV_QP_AV"},
    AttributeName{IBV_QP_PATH_MTU, "IBV_QP_PATH_MTU"},
    AttributeName{IBV_QP_TIMEOUT, "IBV_QP_TIMEOUT"},
    AttributeName{IBV_QP_RETRY_CNT, "IBV_QP_RETRY_CNT"},
    AttributeName{IBV_QP_RNR_RETRY, "IBV_QP_RNR_RETRY"},
    AttributeName{IBV_QP_RQ_PSN, "IBV_QP_RQ_PSN"},
    AttributeName{IBV_QP_MAX_QP_RD_ATOMIC, "IBV_QP_MAX_QP_RD_ATOMIC"},
    AttributeName{IBV_QP_ALT_PATH, "IBV_QP_ALT_PATH"},
    AttributeName{IBV_QP_MIN_RNR_TIMER, "IBV_QP_MIN_RNR_TIMER"},
    AttributeName{IBV_QP_SQ_PSN, "IBV_QP_SQ_PSN"},
    AttributeName{IBV_QP_MAX_DEST_RD_ATOMIC, "IBV_QP_MAX_DEST_RD_ATOMIC"},
    AttributeName{IBV_QP_PATH_MIG_STATE, "IBV_QP_PATH_MIG_STATE"},
    AttributeName{IBV_QP_CAP, "IBV_QP_CAP"},
    AttributeName{IBV_QP_DEST_QPN, "IBV_QP_DEST_QPN"},
    AttributeName{IBV_QP_RATE_LIMIT, "IBV_QP_RATE_LIMIT"},
};

}  // namespace

std::string_view qp_state_name(ibv_qp_state state) noexcept {
  switch (state) {
    case IBV_QPS_RESET:
      return "RESET";
    case IBV_QPS_INIT:
      return "INIT";
    case IBV_QPS_RTR:
      return "RTR";
    case IBV_QPS_RTS:
      return "RTS";
    case IBV_QPS_SQD:
      return "SQD";
    case IBV_QPS_SQE:
      return "SQE";
    case IBV_QPS_ERR:
      return "ERR";
    default:
      return "unknown";
  }
}

std::string attribute_names(QpAttributes mask) {
  std::string text;
  const auto append = [&text](std::string_view name) {
    if (!text.empty()) text += ", ";
    text += name;
  };
  for (const AttributeName& attribute : kAttributeNames) {
    if ((mask & attribute.bit) != 0) append(attribute.name);
    mask &= ~attribute.bit;
  }
  if (mask != 0) append(fmt::format("{:#x}", mask));
  return text;
}

std::uint32_t mtu_bytes(ibv_mtu mtu) noexcept {
  return transitions::bytes_of(mtu);
}

std::optional<ibv_mtu> mtu_within(std::uint64_t bytes) noexcept {
  if (bytes < 256) return std::nullopt;
  return static_cast<ibv_mtu>(std::min(static_cast<int>(std::bit_width(bytes)) - 8, int{IBV_MTU_4096}));
}

}  // namespace verbena
