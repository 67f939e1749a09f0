// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

namespace verbena::names {

/// The words of an enumeration, in its order: entry i is the word of enumerator i.
template <std::size_t N>
using WordTable = std::array<std::string_view, N>;

/// The word of a value; `?` for a value that is no enumerator.
template <class E, std::size_t N>
constexpr std::string_view word_of(const WordTable<N>& words, E value) noexcept {
  const auto at = static_cast<std::size_t>(value);
  return at < N ? words[at] : std::string_view{"?"};
}

/// The enumerator of a word; empty for a word that is not in the table.
template <class E, std::size_t N>
constexpr std::optional<E> find_word(const WordTable<N>& words, std::string_view word) noexcept {
  for (std::size_t at = 0; at < N; ++at) {
    if (words[at] == word) return static_cast<E>(at);
  }
  return std::nullopt;
}

/// Every enumerator from 0 to N - 1, for the `all_...()` functions.
template <class E, std::size_t N>
constexpr std::array<E, N> enumerators() noexcept {
  std::array<E, N> all{};
  for (std::size_t at = 0; at < N; ++at) all[at] = static_cast<E>(at);
  return all;
}

}  // namespace verbena::names
