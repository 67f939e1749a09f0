// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

namespace cli {

/// The text with no control character but line breaks and tabs: names and reasons come from tables, devices and other
/// people's reports, and none of them moves the cursor.
std::string plain(std::string_view text);

/// Prints plain text to standard output.
void say(std::string_view text);

template <class... Arguments>
void say(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  say(std::string_view(fmt::format(format, std::forward<Arguments>(arguments)...)));
}

}  // namespace cli
