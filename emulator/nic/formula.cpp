// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/formula.hpp"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <vector>

namespace verbena::emulator {
namespace {

using Value = std::optional<std::int64_t>;

class Reader {
public:
  Reader(std::string_view text, const Names& names) : text_(text), names_(names) {}

  Value whole() {
    const Value value = choice();
    skip();
    return text_.empty() ? value : std::nullopt;
  }

private:
  void skip() {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front())) != 0) text_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }

  Value choice() {
    const Value condition = comparison();
    if (!take("?")) return condition;
    const Value yes = choice();
    if (!take(":")) return std::nullopt;
    const Value no = choice();
    if (!condition) return std::nullopt;
    return *condition != 0 ? yes : no;
  }

  Value comparison() {
    const Value left = sum();
    for (const std::string_view sign : {"<=", ">=", "==", "!=", "<", ">"}) {
      if (!take(sign)) continue;
      const Value right = sum();
      if (!left || !right) return std::nullopt;
      if (sign == "<=") return *left <= *right;
      if (sign == ">=") return *left >= *right;
      if (sign == "==") return *left == *right;
      if (sign == "!=") return *left != *right;
      return sign == "<" ? *left < *right : *left > *right;
    }
    return left;
  }

  Value sum() {
    Value value = product();
    for (;;) {
      const bool plus = take("+");
      if (!plus && !take("-")) return value;
      const Value next = product();
      value = value && next ? Value{plus ? *value + *next : *value - *next} : std::nullopt;
    }
  }

  Value product() {
    Value value = primary();
    for (;;) {
      const bool times = take("*");
      if (!times && !take("/")) return value;
      const Value next = primary();
      if (!value || !next || (!times && *next == 0))
        value = std::nullopt;
      else
        value = times ? *value * *next : *value / *next;
    }
  }

  Value primary() {
    if (take("(")) {
      const Value value = choice();
      return take(")") ? value : std::nullopt;
    }
    skip();
    std::size_t length = 0;
    while (length < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[length])) != 0 || text_[length] == '_'))
      ++length;
    const std::string_view word = text_.substr(0, length);
    text_.remove_prefix(length);
    if (word.empty()) return std::nullopt;
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
      const bool hex = word.starts_with("0x");
      std::int64_t value = 0;
      const auto read = std::from_chars(word.data() + (hex ? 2 : 0), word.data() + word.size(), value, hex ? 16 : 10);
      return read.ec == std::errc{} && read.ptr == word.data() + word.size() ? Value{value} : std::nullopt;
    }
    return take("(") ? call(word) : names_(word);
  }

  Value call(std::string_view function) {
    std::vector<Value> arguments;
    do arguments.push_back(choice());
    while (take(","));
    if (!take(")") || std::any_of(arguments.begin(), arguments.end(), [](const Value& each) { return !each; }))
      return std::nullopt;
    const std::int64_t first = *arguments[0];
    if (arguments.size() == 1) {
      if (function == "pow2")
        return first <= 0 ? 0 : static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(first)));
      return function == "even" ? Value{first + first % 2} : std::nullopt;
    }
    const std::int64_t second = *arguments[1];
    if (arguments.size() != 2) return std::nullopt;
    if (function == "max") return std::max(first, second);
    if (function == "min") return std::min(first, second);
    return function == "align" && second > 0 ? Value{(first + second - 1) / second * second} : std::nullopt;
  }

  std::string_view text_;
  const Names& names_;
};

}  // namespace

std::optional<std::int64_t> evaluate(std::string_view formula, const Names& names) {
  return Reader(formula, names).whole();
}

}  // namespace verbena::emulator
