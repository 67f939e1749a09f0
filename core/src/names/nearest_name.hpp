// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace verbena::names {

/// Letters to insert, delete, change or swap (neighbours) to make one word of the other; at most `at_most` + 1, so
/// that words which have nothing in common cost little. Words longer than 64 letters count as too far.
std::size_t edit_distance(std::string_view left, std::string_view right, std::size_t at_most) noexcept;

/// The known word that somebody who wrote `word` most likely meant: the nearest within a third of its length (at least
/// one letter); of equally near ones the first. Empty when none is near.
std::string_view nearest_name(std::string_view word, std::span<const std::string_view> known) noexcept;

}  // namespace verbena::names
