// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

#include "engine/memory/copy.hpp"

namespace verbena::engine::memory {

/// Another process, whose memory a message's payload lies in until it is fetched. The pieces that it lends are
/// addresses of that process.
class Lender {
public:
  virtual ~Lender() = default;
  /// As memory::copy(), but all or nothing: false where the bytes can't be had, or were taken back meanwhile. Then what
  /// `to` holds is not known, and its last word is as it was.
  virtual bool copy(Pieces to, std::uint64_t to_offset, Pieces from, std::uint64_t from_offset,
                    std::uint64_t bytes) noexcept = 0;
};

}  // namespace verbena::engine::memory
