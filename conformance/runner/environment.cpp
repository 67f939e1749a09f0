// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <linux/capability.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runner/applies.hpp"
#include "runner/huge_pages.hpp"
#include "verbena/emulated.hpp"

namespace conform {
namespace {

constexpr std::array kPortLimits = {verbena::PortCap::active_mtu, verbena::PortCap::max_msg_sz};

/// The number behind `key` in a file of lines `Key: number`; base 16 for capability sets.
std::uint64_t number_in(const char* file, std::string_view key, int base) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    return std::strtoull(line.c_str() + key.size(), nullptr, base);
  }
  return 0;
}

/// Of the devices or of the ports: a number that one declares otherwise than the other.
bool declare_otherwise(const Ground& ground) {
  const verbena::Caps& one = ground.device->caps();
  const verbena::Caps& other = ground.other->caps();
  for (const verbena::Cap cap : verbena::all_caps())
    if (one[cap] != other[cap]) return true;
  const verbena::PortCaps* own = one.port(ground.port);
  const verbena::PortCaps* its = other.port(ground.other_port);
  if (own == nullptr || its == nullptr) return false;
  return std::any_of(kPortLimits.begin(), kPortLimits.end(),
                     [&](verbena::PortCap cap) { return (*own)[cap] != (*its)[cap]; });
}

bool unlike(const Ground& ground) {
  const verbena::DeviceId& one = ground.device->id();
  const verbena::DeviceId& other = ground.other->id();
  return one.driver != other.driver || one.part_id != other.part_id || one.firmware != other.firmware ||
         declare_otherwise(ground);
}

verbena::Transport transport(const verbena::Device& device, std::uint8_t number) {
  const verbena::PortId* port = device.id().port(number);
  return port == nullptr ? verbena::Transport::unknown : port->transport;
}

/// Both are known, and differ: where one is not, the cases of two ends are tried.
bool unlike_transports(const Ground& ground) {
  const verbena::Transport one = transport(*ground.device, ground.port);
  const verbena::Transport other = transport(*ground.other, ground.other_port);
  return one != other && one != verbena::Transport::unknown && other != verbena::Transport::unknown;
}

}  // namespace

Environment environment_here(const Ground& ground, Substrate substrate, bool shared) {
  Environment here;
  here.shared = shared;
  const std::uint64_t effective = number_in("/proc/self/status", "CapEff:", 16);
  const auto may = [&](unsigned capability) { return ((effective >> capability) & 1U) != 0; };
  if (!may(CAP_NET_RAW)) here.lacks["privilege"] = "this process has no CAP_NET_RAW";
  if (!may(CAP_NET_ADMIN)) {
    here.lacks["link_control"] = "this process has no CAP_NET_ADMIN";
  } else if (substrate != Substrate::kernel_driver) {
    here.lacks["link_control"] = "taking down a link of hardware is left to its operator";
  }
  if (huge_pages_to_be_had() < 2)
    here.lacks["huge_pages"] =
        "fewer than two huge pages can be had (sysctl vm.nr_hugepages, vm.nr_overcommit_hugepages)";
  // More than 4 GiB of addresses are registered, which may all show the same few pages: what is needed beside those is
  // the kernel's list of them.
  if (number_in("/proc/meminfo", "MemAvailable:", 10) < (std::uint64_t{1} << 20))
    here.lacks["much_memory"] = "less than 1 GiB of memory is available";
  here.lacks["subnet_manager"] = "no subnet manager can be told what to do";
  if (substrate == Substrate::vendor_driver) {
    here.elsewhere["two_ends"] = "a device shell carries no data";
    here.elsewhere["data"] = "nothing that is posted to a device shell completes";
    here.elsewhere["link_control"] = "a device shell has no link";
    here.elsewhere["subnet_manager"] = "a device shell has no fabric";
    here.lacks.erase("link_control");
    here.lacks.erase("subnet_manager");
  }
  if (substrate == Substrate::emulated) {
    here.elsewhere["libibverbs"] = "the context of an emulated NIC isn't libibverbs' own";
    here.lacks.erase("link_control");
    here.elsewhere["subnet_manager"] = "an emulated fabric has no subnet manager that can be told what to do";
    here.lacks.erase("subnet_manager");
  }
  here.elsewhere["faults"] = "runs on an emulated NIC, which takes faults";
  here.elsewhere["lossy_fabric"] = "runs on an emulated NIC, whose fabric loses packets";
  if (verbena::emulated_host(*ground.verbs) != nullptr) {
    here.elsewhere.erase("faults");
    here.elsewhere.erase("lossy_fabric");
  } else if (substrate == Substrate::emulated) {
    here.elsewhere["link_control"] = "the link of an emulated NIC of another process";
  }
  if (!ground.other || !unlike(ground))
    here.elsewhere["unlike_devices"] = "runs with a second device that is unlike (--other)";
  if (!ground.other || !unlike_transports(ground)) {
    here.elsewhere["unlike_transports"] = "runs with a second device of another transport (--other)";
  } else {
    here.elsewhere["two_ends"] = "these two devices cannot be connected: their transports differ";
  }
  return here;
}

void over_a_peer(Environment& environment) {
  environment.elsewhere["one_process"] = "runs where both ends are in one process (no --peer)";
  environment.elsewhere["link_control"] =
      "runs where both ends are on one host: a link that goes down may be the peer's";
}

}  // namespace conform
