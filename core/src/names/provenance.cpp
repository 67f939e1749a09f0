// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/provenance.hpp"

#include <fmt/format.h>

#include <iterator>

#include "names/word_table.hpp"

namespace verbena {
namespace {

constexpr names::WordTable<7> kSetBy{"declared", "probed", "rule", "formula", "site", "request", "build"};
constexpr names::WordTable<5> kEvidence{"measured", "driver-source", "vendor-doc", "field-report", "claim"};
constexpr names::WordTable<3> kSeverity{"safety", "correctness", "performance"};

std::string_view in_words(SetBy value) noexcept {
  switch (value) {
    case SetBy::declared:
      return "the device's own word";
    case SetBy::probed:
      return "a probe";
    case SetBy::rule:
      return "rule";
    case SetBy::formula:
      return "formula of rule";
    case SetBy::site:
      return "a setting of this site";
    case SetBy::request:
      return "the request";
    case SetBy::build:
      return "this build";
  }
  return "?";
}

}  // namespace

std::string_view name(SetBy value) noexcept {
  return names::word_of(kSetBy, value);
}
std::string_view name(Evidence value) noexcept {
  return names::word_of(kEvidence, value);
}
std::string_view name(Severity value) noexcept {
  return names::word_of(kSeverity, value);
}

std::string to_string(const Provenance& provenance) {
  std::string line{in_words(provenance.set_by)};
  auto out = std::back_inserter(line);
  if (!provenance.rule.empty())
    fmt::format_to(out, "{} {}", provenance.set_by == SetBy::site ? " over rule" : "", provenance.rule);
  if (!provenance.file.empty() && provenance.line > 0) {
    fmt::format_to(out, " [{}:{}]", provenance.file, provenance.line);
  } else if (!provenance.file.empty()) {
    fmt::format_to(out, " [{}]", provenance.file);
  }
  if (!provenance.reason.empty()) fmt::format_to(out, ": {}", provenance.reason);
  if (!provenance.source.empty()) fmt::format_to(out, " — {}", provenance.source);
  return line;
}

}  // namespace verbena
