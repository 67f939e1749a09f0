// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/memory/key_table.hpp"

namespace verbena::engine::memory {

Region* KeyTable::add() {
  if (count_ == most_) return nullptr;
  std::uint32_t index = 0;
  std::uint32_t key = 0;
  // An index rests for as long as others do that were never used, so that a stale key meets nobody's region.
  constexpr std::size_t kRest = 64;
  if (free_.size() > kRest || by_index_.size() > most_) {
    index = free_.front().index;
    key = (index << kVariantBits) | ((free_.front().key + 1) & kVariantMask);
    free_.pop_front();
    storage_[index - 1] = {};
  } else {
    index = static_cast<std::uint32_t>(by_index_.size());
    key = index << kVariantBits;
    storage_.emplace_back();
    by_index_.push_back(nullptr);
  }
  Region& region = storage_[index - 1];
  region.key = key;
  by_index_[index] = &region;
  ++count_;
  return &region;
}

void KeyTable::remove(Region& region) noexcept {
  const std::uint32_t index = region.key >> kVariantBits;
  if (region.lies_in != nullptr) --region.lies_in->windows;
  by_index_[index] = nullptr;
  free_.push_back({index, region.key});
  --count_;
}

}  // namespace verbena::engine::memory
