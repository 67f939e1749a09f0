// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/caps.hpp"

#include "names/word_table.hpp"

namespace verbena {
namespace {

// clang-format off: grouped by hand
constexpr names::WordTable<kCapCount> kCaps{"max_qp",
                                            "max_qp_wr",
                                            "device_cap_flags",
                                            "max_sge",
                                            "max_send_sge",
                                            "max_recv_sge",
                                            "max_sge_rd",
                                            "max_inline_data",
                                            "max_cq",
                                            "max_cqe",
                                            "max_mr",
                                            "max_mr_size",
                                            "max_pd",
                                            "max_qp_rd_atom",
                                            "max_ee_rd_atom",
                                            "max_res_rd_atom",
                                            "max_qp_init_rd_atom",
                                            "atomic_cap",
                                            "max_mw",
                                            "max_raw_ipv6_qp",
                                            "max_raw_ethy_qp",
                                            "max_mcast_grp",
                                            "max_mcast_qp_attach",
                                            "max_total_mcast_qp_attach",
                                            "max_ah",
                                            "max_srq",
                                            "max_srq_wr",
                                            "max_srq_sge",
                                            "max_pkeys",
                                            "local_ca_ack_delay",
                                            "page_size_cap",
                                            "odp_general_caps",
                                            "odp_rc_caps",
                                            "odp_uc_caps",
                                            "odp_ud_caps",
                                            "completion_timestamp_mask",
                                            "hca_core_clock_khz",
                                            "device_cap_flags_ex",
                                            "raw_packet_caps",
                                            "max_cq_count",
                                            "max_cq_period",
                                            "max_dm_size",
                                            "num_comp_vectors",
                                            "xrc_odp_caps",
                                            "max_send_wqebb",
                                            "max_sq_desc_bytes",
                                            "max_rq_desc_bytes",
                                            "cqe_comp_max_num",
                                            "max_dynamic_bfregs",
                                            "num_lag_ports",
                                            "vendor_create_qp"};
// clang-format on
static_assert(names::word_of(kCaps, Cap::page_size_cap) == "page_size_cap");
static_assert(names::word_of(kCaps, Cap::vendor_create_qp) == "vendor_create_qp");

constexpr names::WordTable<kPortCapCount> kPortCaps{"state",          "max_mtu",      "active_mtu",  "max_msg_sz",
                                                    "gid_tbl_len",    "pkey_tbl_len", "lid",         "sm_lid",
                                                    "port_cap_flags", "active_speed", "active_width"};
static_assert(names::word_of(kPortCaps, PortCap::active_width) == "active_width");

constexpr names::WordTable<3> kGidTypes{"ib", "roce_v1", "roce_v2"};

constexpr auto kAllCaps = names::enumerators<Cap, kCapCount>();
constexpr auto kAllPortCaps = names::enumerators<PortCap, kPortCapCount>();

}  // namespace

std::string_view name(Cap cap) noexcept {
  return names::word_of(kCaps, cap);
}
std::optional<Cap> find_cap(std::string_view name) noexcept {
  return names::find_word<Cap>(kCaps, name);
}
std::span<const Cap> all_caps() noexcept {
  return kAllCaps;
}

std::string_view name(PortCap cap) noexcept {
  return names::word_of(kPortCaps, cap);
}
std::optional<PortCap> find_port_cap(std::string_view name) noexcept {
  return names::find_word<PortCap>(kPortCaps, name);
}
std::span<const PortCap> all_port_caps() noexcept {
  return kAllPortCaps;
}

std::string_view name(GidType type) noexcept {
  return names::word_of(kGidTypes, type);
}

const PortCaps* Caps::port(std::uint8_t number) const noexcept {
  for (const PortCaps& port : ports) {
    if (port.number == number) return &port;
  }
  return nullptr;
}

}  // namespace verbena
