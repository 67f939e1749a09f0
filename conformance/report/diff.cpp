// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "diff.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "column_text.hpp"
#include "escape.hpp"

namespace conform {
namespace {

using Json = nlohmann::ordered_json;

void compare(std::vector<Change>& changes, std::string what, std::string a, std::string b) {
  if (a != b) changes.push_back({std::move(what), std::move(a), std::move(b)});
}

void compare_identities(std::vector<Change>& changes, const std::string& whose, const Identity& a, const Identity& b) {
  const auto field = [&](const char* name, std::string Identity::* value) {
    compare(changes, fmt::format("{}.{}", whose, name), a.*value, b.*value);
  };
  field("name", &Identity::name);
  field("driver", &Identity::driver);
  field("part", &Identity::part);
  field("firmware", &Identity::firmware);
  field("kernel", &Identity::kernel);
  field("library", &Identity::library);
  field("transport", &Identity::transport);
  field("node_guid", &Identity::node_guid);
  compare(changes, whose + ".model", a.model.value_or(""), b.model.value_or(""));
}

std::vector<Change> compare_identity(const Run& a, const Run& b) {
  std::vector<Change> changes;
  compare_identities(changes, "device", a.device, b.device);
  compare_identities(changes, "peer", a.peer.value_or(Identity{}), b.peer.value_or(Identity{}));
  compare(changes, "path", std::string(word(a.path)), std::string(word(b.path)));
  compare(changes, "substrate", std::string(word(a.substrate)), std::string(word(b.substrate)));
  compare(changes, "quirks.hash", a.quirks_hash, b.quirks_hash);
  compare(changes, "verbena", a.verbena, b.verbena);
  compare(changes, "suite.version", fmt::format("{}", a.suite_version), fmt::format("{}", b.suite_version));
  return changes;
}

std::string findings_text(const Column& column) {
  std::vector<std::string> texts;
  for (const Finding& f : column.findings) texts.push_back(fmt::format("{}: {}", f.requirement, seen_text(f)));
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string adjustments_text(const Column& column) {
  std::vector<std::string> texts;
  for (const Adjustment& a : column.adjustments) texts.push_back(adjustment_text(a));
  return fmt::format("{}", fmt::join(texts, "; "));
}

std::string verdict_text(const Column& column) {
  return column.rate ? fmt::format("{} {}", word(column.verdict), *column.rate) : std::string(word(column.verdict));
}

std::vector<Change> compare_columns(const Column& a, const Column& b) {
  std::vector<Change> changes;
  compare(changes, "verdict", verdict_text(a), verdict_text(b));
  compare(changes, "table", std::string(word(a.table)), std::string(word(b.table)));
  compare(changes, "findings", findings_text(a), findings_text(b));
  compare(changes, "adjustments", adjustments_text(a), adjustments_text(b));
  return changes;
}

/// The results of one id: a case that ran twice has two.
using ById = std::multimap<std::string, const CaseResult*>;

ById by_id(const Run& run) {
  ById all;
  for (const CaseResult& one : run.cases) all.emplace(one.id, &one);
  return all;
}

Json to_json(const std::vector<Change>& changes) {
  Json array = Json::array();
  for (const Change& change : changes) array.push_back({{"what", change.what}, {"a", change.a}, {"b", change.b}});
  return array;
}

std::string shown(const std::string& text) {
  return text.empty() ? "-" : escape_terminal(text);
}

}  // namespace

RunDiff diff_runs(const Run& a, const Run& b) {
  RunDiff diff;
  diff.identity = compare_identity(a, b);
  ById left = by_id(b);
  for (const CaseResult& one : a.cases) {
    const auto other = left.find(one.id);
    if (other == left.end()) {
      diff.only_a.push_back(one.id);
      continue;
    }
    for (const Side side : {Side::raw, Side::verbena}) {
      std::vector<Change> changes = compare_columns(one.column(side), other->second->column(side));
      if (!changes.empty()) diff.cases.push_back({one.id, side, std::move(changes)});
    }
    left.erase(other);
  }
  for (const CaseResult& one : b.cases) {
    const auto at = std::find_if(left.begin(), left.end(), [&](const auto& entry) { return entry.second == &one; });
    if (at != left.end()) diff.only_b.push_back(one.id);
  }
  return diff;
}

std::string diff_to_text(const RunDiff& diff, const std::string& a_name, const std::string& b_name) {
  std::string out = fmt::format("A  {}\nB  {}\n", escape_terminal(a_name), escape_terminal(b_name));
  if (!diff.identity.empty()) out += "\nwho was asked, and by what\n";
  for (const Change& change : diff.identity) {
    out += fmt::format("  {}: {} -> {}\n", change.what, shown(change.a), shown(change.b));
  }
  if (!diff.cases.empty()) out += "\nresults\n";
  for (std::size_t i = 0; i < diff.cases.size(); ++i) {
    const CaseDiff& one = diff.cases[i];
    // What changed alike on both sides is said once.
    const bool both = i + 1 < diff.cases.size() && diff.cases[i + 1].id == one.id &&
                      diff.cases[i + 1].side != one.side && diff.cases[i + 1].changes == one.changes;
    i += both;
    out += fmt::format("  {} ({})\n", escape_terminal(one.id), both ? "raw, verbena" : word(one.side));
    for (const Change& change : one.changes) {
      // What is short stands on one line.
      if (change.a.size() + change.b.size() < 60) {
        out += fmt::format("    {}: {} -> {}\n", change.what, shown(change.a), shown(change.b));
      } else {
        out += fmt::format("    {}:\n      A  {}\n      B  {}\n", change.what, shown(change.a), shown(change.b));
      }
    }
  }
  const auto only = [&](const char* which, const std::vector<std::string>& ids) {
    if (!ids.empty()) out += fmt::format("\nonly in {}\n", which);
    for (const std::string& id : ids) out += fmt::format("  {}\n", escape_terminal(id));
  };
  only("A", diff.only_a);
  only("B", diff.only_b);
  out += diff.same() ? "\nno result differs\n"
                     : fmt::format("\n{} results differ; {} cases only in A, {} only in B\n", diff.cases.size(),
                                   diff.only_a.size(), diff.only_b.size());
  return out;
}

std::string diff_to_json(const RunDiff& diff, const std::string& a_name, const std::string& b_name) {
  Json out;
  out["schema"] = 1;
  out["a"] = a_name;
  out["b"] = b_name;
  out["same"] = diff.same();
  out["identity"] = to_json(diff.identity);
  out["cases"] = Json::array();
  for (const CaseDiff& one : diff.cases) {
    out["cases"].push_back({{"id", one.id}, {"side", word(one.side)}, {"changes", to_json(one.changes)}});
  }
  out["only_a"] = diff.only_a;
  out["only_b"] = diff.only_b;
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace conform
