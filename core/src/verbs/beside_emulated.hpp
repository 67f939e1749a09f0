// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>

#include "verbs/real_verbs.hpp"

namespace verbena {

/// The verbs of a program that runs under `verbena run`. Its emulated NICs come from libibverbs' functions, which that
/// stands in front of; here are their files, links and netlink answers, in front of the host's own, so that they are
/// told from others and have their driver's tables as on a host with the hardware. Indexes of emulated NICs are far
/// above those that the kernel gives.
class BesideEmulated final : public RealVerbs {
public:
  int get_device_index(ibv_device* device) override;
  int netlink_devices(std::vector<NetlinkDevice>& devices) override;
  int netlink_uverbs(std::uint32_t device_index, NetlinkChardev& chardev) override;
  int read_file(const std::string& path, std::string& text) override;
  int read_link(const std::string& path, std::string& target) override;
  int real_path(const std::string& path, std::string& resolved) override;
  int list_directory(const std::string& path, std::vector<std::string>& names) override;
  int access(const std::string& path, int mode) override;
  std::optional<std::uint64_t> entry_stamp(const std::string& path) override;
  HostName host_name() override;
  std::string interface_name(std::uint32_t interface_index) override;
  int interface_addresses(const std::string& interface, std::vector<IpAddress>& addresses) override;
  std::string library_of(const void* code) override;
  std::string libibverbs_path() override;
  void* vendor_function(const char* library, const char* function) override;
};

/// This process runs under `verbena run` of the same version.
bool runs_on_emulated() noexcept;

}  // namespace verbena
