// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

#include "ping_end.hpp"

namespace cli {

/// One operation in one direction, and what came of it.
struct Operation {
  std::string name, from, to;
  std::size_t bytes = 0;
  bool tried = true;    ///< false: a device lacks it, and `detail` says who says so
  std::string detail;   ///< empty when every byte was right

  bool failed() const noexcept { return tried && !detail.empty(); }
};

/// SEND, WRITE, READ, WRITE with immediate and both atomics, as far as both ends have them natively. The queue pairs
/// are connected.
std::vector<Operation> ping_rc(End& from, End& to, std::size_t bytes, Clock::time_point deadline);

/// Eight bytes that are placed at once. The queue pairs are connected, and were made for atomic_write and read.
Operation ping_atomic_write(End& from, End& to, Clock::time_point deadline);

/// A UD SEND to the peer's queue pair.
Operation ping_ud(End& from, End& to, std::size_t bytes, std::optional<std::uint32_t> gid_index,
                  Clock::time_point deadline);

/// An operation that is not tried since `lacking` has no such feature.
Operation not_tried(std::string name, const End& from, const End& to, const verbena::Contract& lacking,
                    verbena::Feature feature);

}  // namespace cli
