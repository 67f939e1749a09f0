// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/broken_link.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "device/driver_names.hpp"
#include "device/probe_cache.hpp"
#include "verbena/errno_family.hpp"

namespace verbena {
namespace {

constexpr const char* kVerbsClass = "/sys/class/infiniband_verbs";

/// The uverbs device of an RDMA device, by netlink, else by looking through sysfs.
std::string uverbs_name(Verbs& verbs, const DeviceId& id) {
  NetlinkChardev chardev;
  if (id.index && verbs.netlink_uverbs(*id.index, chardev) == 0 && !chardev.name.empty()) return chardev.name;
  std::vector<std::string> names;
  verbs.list_directory(kVerbsClass, names);
  for (const std::string& name : names) {
    std::string device;
    if (verbs.read_file(fmt::format("{}/{}/ibdev", kVerbsClass, name), device) == 0 && device == id.name) return name;
  }
  return {};
}

std::optional<std::uint32_t> driver_abi(Verbs& verbs, const DeviceId& id, const std::string& uverbs) {
  if (id.uverbs_abi) return id.uverbs_abi;
  std::string text;
  if (verbs.read_file(fmt::format("{}/{}/abi_version", kVerbsClass, uverbs), text) != 0 || text.empty()) return {};
  std::uint32_t abi = 0;
  for (const char digit : text) {
    if (digit < '0' || digit > '9') return std::nullopt;
    abi = abi * 10 + static_cast<std::uint32_t>(digit - '0');
  }
  return abi;
}

/// libibverbs looks for `lib<driver>-rdmav<N>.so` in a folder beside itself (rdma-core libibverbs/dynamic_driver.c).
bool provider_installed(Verbs& verbs, const std::string& driver) {
  const std::string library = verbs.libibverbs_path();
  std::vector<std::string> files;
  verbs.list_directory(library.substr(0, library.rfind('/')) + "/libibverbs", files);
  const std::string prefix = "lib" + driver + "-rdmav";
  return std::any_of(files.begin(), files.end(), [&](const std::string& file) { return file.starts_with(prefix); });
}

BrokenLink why_not_claimed(Verbs& verbs, const DeviceId& id, const std::string& uverbs) {
  const auto abi = driver_abi(verbs, id, uverbs);
  const DriverNames* names = driver_by_name(id.driver);
  if (abi && names != nullptr && names->oldest_abi && (*abi < *names->oldest_abi || *abi > *names->newest_abi)) {
    return {ErrorKind::no_device, 0,
            fmt::format("its kernel driver {} speaks uverbs ABI {}, and rdma-core's provider {}..{}: an out-of-tree "
                        "driver needs the provider library of its vendor",
                        id.driver, *abi, *names->oldest_abi, *names->newest_abi)};
  }
  if (!provider_installed(verbs, id.driver)) {
    return {ErrorKind::no_device, 0,
            fmt::format("no provider library for driver {} is installed: it is in package ibverbs-providers (Debian, "
                        "Ubuntu) or libibverbs (Fedora, RHEL)",
                        id.driver.empty() ? "(unknown)" : id.driver)};
  }
  return {ErrorKind::no_device, 0,
          fmt::format("libibverbs does not list it although a provider for {} is installed: look for {}.driver in "
                      "/etc/libibverbs.d, and whether the provider takes uverbs ABI {}",
                      id.driver, id.driver, abi ? std::to_string(*abi) : std::string("(unknown)"))};
}

}  // namespace

BrokenLink first_broken_link(Verbs& verbs, const DeviceId& id, bool claimed) {
  if (verbs.access(sysfs_path(id.name), F_OK) != 0) return {};  // not a device of the kernel: no chain to walk
  const std::string uverbs = uverbs_name(verbs, id);
  if (uverbs.empty()) {
    return {ErrorKind::no_device, ENOENT, "it has no uverbs device: load the kernel module ib_uverbs"};
  }
  const std::string node = "/dev/infiniband/" + uverbs;
  if (const int error = verbs.access(node, R_OK | W_OK); error != 0) {
    if (errno_family(error) == ErrnoFamily::permission) {
      return {ErrorKind::permission, error,
              fmt::format("{} may not be opened by this user ({}): it needs read and write access (group rdma, a udev "
                          "rule, or the container's device list)",
                          node, errno_name(error))};
    }
    const bool folder = verbs.access("/dev/infiniband", F_OK) == 0;
    return {ErrorKind::no_device, error,
            fmt::format("{} does not exist although sysfs shows the device: {}", folder ? node : "/dev/infiniband",
                        folder ? "pass this node into the container (--device)"
                               : "pass /dev/infiniband into the container (--device), or load ib_uverbs")};
  }
  if (!claimed) return why_not_claimed(verbs, id, uverbs);
  return {};
}

std::string port_state_remark(Verbs& verbs, const DeviceId& id) {
  std::string remark;
  for (const PortId& port : id.ports) {
    std::string state;
    if (verbs.read_file(fmt::format("{}/ports/{}/state", sysfs_path(id.name), port.number), state) != 0) continue;
    if (state.find("ACTIVE") != std::string::npos && state.find("DEFER") == std::string::npos) continue;
    remark += fmt::format("{}port {} is {}", remark.empty() ? "" : ", ", port.number,
                          state.substr(std::min(state.find(' ') + 1, state.size())));
  }
  return remark;
}

std::vector<std::string> registered_devices(Verbs& verbs) {
  std::vector<std::string> names;
  verbs.list_directory("/sys/class/infiniband", names);
  return names;
}

std::string no_devices_text(Verbs& verbs) {
  if (verbs.access("/sys/class/infiniband", F_OK) != 0) {
    return "this host has no RDMA device: the kernel's RDMA core (ib_core) is not loaded, so no driver has registered "
           "one";
  }
  return "this host has no RDMA device: ib_core is loaded and no driver has registered one (`rdma link`, `dmesg`)";
}

}  // namespace verbena
