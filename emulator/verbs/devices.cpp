// SPDX-License-Identifier: Apache-2.0 OR MIT
// The list of devices, contexts, and what a device says of itself.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/wire/bytes.hpp"
#include "engine/wire/mtu.hpp"
#include "verbs/emulated_verbs.hpp"
#include "verbs/made.hpp"

namespace verbena::emulator {

namespace {

void copy_text(char* to, std::size_t room, const std::string& text) {
  const std::size_t bytes = std::min(text.size(), room - 1);
  std::memcpy(to, text.data(), bytes);
  to[bytes] = 0;
}

/// What is left of a number of objects, where the driver counts so.
std::uint64_t left(const Nic& nic, Cap cap, std::uint64_t used) {
  const std::uint64_t all = nic.profile().figure(cap);
  if (nic.profile().does(Behaviour::caps_shrink_with_use) != Choice::yes) return all;
  return all > used ? all - used : 0;
}

int as_int(std::uint64_t number) {
  return static_cast<int>(std::min<std::uint64_t>(number, INT32_MAX));
}

void fill(const Nic& nic, ibv_device_attr& attr) {
  const Profile& profile = nic.profile();
  const DeviceId& id = profile.model().device;
  attr = {};
  copy_text(attr.fw_ver, sizeof attr.fw_ver, id.firmware);
  attr.node_guid = engine::wire::network_order(nic.node_guid());
  attr.sys_image_guid = attr.node_guid;
  attr.max_mr_size = profile.figure(Cap::max_mr_size);
  attr.page_size_cap = profile.figure(Cap::page_size_cap);
  attr.vendor_id = id.verbs_vendor_id.value_or(id.pci_vendor.value_or(0));
  attr.vendor_part_id = id.verbs_part_id.value_or(id.part_id.value_or(0));
  attr.hw_ver = id.hw_ver.value_or(0);
  attr.max_qp = as_int(left(nic, Cap::max_qp, nic.counts.queue_pairs));
  attr.max_qp_wr = as_int(profile.figure(Cap::max_qp_wr));
  attr.device_cap_flags = static_cast<unsigned>(profile.figure(Cap::device_cap_flags));
  attr.max_sge = as_int(profile.figure(Cap::max_sge));
  attr.max_sge_rd = as_int(profile.figure(Cap::max_sge_rd));
  attr.max_cq = as_int(left(nic, Cap::max_cq, nic.counts.completion_queues));
  attr.max_cqe = as_int(profile.figure(Cap::max_cqe));
  attr.max_mr = as_int(left(nic, Cap::max_mr, nic.counts.regions));
  attr.max_pd = as_int(left(nic, Cap::max_pd, nic.counts.domains));
  attr.max_qp_rd_atom = as_int(profile.figure(Cap::max_qp_rd_atom));
  attr.max_ee_rd_atom = as_int(profile.figure(Cap::max_ee_rd_atom));
  attr.max_res_rd_atom = as_int(profile.figure(Cap::max_res_rd_atom));
  attr.max_qp_init_rd_atom = as_int(profile.figure(Cap::max_qp_init_rd_atom));
  attr.atomic_cap = static_cast<ibv_atomic_cap>(profile.figure(Cap::atomic_cap));
  attr.max_mw = as_int(profile.figure(Cap::max_mw));
  attr.max_mcast_grp = as_int(profile.figure(Cap::max_mcast_grp));
  attr.max_mcast_qp_attach = as_int(profile.figure(Cap::max_mcast_qp_attach));
  attr.max_total_mcast_qp_attach = as_int(profile.figure(Cap::max_total_mcast_qp_attach));
  attr.max_ah = as_int(profile.figure(Cap::max_ah));
  attr.max_srq = as_int(profile.figure(Cap::max_srq));
  attr.max_srq_wr = as_int(profile.figure(Cap::max_srq_wr));
  attr.max_srq_sge = as_int(profile.figure(Cap::max_srq_sge));
  attr.max_pkeys = static_cast<std::uint16_t>(profile.figure(Cap::max_pkeys));
  attr.local_ca_ack_delay = static_cast<std::uint8_t>(profile.figure(Cap::local_ca_ack_delay));
  attr.phys_port_cnt = nic.ports();
}

std::uint32_t table_type(GidType type) {
  switch (type) {
    case GidType::roce_v1:
      return IBV_GID_TYPE_ROCE_V1;
    case GidType::roce_v2:
      return IBV_GID_TYPE_ROCE_V2;
    case GidType::ib:
      break;
  }
  return IBV_GID_TYPE_IB;
}

void fill(const Nic& nic, std::uint8_t port, const Gid& gid, ibv_gid_entry& entry) {
  entry = {};
  std::memcpy(entry.gid.raw, gid.bytes.data(), sizeof entry.gid.raw);
  entry.gid_index = gid.index;
  entry.port_num = port;
  entry.gid_type = table_type(gid.type);
  // One of RoCE and of iWARP has an interface (linux drivers/infiniband/core/cache.c config_non_roce_gid_cache).
  const bool iwarp = nic.profile().transport(port) == Transport::iwarp;
  entry.ndev_ifindex = gid.type == GidType::ib && !iwarp ? 0 : nic.number() + 2;
}

}  // namespace

Made<ibv_device*> EmulatedVerbs::get_device_list(int& count) {
  auto** const list = new ibv_device*[devices_.size() + 1];
  count = 0;
  for (const auto& device : devices_) list[count++] = &device->base;
  list[count] = nullptr;
  return {list};
}

void EmulatedVerbs::free_device_list(ibv_device** list) {
  delete[] list;
}

const char* EmulatedVerbs::get_device_name(ibv_device* device) {
  return device->name;
}

int EmulatedVerbs::get_device_index(ibv_device* device) {
  return static_cast<int>(of<DeviceEntry>(device).nic->number());
}

std::uint64_t EmulatedVerbs::get_device_guid(ibv_device* device) {
  return of<DeviceEntry>(device).nic->node_guid();
}

Made<ibv_context> EmulatedVerbs::open_device(ibv_device* device) {
  Nic& nic = *of<DeviceEntry>(device).nic;
  auto context = std::make_unique<Context>();
  context->nic = &nic;
  context->verbs = this;
  fill_operations(context->base);
  fill_extended(context->base);
  context->base.sz = sizeof(verbs_context);
  ibv_context& plain = context->base.context;
  plain.device = device;
  plain.cmd_fd = -1;
  plain.async_fd = context->events.descriptor();
  plain.num_comp_vectors = static_cast<int>(std::max<std::uint64_t>(nic.profile().figure(Cap::num_comp_vectors), 1));
  plain.abi_compat = __VERBS_ABI_IS_EXTENDED;
  pthread_mutex_init(&plain.mutex, nullptr);
  const std::scoped_lock lock(host_->mutex);
  contexts_.push_back(context.get());
  return {&context.release()->base.context};
}

int EmulatedVerbs::close_device(ibv_context* context) {
  const std::unique_ptr<Context> gone(&Context::of(context));
  {
    const std::scoped_lock lock(host_->mutex);
    std::erase(contexts_, gone.get());
  }
  pthread_mutex_destroy(&context->mutex);
  return 0;
}

int EmulatedVerbs::query_device(ibv_context* context, ibv_device_attr& attr) {
  const std::scoped_lock lock(host_->mutex);
  const Nic& nic = nic_of(context);
  fill(nic, attr);
  if (nic.profile().deviates(Deviation::device_counts_frozen)) {
    // As when it was registered: the kernel's own objects came after that.
    constexpr std::uint64_t kOwn = 1;
    attr.max_qp = as_int(nic.profile().figure(Cap::max_qp) + kOwn);
    attr.max_cq = as_int(nic.profile().figure(Cap::max_cq) + kOwn);
    attr.max_mr = as_int(nic.profile().figure(Cap::max_mr) + kOwn);
    attr.max_pd = as_int(nic.profile().figure(Cap::max_pd) + kOwn);
  }
  return 0;
}

int EmulatedVerbs::query_device_ex(ibv_context* context, const ibv_query_device_ex_input* input,
                                   ibv_device_attr_ex& attr) {
  if (input != nullptr && input->comp_mask != 0) return EINVAL;
  const std::scoped_lock lock(host_->mutex);
  const Nic& nic = nic_of(context);
  const Profile& profile = nic.profile();
  attr = {};
  fill(nic, attr.orig_attr);
  attr.odp_caps.general_caps = profile.figure(Cap::odp_general_caps);
  attr.odp_caps.per_transport_caps.rc_odp_caps = static_cast<std::uint32_t>(profile.figure(Cap::odp_rc_caps));
  attr.odp_caps.per_transport_caps.uc_odp_caps = static_cast<std::uint32_t>(profile.figure(Cap::odp_uc_caps));
  attr.odp_caps.per_transport_caps.ud_odp_caps = static_cast<std::uint32_t>(profile.figure(Cap::odp_ud_caps));
  attr.completion_timestamp_mask = profile.figure(Cap::completion_timestamp_mask);
  attr.hca_core_clock = profile.figure(Cap::hca_core_clock_khz);
  const std::uint64_t flags = profile.figure(Cap::device_cap_flags_ex);
  attr.device_cap_flags_ex = flags != 0 ? flags : attr.orig_attr.device_cap_flags;
  attr.raw_packet_caps = static_cast<std::uint32_t>(profile.figure(Cap::raw_packet_caps));
  attr.cq_mod_caps.max_cq_count = static_cast<std::uint16_t>(profile.figure(Cap::max_cq_count));
  attr.cq_mod_caps.max_cq_period = static_cast<std::uint16_t>(profile.figure(Cap::max_cq_period));
  attr.max_dm_size = profile.figure(Cap::max_dm_size);
  attr.phys_port_cnt_ex = nic.ports();
  return 0;
}

int EmulatedVerbs::query_rt_values_ex(ibv_context* context, ibv_values_ex& values) {
  if (!nic_of(context).profile().has(Feature::raw_clock)) return EOPNOTSUPP;
  if ((values.comp_mask & ~static_cast<std::uint32_t>(IBV_VALUES_MASK_RAW_CLOCK)) != 0) return EINVAL;
  const auto now = static_cast<std::uint64_t>(host_->clock().now().count());
  values.raw_clock.tv_sec = 0;
  values.raw_clock.tv_nsec = static_cast<long>(now & 0x7fffffffffffffffULL);
  return 0;
}

int EmulatedVerbs::query_port(ibv_context* context, std::uint8_t port, ibv_port_attr& attr) {
  const std::scoped_lock lock(host_->mutex);
  const Nic& nic = nic_of(context);
  if (port == 0 || port > nic.ports()) return EINVAL;
  const Profile& profile = nic.profile();
  const auto figure = [&](PortCap cap) { return profile.figure(port, cap); };
  const auto mtu = [&](PortCap cap) {
    return static_cast<ibv_mtu>(engine::wire::mtu_code(static_cast<std::uint32_t>(figure(cap))));
  };
  attr = {};
  attr.state = nic.state(port);
  attr.max_mtu = mtu(PortCap::max_mtu);
  attr.active_mtu = static_cast<ibv_mtu>(engine::wire::mtu_code(nic.active_mtu(port)));
  attr.gid_tbl_len = as_int(std::max<std::uint64_t>(figure(PortCap::gid_tbl_len), nic.gids(port).size()));
  attr.port_cap_flags = static_cast<std::uint32_t>(figure(PortCap::port_cap_flags));
  attr.max_msg_sz = static_cast<std::uint32_t>(std::min<std::uint64_t>(figure(PortCap::max_msg_sz), UINT32_MAX));
  attr.pkey_tbl_len = static_cast<std::uint16_t>(figure(PortCap::pkey_tbl_len));
  const bool infiniband = profile.transport(port) == Transport::infiniband;
  attr.lid = nic.lid(port);
  attr.sm_lid = static_cast<std::uint16_t>(infiniband ? 1 : figure(PortCap::sm_lid));
  attr.max_vl_num = 1;
  attr.active_width = static_cast<std::uint8_t>(figure(PortCap::active_width));
  attr.active_speed = static_cast<std::uint8_t>(figure(PortCap::active_speed));
  // IB_PORT_PHYS_STATE_LINK_UP, IB_PORT_PHYS_STATE_DISABLED (linux include/rdma/ib_verbs.h).
  constexpr std::uint8_t kLinkUp = 5;
  constexpr std::uint8_t kDisabled = 3;
  attr.phys_state = attr.state == IBV_PORT_DOWN ? kDisabled : kLinkUp;
  attr.link_layer = infiniband ? IBV_LINK_LAYER_INFINIBAND : IBV_LINK_LAYER_ETHERNET;
  return 0;
}

int EmulatedVerbs::query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid& gid) {
  const std::scoped_lock lock(host_->mutex);
  const Nic& nic = nic_of(context);
  const auto length = static_cast<int>(
      std::max<std::uint64_t>(nic.profile().figure(port, PortCap::gid_tbl_len), nic.gids(port).size()));
  if (port == 0 || port > nic.ports() || index < 0 || index >= length) return EINVAL;
  gid = {};
  if (const Gid* const entry = nic.gid(port, index); entry != nullptr)
    std::memcpy(gid.raw, entry->bytes.data(), sizeof gid.raw);
  return 0;
}

