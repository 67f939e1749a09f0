// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/identity.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "device/driver_names.hpp"
#include "device/probe_cache.hpp"

namespace verbena {
namespace {

constexpr int kMostParents = 4;  // an auxiliary device stands one or two levels below its PCI function

/// Reads sysfs below one directory; an attribute that isn't there or can't be read is an empty text.
class Attributes {
public:
  Attributes(Verbs& verbs, std::string home) : verbs_(verbs), home_(std::move(home)) {}

  std::string text(std::string_view name) const {
    std::string value;
    return verbs_.read_file(path(name), value) == 0 ? value : std::string();
  }
  /// `0x15`, or `21` in `base`; the digits up to the first that is none, so `1: CA` is 1.
  std::optional<std::uint32_t> number(std::string_view name, int base = 10) const {
    const std::string value = text(name);
    std::string_view digits = value;
    if (digits.starts_with("0x") || digits.starts_with("0X")) {
      digits.remove_prefix(2);
      base = 16;
    }
    std::uint32_t parsed = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), parsed, base);
    if (error != std::errc() || end == digits.data()) return std::nullopt;
    return parsed;
  }
  bool exists(std::string_view name) const { return verbs_.access(path(name), F_OK) == 0; }
  /// The last part of what a link points to.
  std::string link_name(std::string_view name) const {
    std::string target;
    if (verbs_.read_link(path(name), target) != 0) return {};
    return target.substr(target.rfind('/') + 1);
  }
  const std::string& home() const { return home_; }

private:
  std::string path(std::string_view name) const { return home_ + "/" + std::string(name); }
  Verbs& verbs_;
  std::string home_;
};

/// The PCI function behind a device: its own parent, or that of the auxiliary device in between.
std::string pci_function(Verbs& verbs, const std::string& device_home) {
  std::string path;
  if (verbs.real_path(device_home + "/device", path) != 0) return {};
  for (int level = 0; level < kMostParents && path.size() > 1; ++level) {
    const Attributes here(verbs, path);
    if (here.exists("vendor") && here.exists("device")) return path;
    path.erase(path.rfind('/'));
  }
  return {};
}

void find_driver(Verbs& verbs, const Attributes& sysfs, DeviceId& id) {
  if (id.index) {
    NetlinkChardev chardev;
    if (verbs.netlink_uverbs(*id.index, chardev) == 0) {
      id.uverbs_abi = chardev.abi;
      if (chardev.driver_id) {
        if (const DriverNames* names = driver_by_netlink_id(*chardev.driver_id)) {
          id.driver = names->driver;
          id.driver_found_by = DriverFoundBy::netlink;
          return;
        }
      }
    }
  }
  const std::string link = sysfs.link_name("device/driver");
  if (link.empty()) return;
  const DriverNames* names = driver_by_link(link);
  id.driver = names != nullptr ? std::string(names->driver) : link;
  id.driver_found_by = DriverFoundBy::sysfs_driver_link;
}

Transport transport_of(std::optional<std::uint32_t> node_type, LinkLayer link_layer) {
  if (!node_type) return Transport::unknown;
  switch (*node_type) {  // enum rdma_node_type, shown by sysfs node_type
    case IBV_NODE_RNIC:
      return Transport::iwarp;
    case IBV_NODE_CA:
      if (link_layer == LinkLayer::ethernet) return Transport::roce_v2;
      return link_layer == LinkLayer::infiniband ? Transport::infiniband : Transport::unknown;
    case IBV_NODE_UNSPECIFIED:
      return Transport::unspecified;
    default:
      return Transport::unknown;
  }
}

