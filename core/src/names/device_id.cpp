// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/device_id.hpp"

#include <fmt/format.h>

#include <iterator>

#include "names/word_table.hpp"

namespace verbena {
namespace {

constexpr names::WordTable<5> kTransports{"unknown", "infiniband", "roce2", "iwarp", "unspecified"};
constexpr names::WordTable<3> kLinkLayers{"unknown", "infiniband", "ethernet"};
constexpr names::WordTable<4> kFunctions{"unknown", "pf", "vf", "sf"};
constexpr names::WordTable<5> kFoundBy{"netlink", "sysfs_driver_link", "provider_library", "model", "unknown"};

}  // namespace

std::string_view name(Transport value) noexcept {
  return names::word_of(kTransports, value);
}
std::string_view name(LinkLayer value) noexcept {
  return names::word_of(kLinkLayers, value);
}
std::string_view name(Function value) noexcept {
  return names::word_of(kFunctions, value);
}
std::string_view name(DriverFoundBy value) noexcept {
  return names::word_of(kFoundBy, value);
}

std::optional<Transport> find_transport(std::string_view name) noexcept {
  return names::find_word<Transport>(kTransports, name);
}
std::optional<LinkLayer> find_link_layer(std::string_view name) noexcept {
  return names::find_word<LinkLayer>(kLinkLayers, name);
}
std::optional<Function> find_function(std::string_view name) noexcept {
  return names::find_word<Function>(kFunctions, name);
}

const PortId* DeviceId::port(std::uint8_t number) const noexcept {
  for (const PortId& port : ports) {
    if (port.number == number) return &port;
  }
  return nullptr;
}

std::string to_string(const DeviceId& id) {
  std::string line{id.driver.empty() ? "unknown driver" : id.driver};
  auto out = std::back_inserter(line);
  const auto part = id.part_id ? id.part_id : id.verbs_part_id;
  if (id.pci_vendor && part) {
    fmt::format_to(out, " {:#06x}:{:#06x}", *id.pci_vendor, *part);
  } else if (part) {
    fmt::format_to(out, " {:#06x}", *part);
  }
  if (id.pci_revision) fmt::format_to(out, " rev {:#04x}", *id.pci_revision);
  if (id.function != Function::unknown && id.function != Function::pf) fmt::format_to(out, " {}", name(id.function));
  if (!id.firmware.empty()) fmt::format_to(out, " fw {}", id.firmware);
  if (!id.kernel.empty()) fmt::format_to(out, " kernel {}", id.kernel);
  if (!id.module_version.empty()) fmt::format_to(out, " module {}", id.module_version);
  if (id.out_of_tree.value_or(false)) fmt::format_to(out, " (out of tree)");
  if (!id.model.empty()) {
    fmt::format_to(out, " model {}", id.model);
  } else if (!id.name.empty()) {
    fmt::format_to(out, " as {}", id.name);
  }
  return line;
}

}  // namespace verbena
