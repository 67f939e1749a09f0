// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/result.hpp"

#include <fmt/format.h>

#include <iterator>

#include "names/word_table.hpp"
#include "verbena/errno_family.hpp"

namespace verbena {
namespace {

constexpr names::WordTable<11> kErrorKinds{"invalid_request", "limit",     "unsupported", "no_memory",
                                           "permission",      "no_device", "device_gone", "refused",
                                           "timeout",         "bad_table", "io"};
static_assert(names::word_of(kErrorKinds, ErrorKind::io) == "io");

/// A file alone is the one that could not be used, which the text names; no device has said a word.
bool says_anything(const Provenance& by) noexcept {
  return by.set_by != SetBy::declared || !by.rule.empty() || !by.reason.empty() || !by.source.empty();
}

}  // namespace

std::string_view name(ErrorKind kind) noexcept {
  return names::word_of(kErrorKinds, kind);
}

std::string to_string(const Error& error) {
  std::string line{name(error.kind)};
  auto out = std::back_inserter(line);
  if (!error.field.empty()) fmt::format_to(out, ": {}", error.field);
  if (error.asked) fmt::format_to(out, ": asked {}", *error.asked);
  if (error.allowed) fmt::format_to(out, "{} allowed {}", error.asked ? "," : ":", *error.allowed);
  if (!error.text.empty()) fmt::format_to(out, ": {}", error.text);
  if (error.errno_value != 0) fmt::format_to(out, " [{} {}]", errno_name(error.errno_value), error.errno_value);
  if (error.vendor_code != 0) fmt::format_to(out, " [vendor code {:#x}]", error.vendor_code);
  if (says_anything(error.by)) fmt::format_to(out, " (by {})", to_string(error.by));
  return line;
}

}  // namespace verbena
