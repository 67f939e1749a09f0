// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace verbena::emulator {

/// A part of a model that the library handed on as text, which it has checked.
struct Tree {
  enum class Kind : unsigned char { empty, scalar, list, map };
  struct Entry;

  Kind kind = Kind::empty;
  std::string scalar;
  std::vector<Tree> items;
  std::vector<Entry> entries;

  bool is_scalar() const noexcept { return kind == Kind::scalar; }
  bool is_map() const noexcept { return kind == Kind::map; }
  /// Null where there is none.
  const Tree* find(std::string_view key) const noexcept;

  /// Empty where the text is no YAML.
  static Tree of(const std::string& text);
};

struct Tree::Entry {
  std::string name;
  Tree value;
};

inline const Tree* Tree::find(std::string_view key) const noexcept {
  for (const Entry& entry : entries) {
    if (entry.name == key) return &entry.value;
  }
  return nullptr;
}

}  // namespace verbena::emulator
