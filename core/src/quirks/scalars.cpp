// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks/scalars.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

#include <fmt/format.h>

#include "names/nearest_name.hpp"

namespace verbena::quirks {
namespace {

std::string_view trim(std::string_view text) noexcept {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

namespace {

std::optional<std::uint64_t> digits(std::string_view text, int base) noexcept {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

constexpr bool is_digit(char letter) noexcept {
  return letter >= '0' && letter <= '9';
}

/// YAML 1.1 and C read it as octal, YAML 1.2 and people as decimal.
bool octal_or_not(std::string_view text) noexcept {
  return text.size() > 1 && text.front() == '0' && std::all_of(text.begin(), text.end(), is_digit);
}

}  // namespace

std::optional<std::uint64_t> read_number(std::string_view text) noexcept {
  if (text.starts_with("0x") || text.starts_with("0X")) return digits(text.substr(2), 16);
  return octal_or_not(text) ? std::nullopt : digits(text, 10);
}

std::string begins_with_zero(std::string_view text) {
  constexpr std::string_view between = " -+";
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find_first_of(between));
    if (octal_or_not(word))
      return fmt::format("; '{}' begins with 0, which elsewhere means octal: write it without", word);
    text.remove_prefix(std::min(text.size(), word.size() + 1));
  }
  return {};
}

std::optional<Range> read_range(std::string_view text) noexcept {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) {
    const auto number = read_number(text);
    if (!number) return std::nullopt;
    return Range{*number, *number};
  }
  const auto low = read_number(trim(text.substr(0, dash)));
  const auto high = read_number(trim(text.substr(dash + 1)));
  if (!low || !high || *low > *high) return std::nullopt;
  return Range{*low, *high};
}

std::optional<bool> read_flag(std::string_view text) noexcept {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::optional<Amount> read_amount(std::string_view text) noexcept {
  if (const auto number = read_number(text)) return Amount{std::nullopt, 0, *number};
  const std::size_t sign = text.find_first_of("+-");
  const auto cap = find_cap(trim(text.substr(0, sign)));
  if (!cap) return std::nullopt;
  if (sign == std::string_view::npos) return Amount{cap, 0, 0};
  const auto offset = read_number(trim(text.substr(sign + 1)));
  if (!offset || *offset > 0x7fffffffU) return std::nullopt;
  const auto amount = static_cast<std::int64_t>(*offset);
  return Amount{cap, text[sign] == '-' ? -amount : amount, 0};
}

std::string to_string(const Amount& amount) {
  if (!amount.cap) return fmt::format("{}", amount.literal);
  if (amount.offset == 0) return std::string{name(*amount.cap)};
  return fmt::format("{} {} {}", name(*amount.cap), amount.offset < 0 ? '-' : '+',
                     amount.offset < 0 ? -amount.offset : amount.offset);
}

bool is_date(std::string_view text) noexcept {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  const auto year = digits(text.substr(0, 4), 10);
  const auto month = digits(text.substr(5, 2), 10);
  const auto day = digits(text.substr(8, 2), 10);
  if (!year || !month || !day) return false;
  return std::chrono::year_month_day{std::chrono::year{static_cast<int>(*year)},
                                     std::chrono::month{static_cast<unsigned>(*month)},
                                     std::chrono::day{static_cast<unsigned>(*day)}}
      .ok();
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> known) {
  const std::string_view nearest = names::nearest_name(word, known);
  return nearest.empty() ? std::string{} : fmt::format("; did you mean '{}'?", nearest);
}

std::string join(std::span<const std::string_view> words) {
  return fmt::format("{}", fmt::join(words, ", "));
}

}  // namespace verbena::quirks
