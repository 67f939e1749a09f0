// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "engine/memory/region.hpp"

namespace verbena::engine::memory {

/// The regions and windows of one NIC, by key. A region stays where it is until it is removed. Not for two threads at a
/// time.
class KeyTable {
public:
  /// Regions and windows together; more than 2^24 - 1 can't be told apart.
  explicit KeyTable(std::uint32_t most = kMost) noexcept : most_(most < kMost ? most : kMost) {}

  /// A new region with a key of its own, all else as made; null where there are as many as there may be. A key that was
  /// given back comes again with another variant, and as late as it can be.
  Region* add();
  /// `region` is gone, and its key unknown.
  void remove(Region& region) noexcept;

  /// The region of exactly that key; null where there is none.
  Region* find(std::uint32_t key) const noexcept {
    const std::uint32_t index = key >> kVariantBits;
    if (index >= by_index_.size()) return nullptr;
    Region* const region = by_index_[index];
    return region != nullptr && region->key == key ? region : nullptr;
  }
  /// The region of that key whatever its variant; null where there is none.
  Region* of_index(std::uint32_t key) const noexcept {
    const std::uint32_t index = key >> kVariantBits;
    return index < by_index_.size() ? by_index_[index] : nullptr;
  }

  std::uint32_t count() const noexcept { return count_; }

private:
  static constexpr unsigned kVariantBits = 8;
  static constexpr std::uint32_t kMost = (1U << 24) - 1;

  struct Free {
    std::uint32_t index = 0;
    std::uint32_t key = 0;  ///< that was the last one
  };

  std::uint32_t most_;
  std::uint32_t count_ = 0;
  std::deque<Region> storage_;  ///< one for each index that was ever used, in that order
  std::vector<Region*> by_index_{nullptr};  ///< index 0 is nobody's, so that key 0 is none
  std::deque<Free> free_;
};

}  // namespace verbena::engine::memory
