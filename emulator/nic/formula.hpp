// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

namespace verbena::emulator {

/// What a name in a formula stands for; empty where nothing does.
using Names = std::function<std::optional<std::int64_t>(std::string_view)>;

/// The value of a model's formula (docs/models.md, creation): integers, names, + - * /, comparison, `a ? b : c`, pow2,
/// even, align, max, min. Empty where a name has no value, or the text is no formula.
std::optional<std::int64_t> evaluate(std::string_view formula, const Names& names);

}  // namespace verbena::emulator
