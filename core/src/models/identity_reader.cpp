// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "models/identity_reader.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "quirks/scalars.hpp"

namespace verbena::models {
namespace {

using quirks::Reporter;

using NumberMember = std::optional<std::uint32_t> DeviceId::*;
using TextMember = std::string DeviceId::*;
using FlagMember = std::optional<bool> DeviceId::*;

constexpr std::array<std::pair<std::string_view, NumberMember>, 10> kNumbers{{
    {"pci_vendor", &DeviceId::pci_vendor},
    {"part_id", &DeviceId::part_id},
    {"pci_revision", &DeviceId::pci_revision},
    {"subsystem_vendor", &DeviceId::subsystem_vendor},
    {"subsystem_device", &DeviceId::subsystem_device},
    {"verbs_vendor_id", &DeviceId::verbs_vendor_id},
    {"verbs_part_id", &DeviceId::verbs_part_id},
    {"hw_ver", &DeviceId::hw_ver},
    {"uverbs_abi", &DeviceId::uverbs_abi},
    {"page_size", &DeviceId::page_size},
}};
constexpr std::array<std::pair<std::string_view, TextMember>, 10> kTexts{{
    {"name", &DeviceId::name},
    {"driver", &DeviceId::driver},
    {"board_id", &DeviceId::board_id},
    {"firmware", &DeviceId::firmware},
    {"kernel", &DeviceId::kernel},
    {"module_version", &DeviceId::module_version},
    {"rdma_core", &DeviceId::rdma_core},
    {"provider", &DeviceId::provider},
    {"arch", &DeviceId::arch},
    {"hypervisor", &DeviceId::hypervisor},
}};
constexpr std::array<std::pair<std::string_view, FlagMember>, 2> kFlags{{
    {"out_of_tree", &DeviceId::out_of_tree},
    {"bond", &DeviceId::bond},
}};

template <class Table>
auto find_in(const Table& table, std::string_view key) {
  return std::find_if(table.begin(), table.end(), [&](const auto& entry) { return entry.first == key; });
}

std::vector<std::string_view> identity_keys() {
  std::vector<std::string_view> keys;
  keys.reserve(std::size(kNumbers) + std::size(kTexts) + std::size(kFlags) + 2);
  for (const auto& entry : kNumbers) keys.push_back(entry.first);
  for (const auto& entry : kTexts) keys.push_back(entry.first);
  for (const auto& entry : kFlags) keys.push_back(entry.first);
  keys.insert(keys.end(), {"function", "node_guid"});
  return keys;
}

std::optional<std::uint64_t> number(const yaml::Node& value, std::string_view key, std::uint64_t most,
                                    Reporter& report) {
  const auto read = value.is_scalar() ? quirks::read_number(value.scalar) : std::nullopt;
  if (read && *read <= most) return read;
  report.error(value.at, fmt::format("found {} for '{}'; allowed are a number up to 0x{:x}, or 'unknown'{}",
                                     yaml::describe(value), key, most, quirks::begins_with_zero(value.scalar)));
  return std::nullopt;
}

bool unknown(const yaml::Node& value) {
  return value.is_scalar() && value.scalar == "unknown";
}

void read_gid_types(const yaml::Node& node, PortCaps& caps, Reporter& report) {
  constexpr std::array<std::string_view, 3> types{"ib", "roce_v1", "roce_v2"};
  caps.gids.clear();
  std::vector<const yaml::Node*> items;
  if (node.is_sequence())
    for (const yaml::Node& item : node.items) items.push_back(&item);
  else
    items.push_back(&node);
  constexpr std::size_t kMostEntries = 16;
  if (items.size() > kMostEntries) {
    report.error(node.at, fmt::format("{} GID types; at most {} are read", items.size(), kMostEntries));
    return;
  }
  for (const yaml::Node* item : items) {
    const auto index = report.choice(*item, "gid_types", types);
    if (!index) continue;
    GidEntry entry;
    entry.index = static_cast<std::uint32_t>(caps.gids.size());
    entry.type = static_cast<GidType>(*index);
    caps.gids.push_back(std::move(entry));
  }
}

template <class Enum, class Find>
void read_word(const yaml::Node& value, std::string_view key, std::span<const std::string_view> allowed, Find find,
               Enum& result, Reporter& report) {
  if (unknown(value)) {
    result = Enum::unknown;
  } else if (const auto index = report.choice(value, key, allowed)) {
    result = *find(allowed[*index]);
  }
}

/// Both are bytes as enum ibv_mtu has them (infiniband/verbs.h), and a port runs with no more than it can. An
/// active_mtu of 0 is what drivers leave there that fill none in.
void check_mtu(const yaml::Node& node, const PortCaps& port, Reporter& report) {
  constexpr std::array<std::uint64_t, 5> mtus{256, 512, 1024, 2048, 4096};
  for (const auto& [key, value] : node.entries) {
    const bool active = key.scalar == "active_mtu";
    const auto mtu = port[active ? PortCap::active_mtu : PortCap::max_mtu];
    if ((!active && key.scalar != "max_mtu") || !mtu || (active && *mtu == 0)) continue;
    if (std::find(mtus.begin(), mtus.end(), *mtu) == mtus.end())
      report.error(value.at,
                   fmt::format("{} for '{}' is no MTU; allowed are {}", *mtu, key.scalar, fmt::join(mtus, ", ")));
  }
  const auto most = port[PortCap::max_mtu];
  const auto now = port[PortCap::active_mtu];
  if (most && now && *now > *most) report.error(node.at, fmt::format("active_mtu {} is above max_mtu {}", *now, *most));
}

void read_port(const yaml::Node& node, DeviceId& device, Caps& caps, Reporter& report) {
  if (!node.is_map()) {
    report.error(node.at, fmt::format("found {} in 'ports'; allowed is a map", yaml::describe(node)));
    return;
  }
  std::uint8_t port_number = 1;
  if (const yaml::Node* value = node.find("number")) {
    const auto read = number(*value, "number", 255, report);
    if (!read) return;
    if (*read == 0) {
      report.error(value->at, "port 0; ports are counted from 1");
      return;
    }
    port_number = static_cast<std::uint8_t>(*read);
  }
  auto id = std::find_if(device.ports.begin(), device.ports.end(),
                         [&](const PortId& port) { return port.number == port_number; });
  if (id == device.ports.end()) {
    device.ports.push_back({});
    id = device.ports.end() - 1;
    id->number = port_number;
  }
  auto port = std::find_if(caps.ports.begin(), caps.ports.end(),
                           [&](const PortCaps& one) { return one.number == port_number; });
  if (port == caps.ports.end()) {
    caps.ports.push_back({});
    port = caps.ports.end() - 1;
    port->number = port_number;
  }
  constexpr std::array<std::string_view, 4> transports{"infiniband", "roce2", "iwarp", "unspecified"};
  constexpr std::array<std::string_view, 2> layers{"infiniband", "ethernet"};
  for (const auto& [key, value] : node.entries) {
    if (report.full()) return;
    if (key.scalar == "number") continue;
    if (key.scalar == "transport") {
      read_word(value, "transport", transports, find_transport, id->transport, report);
    } else if (key.scalar == "link_layer") {
      read_word(value, "link_layer", layers, find_link_layer, id->link_layer, report);
    } else if (key.scalar == "netdev") {
      if (const std::string* word = report.word(value, "netdev")) id->netdev = *word;
    } else if (key.scalar == "gid_types") {
      read_gid_types(value, *port, report);
    } else if (const auto cap = find_port_cap(key.scalar)) {
      auto& slot = port->values[static_cast<std::size_t>(*cap)];
      if (unknown(value))
        slot.reset();
      else
        slot = number(value, key.scalar, UINT64_MAX, report);
    } else {
      std::vector<std::string_view> known{"number", "transport", "link_layer", "netdev", "gid_types"};
      for (PortCap one : all_port_caps()) known.push_back(name(one));
      report.error(key.at,
                   fmt::format("unknown key '{}' in a port{}", key.scalar, quirks::did_you_mean(key.scalar, known)));
    }
  }
  check_mtu(node, *port, report);
}

}  // namespace

void read_identity(const yaml::Node& node, DeviceId& device, Reporter& report) {
  if (!node.is_map()) {
    report.error(node.at, fmt::format("found {} for 'identity'; allowed is a map", yaml::describe(node)));
    return;
  }
  constexpr std::array<std::string_view, 3> functions{"pf", "vf", "sf"};
  for (const auto& [key, value] : node.entries) {
    if (report.full()) return;
    if (const auto numeric = find_in(kNumbers, key.scalar); numeric != kNumbers.end()) {
      auto& slot = device.*(numeric->second);
      if (unknown(value)) {
        slot.reset();
      } else if (const auto read = number(value, key.scalar, UINT32_MAX, report)) {
        slot = static_cast<std::uint32_t>(*read);
      }
    } else if (const auto text = find_in(kTexts, key.scalar); text != kTexts.end()) {
      auto& slot = device.*(text->second);
      if (unknown(value))
        slot.clear();
      else if (const std::string* word = report.word(value, key.scalar))
        slot = *word;
    } else if (const auto flag = find_in(kFlags, key.scalar); flag != kFlags.end()) {
      const auto read = value.is_scalar() ? quirks::read_flag(value.scalar) : std::nullopt;
      if (!read && !unknown(value))
        report.error(value.at, fmt::format("found {} for '{}'; allowed are true, false, unknown", yaml::describe(value),
                                           key.scalar));
      device.*(flag->second) = read;
    } else if (key.scalar == "function") {
      read_word(value, "function", functions, find_function, device.function, report);
    } else if (key.scalar == "node_guid") {
      if (!unknown(value)) device.node_guid = number(value, "node_guid", UINT64_MAX, report).value_or(0);
    } else {
      const auto known = identity_keys();
      report.error(key.at,
                   fmt::format("unknown key '{}' in identity{}", key.scalar, quirks::did_you_mean(key.scalar, known)));
    }
  }
  if (device.driver.empty() && !device.pci_vendor) report.error(node.at, "'driver' is missing: no rule could match");
}

void read_ports(const yaml::Node& node, DeviceId& device, Caps& caps, Reporter& report) {
  if (!node.is_sequence()) {
    report.error(node.at, fmt::format("found {} for 'ports'; allowed is a list", yaml::describe(node)));
    return;
  }
  if (node.items.empty()) {
    report.error(node.at, "the list is empty: a device without a port can be asked for nothing");
    return;
  }
  for (const yaml::Node& item : node.items) {
    if (report.full()) return;
    read_port(item, device, caps, report);
  }
}

}  // namespace verbena::models
