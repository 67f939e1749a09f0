// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "json.hpp"
#include "session.hpp"
#include "verbena/quirks.hpp"

namespace cli {

/// A line for each; empty when there is none.
std::string to_text(const std::vector<verbena::LayerLeftOut>& layers);
/// `{"hash": ..., "layers_left_out": [...]}`
Json quirks_json(const Session& session, std::uint64_t hash);
Json to_json(const std::vector<verbena::LayerLeftOut>& layers);

}  // namespace cli
