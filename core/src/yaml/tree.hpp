// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "verbena/quirks.hpp"

namespace verbena::yaml {

/// 1-based place in a text; 0 when the whole text is meant.
struct Place {
  int line = 0;
  int column = 0;
};

struct Entry;

/// A YAML value with its place. Tables, models and settings use scalars, maps and sequences only.
struct Node {
  enum class Kind : unsigned char { null, scalar, map, sequence };
  Kind kind = Kind::null;
  Place at;
  bool quoted = false;                           ///< a scalar in quotes is a word, never a number
  std::string scalar;
  std::vector<Entry> entries;                    ///< of a map, in the order written; keys are scalars
  std::vector<Node> items;                       ///< of a sequence

  bool is_scalar() const noexcept { return kind == Kind::scalar; }
  bool is_map() const noexcept { return kind == Kind::map; }
  bool is_sequence() const noexcept { return kind == Kind::sequence; }
  /// The value of that key; null when there is none or this is no map.
  const Node* find(std::string_view key) const noexcept;
};

/// One line of a map. Not std::pair, whose own traits ask for a complete Node.
struct Entry {
  Node first;
  Node second;
};

/// What a text may be, so that nobody can make loading slow: yaml-cpp reads about 4 MB a second.
struct Limits {
  std::size_t bytes = std::size_t{320} * 1024;   ///< the largest table that is read within 100 ms
  int depth = 16;
  std::size_t values = 40000;
};

/// One document without anchors, aliases or tags. The error is one finding with its place; nothing is thrown.
tl::expected<Node, Finding> parse(std::string_view text, std::string_view file, const Limits& limits = {});

/// `a word`, `a number`, `a map`, `a list`: what was found, for messages.
std::string describe(const Node& node);

/// The text on one line that a terminal or a log can be given: control characters are blanks, and blanks are one.
std::string one_line(std::string_view text);

/// A finding of level error at that place.
Finding error_at(std::string_view file, Place at, const std::string& text);

}  // namespace verbena::yaml
