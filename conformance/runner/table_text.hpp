// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "runner/case_list.hpp"
#include "verbena/quirks.hpp"

namespace conform {

/// Reads one table of conformance/. Whatever is not as it should be becomes a finding with its place, and gives an
/// empty value, so that one reading finds all of them.
class TableText {
public:
  TableText(const verbena::TableText& text, std::vector<verbena::Finding>& findings);

  /// The whole; a map, or null when this is no YAML.
  const YAML::Node& root() const noexcept { return root_; }
  const std::string& file() const noexcept { return file_; }

  void wrong(const YAML::Node& at, const std::string& text);
  /// A node that was made, and not read, is said to stand where this one does.
  void about(const YAML::Node& node) { about_ = place(node); }
  /// A map that has no key but these, none twice; false when it is none.
  bool map(const YAML::Node& node, std::span<const std::string_view> keys);
  /// A scalar under that key; empty, and a finding when it must be there.
  std::string word(const YAML::Node& map, const char* key, bool required = true);
  /// A scalar or a list of scalars under that key; empty when it is not there.
  std::vector<std::string> words(const YAML::Node& map, const char* key);
  std::vector<YAML::Node> list(const YAML::Node& map, const char* key);
  std::optional<double> number(const YAML::Node& map, const char* key);
  bool flag(const YAML::Node& map, const char* key);
  /// The schema's number is 1.
  void schema();
  Place place(const YAML::Node& node) const;

  /// Each word through `find`, which gives an optional.
  template <class T, class Find>
  std::vector<T> each(const YAML::Node& map, const char* key, const std::vector<std::string>& words, const char* what,
                      Find find) {
    std::vector<T> values;
    for (const std::string& one : words) {
      if (const auto value = find(one)) {
        values.push_back(*value);
      } else {
        wrong(map[key], "'" + one + "' in " + key + " is no " + what);
      }
    }
    return values;
  }

private:
  std::string file_;
  std::vector<verbena::Finding>& findings_;
  YAML::Node root_;
  Place about_;
};

// One kind of table each; the first two fill the list, the last is read when the requirements are known.
void read_requirements(TableText& text, CaseList& list);
void read_cases(TableText& text, CaseList& list);
void read_expectations(TableText& text, CaseList& list);

}  // namespace conform
