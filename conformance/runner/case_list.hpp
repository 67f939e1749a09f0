// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/run.hpp"
#include "verbena/device_id.hpp"
#include "verbena/features.hpp"
#include "verbena/match.hpp"
#include "verbena/quirks.hpp"

/// What is listed in conformance/: requirements, cases and expectations, as values. docs/conformance.md says what the
/// keys mean.
namespace conform {

/// Where something stands in a table.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
};

/// What must be there, of a requirement or a case.
struct Conditions {
  std::vector<verbena::Feature> needs;      ///< all of these
  std::vector<verbena::Feature> qp_types;   ///< one of these at least; empty: any
  std::vector<verbena::Transport> transport;  ///< on these; empty: on all
  std::vector<std::string> setup;           ///< words of kSetupWords
};

struct Requirement {
  std::string id;
  std::string says;
  std::vector<std::string> source;
  Conditions conditions;
  Place at;
};

enum class Impact : std::uint8_t { none, objects, traffic, exhausts, may_wedge };
inline constexpr Words<5> kImpactWords = {"none", "objects", "traffic", "exhausts", "may_wedge"};
constexpr const auto& words_of(Impact) noexcept {
  return kImpactWords;
}

inline constexpr std::array<std::string_view, 14> kSetupWords = {
    "two_ends",     "two_processes", "unlike_devices", "unlike_transports", "faults",
    "lossy_fabric", "link_control",  "subnet_manager", "memory_limit",      "much_memory",
    "huge_pages",   "privilege",     "no_privilege",   "one_process"};

/// One case: a row of a table is one of its own.
struct ListedCase {
  std::string id;
  std::string says;
  std::string area;
  std::string body;  ///< id of the Body that runs it
  std::vector<std::string> covers;
  std::vector<std::string> source;
  Conditions conditions;
  Impact impact = Impact::objects;
  bool isolated = false;  ///< a process of its own
  std::optional<double> seconds;  ///< its own deadline
  std::map<std::string, std::string> row;  ///< what with() gives
  Place at;
};

/// What an expectation says is seen; what is left out is not compared.
struct SeenAs {
  std::optional<Seen> result;
  std::vector<std::string> error;
  std::vector<std::string> status;
  std::vector<std::string> state;
};

using Match = std::vector<verbena::MatchEntry>;

struct ExpectationEntry {
  std::string id;
  std::vector<std::string> requirements;  ///< globs resolved
  Match match;
  bool absent = false;  ///< kind: absent; else deviates
  SeenAs seen;
  std::string says, reason, until, corrected_by;
  std::vector<std::string> source;
  Place at;
};

struct MustBeNative {
  std::vector<verbena::Feature> features;
  Match match;
  Place at;
};

/// conformance/expectations/<driver>.yaml.
struct DriverTable {
  std::string driver;
  std::vector<MustBeNative> must_be_native;
  std::vector<ExpectationEntry> expectations;
};

struct CaseList {
  std::uint32_t version = 0;  ///< of the requirements, and with them of the list
  std::vector<Requirement> requirements;
  std::vector<ListedCase> cases;
  std::vector<DriverTable> drivers;

  const Requirement* requirement(std::string_view id) const noexcept;
  const DriverTable* driver(std::string_view name) const noexcept;
  /// Changes with every id, sentence and condition: two ends of a run compare it.
  std::uint64_t hash() const;
};

struct LoadedList {
  CaseList list;
  std::vector<verbena::Finding> findings;  ///< any: the list cannot be used
};

/// Reads texts called requirements.yaml, .../cases/AREA.yaml and .../expectations/DRIVER.yaml. All faults are found,
/// each with its place.
LoadedList read_list(std::span<const verbena::TableText> texts);
/// What was built in.
std::vector<verbena::TableText> built_in_texts();
/// requirements.yaml, cases/ and expectations/ of a folder that is laid out like conformance/. Error: io.
verbena::Result<std::vector<verbena::TableText>> folder_texts(const std::string& folder);

/// Does `*` (any text, dots too) match?
bool glob_matches(std::string_view pattern, std::string_view text) noexcept;

}  // namespace conform
