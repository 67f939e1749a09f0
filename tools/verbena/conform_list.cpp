// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "conform_list.hpp"

#include <fmt/format.h>

#include "session.hpp"

namespace cli {

verbena::Result<conform::CaseList> read_case_list(const std::string& folder) {
  std::vector<verbena::TableText> texts;
  if (folder.empty()) {
    texts = conform::built_in_texts();
  } else {
    auto read = conform::folder_texts(folder);
    if (!read) return verbena::Failure(read.error());
    texts = *std::move(read);
  }
  conform::LoadedList loaded = conform::read_list(texts);
  if (loaded.findings.empty()) return std::move(loaded.list);
  for (const verbena::Finding& finding : loaded.findings) complain(to_string(finding));
  const verbena::Finding& first = loaded.findings.front();
  verbena::Error error{.kind = verbena::ErrorKind::bad_table};
  error.by.file = first.file;
  error.by.line = first.line;
  error.text = fmt::format("the list of cases has {} fault{}; the first: {}", loaded.findings.size(),
                           loaded.findings.size() == 1 ? "" : "s", first.text);
  return verbena::Failure(std::move(error));
}

}  // namespace cli
