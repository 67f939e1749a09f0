// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "quirks/layers.hpp"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <map>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "quirks/rule_reader.hpp"
#include "quirks/scalars.hpp"
#include "quirks/table_reader.hpp"

namespace verbena::quirks {
namespace {

constexpr std::size_t kMostRulesOfALayer = 4096;

Finding about(std::string_view file, const std::string& text, FindingLevel level = FindingLevel::error) {
  Finding finding = yaml::error_at(file, {}, text);
  finding.level = level;
  return finding;
}

/// Empty when a file or folder may be trusted by a privileged process.
std::string writable_by_others(const struct stat& status) {
  if (status.st_uid != 0) return "belongs to another user than root; a privileged process does not read it";
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return "can be written by others than root; a privileged process does not read it (chmod go-w)";
  return {};
}

/// Whoever named it so meant it to be read.
bool looks_like_a_table(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return name.ends_with(".yaml") || name.ends_with(".yml");
}

/// The files of a layer in name order; a file that is named directly stands for itself.
std::vector<std::string> files_of(const std::string& path, LayerReport& report) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> files;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) {
    // Not there is one thing, not allowed to look another.
    if (status.type() == fs::file_type::none) {
      report.present = true;
      report.findings.push_back(about(path, fmt::format("cannot be looked at: {}", error.message())));
    }
    return files;
  }
  report.present = true;
  if (!fs::is_directory(status)) return {path};
  for (fs::directory_iterator entry(path, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with('.')) continue;  // an editor's own
    if (name.ends_with(".yaml")) {
      files.push_back(entry->path().string());
    } else if (looks_like_a_table(name)) {
      report.findings.push_back(
          about(entry->path().string(), "is not read: only names that end in .yaml are", FindingLevel::warning));
    }
  }
  if (error) report.findings.push_back(about(path, fmt::format("cannot be listed: {}", error.message())));
  std::sort(files.begin(), files.end());
  return files;
}

/// A file that is closed when this goes.
class OpenFile {
public:
  explicit OpenFile(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {}
  ~OpenFile() {
    if (file_ >= 0) ::close(file_);
  }
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  int get() const noexcept { return file_; }

private:
  int file_;
};

/// Looks at the file that is open, not at the path: what is judged is what is read.
std::optional<std::string> read_text(const std::string& path, bool privileged, std::vector<Finding>& findings) {
  const auto refuse = [&](const std::string& why) {
    findings.push_back(about(path, why));
    return std::nullopt;
  };
  const OpenFile file(path);
  struct stat status{};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0)
    return refuse(fmt::format("cannot be read: {}", std::strerror(errno)));
  if (!S_ISREG(status.st_mode)) return refuse("is no regular file");
  if (privileged)
    if (const std::string why = writable_by_others(status); !why.empty()) return refuse(why);
  const std::size_t limit = yaml::Limits{}.bytes;
  if (static_cast<std::uint64_t>(status.st_size) > limit)
    return refuse(fmt::format("the file has {} bytes; at most {} are read", status.st_size, limit));
  std::string text(limit + 1, '\0');
  std::size_t have = 0;
  while (have < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + have, text.size() - have);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return refuse(fmt::format("cannot be read: {}", std::strerror(errno)));
    if (got == 0) break;
    have += static_cast<std::size_t>(got);
  }
  text.resize(have);
  return text;
}

