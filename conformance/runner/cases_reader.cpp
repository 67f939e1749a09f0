// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "runner/conditions_reader.hpp"
#include "runner/table_text.hpp"

namespace conform {
namespace {

using Row = std::vector<std::pair<std::string, std::string>>;

/// Every combination of the values of `each`; one empty row where there is none.
std::vector<Row> rows_of(TableText& text, const YAML::Node& entry) {
  std::vector<Row> rows(1);
  const YAML::Node each = entry["each"];
  if (!each.IsDefined()) return rows;
  if (!each.IsMap() || each.size() == 0) {
    text.wrong(each, "'each' should be a map of lists");
    return rows;
  }
  for (const auto& column : each) {
    const std::string key = column.first.Scalar();
    const std::vector<std::string> values = text.words(each, key.c_str());
    if (values.empty()) text.wrong(column.second, fmt::format("'{}' has no value", key));
    std::vector<Row> longer;
    for (const Row& row : rows) {
      for (const std::string& value : values) {
        longer.push_back(row);
        longer.back().emplace_back(key, value);
      }
    }
    rows = std::move(longer);
  }
  return rows;
}

/// `{key}` replaced by the row's value.
std::string filled(std::string text, const Row& row) {
  for (const auto& [key, value] : row) {
    const std::string mark = "{" + key + "}";
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + value.size()))
      text.replace(at, mark.size(), value);
  }
  return text;
}

/// The entry with each of its texts filled.
YAML::Node filled(const YAML::Node& entry, const Row& row) {
  if (row.empty()) return entry;
  YAML::Node out = YAML::Clone(entry);
  for (const char* key : {"needs", "qp_types", "transport", "setup", "covers"}) {
    if (!out[key].IsDefined() || !out[key].IsSequence()) continue;
    for (YAML::Node item : out[key])
      if (item.IsScalar() && item.Scalar().find('{') != std::string::npos) item = filled(item.Scalar(), row);
  }
  return out;
}

bool good_id(std::string_view id, std::string_view area) {
  if (!id.starts_with(std::string(area) + ".") || id.ends_with(".") || id.find("..") != std::string_view::npos)
    return false;
  return std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' || c == '-' || c == '+';
  });
}

template <class T>
void join(std::vector<T>& into, const std::vector<T>& more) {
  for (const T& one : more)
    if (std::find(into.begin(), into.end(), one) == into.end()) into.push_back(one);
}

/// On each transport on which all of them hold; empty: on all.
void meet(std::vector<verbena::Transport>& into, const std::vector<verbena::Transport>& other) {
  if (other.empty()) return;
  if (into.empty()) {
    into = other;
    return;
  }
  std::erase_if(into,
                [&](verbena::Transport one) { return std::find(other.begin(), other.end(), one) == other.end(); });
}

/// What the case does not say itself is what its requirements say together.
void inherit(TableText& text, const YAML::Node& entry, const CaseList& list, ListedCase& one) {
  Conditions all;
  std::vector<std::string> sources;
  for (const std::string& name : one.covers) {
    const Requirement* requirement = list.requirement(name);
    if (requirement == nullptr) {
      text.wrong(entry, fmt::format("{} covers '{}', which is no requirement", one.id, name));
      continue;
    }
    join(all.needs, requirement->conditions.needs);
    join(all.qp_types, requirement->conditions.qp_types);
    join(all.setup, requirement->conditions.setup);
    const bool both = !all.transport.empty() && !requirement->conditions.transport.empty();
    meet(all.transport, requirement->conditions.transport);
    if (both && all.transport.empty() && !entry["transport"].IsDefined())
      text.wrong(entry, fmt::format("{} covers requirements of different transports", one.id));
    join(sources, requirement->source);
  }
  if (!entry["needs"].IsDefined()) one.conditions.needs = all.needs;
  if (!entry["qp_types"].IsDefined()) one.conditions.qp_types = all.qp_types;
  if (!entry["transport"].IsDefined()) one.conditions.transport = all.transport;
  if (!entry["setup"].IsDefined()) one.conditions.setup = all.setup;
  if (one.source.empty()) one.source = sources;
}

void read_row(TableText& text, const YAML::Node& written, const Row& row, const std::string& area, CaseList& list) {
  const YAML::Node entry = filled(written, row);
  text.about(written);
  ListedCase one;
  one.at = text.place(written);
  one.area = area;
  one.id = filled(text.word(entry, "id"), row);
  one.says = filled(text.word(entry, "says", false), row);
  one.body = filled(text.word(entry, "body", false), row);
  if (one.body.empty()) one.body = one.id;
  one.covers = text.words(entry, "covers");
  one.source = text.words(entry, "source");
  one.conditions = read_conditions(text, entry);
  one.isolated = text.flag(entry, "isolated");
  one.seconds = text.number(entry, "seconds");
  if (const std::string impact = text.word(entry, "impact", false); !impact.empty()) {
    const auto value = from_word<Impact>(impact);
    if (!value)
      text.wrong(entry["impact"], fmt::format("'{}' is no impact; there are {}", impact, every_word<Impact>()));
    one.impact = value.value_or(Impact::objects);
  }
  if (!good_id(one.id, area)) {
    text.wrong(entry["id"].IsDefined() ? entry["id"] : entry,
               fmt::format("'{}' is no id: lower-case dotted words that begin with the area, {}", one.id, area));
  }
  for (const auto& [key, value] : row) {
    if (written["each"][key].size() > 1 && text.word(written, "id").find("{" + key + "}") == std::string::npos)
      text.wrong(written, fmt::format("the id does not name '{}', which differs from row to row", key));
    one.row.emplace(key, value);
  }
  if (entry["covers"].IsDefined() && one.covers.empty()) {
    if (one.source.empty()) text.wrong(entry, fmt::format("{} covers no requirement and has no source", one.id));
  } else if (one.covers.empty()) {
    if (list.requirement(one.id) != nullptr) {
      one.covers = {one.id};
    } else {
      text.wrong(entry, fmt::format("{} is no requirement's id and covers none", one.id));
    }
  }
  if (one.says.empty()) {
    if (const Requirement* same = list.requirement(one.id)) {
      one.says = same->says;
    } else {
      text.wrong(entry, fmt::format("{} says nothing", one.id));
    }
  }
  inherit(text, entry, list, one);
  if (!one.conditions.qp_types.empty()) {
    std::string types;
    for (const verbena::Feature type : one.conditions.qp_types)
      types += (types.empty() ? "" : " ") + std::string(verbena::name(type));
    one.row.emplace("qp_types", types);
  }
  for (const ListedCase& other : list.cases) {
    if (other.id == one.id)
      text.wrong(entry, fmt::format("case '{}' stands twice (first in {}:{})", one.id, other.at.file, other.at.line));
  }
  list.cases.push_back(std::move(one));
}

}  // namespace

void read_cases(TableText& text, CaseList& list) {
  static constexpr std::string_view kTop[] = {"schema", "area", "cases"};
  static constexpr std::string_view kKeys[] = {"id",       "says",    "covers",    "source", "needs",
                                               "qp_types", "body",    "transport", "setup",  "impact",
                                               "isolated", "seconds", "each"};
  if (!text.map(text.root(), kTop)) return;
  text.schema();
  const std::string area = text.word(text.root(), "area");
  for (const YAML::Node& entry : text.list(text.root(), "cases")) {
    if (!text.map(entry, kKeys)) continue;
    for (const Row& row : rows_of(text, entry)) read_row(text, entry, row, area, list);
  }
}

}  // namespace conform
