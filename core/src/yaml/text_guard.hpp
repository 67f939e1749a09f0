// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>
#include <string_view>

#include "yaml/tree.hpp"

namespace verbena::yaml {

/// What a YAML parser should not be given: too many bytes, NUL, broken UTF-8, a pile of open brackets. One pass.
std::optional<Finding> guard_text(std::string_view text, std::string_view file, const Limits& limits);

}  // namespace verbena::yaml
