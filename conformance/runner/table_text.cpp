// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/table_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace conform {

TableText::TableText(const verbena::TableText& text, std::vector<verbena::Finding>& findings)
    : file_(text.file), findings_(findings) {
  try {
    root_ = YAML::Load(text.text);
  } catch (const YAML::Exception& error) {
    verbena::Finding finding;
    finding.file = file_;
    finding.line = error.mark.line + 1;
    finding.column = error.mark.column + 1;
    finding.text = fmt::format("is no YAML: {}", error.msg);
    findings_.push_back(std::move(finding));
    root_ = YAML::Node(YAML::NodeType::Null);
  }
}

Place TableText::place(const YAML::Node& node) const {
  const YAML::Mark mark = node.Mark();
  return {file_, mark.line + 1, mark.column + 1};
}

void TableText::wrong(const YAML::Node& at, const std::string& text) {
  const Place own = at.IsDefined() ? place(at) : Place{};
  const Place& where = own.line > 0 ? own : about_;
  verbena::Finding finding;
  finding.file = file_;
  finding.line = where.line;
  finding.column = where.column;
  finding.text = text;
  findings_.push_back(std::move(finding));
}

bool TableText::map(const YAML::Node& node, std::span<const std::string_view> keys) {
  if (!node.IsMap()) {
    wrong(node, "should be a map");
    return false;
  }
  std::set<std::string> seen;
  for (const auto& entry : node) {
    const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : std::string();
    if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
      std::string known;
      for (const std::string_view one : keys) known += (known.empty() ? "" : ", ") + std::string(one);
      wrong(entry.first, fmt::format("'{}' is no key here; there are {}", key, known));
    } else if (!seen.insert(key).second) {
      wrong(entry.first, fmt::format("'{}' stands twice", key));
    }
  }
  return true;
}

std::string TableText::word(const YAML::Node& map, const char* key, bool required) {
  const YAML::Node found = map[key];
  if (!found.IsDefined()) {
    if (required) wrong(map, fmt::format("has no '{}'", key));
    return {};
  }
  if (!found.IsScalar() || found.Scalar().empty()) {
    wrong(found, fmt::format("'{}' should be a text", key));
    return {};
  }
  return found.Scalar();
}

std::vector<std::string> TableText::words(const YAML::Node& map, const char* key) {
  const YAML::Node found = map[key];
  if (!found.IsDefined()) return {};
  if (found.IsScalar()) return {found.Scalar()};
  std::vector<std::string> all;
  if (!found.IsSequence()) wrong(found, fmt::format("'{}' should be a text or a list of texts", key));
  for (const YAML::Node& item : found) {
    if (item.IsScalar()) {
      all.push_back(item.Scalar());
    } else {
      wrong(item, fmt::format("'{}' should hold texts", key));
    }
  }
  return all;
}

std::vector<YAML::Node> TableText::list(const YAML::Node& map, const char* key) {
  const YAML::Node found = map[key];
  if (!found.IsDefined() || !found.IsSequence()) {
    wrong(found.IsDefined() ? found : map, fmt::format("should have a list '{}'", key));
    return {};
  }
  return {found.begin(), found.end()};
}

std::optional<double> TableText::number(const YAML::Node& map, const char* key) {
  const YAML::Node found = map[key];
  if (!found.IsDefined()) return std::nullopt;
  double value = 0;
  if (!YAML::convert<double>::decode(found, value) || !(value > 0)) {
    wrong(found, fmt::format("'{}' should be a number above 0", key));
    return std::nullopt;
  }
  return value;
}

bool TableText::flag(const YAML::Node& map, const char* key) {
  const YAML::Node found = map[key];
  if (!found.IsDefined()) return false;
  const std::string text = found.IsScalar() ? found.Scalar() : std::string();
  if (text != "true" && text != "false") wrong(found, fmt::format("'{}' should be true or false", key));
  return text == "true";
}

void TableText::schema() {
  if (word(root_, "schema") != "1") wrong(root_["schema"], "this build reads schema 1");
}

}  // namespace conform
