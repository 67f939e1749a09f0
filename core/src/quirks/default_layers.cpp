// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "builtin/embedded.hpp"
#include "verbena/quirks.hpp"

namespace verbena {

std::vector<LayerSource> default_layers(std::string_view verbena_quirks, bool privileged) {
  std::vector<LayerSource> layers(4);
  layers[0].kind = LayerKind::builtin;
  layers[0].path = "builtin";
  for (const builtin::EmbeddedTable& table : builtin::quirk_tables())
    layers[0].texts.push_back({fmt::format("builtin:{}", table.name), std::string{table.text}});
  layers[1].kind = LayerKind::installed;
  layers[1].path = VERBENA_DATADIR "/quirks.d";
  layers[2].kind = LayerKind::etc;
  layers[2].path = "/etc/verbena/quirks.d";
  layers[3].kind = LayerKind::run;
  layers[3].path = "/run/verbena/quirks.d";
  if (privileged) return layers;
  while (!verbena_quirks.empty()) {
    const std::size_t end = std::min(verbena_quirks.find(':'), verbena_quirks.size());
    if (end > 0) {
      LayerSource source;
      source.kind = LayerKind::env;
      source.path = std::string{verbena_quirks.substr(0, end)};
      layers.push_back(std::move(source));
    }
    verbena_quirks.remove_prefix(std::min(end + 1, verbena_quirks.size()));
  }
  return layers;
}

}  // namespace verbena
