// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "json.hpp"
#include "session.hpp"

namespace cli {

/// A layer of the host, or a file in it, of which nothing is in force.
struct LayerLeftOut {
  std::string layer, path, why;
};

/// What this run goes without: rules of the site that nobody sees missing from a contract, safety rules among them.
std::vector<LayerLeftOut> layers_left_out(const Session& session);

/// A line for each; empty when there is none.
std::string to_text(const std::vector<LayerLeftOut>& layers);
/// `{"hash": ..., "layers_left_out": [...]}`
Json quirks_json(const Session& session, std::uint64_t hash);
Json to_json(const std::vector<LayerLeftOut>& layers);

}  // namespace cli
