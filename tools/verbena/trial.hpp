// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "verbena/caps.hpp"
#include "verbena/device.hpp"
#include "verbena/result.hpp"
#include "verbena/verbs.hpp"

namespace cli {

/// Finds by raw creations what no query tells: the largest inline size, SGE counts, depths of a few shapes and CQ
/// depth. Writes what is a cap into `caps`; each finding is also a line of text. At most a few hundred creations, each
/// destroyed at once.
verbena::Result<std::vector<std::string>> try_limits(verbena::Verbs& verbs, const verbena::Device& device,
                                                     verbena::Caps& caps);

}  // namespace cli
