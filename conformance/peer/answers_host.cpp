// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "peer/answers.hpp"

namespace conform::peer {

namespace {

/// Nobody is asked who he is, so no more is shown than what tells of devices.
bool shown(Call call, std::string_view path, std::string_view libibverbs) {
  static constexpr std::array<std::string_view, 4> kFolders = {"/sys/class/", "/sys/devices/", "/sys/module/",
                                                               "/sys/hypervisor/"};
  static constexpr std::array<std::string_view, 2> kFiles = {"/proc/self/status", "/proc/cpuinfo"};
  if (path.find("..") != std::string_view::npos) return false;
  // Whether it may be opened, and which providers are beside the library.
  if (call == Call::access && path.starts_with("/dev/infiniband")) return true;
  if (call == Call::list_directory && path == std::string(libibverbs.substr(0, libibverbs.rfind('/'))) + "/libibverbs")
    return true;
  return std::any_of(kFolders.begin(), kFolders.end(), [&](std::string_view one) { return path.starts_with(one); }) ||
         std::find(kFiles.begin(), kFiles.end(), path) != kFiles.end();
}

}  // namespace

int Answers::host(Call call, Packet& in, Packet& out) {
  switch (call) {
    case Call::netlink_devices: {
      std::vector<verbena::NetlinkDevice> devices;
      const int error = verbs_.netlink_devices(devices);
      out.put(static_cast<std::uint32_t>(devices.size()));
      for (const verbena::NetlinkDevice& device : devices) {
        out.put(device.index);
        out.put_text(device.name);
        out.put_text(device.firmware);
        out.put(device.node_guid);
        out.put(device.ports);
      }
      return error;
    }
    case Call::netlink_uverbs: {
      verbena::NetlinkChardev chardev;
      const int error = verbs_.netlink_uverbs(in.get<std::uint32_t>(), chardev);
      out.put_text(chardev.name);
      for (const auto* number : {&chardev.abi, &chardev.driver_id}) {
        out.put(number->has_value());
        out.put(number->value_or(0));
      }
      return error;
    }
    case Call::host: {
      out.put(verbs_.page_size());
      const verbena::HostName name = verbs_.host_name();
      out.put_text(name.release);
      out.put_text(name.machine);
      const verbena::MemlockLimit limit = verbs_.memlock_limit();
      out.put(limit.soft);
      out.put(limit.hard);
      out.put(verbs_.may_lock_memory());
      out.put_text(verbs_.libibverbs_path());
      return 0;
    }
    case Call::interface_name:
      out.put_text(verbs_.interface_name(in.get<std::uint32_t>()));
      return 0;
    case Call::interface_addresses: {
      std::vector<verbena::IpAddress> addresses;
      const int error = verbs_.interface_addresses(in.text(), addresses);
      out.put(static_cast<std::uint32_t>(addresses.size()));
      for (const verbena::IpAddress& address : addresses) out.put(address);
      return error;
    }
    case Call::provider: {
      ibv_context* context = taken(in, contexts_);
      if (context == nullptr) return EINVAL;
      out.put_text(verbs_.library_of(reinterpret_cast<const void*>(context->ops.poll_cq)));
      return 0;
    }
    default:
      break;
  }
  const std::string path = in.text();
  if (!shown(call, path, verbs_.libibverbs_path())) return EACCES;
  std::string text;
  switch (call) {
    case Call::read_file: {
      const int error = verbs_.read_file(path, text);
      out.put_text(text);
      return error;
    }
    case Call::read_link: {
      const int error = verbs_.read_link(path, text);
      out.put_text(text);
      return error;
    }
    case Call::real_path: {
      const int error = verbs_.real_path(path, text);
      out.put_text(text);
      return error;
    }
    case Call::list_directory: {
      std::vector<std::string> names;
      const int error = verbs_.list_directory(path, names);
      out.put(static_cast<std::uint32_t>(names.size()));
      for (const std::string& name : names) out.put_text(name);
      return error;
    }
    case Call::access:
      return verbs_.access(path, in.get<int>());
    case Call::entry_stamp: {
      const auto stamp = verbs_.entry_stamp(path);
      out.put(stamp.value_or(0));
      return stamp ? 0 : ENOENT;
    }
    default:
      return ENOSYS;
  }
}

}  // namespace conform::peer
