// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "verbena/errno_family.hpp"

namespace verbena {
namespace {

/// Counts are signed in ibv_device_attr; some drivers overflow them (rxe's max_mr_size / 4 KiB pages once did).
void set_count(Caps& caps, Cap cap, int value) {
  if (value >= 0) caps.set(cap, static_cast<std::uint64_t>(value));
}

void take_counts(const ibv_device_attr& attr, Caps& caps) {
  set_count(caps, Cap::max_qp, attr.max_qp);
  set_count(caps, Cap::max_cq, attr.max_cq);
  set_count(caps, Cap::max_mr, attr.max_mr);
  set_count(caps, Cap::max_pd, attr.max_pd);
  set_count(caps, Cap::max_srq, attr.max_srq);
  set_count(caps, Cap::max_mw, attr.max_mw);
  set_count(caps, Cap::max_ah, attr.max_ah);
}

void take_attr(const ibv_device_attr& attr, Caps& caps) {
  take_counts(attr, caps);
  set_count(caps, Cap::max_qp_wr, attr.max_qp_wr);
  caps.set(Cap::device_cap_flags, attr.device_cap_flags);
  set_count(caps, Cap::max_sge, attr.max_sge);
  set_count(caps, Cap::max_sge_rd, attr.max_sge_rd);
  set_count(caps, Cap::max_cqe, attr.max_cqe);
  caps.set(Cap::max_mr_size, attr.max_mr_size);
  set_count(caps, Cap::max_qp_rd_atom, attr.max_qp_rd_atom);
  set_count(caps, Cap::max_ee_rd_atom, attr.max_ee_rd_atom);
  set_count(caps, Cap::max_res_rd_atom, attr.max_res_rd_atom);
  set_count(caps, Cap::max_qp_init_rd_atom, attr.max_qp_init_rd_atom);
  caps.set(Cap::atomic_cap, attr.atomic_cap);
  set_count(caps, Cap::max_raw_ipv6_qp, attr.max_raw_ipv6_qp);
  set_count(caps, Cap::max_raw_ethy_qp, attr.max_raw_ethy_qp);
  set_count(caps, Cap::max_mcast_grp, attr.max_mcast_grp);
  set_count(caps, Cap::max_mcast_qp_attach, attr.max_mcast_qp_attach);
  set_count(caps, Cap::max_total_mcast_qp_attach, attr.max_total_mcast_qp_attach);
  set_count(caps, Cap::max_srq_wr, attr.max_srq_wr);
  set_count(caps, Cap::max_srq_sge, attr.max_srq_sge);
  caps.set(Cap::max_pkeys, attr.max_pkeys);
  caps.set(Cap::local_ca_ack_delay, attr.local_ca_ack_delay);
  caps.set(Cap::page_size_cap, attr.page_size_cap);
}

void take_extended(const ibv_device_attr_ex& attr, Caps& caps) {
  caps.set(Cap::odp_general_caps, attr.odp_caps.general_caps);
  caps.set(Cap::odp_rc_caps, attr.odp_caps.per_transport_caps.rc_odp_caps);
  caps.set(Cap::odp_uc_caps, attr.odp_caps.per_transport_caps.uc_odp_caps);
  caps.set(Cap::odp_ud_caps, attr.odp_caps.per_transport_caps.ud_odp_caps);
  caps.set(Cap::completion_timestamp_mask, attr.completion_timestamp_mask);
  caps.set(Cap::hca_core_clock_khz, attr.hca_core_clock);
  caps.set(Cap::device_cap_flags_ex, attr.device_cap_flags_ex);
  caps.set(Cap::raw_packet_caps, attr.raw_packet_caps);
  caps.set(Cap::max_cq_count, attr.cq_mod_caps.max_cq_count);
  caps.set(Cap::max_cq_period, attr.cq_mod_caps.max_cq_period);
  caps.set(Cap::max_dm_size, attr.max_dm_size);
  caps.set(Cap::xrc_odp_caps, attr.xrc_odp_caps);
}

std::uint64_t mtu_bytes(int mtu) {
  // enum ibv_mtu counts 256 << (n - 1); 0 and what lies beyond 4096 is 'not told'.
  return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? std::uint64_t{256} << (mtu - 1) : 0;
}

Error failed(const DeviceId& id, const char* verb, int error) {
  Error out;
  const bool gone = error == EIO || error == ENODEV;
  out.kind = gone ? ErrorKind::device_gone : ErrorKind::refused;
  out.errno_value = error;
  out.text = fmt::format("{} failed on {} with {}{}", verb, id.name, errno_name(error),
                         gone ? ": the device was removed or reported a fatal error" : "");
  return out;
}

PortCaps port_caps(std::uint8_t number, const ibv_port_attr& attr) {
  PortCaps port;
  port.number = number;
  port.set(PortCap::state, attr.state);
  if (const auto mtu = mtu_bytes(attr.max_mtu); mtu != 0) port.set(PortCap::max_mtu, mtu);
  if (const auto mtu = mtu_bytes(attr.active_mtu); mtu != 0) port.set(PortCap::active_mtu, mtu);
  port.set(PortCap::max_msg_sz, attr.max_msg_sz);
  port.set(PortCap::gid_tbl_len, static_cast<std::uint64_t>(std::max(attr.gid_tbl_len, 0)));
  port.set(PortCap::pkey_tbl_len, attr.pkey_tbl_len);
  port.set(PortCap::lid, attr.lid);
  port.set(PortCap::sm_lid, attr.sm_lid);
  port.set(PortCap::port_cap_flags, attr.port_cap_flags);
  port.set(PortCap::active_speed, attr.active_speed);
  port.set(PortCap::active_width, attr.active_width);
  return port;
}

/// Names of network interfaces by index; a table has many entries and few interfaces.
class InterfaceNames {
public:
  explicit InterfaceNames(Verbs& verbs) : verbs_(verbs) {}
  std::string operator()(std::uint32_t index) {
    if (index == 0) return {};
    for (const auto& [known, name] : names_) {
      if (known == index) return name;
    }
    return names_.emplace_back(index, verbs_.interface_name(index)).second;
  }

private:
  Verbs& verbs_;
  std::vector<std::pair<std::uint32_t, std::string>> names_;
};

void add_gid(InterfaceNames& interfaces, const ibv_gid_entry& entry, PortCaps& port) {
  GidEntry gid;
  gid.index = entry.gid_index;
  std::copy(std::begin(entry.gid.raw), std::end(entry.gid.raw), gid.gid.begin());
  gid.type = entry.gid_type == IBV_GID_TYPE_ROCE_V2   ? GidType::roce_v2
             : entry.gid_type == IBV_GID_TYPE_ROCE_V1 ? GidType::roce_v1
                                                      : GidType::ib;
  gid.netdev = interfaces(entry.ndev_ifindex);
  port.gids.push_back(std::move(gid));
}

/// One index after the other, where the kernel or the provider has no call for the whole table (before rdma-core 31 and
/// Linux 5.10). Its type then comes from the entry call, or is what the link layer implies.
void gids_one_by_one(Verbs& verbs, ibv_context* context, const DeviceId& id, InterfaceNames& interfaces,
                     PortCaps& port) {
  const auto length = port[PortCap::gid_tbl_len].value_or(0);
  const PortId* where = id.port(port.number);
  for (std::uint32_t index = 0; index < length; ++index) {
    ibv_gid_entry entry{};
    const int error = verbs.query_gid_ex(context, port.number, index, entry);
    if (error == ENODATA) continue;
    if (error != 0) {
      if (verbs.query_gid(context, port.number, static_cast<int>(index), entry.gid) != 0) continue;
      entry.gid_index = index;
      const bool ethernet = where != nullptr && where->transport == Transport::roce_v2;
      entry.gid_type = ethernet ? IBV_GID_TYPE_ROCE_V2 : IBV_GID_TYPE_IB;
    }
    const bool empty =
        std::all_of(std::begin(entry.gid.raw), std::end(entry.gid.raw), [](std::uint8_t byte) { return byte == 0; });
    if (!empty) add_gid(interfaces, entry, port);
  }
}

void query_gids(Verbs& verbs, ibv_context* context, const DeviceId& id, Caps& caps) {
  std::size_t room = 0;
  for (const PortCaps& port : caps.ports) room += port[PortCap::gid_tbl_len].value_or(0);
  if (room == 0) return;
  InterfaceNames interfaces(verbs);
  // Room for every entry (rxe has 1024) holds the few that come; zeroing all of it would cost more than the call.
  const auto entries = std::make_unique_for_overwrite<ibv_gid_entry[]>(room);
  const std::int64_t got = verbs.query_gid_table(context, entries.get(), room);
  if (got < 0) {
    for (PortCaps& port : caps.ports) gids_one_by_one(verbs, context, id, interfaces, port);
    return;
  }
  for (const ibv_gid_entry& entry : std::span(entries.get(), static_cast<std::size_t>(got))) {
    for (PortCaps& port : caps.ports) {
      if (port.number == entry.port_num) add_gid(interfaces, entry, port);
    }
  }
}

}  // namespace

Result<Caps> probe_caps(Verbs& verbs, ibv_context* context, DeviceId& id) {
  Caps caps;
  ibv_device_attr_ex extended{};
  ibv_device_attr plain{};
  int error = verbs.query_device_ex(context, nullptr, extended);
  if (error == 0) {
    plain = extended.orig_attr;
    take_extended(extended, caps);
  } else if (errno_family(error) == ErrnoFamily::unsupported || error == EINVAL) {
    error = verbs.query_device(context, plain);
    if (error != 0) return Failure(failed(id, "ibv_query_device", error));
  } else {
    return Failure(failed(id, "ibv_query_device_ex", error));
  }
  take_attr(plain, caps);
  caps.set(Cap::num_comp_vectors, static_cast<std::uint64_t>(std::max(context->num_comp_vectors, 0)));
  id.verbs_vendor_id = plain.vendor_id;
  id.verbs_part_id = plain.vendor_part_id;
  if (!id.hw_ver || plain.hw_ver != 0) id.hw_ver = plain.hw_ver;
  if (id.firmware.empty()) id.firmware = std::string(plain.fw_ver, strnlen(plain.fw_ver, sizeof plain.fw_ver));

  for (unsigned number = 1; number <= plain.phys_port_cnt; ++number) {
    const auto port = static_cast<std::uint8_t>(number);
    ibv_port_attr attr{};
    error = verbs.query_port(context, port, attr);
    if (error != 0) return Failure(failed(id, "ibv_query_port", error));
    caps.ports.push_back(port_caps(port, attr));
    // Without sysfs (a device that is not the kernel's) the port itself tells what it is.
    if (id.port(port) == nullptr) {
      PortId where;
      where.number = port;
      where.link_layer = attr.link_layer == IBV_LINK_LAYER_ETHERNET     ? LinkLayer::ethernet
                         : attr.link_layer == IBV_LINK_LAYER_INFINIBAND ? LinkLayer::infiniband
                                                                        : LinkLayer::unknown;
      const bool iwarp = context->device->transport_type == IBV_TRANSPORT_IWARP;
      where.transport = iwarp                                       ? Transport::iwarp
                        : where.link_layer == LinkLayer::ethernet   ? Transport::roce_v2
                        : where.link_layer == LinkLayer::infiniband ? Transport::infiniband
                                                                    : Transport::unknown;
      id.ports.push_back(where);
    }
  }
  query_gids(verbs, context, id, caps);
  for (PortId& port : id.ports) {
    const PortCaps* told = caps.port(port.number);
    if (!port.netdev.empty() || told == nullptr) continue;
    for (const GidEntry& gid : told->gids) {
      if (port.netdev.empty()) port.netdev = gid.netdev;
    }
  }
  return caps;
}

int refresh_counts(Verbs& verbs, ibv_context* context, Caps& caps) {
  ibv_device_attr attr{};
  const int error = verbs.query_device(context, attr);
  if (error == 0) take_counts(attr, caps);
  return error;
}

}  // namespace verbena
