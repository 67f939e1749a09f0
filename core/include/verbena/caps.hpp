// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#pragma GCC visibility push(default)
namespace verbena {

/// A number or bit set that a device says of itself. Named as in ibv_device_attr_ex, mlx5dv_context and friends.
// clang-format off: grouped by hand
enum class Cap : std::uint8_t {
  max_qp, max_qp_wr, device_cap_flags,
  max_sge,           ///< ibv_device_attr: the smaller of send and receive
  max_send_sge,      ///< only where a vendor query or a trial tells it apart from max_sge
  max_recv_sge,
  max_sge_rd,
  max_inline_data,   ///< never in ibv_device_attr: from a vendor query, a trial or a model
  max_cq, max_cqe, max_mr, max_mr_size, max_pd,
  max_qp_rd_atom, max_ee_rd_atom, max_res_rd_atom, max_qp_init_rd_atom,
  atomic_cap,        ///< enum ibv_atomic_cap: 0 none, 1 HCA, 2 global
  max_mw, max_raw_ipv6_qp, max_raw_ethy_qp, max_mcast_grp, max_mcast_qp_attach, max_total_mcast_qp_attach,
  max_ah, max_srq, max_srq_wr, max_srq_sge, max_pkeys, local_ca_ack_delay, page_size_cap,
  // ibv_device_attr_ex
  odp_general_caps, odp_rc_caps, odp_uc_caps, odp_ud_caps,
  completion_timestamp_mask, hca_core_clock_khz, device_cap_flags_ex,
  raw_packet_caps, max_cq_count, max_cq_period, max_dm_size, num_comp_vectors, xrc_odp_caps,
  // vendor queries
  max_send_wqebb,        ///< mlx5: 64-byte blocks of the largest send queue
  max_sq_desc_bytes,     ///< mlx5: bytes of the largest send WQE
  max_rq_desc_bytes,     ///< mlx5: bytes of the largest receive WQE
  cqe_comp_max_num,      ///< mlx5: completions that one compressed CQE may stand for, 0 for none
  max_dynamic_bfregs,    ///< mlx5: doorbells of their own that thread domains can have
  num_lag_ports,         ///< mlx5: ports behind a bond; only where there is one
  vendor_create_qp,      ///< 1: the vendor's own library is there to make queue pairs otherwise than verbs can
};
// clang-format on
inline constexpr std::size_t kCapCount = static_cast<std::size_t>(Cap::vendor_create_qp) + 1;

std::string_view name(Cap cap) noexcept;
std::optional<Cap> find_cap(std::string_view name) noexcept;
std::span<const Cap> all_caps() noexcept;

/// What one port says of itself.
// clang-format off: grouped by hand
enum class PortCap : std::uint8_t {
  state,          ///< enum ibv_port_state
  max_mtu,        ///< bytes
  active_mtu,     ///< bytes; unknown where the driver reports none (then derived from the netdev, see note)
  max_msg_sz, gid_tbl_len, pkey_tbl_len, lid, sm_lid, port_cap_flags, active_speed, active_width,
};
// clang-format on
inline constexpr std::size_t kPortCapCount = static_cast<std::size_t>(PortCap::active_width) + 1;
std::string_view name(PortCap cap) noexcept;
std::optional<PortCap> find_port_cap(std::string_view name) noexcept;
std::span<const PortCap> all_port_caps() noexcept;

enum class GidType : std::uint8_t { ib, roce_v1, roce_v2 };
std::string_view name(GidType type) noexcept;

struct GidEntry {
  std::uint32_t index = 0;
  std::array<std::uint8_t, 16> gid{};
  GidType type = GidType::ib;
  std::string netdev;  ///< empty where there is none

  friend bool operator==(const GidEntry&, const GidEntry&) = default;
};

struct PortCaps {
  std::uint8_t number = 1;  ///< verbs port number, from 1
  std::array<std::optional<std::uint64_t>, kPortCapCount> values{};
  std::vector<GidEntry> gids;  ///< populated entries only

  std::optional<std::uint64_t> operator[](PortCap cap) const noexcept { return values[static_cast<std::size_t>(cap)]; }
  void set(PortCap cap, std::uint64_t value) noexcept { values[static_cast<std::size_t>(cap)] = value; }
  friend bool operator==(const PortCaps&, const PortCaps&) = default;
};

/// What the device says it can do, as plain data. An empty value is unknown: no source gives it.
struct Caps {
  std::array<std::optional<std::uint64_t>, kCapCount> values{};
  std::vector<PortCaps> ports;
  /// Caps whose value a model assumes rather than knows; shown in every output.
  std::vector<Cap> assumed;

  std::optional<std::uint64_t> operator[](Cap cap) const noexcept { return values[static_cast<std::size_t>(cap)]; }
  void set(Cap cap, std::uint64_t value) noexcept { values[static_cast<std::size_t>(cap)] = value; }
  const PortCaps* port(std::uint8_t number) const noexcept;
  friend bool operator==(const Caps&, const Caps&) = default;
};

}  // namespace verbena
#pragma GCC visibility pop