void take(Layer& layer, std::string_view text, std::string_view file, const BackendRegistry& registry) {
  Table table = read_table(text, file, layer.report.kind, registry);
  auto& findings = layer.report.findings;
  findings.insert(findings.end(), table.findings.begin(), table.findings.end());
  if (layer.report.version.empty()) layer.report.version = table.version;
  std::map<std::string, std::size_t, std::less<>> known;
  for (std::size_t i = 0; i < layer.rules.size(); ++i) known.emplace(layer.rules[i].summary.id, i);
  for (Rule& rule : table.rules) {
    if (findings.size() >= Reporter::kMostFindings) break;
    if (layer.rules.size() >= kMostRulesOfALayer) {
      findings.push_back(
          yaml::error_at(file, rule.at, fmt::format("more than {} rules in one layer", kMostRulesOfALayer)));
      break;
    }
    const auto [place, fresh] = known.emplace(rule.summary.id, layer.rules.size());
    if (!fresh) {
      const Rule* twice = &layer.rules[place->second];
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

/// What a layer that is left out holds and could be read, file by file: rules and switches that are not in force
/// because of a fault elsewhere in it.
std::vector<std::string> left_out(const Layer& layer) {
  std::vector<std::pair<std::string_view, std::string>> files;
  const auto add = [&](std::string_view file, std::string_view what, std::string_view id) {
    auto place = std::find_if(files.begin(), files.end(), [&](const auto& entry) { return entry.first == file; });
    if (place == files.end()) place = files.insert(files.end(), {file, {}});
    place->second += fmt::format("{}{} {}", place->second.empty() ? "" : ", ", what, id);
  };
  for (const Rule& rule : layer.rules) add(rule.summary.by.file, "rule", rule.summary.id);
  for (const Switch& on : layer.enables) add(on.file, "enable", on.id);
  for (const Switch& off : layer.disables) add(off.file, "disable", off.id);
  std::sort(files.begin(), files.end());
  std::vector<std::string> lines;
  for (const auto& [file, what] : files) lines.push_back(fmt::format("{}: {}", file, what));
  return lines;
}

/// Rules by id, with the layer that put them there; a later layer's rule stands in place of an earlier one.
using Effective = std::map<std::string, Rule, std::less<>>;

std::string nearest_rule(const Effective& rules, const std::string& id) {
  std::vector<std::string_view> known;
  for (const auto& [name, rule] : rules) known.push_back(name);
  return did_you_mean(id, known);
}

Finding at_switch(const Switch& what, FindingLevel level, const std::string& text) {
  Finding finding = yaml::error_at(what.file, what.at, text);
  finding.level = level;
  finding.rule = what.id;
  return finding;
}

/// The first switch of that rule.
const Switch* named_in(const std::vector<Switch>& switches, const std::string& id) {
  const auto found = std::find_if(switches.begin(), switches.end(), [&](const Switch& each) { return each.id == id; });
  return found == switches.end() ? nullptr : &*found;
}

bool may_weaken_safety(LayerKind kind) {
  return kind == LayerKind::builtin || kind == LayerKind::installed || kind == LayerKind::etc;
}

/// The safety rule that this one would stand in for; null when there is none. That it calls itself a safety rule says
/// nothing of what it does.
const Rule* safety_rule_behind(const Rule& rule, const Effective& rules) {
  for (const std::string& id : {rule.summary.id, rule.summary.replaces})
    if (const auto found = rules.find(id); found != rules.end())
      if (found->second.summary.by.severity == Severity::safety) return &found->second;
  return nullptr;
}

/// Why a rule of that layer may not stand in for a safety rule; empty when it may.
std::string_view kept_safe(const Rule& rule, LayerKind kind) {
  if (!may_weaken_safety(kind)) return "only /etc/verbena/quirks.d and the tables that are shipped can do that";
  if (kind == LayerKind::etc && !rule.summary.enabled)
    return "turn it off under 'disable', with the date in 'expires' until which that holds";
  return {};
}

/// Applies one layer to a copy; false when it has a fault, which its report then tells.
bool apply(Layer& layer, Effective& rules) {
  LayerReport& report = layer.report;
  for (const Rule& rule : layer.rules) {
    const auto earlier = rules.find(rule.summary.id);
    const Rule* const safety = safety_rule_behind(rule, rules);
    if (const std::string_view why = safety != nullptr ? kept_safe(rule, report.kind) : ""; !why.empty()) {
      Finding finding = yaml::error_at(rule.summary.by.file, rule.at,
                                       fmt::format("takes the place of '{}' ({}:{}), a safety rule; {}",
                                                   safety->summary.id, safety->summary.by.file, safety->at.line, why));
      finding.rule = rule.summary.id;
      report.findings.push_back(std::move(finding));
      continue;
    }
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
    if (report.findings.size() >= Reporter::kMostFindings) break;
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
    if (const Switch* on = named_in(layer.enables, off.id)) {
      report.findings.push_back(
          at_switch(off, FindingLevel::warning,
                    fmt::format("'{}' is turned off here and on in {}:{} of the same layer: it is "
                                "on; leave one of them out",
                                off.id, on->file, on->at.line)));
      continue;
    }
    if (const Switch* first = named_in(layer.disables, off.id); first != &off)
      report.findings.push_back(at_switch(off, FindingLevel::warning,
                                          fmt::format("'{}' is turned off a second time in this layer (first in {}:{})",
                                                      off.id, first->file, first->at.line)));
    else if (!rule->second.summary.enabled)
      report.findings.push_back(
          at_switch(off, FindingLevel::warning, fmt::format("'{}' is off already: this changes nothing", off.id)));
    if (expired(off.expires)) {
      report.findings.push_back(
          at_switch(off, FindingLevel::warning, fmt::format("ran out on {}; '{}' holds again", off.expires, off.id)));
      continue;
    }
    rule->second.summary.enabled = false;
    rule->second.summary.off = fmt::format("{}:{}: {}", off.file, off.at.line, off.reason);
    if (!off.expires.empty()) rule->second.summary.off += fmt::format(" (until {})", off.expires);
    ++report.disabled;
  }
  for (const Switch& on : layer.enables) {
    const auto rule = rules.find(on.id);
    if (rule == rules.end()) {
      report.findings.push_back(
          at_switch(on, layer.last_good ? FindingLevel::warning : FindingLevel::error,
                    fmt::format("there is no rule '{}' to turn on{}", on.id, nearest_rule(rules, on.id))));
      continue;
    }
    RuleSummary& summary = rule->second.summary;
    if (summary.enabled) {
      // Nothing changes, so neither does whose doing it is.
      if (named_in(layer.disables, on.id) == nullptr)
        report.findings.push_back(at_switch(
            on, FindingLevel::warning,
            fmt::format("'{}' is on already ({}:{}): this changes nothing", on.id, summary.by.file, summary.by.line)));
      continue;
    }
    summary.enabled = true;
    summary.off.clear();
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
    const auto files = files_of(source.path, layer.report);
    // Who may write into the folder may swap the files.
    if (struct stat status{}; privileged && ::stat(source.path.c_str(), &status) == 0 && S_ISDIR(status.st_mode))
      if (const std::string why = writable_by_others(status); !why.empty())
        layer.report.findings.push_back(about(source.path, why));
    for (const std::string& file : files) {
      if (const auto text = read_text(file, privileged, layer.report.findings)) take(layer, *text, file, registry);
    }
    if (!layer.report.present && source.kind == LayerKind::env)
      layer.report.findings.push_back(about(source.path,
                                            "is named as a layer (VERBENA_QUIRKS, quirks.path or a caller's own), but "
                                            "there is no such file or directory"));
    // Whoever names a place means what should be in it; the others are looked at on every host.
    if (layer.report.present && files.empty() && source.kind == LayerKind::env && !has_error(layer.report.findings))
      layer.report.findings.push_back(
          about(source.path, "holds no table: names that end in .yaml are read", FindingLevel::warning));
  }
  layer.report.rules = layer.rules.size();
  layer.read_findings = layer.report.findings.size();
  layer.report.loaded = layer.report.present && !has_error(layer.report.findings);
  if (!layer.report.loaded) layer.report.left_out = left_out(layer);
  return layer;
}

std::vector<Rule> merge_layers(std::vector<Layer>& layers) {
  Effective rules;
  for (Layer& layer : layers) {
    if (!layer.report.loaded) continue;
    layer.report.skipped = layer.report.disabled = 0;
    layer.report.findings.resize(layer.read_findings);
    Effective next = rules;
    layer.report.loaded = apply(layer, next);
    if (layer.report.loaded)
      rules = std::move(next);
    else
      layer.report.left_out = left_out(layer);
  }
  std::vector<Rule> result;
  result.reserve(rules.size());
  for (auto& [id, rule] : rules) result.push_back(std::move(rule));
  return result;
}

}  // namespace verbena::quirks
