// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <algorithm>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verbena/quirks.hpp"
#include "verbena/registry.hpp"

namespace verbena::test {

inline const BackendRegistry& registry() {
  static const BackendRegistry backends = BackendRegistry::builtin();
  return backends;
}

/// A rule of driver irdma with everything that is required; `rest` holds `on`, what it changes, and what else it has.
struct RuleText {
  std::string id;
  std::string rest = "on: qp, limit: {max_inline_data: {max: 101}}";
  std::string severity = "correctness";
  std::string evidence = "driver-source";
  std::string until = "open";
};

inline RuleText rule(std::string id, std::string rest) {
  return {.id = std::move(id), .rest = std::move(rest)};
}

/// A rule that leaves a queue pair so many inline bytes.
inline RuleText inline_at_most(std::string id, int bytes, const std::string& more = {}) {
  return rule(std::move(id), "on: qp, limit: {max_inline_data: {max: " + std::to_string(bytes) + "}}" +
                                 (more.empty() ? "" : ", ") + more);
}

inline std::string to_text(const RuleText& rule) {
  return "  - {id: " + rule.id + ", " + rule.rest +
         ", because: The device says so., source: a test, evidence: " + rule.evidence + ", severity: " + rule.severity +
         ", until: '" + rule.until + "', proof: qp.create.inline_at_limit}\n";
}

inline std::string table(const std::vector<RuleText>& rules, std::string_view more = {}) {
  std::string text = "schema: 1\ndriver: irdma\n";
  if (!rules.empty()) text += "rules:\n";
  for (const RuleText& rule : rules) text += to_text(rule);
  return text + std::string{more};
}

inline LayerSource layer(LayerKind kind, std::string text) {
  LayerSource source;
  source.kind = kind;
  source.path = std::string{name(kind)};
  source.texts.push_back({std::string{name(kind)} + ".yaml", std::move(text)});
  return source;
}

inline Result<std::shared_ptr<const QuirkSet>> load(std::vector<LayerSource> layers, bool strict = false,
                                                    const QuirkSet* last_good = nullptr) {
  QuirkOptions options;
  options.layers = std::move(layers);
  options.strict = strict;
  options.last_good = last_good;
  return load_quirks(options, registry());
}

/// The shipped tables of these names alone: what is held against all of them takes a second in a debug build.
inline LayerSource shipped(std::initializer_list<std::string_view> files) {
  LayerSource source = default_layers("", true).front();
  std::erase_if(source.texts, [&](const TableText& text) {
    return std::none_of(files.begin(), files.end(), [&](std::string_view file) { return text.file.ends_with(file); });
  });
  return source;
}

inline std::vector<Finding> lint(std::vector<LayerSource> layers) {
  QuirkOptions options;
  options.layers = std::move(layers);
  return lint_quirks(options, registry());
}

/// An E810 that speaks RoCE v2 on a mainline kernel.
inline DeviceId e810() {
  DeviceId device;
  device.name = "irdma0";
  device.driver = "irdma";
  device.pci_vendor = 0x8086;
  device.part_id = 0x1592;
  device.pci_revision = 2;
  device.hw_ver = 2;
  device.kernel = "6.12.117+deb12-amd64";
  device.rdma_core = "44.0";
  device.firmware = "1.74";
  device.out_of_tree = false;
  device.function = Function::pf;
  PortId port;
  port.transport = Transport::roce_v2;
  port.link_layer = LinkLayer::ethernet;
  device.ports.push_back(port);
  return device;
}

inline Caps e810_caps() {
  Caps caps;
  caps.set(Cap::max_qp_wr, 4063);
  caps.set(Cap::max_sge, 13);
  caps.set(Cap::max_cqe, 1048575);
  caps.ports.emplace_back();
  return caps;
}

inline Contract contract(const QuirkSet& set, const DeviceId& device = e810()) {
  return set.contract(device, e810_caps(), 1, true);
}

}  // namespace verbena::test
