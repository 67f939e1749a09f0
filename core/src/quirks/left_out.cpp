// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>

#include "quirks/quirk_set.hpp"
#include "verbena/quirks.hpp"

namespace verbena {

std::vector<LayerLeftOut> layers_left_out(const QuirkSet& quirks) {
  std::vector<LayerLeftOut> out;
  const auto add = [&](const LayerReport& layer, const std::string& path, const std::string& fault) {
    out.push_back(
        {layer.kind, path,
         fault + "; nothing of it is in force here, and a safety rule that it may hold does not hold either"});
  };
  for (const LayerReport& layer : quirks.layers()) {
    for (const Finding& finding : layer.findings)
      if (finding.text.starts_with("is not read")) add(layer, finding.file, finding.text);
    if (layer.loaded) {
      const auto kept = std::find_if(layer.findings.begin(), layer.findings.end(), [](const Finding& finding) {
        return finding.text.ends_with(quirks::kLastGoodStays);
      });
      if (kept != layer.findings.end()) out.push_back({layer.kind, layer.path, to_string(*kept)});
      continue;
    }
    if (!layer.present && layer.findings.empty()) continue;
    const auto fault = std::find_if(layer.findings.begin(), layer.findings.end(),
                                    [](const Finding& finding) { return finding.level == FindingLevel::error; });
    add(layer, layer.path, fault == layer.findings.end() ? "cannot be loaded" : to_string(*fault));
  }
  return out;
}

}  // namespace verbena
