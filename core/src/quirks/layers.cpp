// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks/layers.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include <fmt/format.h>
#include <sys/stat.h>

#include "quirks/scalars.hpp"
#include "quirks/table_reader.hpp"

namespace verbena::quirks {
namespace {

Finding about(std::string_view file, std::string text, FindingLevel level = FindingLevel::error) {
  Finding finding = yaml::error_at(file, {}, std::move(text));
  finding.level = level;
  return finding;
}

/// Empty when the file may be trusted by a privileged process.
std::string writable_by_others(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return fmt::format("cannot be looked at: {}", std::strerror(errno));
  if (status.st_uid != 0) return "belongs to another user than root; a privileged process does not read it";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return "can be written by others than root; a privileged process does not read it (chmod go-w)";
  return {};
}

/// The files of a layer in name order; a file that is named directly stands for itself.
std::vector<std::string> files_of(const std::string& path, LayerReport& report) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> files;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) return files;
  report.present = true;
  if (!fs::is_directory(status)) return {path};
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error))
    if (entry->path().extension() == ".yaml") files.push_back(entry->path().string());
  if (error) report.findings.push_back(about(path, fmt::format("cannot be listed: {}", error.message())));
  std::sort(files.begin(), files.end());
  return files;
}

std::optional<std::string> read_text(const std::string& path, std::vector<Finding>& findings) {
  // One byte more than is read anyway tells that a file is too large, without taking it all in.
  const std::size_t limit = yaml::Limits{}.bytes + 1;
  std::ifstream stream(path, std::ios::binary);
  std::string text(limit, '\0');
  if (stream) stream.read(text.data(), static_cast<std::streamsize>(limit));
  if (stream.bad() || (!stream && stream.gcount() == 0 && !stream.eof())) {
    findings.push_back(about(path, fmt::format("cannot be read: {}", std::strerror(errno))));
    return std::nullopt;
  }
  text.resize(static_cast<std::size_t>(stream.gcount()));
  return text;
}

void take(Layer& layer, std::string_view text, std::string_view file, const BackendRegistry& registry) {
  Table table = read_table(text, file, layer.report.kind, registry);
  auto& findings = layer.report.findings;
  findings.insert(findings.end(), table.findings.begin(), table.findings.end());
  if (layer.report.version.empty()) layer.report.version = table.version;
  for (Rule& rule : table.rules) {
    const auto twice = std::find_if(layer.rules.begin(), layer.rules.end(),
                                    [&](const Rule& other) { return other.summary.id == rule.summary.id; });
    if (twice != layer.rules.end()) {
      Finding finding = yaml::error_at(file, rule.at,
                                       fmt::format("id '{}' a second time in this layer (first in {}:{})",
                                                   rule.summary.id, twice->summary.by.file, twice->at.line));
      finding.rule = rule.summary.id;
      findings.push_back(std::move(finding));
      continue;
    }
    layer.rules.push_back(std::move(rule));
  }
  layer.disables.insert(layer.disables.end(), table.disables.begin(), table.disables.end());
  layer.enables.insert(layer.enables.end(), table.enables.begin(), table.enables.end());
}

bool has_error(const std::vector<Finding>& findings) {
  return std::any_of(findings.begin(), findings.end(),
                     [](const Finding& finding) { return finding.level == FindingLevel::error; });
}

bool expired(const std::string& date) {
  if (date.empty()) return false;
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const std::chrono::year_month_day now{today};
  const std::string text = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(now.year()),
                                       static_cast<unsigned>(now.month()), static_cast<unsigned>(now.day()));
  return date < text;
}

/// Rules by id, with the layer that put them there; a later layer's rule stands in place of an earlier one.
using Effective = std::map<std::string, Rule, std::less<>>;

std::string nearest_rule(const Effective& rules, const std::string& id) {
  std::vector<std::string_view> known;
  for (const auto& [name, rule] : rules) known.push_back(name);
  return did_you_mean(id, known);
}

Finding at_switch(const Switch& what, FindingLevel level, std::string text) {
  Finding finding = yaml::error_at(what.file, what.at, std::move(text));
  finding.level = level;
  finding.rule = what.id;
  return finding;
}

