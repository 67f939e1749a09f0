// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "verbena/model.hpp"

namespace verbena {
namespace {

/// A word in double quotes; device strings may hold anything.
std::string yaml_word(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      result += fmt::format("\\{}", c);
    else if (static_cast<unsigned char>(c) < 0x20U)
      result += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
    else
      result += c;
  }
  return result + "\"";
}

class Writer {
public:
  void line(int depth, std::string_view text) { text_ += fmt::format("{:{}}{}\n", "", depth * 2, text); }
  void text(std::string_view key, std::string_view value) {
    line(1, fmt::format("{}: {}", key, value.empty() ? "unknown" : yaml_word(value)));
  }
  void hex(std::string_view key, const std::optional<std::uint32_t>& value) {
    line(1, value ? fmt::format("{}: 0x{:x}", key, *value) : fmt::format("{}: unknown", key));
  }
  void flag(std::string_view key, const std::optional<bool>& value) {
    line(1, fmt::format("{}: {}", key, !value ? "unknown" : *value ? "true" : "false"));
  }
  std::string take() { return std::move(text_); }

private:
  std::string text_;
};

bool is_bits(Cap cap) {
  return cap == Cap::device_cap_flags || cap == Cap::page_size_cap || cap == Cap::device_cap_flags_ex ||
         cap == Cap::completion_timestamp_mask || cap == Cap::max_mr_size;
}

/// A file name of a model: what a udev name or a model's own name may hold that YAML words and paths like less.
std::string model_name(const DeviceId& device) {
  std::string name = device.model.empty() ? device.driver + "-" + device.name : device.model;
  for (char& c : name)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '.' || c == '_')) c = '-';
  return name;
}

void write_identity(const DeviceId& device, bool redact, Writer& out) {
  out.line(0, "identity:");
  out.text("driver", device.driver);
  out.hex("pci_vendor", device.pci_vendor);
  out.hex("part_id", device.part_id);
  out.hex("pci_revision", device.pci_revision);
  out.hex("subsystem_vendor", device.subsystem_vendor);
  out.hex("subsystem_device", device.subsystem_device);
  out.hex("verbs_vendor_id", device.verbs_vendor_id);
  out.hex("verbs_part_id", device.verbs_part_id);
  out.hex("hw_ver", device.hw_ver);
  out.text("board_id", device.board_id);
  out.text("firmware", device.firmware);
  out.text("kernel", device.kernel);
  out.text("module_version", device.module_version);
  out.flag("out_of_tree", device.out_of_tree);
  out.text("rdma_core", device.rdma_core);
  out.hex("uverbs_abi", device.uverbs_abi);
  out.text("arch", device.arch);
  out.text("hypervisor", device.hypervisor);
  out.line(1, device.page_size ? fmt::format("page_size: {}", *device.page_size) : "page_size: unknown");
  out.line(1, fmt::format("function: {}", device.function == Function::unknown ? "unknown" : name(device.function)));
  out.flag("bond", device.bond);
  if (!redact && device.node_guid != 0) out.line(1, fmt::format("node_guid: 0x{:016x}", device.node_guid));
}

void write_port(const PortCaps& port, const PortId* id, Writer& out) {
  const Transport transport = id ? id->transport : Transport::unknown;
  const LinkLayer layer = id ? id->link_layer : LinkLayer::unknown;
  out.line(1, fmt::format("- number: {}", port.number));
  out.line(2, fmt::format("transport: {}", transport == Transport::unknown ? "unknown" : name(transport)));
  out.line(2, fmt::format("link_layer: {}", layer == LinkLayer::unknown ? "unknown" : name(layer)));
  for (PortCap cap : all_port_caps())
    out.line(2, port[cap] ? fmt::format("{}: {}", name(cap), *port[cap]) : fmt::format("{}: unknown", name(cap)));
  std::vector<std::string_view> types;
  for (const GidEntry& gid : port.gids)
    if (std::find(types.begin(), types.end(), name(gid.type)) == types.end()) types.push_back(name(gid.type));
  if (!types.empty()) out.line(2, fmt::format("gid_types: [{}]", fmt::join(types, ", ")));
}

}  // namespace

std::string write_model(const DeviceId& device, const Caps& caps, bool redact) {
  Writer out;
  out.line(0, "# SPDX-License-Identifier: CC0-1.0");
  out.line(0, "schema: 1");
  out.line(0, fmt::format("model: {}", yaml_word(model_name(device))));  // `-` or `null` alone is no word in YAML
  out.line(0, fmt::format("title: {}", yaml_word(to_string(device))));
  const std::string source = device.model.empty() ? "dump of a device, kernel " + device.kernel
                                                  : "copy of the model " + device.model + ", no device";
  out.line(0, fmt::format("source: {}", yaml_word(source)));
  write_identity(device, redact, out);
  out.line(0, "caps:");
  for (Cap cap : all_caps()) {
    const auto value = caps[cap];
    if (!value) {
      out.line(1, fmt::format("{}: unknown", name(cap)));
      continue;
    }
    const std::string number = is_bits(cap) ? fmt::format("0x{:x}", *value) : fmt::format("{}", *value);
    const bool assumed = std::find(caps.assumed.begin(), caps.assumed.end(), cap) != caps.assumed.end();
    out.line(
        1, assumed ? fmt::format("{}: {{assumed: {}}}", name(cap), number) : fmt::format("{}: {}", name(cap), number));
  }
  if (!caps.ports.empty()) {
    out.line(0, "ports:");
    for (const PortCaps& port : caps.ports) write_port(port, device.port(port.number), out);
  }
  return out.take();
}

}  // namespace verbena
