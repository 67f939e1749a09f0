// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verbena/caps.hpp"
#include "verbena/contract.hpp"
#include "verbena/device_id.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

class BackendRegistry;

/// Where tables come from; later over earlier.
enum class LayerKind : std::uint8_t { builtin, installed, etc, run, env };
std::string_view name(LayerKind kind) noexcept;

enum class FindingLevel : std::uint8_t { error, warning, note };
std::string_view name(FindingLevel level) noexcept;

/// What lint or loading has to say about one place in a table.
struct Finding {
  FindingLevel level = FindingLevel::error;
  std::string file;
  int line = 0;       ///< 1-based, 0 when the whole file is meant
  int column = 0;     ///< 1-based
  std::string rule;   ///< rule id, empty when none
  std::string text;   ///< what was found, what is allowed, the nearest known name

  friend bool operator==(const Finding&, const Finding&) = default;
};
/// `irdma.yaml:12:9: error: irdma-x: unknown key 'max_inlin_data' in limit; did you mean 'max_inline_data'?`
std::string to_string(const Finding& finding);

/// One rule as `quirks list` and `quirks show` print it.
struct RuleSummary {
  std::string id;
  std::string driver;
  Object on = Object::device;
  bool enabled = true;
  std::string off;      ///< `FILE:LINE: REASON (until DATE)` of who turned it off; empty when nobody did
  Provenance by;
  std::string match;    ///< the match and when clauses in one line, as written
  std::string effect;   ///< what it sets in one line
  std::string until;
  std::string proof;
  std::string replaces; ///< id of the rule or bound that it loosens, empty when it only tightens
  std::vector<std::string> requires_features;  ///< table operations this build lacks: the rule is skipped and shown
  std::string speaks_for, speaks_against;      ///< for a claim
  friend bool operator==(const RuleSummary&, const RuleSummary&) = default;
};

/// One directory or file that was looked at, and what came of it.
struct LayerReport {
  LayerKind kind = LayerKind::builtin;
  std::string path;
  bool present = false;
  bool loaded = false;      ///< false: nothing of this layer is in force
  std::string version;      ///< the tables' own version, where they carry one
  std::size_t rules = 0, skipped = 0, disabled = 0;
  std::vector<Finding> findings;
  /// Where a fault keeps the whole layer out: what else could be read in it, file by file, and is not in force either:
  /// `/etc/verbena/quirks.d/10-site.yaml: rule a, enable b, disable c`.
  std::vector<std::string> left_out;
  friend bool operator==(const LayerReport&, const LayerReport&) = default;
};

/// A loaded set of rules: immutable, shared, one content hash. Thread-safe to read.
class QuirkSet {
public:
  virtual ~QuirkSet() = default;
  QuirkSet(const QuirkSet&) = delete;
  QuirkSet& operator=(const QuirkSet&) = delete;

  /// Hash of the rules in force, whatever files and order they came in; shown in every grant, log line and report.
  virtual std::uint64_t hash() const noexcept = 0;
  virtual std::span<const RuleSummary> rules() const noexcept = 0;
  virtual std::span<const LayerReport> layers() const noexcept = 0;
  /// Matches and merges; a pure function. Never fails. An empty domain, which lint refuses, becomes one number: the
  /// most that a rule allows, or else the least that one asks for.
  virtual Contract contract(const DeviceId& device, const Caps& caps, std::uint8_t port,
                            bool beyond_declared_allowed) const = 0;

protected:
  QuirkSet() = default;
};

/// Text of one table with the name to show for it; how tests and the built-in layer hand tables in.
struct TableText {
  std::string file;
  std::string text;
};

struct LayerSource {
  LayerKind kind = LayerKind::builtin;
  std::string path;  ///< a directory of *.yaml in name order, or one file; shown in reports
  std::vector<TableText> texts;  ///< used in place of `path` when not empty
};

struct QuirkOptions {
  std::vector<LayerSource> layers;  ///< lowest first; see default_layers()
  bool strict = false;  ///< a layer that cannot be loaded is an error, not a dropped layer
  bool privileged = false;  ///< refuse files that others can write
  const QuirkSet* last_good = nullptr;  ///< at a reload: a layer that fails keeps its rules of this set
};

/// The layers of this host: builtin, the directory that this build installs its tables in (verbena/quirks.d below
/// CMAKE_INSTALL_FULL_DATADIR; /usr/share for a prefix of /usr), /etc/verbena/quirks.d, /run/verbena/quirks.d and
/// VERBENA_QUIRKS (colon-separated files or directories; ignored when privileged).
std::vector<LayerSource> default_layers(std::string_view verbena_quirks, bool privileged);

/// Loads all layers. All or nothing by layer: one bad line drops its layer, sound files and all, which layers() then
/// says, with what is not in force because of it.
[[nodiscard]] Result<std::shared_ptr<const QuirkSet>> load_quirks(const QuirkOptions& options,
                                                                  const BackendRegistry& registry);

/// A layer of the host, or a file in it, of which nothing is in force, or after a reload only its last good rules, as
/// `why` then says.
struct LayerLeftOut {
  LayerKind layer = LayerKind::builtin;
  std::string path;
  std::string why;  ///< what is wrong with it, with file, line and column where there is a place
  friend bool operator==(const LayerLeftOut&, const LayerLeftOut&) = default;
};
/// What contracts of this set go without: rules of a site that nobody sees missing, safety rules among them. A layer
/// that a reload could not read anew is named too, with what is wrong with it now.
std::vector<LayerLeftOut> layers_left_out(const QuirkSet& quirks);

/// Everything lint knows to complain about in these layers: schema, provenance, shadowed and overlapping rules, empty
/// domains, `until` against `match`, rules that match no known model, `proof` ids that are not in the case list.
/// In the etc, run and env layers 'matches no known model' is a note.
std::vector<Finding> lint_quirks(const QuirkOptions& options, const BackendRegistry& registry);

}  // namespace verbena
#pragma GCC visibility pop
