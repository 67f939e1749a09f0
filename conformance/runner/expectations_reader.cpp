// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>

#include "runner/table_text.hpp"

namespace conform {
namespace {

Match read_match(TableText& text, const YAML::Node& entry) {
  Match match;
  const YAML::Node found = entry["match"];
  if (!found.IsDefined()) return match;
  if (!found.IsMap()) {
    text.wrong(found, "'match' should be a map");
    return match;
  }
  for (const auto& condition : found) {
    const std::string key = condition.first.Scalar();
    match.push_back({key, text.words(found, key.c_str())});
  }
  return match;
}

std::vector<std::string> resolved(TableText& text, const YAML::Node& entry, const CaseList& list) {
  std::vector<std::string> ids;
  for (const std::string& pattern : text.words(entry, "requirement")) {
    const std::size_t before = ids.size();
    for (const Requirement& one : list.requirements)
      if (glob_matches(pattern, one.id)) ids.push_back(one.id);
    if (ids.size() == before) text.wrong(entry, fmt::format("'{}' is no requirement", pattern));
  }
  return ids;
}

SeenAs read_seen(TableText& text, const YAML::Node& entry) {
  static constexpr std::string_view kKeys[] = {"result", "errno", "status", "state"};
  SeenAs seen;
  const YAML::Node found = entry["seen"];
  if (!found.IsDefined() || !text.map(found, kKeys)) return seen;
  const std::string result = text.word(found, "result", false);
  seen.result = from_word<Seen>(result);
  if (!result.empty() && !seen.result) {
    text.wrong(found, fmt::format("'{}' is no result; there are {}", result, every_word<Seen>()));
  }
  seen.error = text.words(found, "errno");
  seen.status = text.words(found, "status");
  seen.state = text.words(found, "state");
  return seen;
}

}  // namespace

void read_expectations(TableText& text, CaseList& list) {
  static constexpr std::string_view kTop[] = {"schema", "driver", "version", "must_be_native", "expectations"};
  static constexpr std::string_view kNative[] = {"features", "match", "source"};
  static constexpr std::string_view kKeys[] = {"id",    "requirement", "match",       "kind",     "seen",
                                               "says",  "reason",      "source",      "evidence", "since",
                                               "until", "fixed_in",    "corrected_by"};
  if (!text.map(text.root(), kTop)) return;
  text.schema();
  DriverTable table;
  table.driver = text.word(text.root(), "driver");
  for (const YAML::Node& entry : text.list(text.root(), "must_be_native")) {
    if (!text.map(entry, kNative)) continue;
    MustBeNative native;
    native.features =
        text.each<verbena::Feature>(entry, "features", text.words(entry, "features"), "feature of a contract",
                                    [](const std::string& one) { return verbena::find_feature(one); });
    native.match = read_match(text, entry);
    native.at = text.place(entry);
    table.must_be_native.push_back(std::move(native));
  }
  for (const YAML::Node& entry : text.list(text.root(), "expectations")) {
    if (!text.map(entry, kKeys)) continue;
    ExpectationEntry one;
    one.id = text.word(entry, "id");
    one.requirements = resolved(text, entry, list);
    one.match = read_match(text, entry);
    const std::string kind = text.word(entry, "kind");
    if (kind != "absent" && kind != "deviates") text.wrong(entry, fmt::format("'{}' is no kind", kind));
    one.absent = kind == "absent";
    one.seen = read_seen(text, entry);
    one.says = text.word(entry, "says");
    one.reason = text.word(entry, "reason");
    one.source = text.words(entry, "source");
    one.until = text.word(entry, "until");
    one.corrected_by = text.word(entry, "corrected_by", false);
    one.at = text.place(entry);
    table.expectations.push_back(std::move(one));
  }
  list.drivers.push_back(std::move(table));
}

}  // namespace conform
