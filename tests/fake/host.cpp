// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "fake/fake_objects.hpp"

namespace verbena::fake {

int FakeVerbs::netlink_devices(std::vector<NetlinkDevice>& devices) {
  const Lock lock = enter("netlink_devices");
  devices.clear();
  if (netlink_error != 0) return netlink_error;
  for (const auto& entry : devices_) {
    if (!entry->listed) continue;
    const FakeDevice& device = entry->device;
    devices.push_back({device.index, device.name, device.firmware, device.node_guid,
                       static_cast<std::uint32_t>(device.ports.size())});
  }
  return 0;
}

int FakeVerbs::netlink_uverbs(std::uint32_t device_index, NetlinkChardev& chardev) {
  const Lock lock = enter("netlink_uverbs");
  if (netlink_error != 0) return netlink_error;
  for (const auto& entry : devices_) {
    if (!entry->listed || entry->device.index != device_index) continue;
    chardev.name = "uverbs" + std::to_string(device_index);
    chardev.abi = entry->device.uverbs_abi;
    chardev.driver_id = entry->device.driver_id;
    return 0;
  }
  return ENODEV;
}

std::string FakeVerbs::resolve(const std::string& path) const {
  std::string text = path;
  for (int hops = 0; hops < 16; ++hops) {
    const auto link = std::find_if(links.rbegin(), links.rend(), [&](const auto& item) {
      return text == item.first || text.compare(0, item.first.size() + 1, item.first + "/") == 0;
    });
    if (link == links.rend()) break;
    text = link->second + text.substr(link->first.size());
  }
  return text;
}

int FakeVerbs::read_file(const std::string& path, std::string& text) {
  const Lock lock = enter("read_file");
  text.clear();
  const std::string real = resolve(path);
  if (const auto no = denied.find(real); no != denied.end()) return no->second;
  const auto file = files.find(real);
  if (file == files.end()) return ENOENT;
  text = file->second;
  return 0;
}

int FakeVerbs::read_link(const std::string& path, std::string& target) {
  const Lock lock = enter("read_link");
  const auto link = links.find(path);
  if (link != links.end()) {
    target = link->second;
    return 0;
  }
  // The directory part may go through links of its own.
  const auto slash = path.rfind('/');
  if (slash == std::string::npos) return ENOENT;
  const auto inner = links.find(resolve(path.substr(0, slash)) + path.substr(slash));
  if (inner == links.end()) return ENOENT;
  target = inner->second;
  return 0;
}

int FakeVerbs::real_path(const std::string& path, std::string& resolved) {
  const Lock lock = enter("real_path");
  resolved = resolve(path);
  const auto below = files.lower_bound(resolved);
  const bool exists = below != files.end() && below->first.compare(0, resolved.size(), resolved) == 0;
  return exists ? 0 : ENOENT;
}

int FakeVerbs::list_directory(const std::string& path, std::vector<std::string>& names) {
  const Lock lock = enter("list_directory");
  names.clear();
  const std::string real = resolve(path);
  if (const auto no = denied.find(real); no != denied.end()) return no->second;
  const std::string prefix = real + "/";
  const auto take = [&](const std::string& full) {
    if (full.compare(0, prefix.size(), prefix) != 0) return;
    names.push_back(full.substr(prefix.size(), full.find('/', prefix.size()) - prefix.size()));
  };
  for (const auto& [name, text] : files) take(name);
  for (const auto& [name, target] : links) take(name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names.empty() ? ENOENT : 0;
}

int FakeVerbs::access(const std::string& path, int) {
  const Lock lock = enter("access");
  const std::string real = resolve(path);
  if (const auto no = denied.find(real); no != denied.end()) return no->second;
  const auto slash = path.rfind('/');
  if (links.count(resolve(path.substr(0, slash)) + path.substr(slash)) != 0) return 0;
  const auto below = files.lower_bound(real);
  if (below == files.end()) return ENOENT;
  const bool exists = below->first == real || below->first.compare(0, real.size() + 1, real + "/") == 0;
  return exists ? 0 : ENOENT;
}

std::optional<std::uint64_t> FakeVerbs::entry_stamp(const std::string& path) {
  const Lock lock = enter("entry_stamp");
  const auto stamp = stamps.find(path);
  if (stamp == stamps.end()) return std::nullopt;
  return stamp->second;
}

std::uint32_t FakeVerbs::page_size() {
  return page;
}

HostName FakeVerbs::host_name() {
  return host;
}

MemlockLimit FakeVerbs::memlock_limit() {
  const Lock lock = enter("memlock_limit");
  return memlock;
}

bool FakeVerbs::may_lock_memory() {
  const Lock lock = enter("may_lock_memory");
  return may_lock;
}

std::string FakeVerbs::interface_name(std::uint32_t interface_index) {
  const Lock lock = enter("interface_name");
  const auto known = interfaces.find(interface_index);
  return known != interfaces.end() ? known->second : std::string();
}

int FakeVerbs::interface_addresses(const std::string& interface, std::vector<IpAddress>& addresses) {
  const Lock lock = enter("interface_addresses");
  const auto known = interface_ips.find(interface);
  addresses = known != interface_ips.end() ? known->second : std::vector<IpAddress>{};
  return 0;
}

std::string FakeVerbs::library_of(const void*) {
  const Lock lock = enter("library_of");
  for (const auto& entry : devices_) {
    if (entry->device.contexts != 0) return entry->device.provider;
  }
  return {};
}

std::string FakeVerbs::libibverbs_path() {
  return "/usr/lib/x86_64-linux-gnu/libibverbs.so.1.14.44.0";
}

int FakeVerbs::wait_readable(int descriptor, int timeout_ms) {
  const Lock lock = enter("wait_readable");
  // Nothing happens behind a test's back: what is there now is all that comes, so waiting only turns the clock.
  pollfd waiting{descriptor, POLLIN, 0};
  if (::poll(&waiting, 1, 0) == 1) return 0;
  if (timeout_ms > 0) now_ns += static_cast<std::uint64_t>(timeout_ms) * 1'000'000U;
  return ETIMEDOUT;
}

int FakeVerbs::set_nonblocking(int, bool) {
  return 0;
}

std::uint64_t FakeVerbs::monotonic_ns() {
  const std::lock_guard lock(mutex_);
  return now_ns;
}

std::uint32_t FakeVerbs::random32() {
  const std::lock_guard lock(mutex_);
  random_ = random_ * 1664525U + 1013904223U;
  return random_;
}

void* FakeVerbs::vendor_function(const char* library, const char* function) {
  const Lock lock = enter("vendor_function");
  const auto known = vendor_functions.find(std::string(library) + ":" + function);
  return known != vendor_functions.end() ? known->second : nullptr;
}

void FakeVerbs::write_sysfs(const FakeDevice& device) {
  const std::string number = std::to_string(device.index);
  const bool pci = device.pci_vendor.has_value();
  const std::string parent = pci ? "/sys/devices/pci0000:00/0000:" + number + ":00.0" : "/sys/devices/virtual";
  const std::string home = parent + "/infiniband/" + device.name;
  const auto hex = [](std::uint32_t value) {
    char text[16];
    std::snprintf(text, sizeof text, "0x%04x", value);
    return std::string(text);
  };
  links["/sys/class/infiniband/" + device.name] = home;
  stamps["/sys/class/infiniband/" + device.name] = next_stamp_++;
  files[home + "/node_type"] = device.node_type;
  files[home + "/fw_ver"] = device.firmware;
  if (!device.hw_rev.empty()) files[home + "/hw_rev"] = device.hw_rev;
  if (!device.board_id.empty()) files[home + "/board_id"] = device.board_id;
  for (std::size_t i = 0; i < device.ports.size(); ++i) {
    const std::string port = home + "/ports/" + std::to_string(i + 1);
    const auto& attr = device.ports[i].attr;
    files[port + "/link_layer"] = attr.link_layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
    files[port + "/state"] = attr.state == IBV_PORT_ACTIVE ? "4: ACTIVE" : "1: DOWN";
    if (!device.ports[i].netdev.empty()) files[port + "/gid_attrs/ndevs/0"] = device.ports[i].netdev;
  }
  if (pci) {
    links[home + "/device"] = parent;
    files[parent + "/vendor"] = hex(*device.pci_vendor);
    if (device.pci_device) files[parent + "/device"] = hex(*device.pci_device);
    if (device.pci_revision) files[parent + "/revision"] = hex(*device.pci_revision);
    if (device.subsystem_vendor) files[parent + "/subsystem_vendor"] = hex(*device.subsystem_vendor);
    if (device.subsystem_device) files[parent + "/subsystem_device"] = hex(*device.subsystem_device);
    if (device.virtual_function) links[parent + "/physfn"] = "/sys/devices/pci0000:00/0000:00:01.0";
    if (!device.driver_link.empty()) links[parent + "/driver"] = "/sys/bus/pci/drivers/" + device.driver_link;
  }
  const std::string uverbs = parent + "/infiniband_verbs/uverbs" + number;
  links["/sys/class/infiniband_verbs/uverbs" + number] = uverbs;
  files[uverbs + "/ibdev"] = device.name;
  files[uverbs + "/abi_version"] = std::to_string(device.uverbs_abi);
  files["/dev/infiniband/uverbs" + number] = "";
}

void FakeVerbs::erase_sysfs(const FakeDevice& device) {
  const std::string number = std::to_string(device.index);
  const auto erase_below = [&](const std::string& root) {
    std::erase_if(files, [&](const auto& item) { return item.first.compare(0, root.size(), root) == 0; });
    std::erase_if(links, [&](const auto& item) { return item.first.compare(0, root.size(), root) == 0; });
  };
  erase_below(resolve("/sys/class/infiniband/" + device.name) + "/");
  erase_below(resolve("/sys/class/infiniband_verbs/uverbs" + number) + "/");
  links.erase("/sys/class/infiniband/" + device.name);
  links.erase("/sys/class/infiniband_verbs/uverbs" + number);
  stamps.erase("/sys/class/infiniband/" + device.name);
  files.erase("/dev/infiniband/uverbs" + number);
}

}  // namespace verbena::fake
