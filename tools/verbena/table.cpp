// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "table.hpp"

#include <algorithm>

namespace cli {

std::string Table::text(std::size_t indent) const {
  std::vector<std::size_t> widths;
  std::vector<bool> numeric;
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    for (std::size_t c = 0; c < rows_[r].size(); ++c) {
      const std::string& cell = rows_[r][c];
      if (c >= widths.size()) {
        widths.push_back(0);
        numeric.push_back(true);
      }
      widths[c] = std::max(widths[c], cell.size());
      if (r > 0 && cell != "-" && cell.find_first_not_of("0123456789") != std::string::npos) numeric[c] = false;
    }
  }
  std::string out;
  for (const std::vector<std::string>& row : rows_) {
    std::string line(indent, ' ');
    for (std::size_t c = 0; c < row.size(); ++c) {
      const std::string blanks(widths[c] - row[c].size(), ' ');
      if (c > 0) line += "  ";
      line += numeric[c] && c > 0 ? blanks + row[c] : row[c] + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

}  // namespace cli
