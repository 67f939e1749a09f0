// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "fake/fake_objects.hpp"

namespace verbena::fake {
namespace {

std::uint32_t left(std::uint32_t total, unsigned used) {
  return total > used ? total - used : 0;
}

ibv_gid_entry gid_entry(std::uint32_t port, std::uint32_t index, std::uint32_t type, const std::uint8_t (&gid)[16]) {
  ibv_gid_entry entry{};
  std::memcpy(entry.gid.raw, gid, sizeof gid);
  entry.gid_index = index;
  entry.port_num = port;
  entry.gid_type = type;
  entry.ndev_ifindex = 7;
  return entry;
}

FakeDevice plain_device(const std::string& name, std::uint32_t index) {
  FakeDevice device;
  device.name = name;
  device.index = index;
  device.node_guid += index;
  ibv_device_attr& attr = device.attr.orig_attr;
  std::strncpy(attr.fw_ver, device.firmware.c_str(), sizeof attr.fw_ver - 1);
  attr.vendor_id = 0x1234;
  attr.vendor_part_id = 0x5678;
  attr.hw_ver = 2;
  attr.max_mr_size = std::uint64_t{1} << 40;
  attr.max_qp = 1024;
  attr.max_qp_wr = 32768;
  attr.max_sge = 30;
  attr.max_sge_rd = 30;
  attr.max_cq = 1024;
  attr.max_cqe = 65535;
  attr.max_mr = 4096;
  attr.max_pd = 512;
  attr.max_qp_rd_atom = 16;
  attr.max_res_rd_atom = 16 * 1024;
  attr.max_qp_init_rd_atom = 16;
  attr.atomic_cap = IBV_ATOMIC_HCA;
  attr.max_mw = 64;
  attr.max_ah = 256;
  attr.max_srq = 128;
  attr.max_srq_wr = 16384;
  attr.max_srq_sge = 16;
  attr.max_pkeys = 1;
  attr.phys_port_cnt = 1;
  attr.device_cap_flags = IBV_DEVICE_MEM_WINDOW | IBV_DEVICE_SRQ_RESIZE;
  device.attr.device_cap_flags_ex = attr.device_cap_flags;
  FakePort port;
  port.attr.state = IBV_PORT_ACTIVE;
  port.attr.max_mtu = IBV_MTU_4096;
  port.attr.active_mtu = IBV_MTU_1024;
  port.attr.gid_tbl_len = 16;
  port.attr.pkey_tbl_len = 1;
  port.attr.max_msg_sz = 1U << 30;
  port.attr.link_layer = IBV_LINK_LAYER_ETHERNET;
  port.netdev = "eth" + std::to_string(index);
  device.ports.push_back(port);
  return device;
}

}  // namespace

FakeDevice roce_device(const std::string& name, std::uint32_t index) {
  FakeDevice device = plain_device(name, index);
  const std::uint8_t link_local[16] = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0x02, 0, 0, 0xff, 0xfe, 0, 0, 1};
  const std::uint8_t mapped[16] = {0, 0, 0,    0,    0,   0, 0, 0,
                                   0, 0, 0xff, 0xff, 192, 0, 2, static_cast<std::uint8_t>(index)};
  device.ports[0].gids = {gid_entry(1, 0, IBV_GID_TYPE_ROCE_V1, link_local),
                          gid_entry(1, 1, IBV_GID_TYPE_ROCE_V2, link_local),
                          gid_entry(1, 3, IBV_GID_TYPE_ROCE_V2, mapped)};
  return device;
}

FakeDevice iwarp_device(const std::string& name, std::uint32_t index) {
  FakeDevice device = plain_device(name, index);
  device.node_type = "4: RNIC";
  device.attr.orig_attr.atomic_cap = IBV_ATOMIC_NONE;
  const std::uint8_t mac[16] = {0x02, 0, 0, 0, 0, static_cast<std::uint8_t>(index)};
  device.ports[0].gids = {gid_entry(1, 0, IBV_GID_TYPE_IB, mac)};
  return device;
}

FakeVerbs::FakeVerbs() {
  interfaces[7] = "eth1";
}

FakeVerbs::~FakeVerbs() = default;

FakeVerbs::Lock FakeVerbs::enter(const char* verb) {
  Lock lock(mutex_);
  ++calls_[verb];
  return lock;
}

int FakeVerbs::scripted(FakeDevice& device, const char* verb) {
  if (device.gone) return EIO;
  const auto script = device.next_errors.find(verb);
  if (script == device.next_errors.end() || script->second.empty()) return 0;
  const int error = script->second.front();
  script->second.pop_front();
  return error;
}

int FakeVerbs::over_threshold(const FakeDevice& device, const char* field, std::uint64_t asked) const {
  for (const Threshold& threshold : device.thresholds) {
    if (threshold.field == field && asked > threshold.above) return threshold.error;
  }
  return 0;
}