int EmulatedVerbs::query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry& entry) {
  const std::scoped_lock lock(host_->mutex);
  const Nic& nic = nic_of(context);
  if (port == 0 || port > nic.ports()) return EINVAL;
  const Gid* const found = nic.gid(static_cast<std::uint8_t>(port), static_cast<int>(index));
  if (found == nullptr) {
    return index < nic.profile().figure(static_cast<std::uint8_t>(port), PortCap::gid_tbl_len) ? ENODATA : EINVAL;
  }
  fill(nic, static_cast<std::uint8_t>(port), *found, entry);
  return 0;
}

std::int64_t EmulatedVerbs::query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries) {
  const std::scoped_lock lock(host_->mutex);
  const Nic& nic = nic_of(context);
  std::size_t count = 0;
  for (std::uint8_t port = 1; port <= nic.ports(); ++port) {
    for (const Gid& gid : nic.gids(port)) {
      if (count == max_entries) return -EINVAL;
      fill(nic, port, gid, entries[count++]);
    }
  }
  return static_cast<std::int64_t>(count);
}

int EmulatedVerbs::query_pkey(ibv_context* context, std::uint8_t port, int index, std::uint16_t& pkey) {
  const Nic& nic = nic_of(context);
  if (port == 0 || port > nic.ports() || index < 0) return EINVAL;
  if (static_cast<std::uint64_t>(index) >= nic.profile().figure(port, PortCap::pkey_tbl_len)) return EINVAL;
  pkey = index == 0 ? 0xffff : 0;
  return 0;
}

}  // namespace verbena::emulator
