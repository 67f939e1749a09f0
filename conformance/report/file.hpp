// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <string_view>

#include "verbena/result.hpp"

namespace conform {

/// The whole file. Fails with `io`, errno and the file's name.
verbena::Result<std::string> read_file(const std::string& file);

/// Afterwards the file holds `text`, or is what it was before: written beside it under a temporary name, synced, and
/// renamed. Fails with `io`, errno and the file's name.
verbena::Result<void> write_file(const std::string& file, std::string_view text);

}  // namespace conform
