// SPDX-License-Identifier: Apache-2.0 OR MIT
// The host that the NICs are on: what its sysfs, /proc and netlink tell of them, as on one that has the hardware.
#include <fmt/format.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <unistd.h>

#include <poll.h>

#include <fcntl.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <random>
#include <utility>

#include "engine/wire/mtu.hpp"
#include "verbs/emulated_verbs.hpp"

namespace verbena::emulator {

namespace {

struct Driver {
  std::string_view name;
  std::uint32_t id;          ///< enum rdma_driver_id (linux include/uapi/rdma/ib_user_ioctl_verbs.h)
  std::string_view module;
  std::string_view parent;   ///< driver of the PCI function; empty: there is none
  std::uint32_t abi;         ///< what rdma-core 44's provider takes
};

/// Source: linux drivers/infiniband (MODULE_ and auxiliary_driver declarations), rdma-core providers/*.
constexpr std::array kDrivers{
    Driver{"mlx5", 1, "mlx5_ib", "mlx5_core", 1},
    Driver{"cxgb4", 4, "iw_cxgb4", "cxgb4", 3},
    Driver{"bnxt_re", 6, "bnxt_re", "bnxt_en", 1},
    Driver{"irdma", 9, "irdma", "ice", 5},
    Driver{"qedr", 11, "qedr", "qede", 8},
    Driver{"hns", 12, "hns_roce_hw_v2", "hns3", 1},
    Driver{"rxe", 14, "rdma_rxe", "", 2},
    Driver{"efa", 17, "efa", "efa", 1},
    Driver{"siw", 18, "siw", "", 1},
    Driver{"erdma", 19, "erdma", "erdma", 1},
    Driver{"mana", 20, "mana_ib", "mana", 1},
    Driver{"ionic", 21, "ionic_rdma", "ionic", 1},
};

const Driver* driver_of(const Nic& nic) {
  const std::string& name = nic.profile().model().device.driver;
  const auto* const found =
      std::find_if(kDrivers.begin(), kDrivers.end(), [&name](const Driver& each) { return each.name == name; });
  return found == kDrivers.end() ? nullptr : found;
}

std::string hex(std::uint32_t value) {
  return fmt::format("0x{:04x}", value);
}

/// On InfiniBand that of IPoIB.
std::string netdev_of(const Nic& nic) {
  return fmt::format("{}{}", nic.profile().transport(1) == Transport::infiniband ? "ib" : "eth", nic.number() + 1);
}

std::string node_type(const Nic& nic) {
  switch (nic.profile().transport(1)) {
    case Transport::iwarp:
      return "4: RNIC";
    case Transport::unspecified:
      return "7: unspecified";
    default:
      return "1: CA";
  }
}

}  // namespace

EmulatedVerbs::EmulatedVerbs(std::unique_ptr<Host> host, std::vector<Model> models) : host_(std::move(host)) {
  const std::scoped_lock lock(host_->mutex);
  engine::transport::Notices& notices = *this;
  std::uint32_t number = 0;
  for (Model& model : models) {
    // A link's MTU is what the net under it has room for.
    const std::uint64_t largest_mtu = host_->net()->largest_mtu();
    for (PortCaps& port : model.caps.ports) {
      if (largest_mtu < port[PortCap::active_mtu].value_or(engine::wire::kLargestMtu))
        port.set(PortCap::active_mtu, largest_mtu);
    }
    // A variant is told by its identity, not by its name: `@` is no part of a device's name.
    const std::string plain = model.name.substr(0, model.name.find('@'));
    const auto taken = [this](const std::string& name) {
      return std::any_of(nics_.begin(), nics_.end(), [&name](const auto& nic) { return nic->name() == name; });
    };
    std::string name = plain;
    for (int again = 1; taken(name); ++again) name = fmt::format("{}_{}", plain, again);
    nics_.push_back(std::make_unique<Nic>(*host_, Profile(std::move(model)), name, number++,
                                          static_cast<std::uint32_t>(models.size()), notices));
    Nic& nic = *nics_.back();
    auto device = std::make_unique<DeviceEntry>();
    device->nic = &nic;
    const Transport transport = nic.profile().transport(1);
    device->base.node_type = transport == Transport::iwarp         ? IBV_NODE_RNIC
                             : transport == Transport::unspecified ? IBV_NODE_UNSPECIFIED
                                                                   : IBV_NODE_CA;
    device->base.transport_type = transport == Transport::iwarp         ? IBV_TRANSPORT_IWARP
                                  : transport == Transport::unspecified ? IBV_TRANSPORT_UNSPECIFIED
                                                                        : IBV_TRANSPORT_IB;
    name.copy(device->base.name, sizeof device->base.name - 1);
    fmt::format("uverbs{}", nic.number()).copy(device->base.dev_name, sizeof device->base.dev_name - 1);
    fmt::format("/sys/class/infiniband_verbs/uverbs{}", nic.number())
        .copy(device->base.dev_path, sizeof device->base.dev_path - 1);
    fmt::format("/sys/class/infiniband/{}", name).copy(device->base.ibdev_path, sizeof device->base.ibdev_path - 1);
    devices_.push_back(std::move(device));
    write_files(nic);
  }
}

EmulatedVerbs::~EmulatedVerbs() {
  end_connections();
}

void EmulatedVerbs::write_files(const Nic& nic) {
  const DeviceId& id = nic.profile().model().device;
  const Driver* const driver = driver_of(nic);
  const bool pci = id.pci_vendor.has_value();
  const std::string parent = pci ? fmt::format("/sys/devices/pci0000:00/0000:{:02x}:00.0", nic.number() + 1)
                                 : std::string("/sys/devices/virtual");
  const std::string home = parent + "/infiniband/" + nic.name();
  links_["/sys/class/infiniband/" + nic.name()] = home;
  files_[home + "/node_type"] = node_type(nic);
  files_[home + "/fw_ver"] = id.firmware;
  if (id.hw_ver) files_[home + "/hw_rev"] = fmt::format("{}", *id.hw_ver);
  if (!id.board_id.empty()) files_[home + "/board_id"] = id.board_id;
  for (const PortId& port : id.ports) {
    const std::string folder = fmt::format("{}/ports/{}", home, port.number);
    files_[folder + "/link_layer"] = port.link_layer == LinkLayer::ethernet ? "Ethernet" : "InfiniBand";
    files_[folder + "/state"] = nic.state(port.number) == IBV_PORT_ACTIVE ? "4: ACTIVE" : "1: DOWN";
    if (port.link_layer != LinkLayer::ethernet || port.transport == Transport::unspecified) continue;
    files_[folder + "/gid_attrs/ndevs/0"] = netdev_of(nic);
    files_["/sys/class/net/" + netdev_of(nic) + "/mtu"] = fmt::format("{}", nic.interface_mtu(port.number));
  }
  if (pci) {
    links_[home + "/device"] = parent;
    files_[parent + "/net/" + netdev_of(nic) + "/dev_port"] = "0";
    files_[parent + "/vendor"] = hex(*id.pci_vendor);
    if (id.part_id) files_[parent + "/device"] = hex(*id.part_id);
    if (id.pci_revision) files_[parent + "/revision"] = fmt::format("0x{:02x}", *id.pci_revision);
    if (id.subsystem_vendor) files_[parent + "/subsystem_vendor"] = hex(*id.subsystem_vendor);
    if (id.subsystem_device) files_[parent + "/subsystem_device"] = hex(*id.subsystem_device);
    if (id.function == Function::vf) links_[parent + "/physfn"] = "/sys/devices/pci0000:00/0000:00:01.0";
    if (driver != nullptr) links_[parent + "/driver"] = fmt::format("/sys/bus/pci/drivers/{}", driver->parent);
  }
  // A driver that no host has can't be told by its number; by its library a second NIC would be taken for the first.
  if (driver == nullptr && id.provider.empty() && !id.driver.empty())
    links_[(pci ? parent : home + "/device") + "/driver"] = fmt::format("/sys/bus/pci/drivers/{}", id.driver);
  const std::string uverbs = fmt::format("{}/infiniband_verbs/uverbs{}", parent, nic.number());
  links_[fmt::format("/sys/class/infiniband_verbs/uverbs{}", nic.number())] = uverbs;
  files_[uverbs + "/ibdev"] = nic.name();
  files_[uverbs + "/abi_version"] = fmt::format("{}", id.uverbs_abi.value_or(driver != nullptr ? driver->abi : 1));
  files_[fmt::format("/dev/infiniband/uverbs{}", nic.number())] = "";
  if (driver != nullptr) {
    const std::string module = fmt::format("/sys/module/{}", driver->module);
    files_[module + "/taint"] = id.out_of_tree.value_or(false) ? "O" : "";
    if (!id.module_version.empty()) files_[module + "/version"] = id.module_version;
  }
  if (!id.hypervisor.empty()) files_["/sys/hypervisor/type"] = id.hypervisor;
}

int EmulatedVerbs::netlink_devices(std::vector<NetlinkDevice>& devices) {
  devices.clear();
  for (const auto& nic : nics_) {
    devices.push_back({nic->number(), nic->name(), nic->profile().model().device.firmware, nic->node_guid(),
                       static_cast<std::uint32_t>(nic->ports())});
  }
  return 0;
}

int EmulatedVerbs::netlink_uverbs(std::uint32_t device_index, NetlinkChardev& chardev) {
  for (const auto& nic : nics_) {
    if (nic->number() != device_index) continue;
    const Driver* const driver = driver_of(*nic);
    chardev.name = fmt::format("uverbs{}", device_index);
    chardev.abi = nic->profile().model().device.uverbs_abi;
    if (!chardev.abi && driver != nullptr) chardev.abi = driver->abi;
    if (driver != nullptr) chardev.driver_id = driver->id;
    return 0;
  }
  return ENODEV;
}

std::string EmulatedVerbs::resolved(const std::string& path) const {
  std::string text = path;
  constexpr int kMostLinks = 16;
  for (int hops = 0; hops < kMostLinks; ++hops) {
    const auto link = std::find_if(links_.rbegin(), links_.rend(), [&text](const auto& item) {
      return text == item.first || text.starts_with(item.first + "/");
    });
    if (link == links_.rend()) break;
    text = link->second + text.substr(link->first.size());
  }
  return text;
}

int EmulatedVerbs::read_file(const std::string& path, std::string& text) {
  text.clear();
  const std::scoped_lock lock(host_->mutex);
  const auto file = files_.find(resolved(path));
  if (file == files_.end()) return ENOENT;
  text = file->second;
  return 0;
}

int EmulatedVerbs::read_link(const std::string& path, std::string& target) {
  const auto slash = path.rfind('/');
  const auto link =
      links_.find(slash == std::string::npos ? path : resolved(path.substr(0, slash)) + path.substr(slash));
  if (link == links_.end()) return ENOENT;
  target = link->second;
  return 0;
}

int EmulatedVerbs::real_path(const std::string& path, std::string& resolved_path) {
  resolved_path = resolved(path);
  const auto below = files_.lower_bound(resolved_path);
  return below != files_.end() && below->first.starts_with(resolved_path) ? 0 : ENOENT;
}

int EmulatedVerbs::list_directory(const std::string& path, std::vector<std::string>& names) {
  names.clear();
  const std::string prefix = resolved(path) + "/";
  const auto take = [&](const std::string& full) {
    if (full.starts_with(prefix))
      names.push_back(full.substr(prefix.size(), full.find('/', prefix.size()) - prefix.size()));
  };
  for (const auto& [name, text] : files_) take(name);
  for (const auto& [name, target] : links_) take(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names.empty() ? ENOENT : 0;
}

int EmulatedVerbs::access(const std::string& path, int /*mode*/) {
  const std::string real = resolved(path);
  if (const auto slash = path.rfind('/');
      slash != std::string::npos && links_.contains(resolved(path.substr(0, slash)) + path.substr(slash))) {
    return 0;
  }
  const auto below = files_.lower_bound(real);
  if (below == files_.end()) return ENOENT;
  return below->first == real || below->first.starts_with(real + "/") ? 0 : ENOENT;
}

std::optional<std::uint64_t> EmulatedVerbs::entry_stamp(const std::string& path) {
  for (const auto& nic : nics_) {
    if (path == "/sys/class/infiniband/" + nic->name()) return nic->number() + 1;
  }
  return std::nullopt;
}

std::uint32_t EmulatedVerbs::page_size() {
  return static_cast<std::uint32_t>(sysconf(_SC_PAGESIZE));
}

/// A model is of one kernel: that of the first NIC is the host's.
HostName EmulatedVerbs::host_name() {
  if (nics_.empty()) return {};
  const DeviceId& id = nics_.front()->profile().model().device;
  return {id.kernel, id.arch};
}

MemlockLimit EmulatedVerbs::memlock_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return {};
  const auto bytes = [](rlim_t value) { return value == RLIM_INFINITY ? MemlockLimit::kUnlimited : value; };
  return {bytes(limit.rlim_cur), bytes(limit.rlim_max)};
}

bool EmulatedVerbs::may_lock_memory() {
  return capable(CAP_IPC_LOCK);
}

std::string EmulatedVerbs::interface_name(std::uint32_t interface_index) {
  for (const auto& nic : nics_) {
    if (nic->number() + 2 == interface_index) return netdev_of(*nic);
  }
  return {};
}

int EmulatedVerbs::interface_addresses(const std::string& interface, std::vector<IpAddress>& addresses) {
  addresses.clear();
  const std::scoped_lock lock(host_->mutex);
  for (const auto& nic : nics_) {
    if (netdev_of(*nic) != interface) continue;
    for (const engine::wire::Gid& bytes : nic->addresses(1)) {
      IpAddress address;
      std::transform(bytes.begin(), bytes.end(), address.begin(),
                     [](std::byte byte) { return std::to_integer<std::uint8_t>(byte); });
      addresses.push_back(address);
    }
  }
  return 0;
}

std::string EmulatedVerbs::library_of(const void* /*code*/) {
  if (nics_.empty()) return {};
  const DeviceId& id = nics_.front()->profile().model().device;
  // All have the same code; of which of several drivers it is, it doesn't tell.
  const bool same = std::all_of(nics_.begin(), nics_.end(),
                                [&id](const auto& nic) { return nic->profile().model().device.driver == id.driver; });
  if (!same) return {};
  return id.provider.empty() ? fmt::format("/usr/lib/libibverbs/lib{}-rdmav34.so", id.driver) : id.provider;
}

std::string EmulatedVerbs::libibverbs_path() {
  const std::string version = nics_.empty() ? "" : nics_.front()->profile().model().device.rdma_core;
  return fmt::format("/usr/lib/libibverbs.so.1.14.{}", version.empty() ? "44.0" : version);
}

int EmulatedVerbs::wait_readable(int descriptor, int timeout_ms) {
  pollfd waiting{descriptor, POLLIN, 0};
  const int ready = ::poll(&waiting, 1, timeout_ms);
  if (ready < 0) return errno;
  return ready == 0 ? ETIMEDOUT : 0;
}

int EmulatedVerbs::set_nonblocking(int descriptor, bool nonblocking) {
  const int flags = fcntl(descriptor, F_GETFL);
  if (flags < 0) return errno;
  return fcntl(descriptor, F_SETFL, nonblocking ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) < 0 ? errno : 0;
}

std::uint64_t EmulatedVerbs::monotonic_ns() {
  return static_cast<std::uint64_t>(host_->clock().now().count());
}

std::uint32_t EmulatedVerbs::random32() {
  static thread_local std::mt19937 random{std::random_device{}()};
  return static_cast<std::uint32_t>(random());
}

/// No vendor's library drives an emulated NIC.
void* EmulatedVerbs::vendor_function(const char* /*library*/, const char* /*function*/) {
  return nullptr;
}

int EmulatedVerbs::fork_init() {
  return 0;
}
ibv_fork_status EmulatedVerbs::is_fork_initialized() {
  return IBV_FORK_UNNEEDED;
}
const char* EmulatedVerbs::wc_status_str(ibv_wc_status status) {
  return ibv_wc_status_str(status);
}
const char* EmulatedVerbs::event_type_str(ibv_event_type event) {
  return ibv_event_type_str(event);
}
const char* EmulatedVerbs::port_state_str(ibv_port_state state) {
  return ibv_port_state_str(state);
}
const char* EmulatedVerbs::node_type_str(ibv_node_type type) {
  return ibv_node_type_str(type);
}

bool EmulatedVerbs::has(const ibv_device* device) const noexcept {
  return std::any_of(devices_.begin(), devices_.end(), [device](const auto& each) { return &each->base == device; });
}

std::shared_ptr<Verbs> emulated_verbs(EmulatedOptions options) {
  options.net = NetKind::in_process;
  return joined_verbs(std::move(options)).value();
}

Result<std::shared_ptr<Verbs>> joined_verbs(EmulatedOptions options) {
  NetOptions net{.kind = options.net,
                 .fabric = std::move(options.fabric),
                 .addresses = std::move(options.addresses),
                 .ports = 0,
                 .impairments = options.impairments,
                 .seed = options.seed};
  for (Model& model : options.models) {
    net.ports += model.caps.ports.size();
    for (const SwitchedFault& added : options.faults) {
      std::erase_if(model.faults, [&added](const SwitchedFault& own) { return own.fault == added.fault; });
      model.faults.push_back(added);
    }
  }
  auto host = Host::on(net);
  if (!host) {
    Error error{.kind = ErrorKind::invalid_request};
    error.text = std::move(host.error());
    return Failure(std::move(error));
  }
  return std::make_shared<EmulatedVerbs>(std::move(*host), std::move(options.models));
}

}  // namespace verbena::emulator
