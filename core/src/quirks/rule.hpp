// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "quirks/version.hpp"
#include "verbena/quirks.hpp"
#include "yaml/tree.hpp"

namespace verbena::quirks {

/// An inclusive range; a number alone is a range of one.
struct Range {
  std::uint64_t low = 0, high = 0;
};
using NumberSet = std::vector<Range>;

/// What a rule's `match` may look at.
enum class MatchKey : std::uint8_t {
  driver,
  transport,
  link_layer,
  function,
  arch,
  hypervisor,
  board_id,          // words
  pci_vendor,
  part_id,
  pci_revision,
  subsystem_vendor,
  subsystem_device,
  hw_ver,
  uverbs_abi,
  page_size,  // numbers
  bond,
  out_of_tree,                                                            // yes or no
  kernel,
  firmware,
  module_version,
  rdma_core,                                  // versions
};
inline constexpr std::size_t kWordKeys = static_cast<std::size_t>(MatchKey::board_id) + 1;
inline constexpr std::size_t kMatchKeys = static_cast<std::size_t>(MatchKey::rdma_core) + 1;
enum class MatchForm : std::uint8_t { words, numbers, flag, versions };

std::string_view name(MatchKey key) noexcept;
constexpr MatchForm form(MatchKey key) noexcept {
  if (key <= MatchKey::board_id) return MatchForm::words;
  if (key <= MatchKey::page_size) return MatchForm::numbers;
  if (key <= MatchKey::out_of_tree) return MatchForm::flag;
  return MatchForm::versions;
}
std::optional<MatchKey> find_match_key(std::string_view name) noexcept;
std::span<const std::string_view> match_key_names() noexcept;

/// One key's condition; only the part of its form is used.
struct Condition {
  MatchKey key = MatchKey::driver;
  std::vector<std::string> words;
  NumberSet numbers;
  bool flag = false;
  VersionSet versions;
  std::string written;   ///< as in the table, for `quirks list` and traces
};

struct WhenTest {
  std::optional<Cap> cap;
  std::optional<PortCap> port_cap;
  NumberSet numbers;
  std::string written;
};

/// A number of a table: written out, or a cap of the device plus or minus something.
struct Amount {
  std::optional<Cap> cap;
  std::int64_t offset = 0;      ///< with a cap
  std::uint64_t literal = 0;    ///< without
};

struct FieldOp {
  enum class Kind : std::uint8_t { min, max, ask, reserve };
  Field field = Field::cqe;
  Kind kind = Kind::max;
  Amount amount;
  AskKind ask = AskKind::as_is;
};

struct JointChoice {
  const JointFormula* formula = nullptr;
  std::vector<std::pair<std::size_t, Amount>> params;   ///< index into the formula's parameters
};

struct Rule {
  RuleSummary summary;
  yaml::Place at;
  LayerKind layer = LayerKind::builtin;
  std::vector<Condition> match;
  std::vector<WhenTest> when;
  std::vector<FieldOp> limits;
  std::optional<JointChoice> joint;
  std::vector<std::pair<Feature, Support>> features;
  std::vector<std::pair<Behaviour, Choice>> sets;
  bool loosens = false;           ///< has `replaces`
  bool replaces_declared = false;
  std::string canonical;          ///< everything that changes a contract, in one form, for the content hash

  const Condition* condition(MatchKey key) const noexcept;
};

/// A rule that a layer turns off, or a claim that it turns on.
struct Switch {
  std::string id;
  std::string reason;
  std::string expires;   ///< `2027-06-30`, empty: never
  yaml::Place at;
  std::string file;
};

/// One file, read.
struct Table {
  std::string version;
  std::vector<Rule> rules;
  std::vector<Switch> disables, enables;
  std::vector<Finding> findings;   ///< any of level error: the table cannot be used
};

}  // namespace verbena::quirks
