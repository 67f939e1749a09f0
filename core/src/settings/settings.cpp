// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/settings.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "quirks/scalars.hpp"
#include "yaml/tree.hpp"

namespace verbena {
namespace {

constexpr std::string_view kSiteFile = "/etc/verbena/site.yaml";

struct Known {
  std::string_view key, variable, fallback, help;
  /// Takes a value; false when it is none of the allowed ones.
  bool (*take)(std::string_view value, Settings& settings);
};

bool take_word(std::string_view value, std::string_view yes, std::string_view no, bool& flag) {
  if (value != yes && value != no) return false;
  flag = value == yes;
  return true;
}

constexpr std::array<Known, 4> kKnown{{
    {"fit.beyond_declared", "VERBENA_FIT_BEYOND_DECLARED", "allow",
     "allow | forbid: may a grant exceed what the device declares, where a rule says that more works",
     [](std::string_view value, Settings& settings) {
       return take_word(value, "allow", "forbid", settings.beyond_declared);
     }},
    {"quirks.strict", "VERBENA_QUIRKS_STRICT", "no",
     "yes | no: yes makes a table layer that cannot be loaded fail the open, instead of being left out",
     [](std::string_view value, Settings& settings) { return take_word(value, "yes", "no", settings.strict_quirks); }},
    {"create.tries", "VERBENA_CREATE_TRIES", "8",
     "1..64: creations tried with smaller and smaller numbers before a refusal is final",
     [](std::string_view value, Settings& settings) {
       const auto number = quirks::read_number(value);
       if (!number || *number < 1 || *number > 64) return false;
       settings.ladder_tries = static_cast<unsigned>(*number);
       return true;
     }},
    {"quirks.path", "VERBENA_QUIRKS", "", "files or directories of a further table layer, separated by ':'",
     [](std::string_view value, Settings& settings) {
       settings.quirks_path = std::string{value};
       return true;
     }},
}};

/// Variables of the project that are no settings of the library (its tools and tests read them).
bool of_the_tools(std::string_view variable) {
  return variable.starts_with("VERBENA_VM_") || variable.starts_with("VERBENA_TEST_") ||
         variable.starts_with("VERBENA_CHECK_") || variable.starts_with("VERBENA_EMULATED_");
}

Failure bad_setting(std::string text, std::string file = {}, int line = 0) {
  Error error;
  error.kind = ErrorKind::bad_table;
  error.by.set_by = SetBy::site;
  error.by.file = std::move(file);
  error.by.line = line;
  error.text = std::move(text);
  return Failure(std::move(error));
}

std::string refusal(const Known& known, std::string_view value) {
  const std::size_t colon = known.help.find(": ");
  if (colon == std::string_view::npos)
    return fmt::format("'{}' is no value for {}; allowed are {}", value, known.key, known.help);
  return fmt::format("'{}' is no value for {}; allowed are {} ({})", value, known.key, known.help.substr(0, colon),
                     known.help.substr(colon + 2));
}

/// The site file in two levels: `fit: {beyond_declared: forbid}`.
Result<void> read_site_file(const std::string& path, LoadedSettings& loaded) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    // Not there is one thing, not allowed to look another.
    if (error) return bad_setting(fmt::format("{}: cannot be looked at: {}", path, error.message()), path);
    return {};
  }
  const auto size = std::filesystem::file_size(path, error);
  if (error) return bad_setting(fmt::format("{}: cannot be read: {}", path, error.message()), path);
  if (size > yaml::Limits{}.bytes)
    return bad_setting(fmt::format("{}: the file has {} bytes; at most {} are read", path, size, yaml::Limits{}.bytes),
                       path);
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (size > 0) text << stream.rdbuf();
  if (!stream || !text) return bad_setting(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)), path);
  const auto root = yaml::parse(text.str(), path);
  if (!root) return bad_setting(to_string(root.error()), path, root.error().line);
  if (root->kind == yaml::Node::Kind::null) return {};
  std::vector<std::string_view> keys;
  keys.reserve(std::size(kKnown));
  for (const Known& known : kKnown) keys.push_back(known.key);
  const auto refuse = [&](yaml::Place at, const std::string& what) {
    return bad_setting(to_string(yaml::error_at(path, at, what)), path, at.line);
  };
  if (!root->is_map()) return refuse(root->at, "found no map; a site file is a map of sections");
  for (const auto& [section, values] : root->entries) {
    if (section.scalar == "schema") {
      if (values.scalar != "1")
        return refuse(values.at, fmt::format("schema {}; this version reads schema 1", yaml::describe(values)));
      continue;
    }
    if (!values.is_map())
      return refuse(values.at,
                    fmt::format("found {} for section '{}'; allowed is a map", yaml::describe(values), section.scalar));
    for (const auto& [key, value] : values.entries) {
      const std::string full = section.scalar + "." + key.scalar;
      const auto known = std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& one) { return one.key == full; });
      if (known == kKnown.end())
        return refuse(key.at, fmt::format("unknown setting '{}'; allowed are {}{}", full, quirks::join(keys),
                                          quirks::did_you_mean(full, keys)));
      if (!value.is_scalar())
        return refuse(value.at, fmt::format("found {} for {}; one value is allowed: {}", yaml::describe(value),
                                            known->key, known->help));
      if (!known->take(value.scalar, loaded.values)) return refuse(value.at, refusal(*known, value.scalar));
      SettingInfo& info = loaded.info[static_cast<std::size_t>(known - kKnown.begin())];
      info.value = value.scalar;
      info.from = fmt::format("{}:{}", path, value.at.line);
    }
  }
  return {};
}

}  // namespace

