// SPDX-License-Identifier: Apache-2.0 OR MIT
// Whatever the bytes: a table, a model or a site file is read or refused with a place, and what was read can be used.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "quirks/quirk_set.hpp"
#include "quirks/table_reader.hpp"
#include "verbena/model.hpp"
#include "verbena/quirks.hpp"
#include "verbena/registry.hpp"
#include "yaml/tree.hpp"

namespace {

using namespace verbena;

void require(bool holds) {
  if (!holds) std::abort();
}

/// An E810 on a mainline kernel: many rules of the seeds match it.
const Model& some_device() {
  static const Model model = [] {
    auto loaded = load_model("e810-roce");
    require(loaded.has_value());
    return std::move(*loaded);
  }();
  return model;
}

void load_as_table(std::string_view text, const BackendRegistry& registry) {
  QuirkOptions options;
  LayerSource source;
  source.kind = LayerKind::etc;
  source.path = "fuzz";
  source.texts.push_back({"fuzz.yaml", std::string{text}});
  options.layers.push_back(std::move(source));
  const auto set = load_quirks(options, registry);
  require(set.has_value());  // a layer that cannot be loaded is left out, and is no failure
  const LayerReport& report = (*set)->layers().front();
  bool error = false;
  for (const Finding& finding : report.findings) {
    require(!finding.text.empty() && finding.file == "fuzz.yaml" && finding.line >= 0 && finding.column >= 0);
    require(!to_string(finding).empty());
    error |= finding.level == FindingLevel::error;
  }
  require(report.loaded != error);
  const Contract contract = (*set)->contract(some_device().device, some_device().caps, 1, true);
  for (const FieldInfo& field : all_fields()) {
    const Domain& domain = contract.domain(field.field);
    require(domain.empty() || domain.min <= domain.max);
  }
}

void load_as_model(std::string_view text) {
  const auto model = parse_model(text, "fuzz.yaml");
  if (!model) {
    require(model.error().kind == ErrorKind::bad_table && !model.error().text.empty());
    return;
  }
  for (const std::string& variant : model->variants) {
    if (variant.empty()) continue;
    require(parse_model(text, "fuzz.yaml", variant).has_value());
  }
  // What is written of it reads again, and says the same; no device's strings are longer than a line may be.
  const DeviceId& device = model->device;
  constexpr std::size_t kLongest = 512;
  if (device.name.size() + device.driver.size() + device.board_id.size() + device.firmware.size() +
          device.kernel.size() + device.module_version.size() + device.rdma_core.size() + device.arch.size() +
          device.hypervisor.size() + device.model.size() >
      kLongest)
    return;
  const auto again = parse_model(write_model(model->device, model->caps, false), "again.yaml");
  require(again.has_value());
  require(again->caps.values == model->caps.values);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const BackendRegistry registry = BackendRegistry::builtin();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  load_as_table(text, registry);
  load_as_model(text);
  return 0;
}
