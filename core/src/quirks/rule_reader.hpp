// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "quirks/rule.hpp"
#include "verbena/registry.hpp"

namespace verbena::quirks {

/// Collects findings about one file; `rule` is the id that they are about.
class Reporter {
public:
  static constexpr std::size_t kMostFindings = 50;

  Reporter(std::string_view file, std::vector<Finding>& findings) : file_(file), findings_(findings) {}

  void rule(std::string id) { rule_ = std::move(id); }
  const std::string& file() const noexcept { return file_; }
  bool failed() const noexcept { return failed_; }
  /// Enough was found: nobody reads the hundredth finding of a file, and each one costs time.
  bool full() const noexcept { return findings_.size() >= kMostFindings; }

  void error(yaml::Place at, const std::string& text);
  /// A word or a list of words; anything else is an error and gives none.
  std::vector<std::string> words(const yaml::Node& node, std::string_view key);
  /// A scalar; null with an error when it is none.
  const std::string* word(const yaml::Node& node, std::string_view key);
  /// A sentence on one line, however it is broken in the file; empty, and an error, when it is none.
  std::string sentence(const yaml::Node& node, std::string_view key);
  /// One of these words; an error with all of them and the nearest otherwise.
  std::optional<std::size_t> choice(const yaml::Node& node, std::string_view key,
                                    std::span<const std::string_view> allowed);

private:
  std::string file_;
  std::vector<Finding>& findings_;
  std::string rule_;
  bool failed_ = false;
};

/// Reads the value of one key of a `match`. False when it has a fault, which `report` then holds.
bool read_condition(MatchKey key, const yaml::Node& node, Reporter& report, Condition& condition);

/// Reads one item of `rules:`. Empty when it has a fault; the faults are in `findings`.
std::optional<Rule> read_rule(const yaml::Node& node, std::string_view file, LayerKind layer,
                              const std::vector<std::string>& drivers, const BackendRegistry& registry,
                              std::vector<Finding>& findings);

}  // namespace verbena::quirks
