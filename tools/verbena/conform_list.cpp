// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "conform_list.hpp"

#include "session.hpp"

namespace cli {

std::optional<conform::CaseList> read_case_list(const std::string& folder) {
  std::vector<verbena::TableText> texts;
  if (folder.empty()) {
    texts = conform::built_in_texts();
  } else {
    auto read = conform::folder_texts(folder);
    if (!read) {
      complain(to_string(read.error()));
      return std::nullopt;
    }
    texts = *std::move(read);
  }
  conform::LoadedList loaded = conform::read_list(texts);
  for (const verbena::Finding& finding : loaded.findings) complain(to_string(finding));
  if (!loaded.findings.empty()) return std::nullopt;
  return std::move(loaded.list);
}

}  // namespace cli
