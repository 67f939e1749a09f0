// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/model.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>

#include <fmt/format.h>

#include "builtin/embedded.hpp"
#include "models/conduct_reader.hpp"
#include "models/creation_check.hpp"
#include "models/identity_reader.hpp"
#include "names/nearest_name.hpp"
#include "quirks/rule_reader.hpp"
#include "quirks/scalars.hpp"
#include "yaml/tree.hpp"

namespace verbena {
namespace {

using quirks::Reporter;

constexpr std::array<std::string_view, 14> kModelKeys{"schema", "model",      "title",    "source",   "identity",
                                                      "caps",   "ports",      "creation", "features", "behaviours",
                                                      "faults", "deviations", "variants", "notes"};
constexpr std::size_t kMostVariants = 64;
constexpr std::array<std::string_view, 9> kVariantKeys{"identity",   "caps",   "ports",      "creation", "features",
                                                       "behaviours", "faults", "deviations", "because"};

/// A number, `unknown`, or `{assumed: N}`.
void read_cap(const yaml::Node& key, const yaml::Node& value, Caps& caps, Reporter& report) {
  const auto cap = find_cap(key.scalar);
  if (!cap) {
    std::vector<std::string_view> known;
    for (Cap one : all_caps()) known.push_back(name(one));
    report.error(key.at, fmt::format("unknown cap '{}'{}", key.scalar, quirks::did_you_mean(key.scalar, known)));
    return;
  }
  auto& slot = caps.values[static_cast<std::size_t>(*cap)];
  std::erase(caps.assumed, *cap);
  if (value.is_scalar() && value.scalar == "unknown") {
    slot.reset();
    return;
  }
  const yaml::Node* assumed = value.find("assumed");
  const yaml::Node& number = assumed ? *assumed : value;
  const auto read = number.is_scalar() ? quirks::read_number(number.scalar) : std::nullopt;
  if (!read) {
    report.error(value.at, fmt::format("found {} for '{}'; allowed are a number, 'unknown', or {{assumed: N}}{}",
                                       yaml::describe(value), key.scalar, quirks::begins_with_zero(number.scalar)));
    return;
  }
  slot = read;
  if (assumed) caps.assumed.push_back(*cap);
}

void read_caps(const yaml::Node& node, Caps& caps, Reporter& report) {
  if (!node.is_map()) {
    report.error(node.at, fmt::format("found {} for 'caps'; allowed is a map", yaml::describe(node)));
    return;
  }
  for (const auto& [key, value] : node.entries) {
    if (report.full()) return;
    read_cap(key, value, caps, report);
  }
}

std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? std::string{"\\n"} : c == '\t' ? std::string{"\\t"} : std::string{c};
  }
  return result + "\"";
}

/// Creation is kept as text for the emulated NIC.
std::string as_text(const yaml::Node& node) {
  switch (node.kind) {
    case yaml::Node::Kind::null:
      return "null";
    case yaml::Node::Kind::scalar:
      return in_quotes(node.scalar);
    case yaml::Node::Kind::map: {
      std::string text = "{";
      for (const auto& [key, value] : node.entries)
        text += fmt::format("{}{}: {}", text.size() > 1 ? ", " : "", in_quotes(key.scalar), as_text(value));
      return text + "}";
    }
    case yaml::Node::Kind::sequence: {
      std::string text = "[";
      for (const yaml::Node& item : node.items) text += fmt::format("{}{}", text.size() > 1 ? ", " : "", as_text(item));
      return text + "]";
    }
  }
  return {};
}

void unknown_keys(const yaml::Node& node, std::span<const std::string_view> known, std::string_view where,
                  Reporter& report) {
  for (const auto& [key, value] : node.entries)
    if (!report.full() && std::find(known.begin(), known.end(), key.scalar) == known.end())
      report.error(key.at, fmt::format("unknown key '{}' in {}; allowed are {}{}", key.scalar, where,
                                       quirks::join(known), quirks::did_you_mean(key.scalar, known)));
}

/// A map over a map, key by key; anything else stands in place of what was there.
yaml::Node overlaid(yaml::Node base, const yaml::Node& over) {
  if (!base.is_map() || !over.is_map()) return over;
  for (const auto& [key, value] : over.entries) {
    const auto same = std::find_if(base.entries.begin(), base.entries.end(),
                                   [&](const auto& entry) { return entry.first.scalar == key.scalar; });
    if (same == base.entries.end())
      base.entries.emplace_back(key, value);
    else
      same->second = overlaid(std::move(same->second), value);
  }
  return base;
}

