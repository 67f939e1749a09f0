// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace conform {

/// The words of an enumeration, in its order: entry i is the word of enumerator i. Each enumeration of a report has one
/// such table as `words_of(E{})`.
template <std::size_t N>
using Words = std::array<std::string_view, N>;

/// The word of a value; `?` for a value that is no enumerator.
template <class E>
constexpr std::string_view word(E value) noexcept {
  const auto& words = words_of(E{});
  const auto at = static_cast<std::size_t>(value);
  return at < words.size() ? words[at] : std::string_view{"?"};
}

/// The enumerator of a word; empty for a word that is not in the table.
template <class E>
constexpr std::optional<E> from_word(std::string_view text) noexcept {
  const auto& words = words_of(E{});
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at] == text) return static_cast<E>(at);
  }
  return std::nullopt;
}

/// All words of an enumeration, for a message: `hardware, kernel-driver, ...`.
template <class E>
std::string every_word() {
  std::string all;
  for (const std::string_view one : words_of(E{})) all.append(all.empty() ? "" : ", ").append(one);
  return all;
}

}  // namespace conform
