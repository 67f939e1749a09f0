// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "numbers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>

namespace cli {

using verbena::Failure;
using verbena::Result;

verbena::Error bad_argument(std::string_view field, std::string text) {
  verbena::Error error;
  error.kind = verbena::ErrorKind::invalid_request;
  error.field = field;
  error.by.set_by = verbena::SetBy::request;
  error.text = std::move(text);
  return error;
}

Result<std::uint64_t> read_number(std::string_view field, std::string_view text, std::uint64_t max, std::uint64_t min) {
  const auto wanted = [&](std::string_view is) {
    return Failure(
        bad_argument(field, fmt::format("'{}' is {}; a number from {} to {} is wanted", text, is, min, max)));
  };
  if (text.empty()) return Failure(bad_argument(field, fmt::format("a number from {} to {} is missing", min, max)));
  if (text.front() == '-') return wanted("negative");
  std::uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size();
  if (fault == std::errc::invalid_argument || (!whole && fault == std::errc())) {
    return Failure(
        bad_argument(field, fmt::format("'{}' is not a number; one from {} to {} is wanted", text, min, max)));
  }
  if (text.size() > 1 && text.front() == '0') {
    return Failure(
        bad_argument(field, fmt::format("'{}' begins with 0, which elsewhere means octal; write it without", text)));
  }
  if (fault == std::errc::result_out_of_range || value > max) return wanted("too large");
  if (value < min) return wanted("too small");
  return value;
}

Result<double> read_fraction(std::string_view field, std::string_view text, double min, double max) {
  double value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (fault != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return Failure(
        bad_argument(field, fmt::format("'{}' is not a number; one from {} to {} is wanted", text, min, max)));
  }
  if (value < min || value > max) {
    return Failure(bad_argument(field, fmt::format("'{}' is {}; a number from {} to {} is wanted", text,
                                                   value < min ? "too small" : "too large", min, max)));
  }
  return value;
}

Result<verbena::Wish> read_wish(std::string_view field, std::string_view text) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint32_t>::max();
  const std::size_t dots = text.find("..");
  const std::string_view wanted = dots == std::string_view::npos ? text : text.substr(dots + 2);
  const Result<std::uint64_t> want = read_number(field, wanted, kMax);
  if (!want) return Failure(want.error());
  verbena::Wish wish{static_cast<std::uint32_t>(*want)};
  if (dots != std::string_view::npos) {
    const Result<std::uint64_t> floor = read_number(field, text.substr(0, dots), kMax);
    if (!floor) return Failure(floor.error());
    if (*floor > *want) {
      verbena::Error error =
          bad_argument(field, fmt::format("the floor {} is above the wish {}; write FLOOR..WISH", *floor, *want));
      error.asked = *floor;
      error.allowed = *want;
      return Failure(std::move(error));
    }
    wish.at_least = static_cast<std::uint32_t>(*floor);
  }
  return wish;
}

Result<std::uint64_t> read_bytes(std::string_view field, std::string_view text) {
  constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();
  const std::size_t end = std::min(text.find_first_not_of("-0123456789"), text.size());
  Result<std::uint64_t> number = read_number(field, text.substr(0, end), kMax);
  if (!number) return number;
  struct Suffix {
    std::string_view text;
    unsigned shift;
  };
  static constexpr std::array<Suffix, 10> kSuffixes{{{"", 0},
                                                     {"B", 0},
                                                     {"K", 10},
                                                     {"KiB", 10},
                                                     {"M", 20},
                                                     {"MiB", 20},
                                                     {"G", 30},
                                                     {"GiB", 30},
                                                     {"T", 40},
                                                     {"TiB", 40}}};
  const std::string_view suffix = text.substr(end);
  const auto* found = std::find_if(kSuffixes.begin(), kSuffixes.end(), [&](Suffix s) { return s.text == suffix; });
  if (found == kSuffixes.end()) {
    return Failure(bad_argument(field, fmt::format("'{}' is not a unit; B, K, KiB, M, MiB, G, GiB, T or TiB are, all "
                                                   "powers of 1024",
                                                   suffix)));
  }
  if (*number > (kMax >> found->shift)) {
    return Failure(bad_argument(field, fmt::format("'{}' is too large; at most {} bytes", text, kMax)));
  }
  return *number << found->shift;
}

}  // namespace cli
