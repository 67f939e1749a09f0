// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <vector>

namespace cli {

/// Rows of text in aligned columns; numbers go to the right.
class Table {
public:
  explicit Table(std::vector<std::string> header) : rows_{std::move(header)} {}
  void row(std::vector<std::string> cells) { rows_.push_back(std::move(cells)); }
  bool empty() const noexcept { return rows_.size() == 1; }
  /// Each line starts with `indent` blanks and ends with a newline; no blanks at the end of a line.
  std::string text(std::size_t indent = 0) const;

private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace cli
