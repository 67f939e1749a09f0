// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "models/formula_check.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <vector>

#include <fmt/format.h>

#include "quirks/scalars.hpp"
#include "verbena/caps.hpp"

namespace verbena::models {
namespace {

struct Function {
  std::string_view name;
  std::size_t arguments;
};
constexpr std::array<Function, 5> kFunctions{{{"pow2", 1}, {"even", 1}, {"align", 2}, {"max", 2}, {"min", 2}}};
constexpr std::size_t kDeepest = 32;

bool in_word(char c) noexcept {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Reads as far as the formula holds; the first fault ends it.
class FormulaChecker {
public:
  FormulaChecker(std::string_view text, std::span<const std::string_view> names)
      : whole_(text), text_(text), names_(names) {}

  std::string fault() {
    choice();
    skip();
    if (fault_.empty() && !text_.empty()) fail(fmt::format("has '{}' where it should end", text_.substr(0, 8)));
    return std::move(fault_);
  }

private:
  void fail(std::string text) {
    if (fault_.empty()) fault_ = fmt::format("{} (at character {})", text, whole_.size() - text_.size() + 1);
    text_ = {};
  }
  void skip() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skip();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (fault_.empty() && !take(token)) fail(fmt::format("lacks '{}'", token));
  }

  void choice() {
    if (++depth_ > kDeepest) return fail(fmt::format("is nested more than {} deep", kDeepest));
    comparison();
    if (fault_.empty() && take("?")) {
      choice();
      expect(":");
      choice();
    }
    --depth_;
  }
  void comparison() {
    sum();
    for (const std::string_view sign : {"<=", ">=", "==", "!=", "<", ">"})
      if (fault_.empty() && take(sign)) return sum();
  }
  void sum() {
    do product();
    while (fault_.empty() && (take("+") || take("-")));
  }
  void product() {
    do primary();
    while (fault_.empty() && (take("*") || take("/")));
  }
  void primary() {
    if (!fault_.empty()) return;
    if (take("(")) {
      choice();
      return expect(")");
    }
    skip();
    const auto end = std::find_if_not(text_.begin(), text_.end(), in_word);
    const std::string_view word = text_.substr(0, static_cast<std::size_t>(end - text_.begin()));
    if (word.empty())
      return fail(text_.empty() ? "ends where a number or a name should be"
                                : fmt::format("has '{}' where a number or a name should be", text_.front()));
    if (std::isdigit(static_cast<unsigned char>(word.front())) != 0) {
      if (!quirks::read_number(word)) return fail(fmt::format("has '{}', which is no number", word));
      text_.remove_prefix(word.size());
      return;
    }
    const std::size_t before = text_.size();
    text_.remove_prefix(word.size());
    if (take("(")) return call(word);
    if (std::find(names_.begin(), names_.end(), word) != names_.end() || find_cap(word)) return;
    text_ = whole_.substr(whole_.size() - before);
    fail(fmt::format("names '{}', which is no cap{}{}{}", word, names_.empty() ? "" : ", and none of ",
                     quirks::join(names_), quirks::did_you_mean(word, every_name())));
  }
  void call(std::string_view name) {
    const auto function =
        std::find_if(kFunctions.begin(), kFunctions.end(), [&](const Function& each) { return each.name == name; });
    if (function == kFunctions.end()) {
      std::vector<std::string_view> known;
      for (const Function& each : kFunctions) known.push_back(each.name);
      return fail(fmt::format("calls '{}', which is none of {}{}", name, quirks::join(known),
                              quirks::did_you_mean(name, known)));
    }
    std::size_t arguments = 0;
    do {
      choice();
      ++arguments;
    } while (fault_.empty() && take(","));
    expect(")");
    if (fault_.empty() && arguments != function->arguments)
      fail(fmt::format("calls {} with {} numbers; it takes {}", name, arguments, function->arguments));
  }
  std::vector<std::string_view> every_name() const {
    std::vector<std::string_view> every(names_.begin(), names_.end());
    for (const Cap cap : all_caps()) every.push_back(name(cap));
    return every;
  }

  std::string_view whole_, text_;
  std::span<const std::string_view> names_;
  std::string fault_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string formula_fault(std::string_view formula, std::span<const std::string_view> names) {
  return FormulaChecker(formula, names).fault();
}

}  // namespace verbena::models
