// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

#pragma GCC visibility push(default)
namespace verbena {

/// Whether an adopted handle is destroyed with the object that adopted it.
enum class Ownership : std::uint8_t {
  taken,    ///< Verbena destroys it, or release() gives it back
  callers,  ///< it stays the caller's, who keeps it alive for as long as the object
};

}  // namespace verbena
#pragma GCC visibility pop
