// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <span>
#include <string_view>

namespace conform {

/// A file of report/page as it was when this was built.
struct PageFile {
  std::string_view name;
  std::string_view text;
};

/// report/page/*, in name order.
std::span<const PageFile> page_files() noexcept;

/// The text of one of them; empty when there is none of that name.
constexpr std::string_view text_of(std::span<const PageFile> files, std::string_view name) noexcept {
  for (const PageFile& file : files) {
    if (file.name == name) return file.text;
  }
  return {};
}
inline std::string_view page_file(std::string_view name) noexcept {
  return text_of(page_files(), name);
}

}  // namespace conform
