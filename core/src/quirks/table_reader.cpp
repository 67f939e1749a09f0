// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks/table_reader.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "quirks/rule_reader.hpp"
#include "quirks/scalars.hpp"

namespace verbena::quirks {
namespace {

constexpr std::size_t kMostRules = 4096;
constexpr std::array<std::string_view, 5> kTableKeys{"schema", "driver", "version", "rules", "disable"};
constexpr std::array<std::string_view, 3> kDisableKeys{"id", "reason", "expires"};
constexpr std::array<std::string_view, 2> kEnableKeys{"enable", "reason"};

/// `disable: - {id, reason, expires}` and `rules: - {enable: id, reason}`.
std::optional<Switch> read_switch(const yaml::Node& node, std::string_view id_key,
                                  std::span<const std::string_view> keys, Reporter& report) {
  if (!node.is_map()) {
    report.error(node.at, fmt::format("found {}; allowed is a map of {}", yaml::describe(node), join(keys)));
    return std::nullopt;
  }
  Switch result;
  result.at = node.at;
  result.file = report.file();
  for (const auto& [key, value] : node.entries) {
    if (std::find(keys.begin(), keys.end(), key.scalar) == keys.end()) {
      report.error(key.at, fmt::format("unknown key '{}'; allowed are {}{}", key.scalar, join(keys),
                                       did_you_mean(key.scalar, keys)));
      continue;
    }
    if (!value.is_scalar() || value.scalar.empty()) {
      report.error(value.at, fmt::format("found {} for '{}'; allowed is a word", yaml::describe(value), key.scalar));
      continue;
    }
    if (key.scalar == id_key) result.id = value.scalar;
    if (key.scalar == "reason") result.reason = value.scalar;
    if (key.scalar == "expires") {
      if (!is_date(value.scalar))
        report.error(value.at, fmt::format("'{}' is no date; write it as 2027-06-30", value.scalar));
      result.expires = value.scalar;
    }
  }
  if (result.id.empty()) report.error(node.at, fmt::format("'{}' is missing", id_key));
  if (result.reason.empty()) report.error(node.at, "'reason' is missing: whoever comes after must know why");
  if (report.failed()) return std::nullopt;
  return result;
}

void read_header(const yaml::Node& root, Table& table, std::vector<std::string>& drivers, Reporter& report) {
  for (const auto& [key, value] : root.entries)
    if (!report.full() && std::find(kTableKeys.begin(), kTableKeys.end(), key.scalar) == kTableKeys.end())
      report.error(key.at, fmt::format("unknown key '{}' at the top; allowed are {}{}", key.scalar, join(kTableKeys),
                                       did_you_mean(key.scalar, kTableKeys)));
  const yaml::Node* schema = root.find("schema");
  if (!schema)
    report.error(root.at, "'schema: 1' is missing");
  else if (!schema->is_scalar() || schema->scalar != "1")
    report.error(schema->at, fmt::format("schema {}; this version reads schema 1", yaml::describe(*schema)));
  if (const yaml::Node* version = root.find("version")) {
    if (version->is_scalar())
      table.version = yaml::one_line(version->scalar);
    else
      report.error(version->at, fmt::format("found {} for 'version'; allowed is a word", yaml::describe(*version)));
  }
  if (const yaml::Node* driver = root.find("driver")) drivers = report.words(*driver, "driver");
}

}  // namespace

Table read_table(std::string_view text, std::string_view file, LayerKind layer, const BackendRegistry& registry) {
  Table table;
  Reporter report(file, table.findings);
  auto root = yaml::parse(text, file);
  if (!root) {
    table.findings.push_back(std::move(root.error()));
    return table;
  }
  if (!root->is_map()) {
    report.error(root->at, fmt::format("found {}; a table is a map with schema and rules", yaml::describe(*root)));
    return table;
  }
  std::vector<std::string> drivers;
  read_header(*root, table, drivers, report);

  const yaml::Node* rules = root->find("rules");
  const yaml::Node* disable = root->find("disable");
  if (rules) {
    if (!rules->is_sequence()) {
      report.error(rules->at, fmt::format("found {} for 'rules'; allowed is a list", yaml::describe(*rules)));
    } else if (rules->items.size() > kMostRules) {
      report.error(rules->at, fmt::format("{} rules; at most {} are read", rules->items.size(), kMostRules));
    } else {
      for (const yaml::Node& item : rules->items) {
        if (report.full()) break;
        if (item.find("enable")) {
          std::vector<Finding> own;
          Reporter inner(file, own);
          if (auto enable = read_switch(item, "enable", kEnableKeys, inner)) table.enables.push_back(*enable);
          table.findings.insert(table.findings.end(), own.begin(), own.end());
        } else if (auto rule = read_rule(item, file, layer, drivers, registry, table.findings)) {
          table.rules.push_back(std::move(*rule));
        }
      }
    }
  }
  if (disable) {
    if (!disable->is_sequence())
      report.error(disable->at, fmt::format("found {} for 'disable'; allowed is a list", yaml::describe(*disable)));
    else
      for (const yaml::Node& item : disable->items) {
        if (report.full()) break;
        std::vector<Finding> own;
        Reporter inner(file, own);
        if (auto off = read_switch(item, "id", kDisableKeys, inner)) table.disables.push_back(*off);
        table.findings.insert(table.findings.end(), own.begin(), own.end());
      }
  }
  if (!rules && !disable) {
    report.error(root->at, "neither 'rules' nor 'disable': the table says nothing");
  } else if (table.findings.empty() && (!rules || rules->items.empty()) && (!disable || disable->items.empty())) {
    Finding finding = yaml::error_at(file, (rules ? rules : disable)->at, "the list is empty: the table says nothing");
    finding.level = FindingLevel::warning;
    table.findings.push_back(std::move(finding));
  }
  return table;
}

}  // namespace verbena::quirks
