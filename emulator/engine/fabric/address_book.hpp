// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/wire/bytes.hpp"
#include "engine/wire/ip.hpp"

namespace verbena::engine::fabric {

/// Is it a group's: ff00::/8, or 224.0.0.0/4 behind ::ffff:?
inline bool multicast(const wire::Gid& gid) noexcept {
  if (gid[0] == std::byte{0xff}) return true;
  return wire::is_mapped(gid) && (gid[12] & std::byte{0xf0}) == std::byte{0xe0};
}

/// Who has which address. Few enough to be looked through.
template <class End>
class AddressBook {
public:
  void add(const wire::Gid& gid, End& end) { entries_.emplace_back(gid, &end); }
  void remove(const wire::Gid& gid, const End& end) noexcept {
    std::erase_if(entries_, [&](const auto& entry) { return wire::same(entry.first, gid) && entry.second == &end; });
  }
  void remove(const End& end) noexcept {
    std::erase_if(entries_, [&](const auto& entry) { return entry.second == &end; });
  }
  /// Null where nobody has it.
  End* find(const wire::Gid& gid) const noexcept {
    const auto found =
        std::find_if(entries_.begin(), entries_.end(), [&](const auto& entry) { return wire::same(entry.first, gid); });
    return found == entries_.end() ? nullptr : found->second;
  }
  /// Each once, however many addresses it has.
  std::vector<End*> all() const {
    std::vector<End*> ends;
    for (const auto& entry : entries_) {
      if (std::find(ends.begin(), ends.end(), entry.second) == ends.end()) ends.push_back(entry.second);
    }
    return ends;
  }

private:
  std::vector<std::pair<wire::Gid, End*>> entries_;
};

}  // namespace verbena::engine::fabric
