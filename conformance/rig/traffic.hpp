// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "rig/loop.hpp"

namespace conform {

/// Bytes of a message of carries() and deliver().
inline constexpr std::size_t kMessageBytes = 64;

/// One message from a to b: posted, completed at both ends and its bytes compared. What goes wrong is a finding that
/// begins with `what`.
bool carries(Case& c, Loop& loop, std::string_view what, std::uint64_t wr_id = 1);

/// `count` messages from a to b, one after another, whose sends complete and are polled; the receives, wr_id `first`
/// and up, have completed too but lie unpolled in b's completion queue. `flags` beside IBV_SEND_SIGNALED.
bool deliver(Case& c, Loop& loop, std::uint32_t count, std::uint64_t first = 1, unsigned flags = 0);

}  // namespace conform
