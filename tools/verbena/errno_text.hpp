// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <fmt/format.h>

#include <cstring>
#include <string>

#include "verbena/errno_family.hpp"

namespace cli {

/// What an errno means, for any number: drivers also give the kernel's own (ENOTSUPP, 524) and negated ones, for which
/// the C library has no words.
inline std::string errno_text(int errno_value) {
  const int value = verbena::normalise_errno(errno_value);
  const char* words = strerrordesc_np(value);
  return words != nullptr ? std::string(words) : fmt::format("errno {}", value);
}

}  // namespace cli
