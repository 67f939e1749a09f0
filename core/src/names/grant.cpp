// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/grant.hpp"

#include <fmt/format.h>

#include "names/word_table.hpp"

namespace verbena {
namespace {

constexpr names::WordTable<4> kKinds{"reduced", "raised", "substituted", "beyond_declared"};
static_assert(names::word_of(kKinds, AdjustmentKind::beyond_declared) == "beyond_declared");

}  // namespace

std::string_view name(AdjustmentKind kind) noexcept {
  return names::word_of(kKinds, kind);
}

std::string to_string(const Adjustment& adjustment) {
  return fmt::format("{}: asked {}, granted {} ({}) by {}", adjustment.field, adjustment.asked, adjustment.granted,
                     name(adjustment.kind), to_string(adjustment.by));
}

}  // namespace verbena
