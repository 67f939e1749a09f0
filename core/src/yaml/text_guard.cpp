// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "yaml/text_guard.hpp"

#include <cstdint>
#include <string>

#include <fmt/format.h>

namespace verbena::yaml {
namespace {

/// Bytes of the UTF-8 sequence that starts here; 0 when it is none (overlong forms, surrogates, beyond U+10FFFF).
std::size_t utf8_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> std::uint32_t {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const std::uint32_t first = byte(0);
  if (first < 0x80U) return 1;
  if (first >= 0xc2U && first <= 0xdfU) return continues(1) ? 2 : 0;
  if ((first & 0xf0U) == 0xe0U) {
    const std::uint32_t second = byte(1);
    if (!continues(1) || !continues(2)) return 0;
    if (first == 0xe0U && second < 0xa0U) return 0;
    if (first == 0xedU && second > 0x9fU) return 0;
    return 3;
  }
  if (first >= 0xf0U && first <= 0xf4U) {
    const std::uint32_t second = byte(1);
    if (!continues(1) || !continues(2) || !continues(3)) return 0;
    if (first == 0xf0U && second < 0x90U) return 0;
    if (first == 0xf4U && second > 0x8fU) return 0;
    return 4;
  }
  return 0;
}

constexpr int kLongestLine = 4096;
/// Brackets open on one line: no table comes near, and a parser recurses for each.
constexpr int kOpenBrackets = 64;

}  // namespace

std::optional<Finding> guard_text(std::string_view text, std::string_view file, const Limits& limits) {
  if (text.size() > limits.bytes)
    return error_at(file, {}, fmt::format("the file has {} bytes; at most {} are read", text.size(), limits.bytes));
  Place at{1, 1};
  int open = 0;
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    if (c == '\0') return error_at(file, at, "a NUL byte; tables are UTF-8 text");
    if (static_cast<unsigned char>(c) < 0x20U && c != '\n' && c != '\r' && c != '\t')
      return error_at(file, at,
                      fmt::format("a control character (0x{:02x}); tables are UTF-8 text",
                                  static_cast<unsigned>(static_cast<unsigned char>(c))));
    const std::size_t length = utf8_length(text, i);
    if (length == 0) return error_at(file, at, "a byte that is not UTF-8");
    if (c == '[' || c == '{') ++open;
    if ((c == ']' || c == '}') && open > 0) --open;
    if (open > kOpenBrackets)
      return error_at(file, at, fmt::format("{} brackets open at once; at most {} are read", open, kOpenBrackets));
    i += length;
    if (c == '\n') {
      ++at.line;
      at.column = 1;
    } else if (++at.column > kLongestLine) {
      return error_at(file, at, fmt::format("a line longer than {} characters", kLongestLine));
    }
  }
  return std::nullopt;
}

}  // namespace verbena::yaml
