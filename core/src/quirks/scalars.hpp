// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "quirks/rule.hpp"

namespace verbena::quirks {

/// `12`, `0x1f`; no sign, no overflow, nothing behind it, no 0 before it.
std::optional<std::uint64_t> read_number(std::string_view text) noexcept;
/// What to add where a number was refused for its leading 0; empty when it has none.
std::string begins_with_zero(std::string_view text);
/// `12`, `0x10-0x1f`.
std::optional<Range> read_range(std::string_view text) noexcept;
/// `true` or `false`.
std::optional<bool> read_flag(std::string_view text) noexcept;
/// `12`, `max_sge_rd`, `max_qp_wr - 1`, `max_sge + 2`.
std::optional<Amount> read_amount(std::string_view text) noexcept;
std::string to_string(const Amount& amount);
/// `2027-06-30` that is a day of the calendar.
bool is_date(std::string_view text) noexcept;

/// "; did you mean 'x'?" or ""; `known` are all words allowed in that place.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);
/// `a, b, c`
std::string join(std::span<const std::string_view> words);

}  // namespace verbena::quirks