void find_ports(Verbs& verbs, const Attributes& sysfs, DeviceId& id) {
  const auto node_type = sysfs.number("node_type");
  std::vector<std::string> numbers;
  verbs.list_directory(sysfs.home() + "/ports", numbers);
  for (const std::string& number : numbers) {
    PortId port;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), port.number);
    if (error != std::errc() || *end != '\0') continue;
    const std::string link_layer = sysfs.text("ports/" + number + "/link_layer");
    port.link_layer = link_layer == "Ethernet"     ? LinkLayer::ethernet
                      : link_layer == "InfiniBand" ? LinkLayer::infiniband
                                                   : LinkLayer::unknown;
    port.transport = transport_of(node_type, port.link_layer);
    port.netdev = sysfs.text("ports/" + number + "/gid_attrs/ndevs/0");
    if (!port.netdev.empty()) {
      const Attributes netdev(verbs, "/sys/class/net/" + port.netdev);
      const bool bonded = netdev.exists("bonding") || netdev.exists("master/bonding");
      id.bond = id.bond.value_or(false) || bonded;
    }
    id.ports.push_back(std::move(port));
  }
  std::sort(id.ports.begin(), id.ports.end(), [](const PortId& a, const PortId& b) { return a.number < b.number; });
}

void find_module(Verbs& verbs, DeviceId& id) {
  const DriverNames* names = driver_by_name(id.driver);
  const Attributes module(verbs, "/sys/module/" + std::string(names != nullptr ? names->module : id.driver));
  id.module_version = module.text("version");
  std::string taint;
  // Empty for a clean module; `O` marks one that was built out of the kernel's tree (linux kernel/module,
  // module_flags_taint).
  if (verbs.read_file(module.home() + "/taint", taint) == 0) id.out_of_tree = taint.find('O') != std::string::npos;
}

}  // namespace

DeviceId identify(Verbs& verbs, const HostFacts& host, std::string_view name, std::optional<std::uint32_t> index,
                  std::uint64_t node_guid) {
  DeviceId id;
  id.name = name;
  id.node_guid = node_guid;
  id.kernel = host.kernel;
  id.arch = host.arch;
  id.rdma_core = host.rdma_core;
  id.hypervisor = host.hypervisor;
  id.page_size = host.page_size;
  id.index = index;
  if (!index) {
    std::vector<NetlinkDevice> listed;
    verbs.netlink_devices(listed);
    for (const NetlinkDevice& device : listed) {
      if (device.name != name) continue;
      id.index = device.index;
      id.node_guid = device.node_guid;
    }
  }
  const Attributes sysfs(verbs, sysfs_path(name));
  find_driver(verbs, sysfs, id);
  id.firmware = sysfs.text("fw_ver");
  id.hw_ver = sysfs.number("hw_rev", 16);  // "%x" in mlx5 and irdma, without a prefix
  id.board_id = sysfs.text("board_id");
  find_ports(verbs, sysfs, id);

  const DriverNames* names = driver_by_name(id.driver);
  const bool software = names != nullptr && names->software;
  // A software device hangs below the card whose Ethernet it uses: that card's numbers are not its own.
  if (const std::string pci = software ? std::string() : pci_function(verbs, sysfs.home()); !pci.empty()) {
    const Attributes function(verbs, pci);
    id.pci_vendor = function.number("vendor");
    id.part_id = function.number("device");
    id.pci_revision = function.number("revision");
    id.subsystem_vendor = function.number("subsystem_vendor");
    id.subsystem_device = function.number("subsystem_device");
    const std::string parent = sysfs.link_name("device");
    id.function = function.exists("physfn")                  ? Function::vf
                  : parent.find(".sf.") != std::string::npos ? Function::sf
                                                             : Function::pf;
  }
  if (!id.driver.empty()) find_module(verbs, id);
  return id;
}

void identify_opened(Verbs& verbs, ibv_context* context, DeviceId& id) {
  id.provider = verbs.library_of(reinterpret_cast<const void*>(context->ops.poll_cq));
  if (!id.driver.empty()) return;
  id.driver = driver_of_provider(id.provider);
  if (id.driver.empty()) return;
  id.driver_found_by = DriverFoundBy::provider_library;
  find_module(verbs, id);
}

}  // namespace verbena