FakeDevice& FakeVerbs::add(FakeDevice device) {
  const Lock lock(mutex_);
  auto entry = std::make_unique<Entry>();
  entry->device = std::move(device);
  entry->handle.node_type = entry->device.node_type.starts_with("4") ? IBV_NODE_RNIC : IBV_NODE_CA;
  entry->handle.transport_type = entry->handle.node_type == IBV_NODE_RNIC ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
  std::strncpy(entry->handle.name, entry->device.name.c_str(), sizeof entry->handle.name - 1);
  write_sysfs(entry->device);
  devices_.push_back(std::move(entry));
  return devices_.back()->device;
}

void FakeVerbs::remove(FakeDevice& device) {
  const Lock lock(mutex_);
  device.gone = true;
  erase_sysfs(device);
  for (const auto& entry : devices_) {
    if (&entry->device == &device) entry->listed = false;
  }
}

void FakeVerbs::register_again(FakeDevice& device, std::uint32_t new_index) {
  const Lock lock(mutex_);
  erase_sysfs(device);
  device.index = new_index;
  write_sysfs(device);
}

FakeDevice& FakeVerbs::device_of(ibv_context* context) {
  return FakeContext::of(context).entry->device;
}

unsigned FakeVerbs::count(std::string_view verb) const {
  const Lock lock(mutex_);
  const auto calls = calls_.find(verb);
  return calls != calls_.end() ? calls->second : 0;
}

unsigned FakeVerbs::total_calls() const {
  const Lock lock(mutex_);
  unsigned total = 0;
  for (const auto& [verb, calls] : calls_) total += calls;
  return total;
}

void FakeVerbs::forget_calls() {
  const Lock lock(mutex_);
  calls_.clear();
  modifies_.clear();
}

std::vector<ModifyCall> FakeVerbs::modifies() const {
  const Lock lock(mutex_);
  return modifies_;
}

std::set<ibv_qp*> FakeVerbs::live_qps() const {
  const Lock lock(mutex_);
  return qps_;
}

unsigned FakeVerbs::live_objects() const {
  const Lock lock(mutex_);
  unsigned total = 0;
  for (const auto& entry : devices_) {
    const FakeDevice& d = entry->device;
    total += d.contexts + d.pds + d.cqs + d.qps + d.srqs + d.mrs + d.mws + d.ahs + d.channels + d.parents + d.tds;
  }
  return total;
}

Made<ibv_device*> FakeVerbs::get_device_list(int& count) {
  const Lock lock = enter("get_device_list");
  count = 0;
  if (device_list_error != 0) return refused<ibv_device*>(device_list_error);
  auto** list = new ibv_device*[devices_.size() + 1];
  for (const auto& entry : devices_) {
    if (entry->listed && entry->device.claimed) list[count++] = &entry->handle;
  }
  list[count] = nullptr;
  Made<ibv_device*> result;
  result.handle = list;
  return result;
}

void FakeVerbs::free_device_list(ibv_device** list) {
  delete[] list;
}

const char* FakeVerbs::get_device_name(ibv_device* device) {
  return device->name;
}

int FakeVerbs::get_device_index(ibv_device* device) {
  const Lock lock(mutex_);
  for (const auto& entry : devices_) {
    if (&entry->handle == device) return static_cast<int>(entry->device.index);
  }
  return -1;
}

std::uint64_t FakeVerbs::get_device_guid(ibv_device* device) {
  const Lock lock(mutex_);
  for (const auto& entry : devices_) {
    if (&entry->handle == device) return entry->device.node_guid;
  }
  return 0;
}

Made<ibv_context> FakeVerbs::open_device(ibv_device* device) {
  const Lock lock = enter("open_device");
  for (const auto& entry : devices_) {
    if (&entry->handle != device) continue;
    if (!entry->listed) return refused<ibv_context>(ENODEV);
    if (entry->device.open_error != 0) return refused<ibv_context>(entry->device.open_error);
    auto* context = new FakeContext;
    context->host = this;
    context->entry = entry.get();
    context->extended.sz = sizeof(verbs_context);
    ibv_context& plain = context->extended.context;
    plain.device = &entry->handle;
    plain.abi_compat = __VERBS_ABI_IS_EXTENDED;
    plain.num_comp_vectors = 2;
    plain.cmd_fd = -1;
    plain.async_fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    set_data_path(plain.ops);
    ++entry->device.contexts;
    Made<ibv_context> result;
    result.handle = &plain;
    return result;
  }
  return refused<ibv_context>(ENODEV);
}

int FakeVerbs::close_device(ibv_context* context) {
  const Lock lock = enter("close_device");
  FakeContext& fake = FakeContext::of(context);
  --fake.entry->device.contexts;
  const int error = fake.entry->device.gone ? 0 : scripted(fake.entry->device, "close_device");
  ::close(context->async_fd);
  delete &fake;
  return error;
}

