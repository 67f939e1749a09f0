// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "left_out.hpp"

#include <fmt/format.h>

namespace cli {

std::string to_text(const std::vector<verbena::LayerLeftOut>& layers) {
  std::string text;
  for (const verbena::LayerLeftOut& one : layers)
    text += fmt::format("warning: {} is left out: {}\n", one.path, one.why);
  return text;
}

Json to_json(const std::vector<verbena::LayerLeftOut>& layers) {
  Json out = Json::array();
  for (const verbena::LayerLeftOut& one : layers) {
    Json row;
    row["layer"] = name(one.layer);
    row["path"] = one.path;
    row["why"] = one.why;
    out.push_back(std::move(row));
  }
  return out;
}

Json quirks_json(const Session& session, std::uint64_t hash) {
  Json out;
  out["hash"] = hash_text(hash);
  out["layers_left_out"] = to_json(layers_left_out(*session.library().quirks()));
  return out;
}

}  // namespace cli
