// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <initializer_list>
#include <string>
#include <string_view>

#include "rig/case.hpp"

namespace conform {

/// For a creation that asks for more than there is: make one before it, and ask it of what came back.
class Beyond {
public:
  explicit Beyond(Case& c) : case_(c), before_(count()) {}

  /// Raw, the creation must have been refused, with one of `errnos` where any are named. Through Verbena it may have
  /// been made with less, if an adjustment says so.
  template <class T>
  bool refused(const Object<T>& object, std::string_view what, std::initializer_list<int> errnos = {}) {
    if (!case_.through_verbena()) return case_.refused(object, what, errnos);
    return case_.holds(!object || adjusted(), Seen::accepted,
                       std::string(what) + " was granted and nothing said of it");
  }
  /// Whether Verbena changed anything since.
  bool adjusted() const { return count() > before_; }

private:
  /// On either device: what is asked for may be made on the second one.
  std::size_t count() const { return case_.way().adjustments().size() + case_.other_way().adjustments().size(); }

  Case& case_;
  std::size_t before_;
};

}  // namespace conform
