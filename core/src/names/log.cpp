// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/log.hpp"

#include "names/word_table.hpp"

namespace verbena {
namespace {

constexpr names::WordTable<4> kLevels{"error", "warn", "info", "debug"};

}  // namespace

std::string_view name(LogLevel level) noexcept {
  return names::word_of(kLevels, level);
}

}  // namespace verbena
