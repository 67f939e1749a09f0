// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/case_list.hpp"

#include <algorithm>
#include <cerrno>
#include <filesystem>

#include "report/file.hpp"
#include "runner/embedded.hpp"
#include "runner/table_text.hpp"

namespace conform {

const Requirement* CaseList::requirement(std::string_view id) const noexcept {
  const auto found =
      std::find_if(requirements.begin(), requirements.end(), [&](const auto& one) { return one.id == id; });
  return found == requirements.end() ? nullptr : &*found;
}

const DriverTable* CaseList::driver(std::string_view name) const noexcept {
  const auto found = std::find_if(drivers.begin(), drivers.end(), [&](const auto& one) { return one.driver == name; });
  return found == drivers.end() ? nullptr : &*found;
}

std::uint64_t CaseList::hash() const {
  // FNV-1a, which is the same everywhere.
  std::uint64_t value = 0xcbf29ce484222325;
  const auto add = [&](std::string_view text) {
    for (const char byte : text) value = (value ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    value = (value ^ 0xffU) * 0x100000001b3;
  };
  add(std::to_string(version));
  for (const ListedCase& one : cases) {
    add(one.id);
    add(one.body);
    add(one.says);
    for (const verbena::Feature feature : one.conditions.needs) add(verbena::name(feature));
    for (const std::string& word : one.conditions.setup) add(word);
    for (const auto& [key, text] : one.row) {
      add(key);
      add(text);
    }
  }
  return value;
}

LoadedList read_list(std::span<const verbena::TableText> texts) {
  LoadedList loaded;
  const auto each = [&](auto wanted, auto read) {
    for (const verbena::TableText& one : texts) {
      if (!wanted(std::string_view(one.file))) continue;
      TableText text(one, loaded.findings);
      if (!text.root().IsNull()) read(text, loaded.list);
    }
  };
  const auto below = [](std::string_view folder) {
    return [folder](std::string_view file) { return file.find(folder) != std::string_view::npos; };
  };
  each([](std::string_view file) { return file.ends_with("requirements.yaml"); }, read_requirements);
  each(below("cases/"), read_cases);
  each(below("expectations/"), read_expectations);
  return loaded;
}

std::vector<verbena::TableText> built_in_texts() {
  std::vector<verbena::TableText> texts;
  const auto add = [&](std::string_view folder, std::span<const embedded::EmbeddedTable> tables) {
    for (const embedded::EmbeddedTable& table : tables)
      texts.push_back({"conformance/" + std::string(folder) + std::string(table.name), std::string(table.text)});
  };
  add("", embedded::requirement_tables());
  add("cases/", embedded::case_tables());
  add("expectations/", embedded::expectation_tables());
  return texts;
}

verbena::Result<std::vector<verbena::TableText>> folder_texts(const std::string& folder) {
  std::vector<std::string> files = {folder + "/requirements.yaml"};
  for (const char* below : {"cases", "expectations"}) {
    std::error_code error;
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/" + below, error)) {
      if (entry.path().extension() == ".yaml") found.push_back(entry.path().string());
    }
    if (error) {
      verbena::Error out{.kind = verbena::ErrorKind::io};
      out.errno_value = error.value();
      out.text = folder + "/" + below + " cannot be read: " + error.message();
      return verbena::Failure(std::move(out));
    }
    std::sort(found.begin(), found.end());
    files.insert(files.end(), found.begin(), found.end());
  }
  std::vector<verbena::TableText> texts;
  for (const std::string& file : files) {
    verbena::Result<std::string> text = read_file(file);
    if (!text) return verbena::Failure(text.error());
    texts.push_back({file, *std::move(text)});
  }
  return texts;
}

bool glob_matches(std::string_view pattern, std::string_view text) noexcept {
  std::size_t at = 0;
  std::size_t from = 0;
  std::optional<std::size_t> star;
  std::size_t resume = 0;
  while (from < text.size()) {
    if (at < pattern.size() && pattern[at] == '*') {
      star = at++;
      resume = from;
    } else if (at < pattern.size() && pattern[at] == text[from]) {
      ++at;
      ++from;
    } else if (star) {
      at = *star + 1;
      from = ++resume;
    } else {
      return false;
    }
  }
  while (at < pattern.size() && pattern[at] == '*') ++at;
  return at == pattern.size();
}

}  // namespace conform
