// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

namespace verbena::engine::fabric {

/// What a shared fabric did that nobody asked it for.
struct SharedCounts {
  std::uint64_t lost = 0;  ///< trains to nobody's address, to a process that ended, or of a group to a full ring
  std::uint64_t cut_off = 0;  ///< processes that wrote rubbish
  std::uint64_t refused = 0;  ///< requests that found a full ring
  std::uint64_t kept = 0;  ///< answers, and requests that go in parts, that waited here for room
  std::uint64_t lent = 0;  ///< messages that left their payload where it was
  std::uint64_t copied = 0;  ///< those that would have, and whose reader may not read this process's memory
  std::uint64_t withdrawn = 0;  ///< messages that arrived, and whose memory had been taken back
  std::uint64_t unreachable = 0;  ///< messages that arrived, and whose memory could not be read
  std::uint64_t wakes = 0;       ///< readers that were asleep
  std::uint64_t no_memory = 0;  ///< rings for which the host had no room
};

}  // namespace verbena::engine::fabric