/// Applies one layer to a copy; false when it has a fault, which its report then tells.
bool apply(Layer& layer, Effective& rules) {
  LayerReport& report = layer.report;
  for (const Rule& rule : layer.rules) {
    const auto earlier = rules.find(rule.summary.id);
    if (earlier != rules.end()) {
      Finding finding = yaml::error_at(rule.summary.by.file, rule.at,
                                       fmt::format("replaces the rule of the same id in {}:{}",
                                                   earlier->second.summary.by.file, earlier->second.at.line));
      finding.level = FindingLevel::note;
      finding.rule = rule.summary.id;
      report.findings.push_back(std::move(finding));
    }
    rules.insert_or_assign(rule.summary.id, rule);
    if (!rule.summary.requires_features.empty()) ++report.skipped;
  }
  for (const Switch& off : layer.disables) {
    const auto rule = rules.find(off.id);
    if (rule == rules.end()) {
      report.findings.push_back(
          at_switch(off, FindingLevel::warning,
                    fmt::format("there is no rule '{}' to turn off{}", off.id, nearest_rule(rules, off.id))));
      continue;
    }
    if (rule->second.summary.by.severity == Severity::safety) {
      if (report.kind != LayerKind::etc) {
        report.findings.push_back(at_switch(off, FindingLevel::error,
                                            fmt::format("'{}' is a safety rule; only a file in /etc/verbena/quirks.d "
                                                        "can turn it off",
                                                        off.id)));
        continue;
      }
      if (off.expires.empty()) {
        report.findings.push_back(at_switch(
            off, FindingLevel::error, fmt::format("'{}' is a safety rule; turning it off needs 'expires'", off.id)));
        continue;
      }
    }
    if (expired(off.expires)) {
      report.findings.push_back(
          at_switch(off, FindingLevel::warning, fmt::format("ran out on {}; '{}' holds again", off.expires, off.id)));
      continue;
    }
    rule->second.summary.enabled = false;
    ++report.disabled;
  }
  for (const Switch& on : layer.enables) {
    const auto rule = rules.find(on.id);
    if (rule == rules.end()) {
      report.findings.push_back(
          at_switch(on, FindingLevel::error,
                    fmt::format("there is no rule '{}' to turn on{}", on.id, nearest_rule(rules, on.id))));
      continue;
    }
    RuleSummary& summary = rule->second.summary;
    summary.enabled = true;
    // Who asks where a value comes from is sent to the line that turned the claim on.
    summary.by.layer = std::string{name(report.kind)};
    summary.by.file = on.file;
    summary.by.line = on.at.line;
  }
  return !has_error(report.findings);
}

}  // namespace

Layer read_layer(const LayerSource& source, bool privileged, const BackendRegistry& registry) {
  Layer layer;
  layer.report.kind = source.kind;
  layer.report.path = source.path;
  if (!source.texts.empty()) {
    layer.report.present = true;
    for (const TableText& text : source.texts) take(layer, text.text, text.file, registry);
  } else {
    for (const std::string& file : files_of(source.path, layer.report)) {
      if (privileged) {
        if (std::string why = writable_by_others(file); !why.empty()) {
          layer.report.findings.push_back(about(file, std::move(why)));
          continue;
        }
      }
      if (const auto text = read_text(file, layer.report.findings)) take(layer, *text, file, registry);
    }
    if (!layer.report.present && source.kind == LayerKind::env)
      layer.report.findings.push_back(about(source.path,
                                            "named in VERBENA_QUIRKS, but there is no such file or "
                                            "directory"));
  }
  layer.report.rules = layer.rules.size();
  layer.report.loaded = layer.report.present && !has_error(layer.report.findings);
  return layer;
}

std::vector<Rule> merge_layers(std::vector<Layer>& layers) {
  Effective rules;
  for (Layer& layer : layers) {
    if (!layer.report.loaded) continue;
    layer.report.skipped = layer.report.disabled = 0;
    Effective next = rules;
    layer.report.loaded = apply(layer, next);
    if (layer.report.loaded) rules = std::move(next);
  }
  std::vector<Rule> result;
  result.reserve(rules.size());
  for (auto& [id, rule] : rules) result.push_back(std::move(rule));
  return result;
}

}  // namespace verbena::quirks
