// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace verbena::models {

/// What is wrong with a formula of a model (docs/models.md, creation), as the rest of a sentence that begins with the
/// formula; empty when it can be worked out from these names and the caps.
std::string formula_fault(std::string_view formula, std::span<const std::string_view> names);

}  // namespace verbena::models
