// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "rig/case.hpp"

namespace conform {

/// The next completion, within the time that the run allows; empty when none came.
std::optional<ibv_wc> next(Case& c, ibv_cq* cq);
/// The same within a time of the case's own, for what takes long.
std::optional<ibv_wc> next_within(Case& c, ibv_cq* cq, std::chrono::milliseconds span);
/// Up to `count` completions in their order; fewer when no more came in time.
std::vector<ibv_wc> next(Case& c, ibv_cq* cq, std::size_t count);
/// Whether nothing completes for a while (50 ms): for what must not complete.
bool quiet(Case& c, ibv_cq* cq, std::chrono::milliseconds span = std::chrono::milliseconds(50));

}  // namespace conform
