// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace cli {

/// `; did you mean 'send_wr'?`, or nothing when no known word is near.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> known);

}  // namespace cli