Result<LoadedSettings> load_settings(std::string_view site_file, std::span<const std::string> environment,
                                     bool privileged) {
  LoadedSettings loaded;
  loaded.privileged = privileged;
  for (const Known& known : kKnown)
    loaded.info.push_back({std::string{known.key}, std::string{known.variable}, std::string{known.fallback}, "default",
                           std::string{known.help}});
  if (auto read = read_site_file(std::string{site_file.empty() ? kSiteFile : site_file}, loaded); !read)
    return Failure(std::move(read.error()));
  if (privileged) return loaded;

  std::vector<std::string_view> names;
  names.reserve(std::size(kKnown));
  for (const Known& known : kKnown) names.push_back(known.variable);
  for (const std::string& entry : environment) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || !entry.starts_with("VERBENA_")) continue;
    const std::string_view variable = std::string_view{entry}.substr(0, equals);
    const std::string_view value = std::string_view{entry}.substr(equals + 1);
    const auto known =
        std::find_if(kKnown.begin(), kKnown.end(), [&](const Known& one) { return one.variable == variable; });
    if (known == kKnown.end()) {
      if (of_the_tools(variable)) continue;
      Finding finding;
      finding.level = FindingLevel::warning;
      finding.file = "environment";
      finding.text = fmt::format("unknown variable '{}'{}", variable, quirks::did_you_mean(variable, names));
      loaded.findings.push_back(std::move(finding));
      continue;
    }
    if (!known->take(value, loaded.values))
      return bad_setting(fmt::format("environment: {}: {}", variable, refusal(*known, value)), "environment");
    SettingInfo& info = loaded.info[static_cast<std::size_t>(known - kKnown.begin())];
    info.value = std::string{value};
    info.from = "environment";
  }
  return loaded;
}

Result<LoadedSettings> load_settings(std::string_view site_file) {
  const bool privileged = ::getauxval(AT_SECURE) != 0;
  std::vector<std::string> environment;
  if (!privileged)
    for (char** entry = environ; entry && *entry; ++entry) environment.emplace_back(*entry);
  return load_settings(site_file, environment, privileged);
}

}  // namespace verbena
