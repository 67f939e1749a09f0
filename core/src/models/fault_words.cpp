// SPDX-License-Identifier: Apache-2.0 OR MIT
// A fault as a command line names it.
#include <fmt/format.h>

#include "models/conduct_reader.hpp"
#include "verbena/model.hpp"

namespace verbena {

namespace {

yaml::Node scalar(std::string_view text) {
  yaml::Node node;
  node.kind = yaml::Node::Kind::scalar;
  node.scalar = std::string{text};
  return node;
}

Failure no_fault(std::string text) {
  Error error{.kind = ErrorKind::invalid_request};
  error.text = std::move(text);
  return Failure(std::move(error));
}

}  // namespace

Result<SwitchedFault> parse_fault(std::string_view words) {
  const std::string_view whole = words;
  yaml::Node parameters;
  parameters.kind = yaml::Node::Kind::map;
  const std::string_view name = words.substr(0, words.find(':'));
  while (words.find(':') != std::string_view::npos) {
    words.remove_prefix(words.find(':') + 1);
    const std::string_view one = words.substr(0, words.find(':'));
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return no_fault(fmt::format("'{}' in '{}' is no parameter; write NAME:PARAMETER=VALUE", one, whole));
    parameters.entries.push_back({scalar(one.substr(0, equals)), scalar(one.substr(equals + 1))});
  }
  yaml::Node list;
  list.kind = yaml::Node::Kind::sequence;
  list.items.push_back(scalar(name));
  if (!parameters.entries.empty()) {
    yaml::Node item;
    item.kind = yaml::Node::Kind::map;
    item.entries.push_back({scalar(name), std::move(parameters)});
    list.items.front() = std::move(item);
  }
  std::vector<Finding> findings;
  quirks::Reporter report("", findings);
  std::vector<SwitchedFault> faults;
  models::read_faults(list, faults, report);
  if (!findings.empty()) return no_fault(findings.front().text);
  return faults.front();
}

}  // namespace verbena
