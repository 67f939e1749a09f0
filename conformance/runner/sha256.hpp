// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <string_view>

namespace conform {

/// 64 hexadecimal digits (FIPS 180-4), as sha256sum prints them.
std::string sha256(std::string_view text);

}  // namespace conform
