// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "left_out.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace cli {

std::vector<LayerLeftOut> layers_left_out(const Session& session) {
  std::vector<LayerLeftOut> out;
  const auto add = [&](const verbena::LayerReport& layer, const std::string& path, const std::string& fault) {
    out.push_back(
        {std::string(name(layer.kind)), path,
         fault + "; nothing of it is in force here, and a safety rule that it may hold does not hold either"});
  };
  for (const verbena::LayerReport& layer : session.library().quirks()->layers()) {
    for (const verbena::Finding& finding : layer.findings)
      if (finding.text.starts_with("is not read")) add(layer, finding.file, finding.text);
    if (layer.loaded || (!layer.present && layer.findings.empty())) continue;
    const auto fault = std::find_if(layer.findings.begin(), layer.findings.end(), [](const verbena::Finding& finding) {
      return finding.level == verbena::FindingLevel::error;
    });
    add(layer, layer.path, fault == layer.findings.end() ? "cannot be loaded" : to_string(*fault));
  }
  return out;
}

std::string to_text(const std::vector<LayerLeftOut>& layers) {
  std::string text;
  for (const LayerLeftOut& one : layers) text += fmt::format("warning: {} is left out: {}\n", one.path, one.why);
  return text;
}

Json to_json(const std::vector<LayerLeftOut>& layers) {
  Json out = Json::array();
  for (const LayerLeftOut& one : layers) {
    Json row;
    row["layer"] = one.layer;
    row["path"] = one.path;
    row["why"] = one.why;
    out.push_back(std::move(row));
  }
  return out;
}

Json quirks_json(const Session& session, std::uint64_t hash) {
  Json out;
  out["hash"] = hash_text(hash);
  out["layers_left_out"] = to_json(layers_left_out(session));
  return out;
}

}  // namespace cli
