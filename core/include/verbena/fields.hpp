// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#pragma GCC visibility push(default)
namespace verbena {

/// What a limit, feature or flag is about; a table's `on:` key uses these names.
enum class Object : std::uint8_t { device, port, pd, cq, qp, srq, mr, mw, ah, data };

/// What a number counts. Units do not convert silently.
enum class Unit : std::uint8_t {
  count,           ///< objects
  work_requests,
  entries,         ///< completion queue entries
  sges,
  bytes,
  messages,        ///< outstanding RDMA READs and atomics
  timer_code,      ///< InfiniBand timer code: 4.096 us x 2^code for acks, a table for RNR
  retries,
  microseconds,
};

/// A number that a request asks for or that a rule may bound. Named as in verbs.
enum class Field : std::uint8_t {
  // qp: ibv_qp_cap
  max_send_wr,
  max_recv_wr,
  max_send_sge,
  max_recv_sge,
  max_inline_data,
  // qp: ibv_qp_attr
  max_rd_atomic,       ///< initiator depth; bounded by the device's max_qp_init_rd_atom
  max_dest_rd_atomic,  ///< responder depth; bounded by the device's max_qp_rd_atom
  timeout,             ///< local ack timeout code
  retry_cnt,
  rnr_retry,
  min_rnr_timer,
  path_mtu_bytes,      ///< 256..4096, in bytes
  // cq
  cqe,
  cq_count,            ///< moderation: completions per event
  cq_period,           ///< moderation: microseconds per event
  // srq
  max_wr,
  max_sge,
  srq_limit,
  // mr
  mr_length,
  // data: one work request
  message_bytes,       ///< port max_msg_sz
  read_sge,            ///< SGEs of one RDMA READ; the device's max_sge_rd
  // device: how many of each
  max_qp,
  max_cq,
  max_mr,
  max_pd,
  max_srq,
  max_mw,
  max_ah,
  max_res_rd_atom,     ///< read/atomic responder resources shared by all QPs of the device
  total_wr,            ///< work requests of all QPs together, where a device has such a budget
};
inline constexpr std::size_t kFieldCount = static_cast<std::size_t>(Field::total_wr) + 1;

struct FieldInfo {
  Field field;
  std::string_view name;    ///< as in verbs and in tables
  Object object;
  Unit unit;
  std::string_view meaning; ///< one sentence
};

/// Every field once, in the order of the enumeration.
std::span<const FieldInfo> all_fields() noexcept;
const FieldInfo& info(Field field) noexcept;
std::string_view name(Field field) noexcept;
std::string_view name(Object object) noexcept;
std::string_view name(Unit unit) noexcept;
/// The field of that name on that object; empty when there is none.
std::optional<Field> find_field(Object object, std::string_view name) noexcept;
std::optional<Object> find_object(std::string_view name) noexcept;

}  // namespace verbena
#pragma GCC visibility pop
