// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include "quirks/match.hpp"
#include "quirks/rule_reader.hpp"
#include "quirks/scalars.hpp"
#include "verbena/match.hpp"

namespace verbena {

Result<bool> device_matches(std::span<const MatchEntry> match, const DeviceId& device, std::uint8_t port) {
  const auto bad = [](std::string text) {
    Error error{.kind = ErrorKind::bad_table};
    error.text = std::move(text);
    return Failure(std::move(error));
  };
  quirks::Rule rule;
  std::vector<Finding> findings;
  quirks::Reporter report("match", findings);
  for (const MatchEntry& entry : match) {
    const auto key = quirks::find_match_key(entry.key);
    if (!key)
      return bad(
          fmt::format("'{}' is no key of a match; allowed are {}", entry.key, quirks::join(quirks::match_key_names())));
    yaml::Node values;
    values.kind = yaml::Node::Kind::sequence;
    for (const std::string& value : entry.values) {
      yaml::Node item;
      item.kind = yaml::Node::Kind::scalar;
      item.scalar = value;
      values.items.push_back(std::move(item));
    }
    // A flag is one word.
    const bool flag = quirks::form(*key) == quirks::MatchForm::flag && values.items.size() == 1;
    quirks::Condition condition;
    if (!quirks::read_condition(*key, flag ? values.items.front() : values, report, condition))
      return bad(findings.empty() ? fmt::format("'{}' cannot be read", entry.key) : findings.front().text);
    rule.match.push_back(std::move(condition));
  }
  return quirks::matches(rule, {device, Caps{}, port}, nullptr);
}

}  // namespace verbena
