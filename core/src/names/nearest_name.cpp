// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "names/nearest_name.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

namespace verbena::names {
namespace {

constexpr std::size_t kLongest = 64;

}  // namespace

std::size_t edit_distance(std::string_view left, std::string_view right, std::size_t at_most) noexcept {
  const std::size_t too_far = at_most + 1;
  if (left.size() > kLongest || right.size() > kLongest) return too_far;
  const std::size_t longer = std::max(left.size(), right.size());
  if (longer - std::min(left.size(), right.size()) > at_most) return too_far;

  // Three rows of the usual table: two back for a swap of neighbours, one back, and this one.
  std::array<std::array<std::size_t, kLongest + 1>, 3> rows{};
  for (std::size_t column = 0; column <= right.size(); ++column) rows[0][column] = column;
  for (std::size_t line = 1; line <= left.size(); ++line) {
    auto& now = rows[line % 3];
    const auto& before = rows[(line + 2) % 3];
    const auto& two_before = rows[(line + 1) % 3];
    now[0] = line;
    for (std::size_t column = 1; column <= right.size(); ++column) {
      const std::size_t change = left[line - 1] == right[column - 1] ? 0 : 1;
      now[column] = std::min({before[column] + 1, now[column - 1] + 1, before[column - 1] + change});
      if (line > 1 && column > 1 && left[line - 1] == right[column - 2] && left[line - 2] == right[column - 1]) {
        now[column] = std::min(now[column], two_before[column - 2] + 1);
      }
    }
  }
  return std::min(rows[left.size() % 3][right.size()], too_far);
}

std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known) noexcept {
  std::string_view nearest;
  // What somebody began to write: connectx6 is connectx6dx sooner than connectx5.
  for (const std::string_view candidate : known)
    if (word.size() >= 4 && candidate.starts_with(word) && (nearest.empty() || candidate.size() < nearest.size()))
      nearest = candidate;
  if (!nearest.empty()) return nearest;
  std::size_t best = std::max<std::size_t>(1, word.size() / 3);
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(word, candidate, best);
    if (distance > best || (distance == best && !nearest.empty())) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

}  // namespace verbena::names