/// What of the file a variant is laid over, apart from the model itself.
struct Parts {
  std::optional<yaml::Node> creation;
};

void read_parts(const yaml::Node& node, Model& model, Parts& parts, Reporter& report) {
  if (const yaml::Node* identity = node.find("identity")) models::read_identity(*identity, model.device, report);
  if (const yaml::Node* caps = node.find("caps")) read_caps(*caps, model.caps, report);
  if (const yaml::Node* ports = node.find("ports")) models::read_ports(*ports, model.device, model.caps, report);
  if (const yaml::Node* features = node.find("features")) models::read_features(*features, model.features, report);
  if (const yaml::Node* behaviours = node.find("behaviours"))
    models::read_behaviours(*behaviours, model.behaviours, report);
  if (const yaml::Node* faults = node.find("faults")) models::read_faults(*faults, model.faults, report);
  if (const yaml::Node* deviations = node.find("deviations"))
    models::read_deviations(*deviations, model.deviations, report);
  if (const yaml::Node* creation = node.find("creation")) {
    models::check_creation(*creation, report);
    parts.creation = parts.creation ? overlaid(*parts.creation, *creation) : *creation;
    model.creation_yaml = as_text(*parts.creation);
  }
}

void read_variants(const yaml::Node& node, std::string_view variant, Model& model, Parts& parts, Reporter& report) {
  if (!node.is_map()) {
    report.error(node.at, fmt::format("found {} for 'variants'; allowed is a map", yaml::describe(node)));
    return;
  }
  if (node.entries.size() > kMostVariants) {
    report.error(node.at, fmt::format("{} variants; at most {} are read", node.entries.size(), kMostVariants));
    return;
  }
  const Model base = model;
  for (const auto& [key, value] : node.entries) {
    if (report.full()) return;
    model.variants.push_back(key.scalar);
    if (!value.is_map()) {
      report.error(value.at,
                   fmt::format("found {} for variant '{}'; allowed is a map", yaml::describe(value), key.scalar));
      continue;
    }
    unknown_keys(value, kVariantKeys, "a variant", report);
    if (key.scalar == variant) {
      read_parts(value, model, parts, report);
    } else {
      // A fault in a variant is a fault of the file, whichever variant is asked for.
      Model scratch = base;
      Parts scratch_parts;
      read_parts(value, scratch, scratch_parts, report);
    }
  }
}

Failure bad_model(std::string text, std::string file = {}, int line = 0) {
  Error error;
  error.kind = ErrorKind::bad_table;
  error.by.file = std::move(file);
  error.by.line = line;
  error.text = std::move(text);
  return Failure(std::move(error));
}

}  // namespace

Result<Model> parse_model(std::string_view text, std::string_view file, std::string_view variant) {
  auto root = yaml::parse(text, file);
  if (!root) return bad_model(to_string(root.error()), root.error().file, root.error().line);
  std::vector<Finding> findings;
  Reporter report(file, findings);
  Model model;
  if (!root->is_map()) {
    report.error(root->at, fmt::format("found {}; a model is a map", yaml::describe(*root)));
  } else {
    unknown_keys(*root, kModelKeys, "a model", report);
    const yaml::Node* schema = root->find("schema");
    if (!schema)
      report.error(root->at, "'schema: 1' is missing; this version reads schema 1");
    else if (!schema->is_scalar() || schema->scalar != "1")
      report.error(schema->at, fmt::format("schema {}; this version reads schema 1", yaml::describe(*schema)));
    if (const yaml::Node* value = root->find("model")) {
      if (const std::string* word = report.word(*value, "model")) model.name = *word;
    } else {
      report.error(root->at, "'model' is missing: the name of the NIC");
    }
    if (const yaml::Node* value = root->find("title"))
      if (const std::string* word = report.word(*value, "title")) model.title = *word;
    if (const yaml::Node* value = root->find("source"))
      if (const std::string* word = report.word(*value, "source")) model.source = *word;
    if (!root->find("identity")) report.error(root->at, "'identity' is missing: at least the driver");
    Parts parts;
    read_parts(*root, model, parts, report);
    if (const yaml::Node* variants = root->find("variants")) read_variants(*variants, variant, model, parts, report);
  }
  if (!findings.empty()) return bad_model(to_string(findings.front()), findings.front().file, findings.front().line);
  if (!variant.empty() && std::find(model.variants.begin(), model.variants.end(), variant) == model.variants.end()) {
    std::vector<std::string_view> known(model.variants.begin(), model.variants.end());
    auto refusal =
        bad_model(fmt::format("{} has no variant '{}'; it has {}{}", model.name, variant,
                              known.empty() ? "none" : quirks::join(known), quirks::did_you_mean(variant, known)),
                  std::string{file});
    refusal.value().kind = ErrorKind::no_device;  // a name that is not there, as an unknown model's
    return refusal;
  }
  if (!variant.empty()) model.name += fmt::format("@{}", variant);
  model.device.model = model.name;
  if (model.device.name.empty()) model.device.name = model.name;
  model.device.driver_found_by = DriverFoundBy::model;
  return model;
}