int FakeVerbs::query_device(ibv_context* context, ibv_device_attr& attr) {
  const Lock lock = enter("query_device");
  FakeDevice& device = device_of(context);
  if (const int error = scripted(device, "query_device"); error != 0) return error;
  attr = device.attr.orig_attr;
  attr.node_guid = htobe64(device.node_guid);
  if (device.counts_shrink) {
    attr.max_qp = static_cast<int>(left(static_cast<std::uint32_t>(attr.max_qp), device.qps));
    attr.max_cq = static_cast<int>(left(static_cast<std::uint32_t>(attr.max_cq), device.cqs));
    attr.max_mr = static_cast<int>(left(static_cast<std::uint32_t>(attr.max_mr), device.mrs));
    attr.max_pd = static_cast<int>(left(static_cast<std::uint32_t>(attr.max_pd), device.pds));
  }
  return 0;
}

int FakeVerbs::query_device_ex(ibv_context* context, const ibv_query_device_ex_input*, ibv_device_attr_ex& attr) {
  const Lock lock = enter("query_device_ex");
  FakeDevice& device = device_of(context);
  if (device.query_device_ex_error != 0) return device.query_device_ex_error;
  if (const int error = scripted(device, "query_device_ex"); error != 0) return error;
  attr = device.attr;
  const int error = query_device(context, attr.orig_attr);
  --calls_["query_device"];
  return error;
}

int FakeVerbs::query_rt_values_ex(ibv_context*, ibv_values_ex&) {
  return EOPNOTSUPP;
}

int FakeVerbs::query_port(ibv_context* context, std::uint8_t port, ibv_port_attr& attr) {
  const Lock lock = enter("query_port");
  FakeDevice& device = device_of(context);
  if (const int error = scripted(device, "query_port"); error != 0) return error;
  if (port == 0 || port > device.ports.size()) return EINVAL;
  attr = device.ports[port - 1U].attr;
  return 0;
}

int FakeVerbs::query_gid(ibv_context* context, std::uint8_t port, int index, ibv_gid& gid) {
  const Lock lock = enter("query_gid");
  FakeDevice& device = device_of(context);
  if (device.gone) return EIO;
  if (port == 0 || port > device.ports.size() || index < 0 || index >= device.ports[port - 1U].attr.gid_tbl_len) {
    return EINVAL;
  }
  gid = ibv_gid{};
  for (const ibv_gid_entry& entry : device.ports[port - 1U].gids) {
    if (entry.gid_index == static_cast<std::uint32_t>(index)) gid = entry.gid;
  }
  return 0;
}

int FakeVerbs::query_gid_ex(ibv_context* context, std::uint32_t port, std::uint32_t index, ibv_gid_entry& out) {
  const Lock lock = enter("query_gid_ex");
  FakeDevice& device = device_of(context);
  if (device.gone) return EIO;
  if (port == 0 || port > device.ports.size()) return EINVAL;
  for (const ibv_gid_entry& entry : device.ports[port - 1U].gids) {
    if (entry.gid_index != index) continue;
    out = entry;
    return 0;
  }
  return ENODATA;
}

std::int64_t FakeVerbs::query_gid_table(ibv_context* context, ibv_gid_entry* entries, std::size_t max_entries) {
  const Lock lock = enter("query_gid_table");
  FakeDevice& device = device_of(context);
  if (device.gone) return -EIO;
  if (device.query_gid_table_error != 0) return -device.query_gid_table_error;
  std::size_t given = 0;
  for (const FakePort& port : device.ports) {
    for (const ibv_gid_entry& entry : port.gids) {
      if (given == max_entries) return -EINVAL;
      entries[given++] = entry;
    }
  }
  return static_cast<std::int64_t>(given);
}

int FakeVerbs::query_pkey(ibv_context* context, std::uint8_t, int, std::uint16_t& pkey) {
  const Lock lock = enter("query_pkey");
  pkey = 0xffff;
  return device_of(context).gone ? EIO : 0;
}

void FakeVerbs::raise(ibv_context* context, ibv_event_type type) {
  const Lock lock(mutex_);
  ibv_async_event event{};
  event.event_type = type;
  event.element.port_num = 1;
  device_of(context).events.push_back(event);
  ring(context->async_fd);
}

int FakeVerbs::get_async_event(ibv_context* context, ibv_async_event& event) {
  const Lock lock = enter("get_async_event");
  FakeDevice& device = device_of(context);
  if (device.events.empty()) return EAGAIN;
  event = device.events.front();
  device.events.pop_front();
  if (device.events.empty()) silence(context->async_fd);
  return 0;
}

void FakeVerbs::ack_async_event(ibv_async_event&) {
  const Lock lock = enter("ack_async_event");
}

int FakeVerbs::fork_init() {
  return 0;
}
ibv_fork_status FakeVerbs::is_fork_initialized() {
  return IBV_FORK_DISABLED;
}
const char* FakeVerbs::wc_status_str(ibv_wc_status status) {
  return ibv_wc_status_str(status);
}
const char* FakeVerbs::event_type_str(ibv_event_type event) {
  return ibv_event_type_str(event);
}
const char* FakeVerbs::port_state_str(ibv_port_state state) {
  return ibv_port_state_str(state);
}
const char* FakeVerbs::node_type_str(ibv_node_type type) {
  return ibv_node_type_str(type);
}

}  // namespace verbena::fake
