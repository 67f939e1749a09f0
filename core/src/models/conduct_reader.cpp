// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "models/conduct_reader.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "quirks/scalars.hpp"

namespace verbena::models {
namespace {

using quirks::Reporter;
using yaml::Node;

bool is_map(const Node& node, std::string_view key, Reporter& report) {
  if (node.is_map()) return true;
  report.error(node.at, fmt::format("found {} for '{}'; allowed is a map", yaml::describe(node), key));
  return false;
}

template <class Infos>
std::vector<std::string_view> names_of(const Infos& infos) {
  std::vector<std::string_view> names;
  for (const auto& one : infos) names.push_back(one.name);
  return names;
}

void unknown_name(const Node& node, std::string_view what, std::span<const std::string_view> known, Reporter& report) {
  report.error(node.at, fmt::format("unknown {} '{}'{}", what, node.scalar, quirks::did_you_mean(node.scalar, known)));
}

template <class Key, class Value>
void put(std::vector<std::pair<Key, Value>>& list, Key key, Value value) {
  const auto same = std::find_if(list.begin(), list.end(), [&](const auto& one) { return one.first == key; });
  if (same == list.end())
    list.emplace_back(key, value);
  else
    same->second = value;
}

std::vector<std::string_view> words_of(std::string_view words) {
  std::vector<std::string_view> list;
  while (!words.empty()) {
    const std::size_t blank = words.find(' ');
    list.push_back(words.substr(0, blank));
    words.remove_prefix(blank == std::string_view::npos ? words.size() : blank + 1);
  }
  return list;
}

SwitchedFault with_fallbacks(const FaultInfo& known) {
  SwitchedFault fault{known.fault, {}};
  for (const FaultParameterInfo& each : known.parameters)
    fault.parameters.push_back({std::string{each.name}, each.fallback,
                                each.words.empty() ? std::string{} : std::string{words_of(each.words).front()}});
  return fault;
}

void read_parameter(const FaultParameterInfo& known, const Node& value, SwitchedFault::Parameter& parameter,
                    Reporter& report) {
  if (!known.words.empty()) {
    const auto words = words_of(known.words);
    if (const auto index = report.choice(value, known.name, words)) parameter.word = words[*index];
    return;
  }
  const auto number = value.is_scalar() && !value.quoted ? quirks::read_number(value.scalar) : std::nullopt;
  if (!number || *number < known.least || *number > known.most)
    report.error(value.at, fmt::format("found {} for '{}'; allowed is a number from {} to {}{}",
                                       value.is_scalar() ? fmt::format("'{}'", value.scalar) : yaml::describe(value),
                                       known.name, known.least, known.most, quirks::begins_with_zero(value.scalar)));
  else
    parameter.number = *number;
}

void read_parameters(const FaultInfo& known, const Node& node, SwitchedFault& fault, Reporter& report) {
  if (!is_map(node, known.name, report)) return;
  const auto names = names_of(known.parameters);
  for (const auto& [key, value] : node.entries) {
    if (report.full()) return;
    const auto found = std::find(names.begin(), names.end(), key.scalar);
    if (found == names.end()) {
      report.error(key.at,
                   fmt::format("'{}' has no parameter '{}'; it has {}{}", known.name, key.scalar,
                               names.empty() ? "none" : quirks::join(names), quirks::did_you_mean(key.scalar, names)));
      continue;
    }
    const auto at = static_cast<std::size_t>(found - names.begin());
    read_parameter(known.parameters[at], value, fault.parameters[at], report);
  }
}

}  // namespace

void read_features(const Node& node, std::vector<std::pair<Feature, Support>>& features, Reporter& report) {
  if (!is_map(node, "features", report)) return;
  constexpr std::array<std::string_view, 2> kWords{"native", "absent"};
  for (const auto& [key, value] : node.entries) {
    if (report.full()) return;
    const auto feature = find_feature(key.scalar);
    if (!feature)
      unknown_name(key, "feature", names_of(all_features()), report);
    else if (const auto index = report.choice(value, key.scalar, kWords))
      put(features, *feature, *index == 0 ? Support::native : Support::absent);
  }
}

void read_behaviours(const Node& node, std::vector<std::pair<Behaviour, Choice>>& behaviours, Reporter& report) {
  if (!is_map(node, "behaviours", report)) return;
  for (const auto& [key, value] : node.entries) {
    if (report.full()) return;
    const auto flag = find_behaviour(key.scalar);
    if (!flag) {
      unknown_name(key, "behaviour", names_of(all_behaviours()), report);
      continue;
    }
    const auto choices = info(*flag).choices;
    std::vector<std::string_view> words;
    for (const Choice choice : choices) words.push_back(name(choice));
    if (const auto index = report.choice(value, key.scalar, words)) put(behaviours, *flag, choices[*index]);
  }
}

void read_faults(const Node& node, std::vector<SwitchedFault>& faults, Reporter& report) {
  if (!node.is_sequence()) {
    report.error(node.at, fmt::format("found {} for 'faults'; allowed is a list of names", yaml::describe(node)));
    return;
  }
  faults.clear();
  for (const Node& item : node.items) {
    if (report.full()) return;
    const bool with_parameters = item.is_map() && item.entries.size() == 1;
    const Node& word = with_parameters ? item.entries.front().first : item;
    if (!word.is_scalar()) {
      report.error(item.at, fmt::format("found {} in 'faults'; allowed are a name and {{name: {{parameter: value}}}}",
                                        yaml::describe(item)));
      continue;
    }
    const auto found = find_fault(word.scalar);
    if (!found) {
      unknown_name(word, "fault", names_of(all_faults()), report);
      continue;
    }
    if (std::any_of(faults.begin(), faults.end(), [&](const SwitchedFault& one) { return one.fault == *found; })) {
      report.error(word.at, fmt::format("'{}' stands in 'faults' twice", word.scalar));
      continue;
    }
    faults.push_back(with_fallbacks(info(*found)));
    if (with_parameters) read_parameters(info(*found), item.entries.front().second, faults.back(), report);
  }
}

void read_deviations(const Node& node, std::vector<Deviation>& deviations, Reporter& report) {
  if (!node.is_sequence()) {
    report.error(node.at, fmt::format("found {} for 'deviations'; allowed is a list of names", yaml::describe(node)));
    return;
  }
  deviations.clear();
  for (const Node& item : node.items) {
    if (report.full()) return;
    if (!item.is_scalar()) {
      report.error(item.at, fmt::format("found {} in 'deviations'; allowed are names", yaml::describe(item)));
      continue;
    }
    const auto found = find_deviation(item.scalar);
    if (!found)
      unknown_name(item, "deviation", names_of(all_deviations()), report);
    else if (std::find(deviations.begin(), deviations.end(), *found) != deviations.end())
      report.error(item.at, fmt::format("'{}' stands in 'deviations' twice", item.scalar));
    else
      deviations.push_back(*found);
  }
}

}  // namespace verbena::models