std::vector<std::string> builtin_models() {
  std::vector<std::string> names;
  for (const builtin::EmbeddedTable& table : builtin::models())
    names.emplace_back(table.name.substr(0, table.name.rfind(".yaml")));
  std::sort(names.begin(), names.end());
  return names;
}

namespace {

bool is_path(std::string_view word) {
  return word.find('/') != std::string_view::npos || word.ends_with(".yaml");
}

/// Where the variant begins; nowhere where what follows the last `@` is still of the path (`./team@site/nic.yaml`).
std::size_t variant_at(std::string_view word) {
  const std::size_t at = word.rfind('@');
  return at != std::string_view::npos && word.find('/', at) != std::string_view::npos ? std::string_view::npos : at;
}

}  // namespace

Result<Model> load_model(std::string_view name_or_path) {
  // A file may have an `@` in its own name or in a folder's; a path is what a file says it is.
  std::error_code not_there;
  const bool whole = is_path(name_or_path) && std::filesystem::is_regular_file(std::string{name_or_path}, not_there);
  const std::size_t at = whole ? std::string_view::npos : variant_at(name_or_path);
  const std::string_view base = name_or_path.substr(0, at);
  const std::string_view variant = at == std::string_view::npos ? std::string_view{} : name_or_path.substr(at + 1);
  if (at != std::string_view::npos && variant.empty()) {
    Error failure;
    failure.kind = ErrorKind::no_device;
    failure.text = fmt::format("'{}' names no variant after '@'; leave '@' out for the model itself", name_or_path);
    return Failure(std::move(failure));
  }
  if (is_path(base)) {
    std::error_code error;
    const std::string path{base};
    // A FIFO would be waited for, and a device never ends.
    const auto status = std::filesystem::status(path, error);
    if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
      Error failure;
      failure.kind = ErrorKind::io;
      failure.by.file = path;
      failure.text = fmt::format("{}: the model cannot be read: it is no regular file", path);
      return Failure(std::move(failure));
    }
    const auto size = std::filesystem::file_size(path, error);
    std::ifstream stream(path, std::ios::binary);
    if (error || !stream) {
      Error failure;
      failure.kind = ErrorKind::io;
      failure.by.file = path;
      failure.errno_value = error ? error.value() : errno;
      failure.text = fmt::format("{}: the model cannot be read: {}", path, std::strerror(failure.errno_value));
      return Failure(std::move(failure));
    }
    if (size > yaml::Limits{}.bytes)
      return bad_model(fmt::format("{}: the file has {} bytes; at most {} are read", path, size, yaml::Limits{}.bytes),
                       path);
    std::ostringstream text;
    text << stream.rdbuf();
    return parse_model(text.str(), path, variant);
  }
  for (const builtin::EmbeddedTable& table : builtin::models())
    if (table.name.substr(0, table.name.rfind(".yaml")) == base)
      return parse_model(table.text, fmt::format("builtin:{}", table.name), variant);
  const auto names = builtin_models();
  const std::vector<std::string_view> known(names.begin(), names.end());
  Error failure;
  failure.kind = ErrorKind::no_device;
  if (base.empty())
    failure.text = fmt::format("no model is named; known are {}", quirks::join(known));
  else
    failure.text = fmt::format("there is no model '{}'{}; known are {}; a file is given by its path", base,
                               quirks::did_you_mean(base, known), quirks::join(known));
  return Failure(std::move(failure));
}

}  // namespace verbena
