// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "contract/interface_bounds.hpp"

#include <array>
#include <limits>

namespace verbena {
namespace {

constexpr std::uint64_t kUint8 = std::numeric_limits<std::uint8_t>::max();
constexpr std::uint64_t kUint16 = std::numeric_limits<std::uint16_t>::max();
constexpr std::uint64_t kInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::uint64_t kUint32 = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kUint64 = std::numeric_limits<std::uint64_t>::max();

constexpr std::string_view kQpCap = "infiniband/verbs.h struct ibv_qp_cap: uint32_t";
constexpr std::string_view kReads = "infiniband/verbs.h struct ibv_qp_attr: uint8_t";
constexpr std::string_view kFiveBits = "InfiniBand specification volume 1: a field of 5 bits";
constexpr std::string_view kThreeBits = "InfiniBand specification volume 1: a field of 3 bits";
constexpr std::string_view kModerate = "infiniband/verbs.h struct ibv_moderate_cq: uint16_t";
constexpr std::string_view kSrqAttr = "infiniband/verbs.h struct ibv_srq_attr: uint32_t";
constexpr std::string_view kDeviceAttr = "infiniband/verbs.h struct ibv_device_attr: int";

constexpr std::array<InterfaceBound, kFieldCount> kBounds{{
    {Field::max_send_wr, kUint32, false, kQpCap},
    {Field::max_recv_wr, kUint32, false, kQpCap},
    {Field::max_send_sge, kUint32, false, kQpCap},
    {Field::max_recv_sge, kUint32, false, kQpCap},
    {Field::max_inline_data, kUint32, false, kQpCap},
    {Field::max_rd_atomic, kUint8, false, kReads},
    {Field::max_dest_rd_atomic, kUint8, false, kReads},
    {Field::timeout, 31, true, kFiveBits},
    {Field::retry_cnt, 7, true, kThreeBits},
    {Field::rnr_retry, 7, true, kThreeBits},
    {Field::min_rnr_timer, 31, true, kFiveBits},
    {Field::path_mtu_bytes, 4096, true, "infiniband/verbs.h enum ibv_mtu ends with IBV_MTU_4096"},
    {Field::cqe, kInt32, false, "infiniband/verbs.h ibv_create_cq, ibv_resize_cq: int"},
    {Field::cq_count, kUint16, false, kModerate},
    {Field::cq_period, kUint16, false, kModerate},
    {Field::max_wr, kUint32, false, kSrqAttr},
    {Field::max_sge, kUint32, false, kSrqAttr},
    {Field::srq_limit, kUint32, false, kSrqAttr},
    {Field::mr_length, kUint64, false, "infiniband/verbs.h ibv_reg_mr: size_t"},
    {Field::message_bytes, kUint32, false, "infiniband/verbs.h struct ibv_port_attr max_msg_sz: uint32_t"},
    {Field::read_sge, kInt32, false, "infiniband/verbs.h struct ibv_send_wr num_sge: int"},
    {Field::max_qp, kInt32, false, kDeviceAttr},
    {Field::max_cq, kInt32, false, kDeviceAttr},
    {Field::max_mr, kInt32, false, kDeviceAttr},
    {Field::max_pd, kInt32, false, kDeviceAttr},
    {Field::max_srq, kInt32, false, kDeviceAttr},
    {Field::max_mw, kInt32, false, kDeviceAttr},
    {Field::max_ah, kInt32, false, kDeviceAttr},
    {Field::max_res_rd_atom, kInt32, false, kDeviceAttr},
    {Field::total_wr, kUint64, false, "no type of verbs holds it; the sum of 64 bits is Verbena's own"},
}};

constexpr bool fields_in_order() {
  for (std::size_t at = 0; at < kBounds.size(); ++at)
    if (static_cast<std::size_t>(kBounds[at].field) != at || kBounds[at].source.empty()) return false;
  return true;
}
static_assert(fields_in_order());

}  // namespace

const InterfaceBound& interface_bound(Field field) noexcept {
  return kBounds[static_cast<std::size_t>(field)];
}

}  // namespace verbena
