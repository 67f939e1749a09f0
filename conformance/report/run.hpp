// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "words.hpp"

/// The values of one run of the conformance suite: what the runner fills, and what every report is made from. They are
/// copied, compared and printed without a device. docs/conformance.md says what the words mean.
namespace conform {

/// The device against the requirement.
enum class Verdict : std::uint8_t {
  conforms,
  degraded,
  absent,
  deviates,
  violates,
  misdeclares,
  crash,
  timeout,
  flaky,
  blocked,
  withheld,
  not_run,  ///< listed, and did not run: not selected, or the run ended before it
};
inline constexpr Words<12> kVerdictWords = {"conforms", "degraded", "absent", "deviates", "violates", "misdeclares",
                                            "crash",    "timeout",  "flaky",  "blocked",  "withheld", "not_run"};
constexpr const auto& words_of(Verdict) noexcept {
  return kVerdictWords;
}

/// The result against the table.
enum class Table : std::uint8_t {
  none,      ///< nothing to compare: the case did not run to its end
  expected,  ///< as contract and expectations say
  stale,     ///< better than a recorded deviation or rule says
  missing,   ///< a deviation that no table records
};
inline constexpr Words<4> kTableWords = {"none", "expected", "stale", "missing"};
constexpr const auto& words_of(Table) noexcept {
  return kTableWords;
}

/// What became of the thing asked for, as `seen.result` of an expectation.
enum class Seen : std::uint8_t {
  accepted,
  refused,
  value,
  event,
  no_event,
  completion,
  no_completion,
  data,
  no_data,
  crash,
};
inline constexpr Words<10> kSeenWords = {"accepted",   "refused",       "value", "event",   "no_event",
                                         "completion", "no_completion", "data",  "no_data", "crash"};
constexpr const auto& words_of(Seen) noexcept {
  return kSeenWords;
}

/// What the results were seen on.
enum class Substrate : std::uint8_t {
  hardware,
  kernel_driver,  ///< a driver of the kernel that needs no NIC: rxe, siw
  vendor_driver,  ///< a vendor's user-space driver on a shell of its NIC
  emulated,       ///< a model; never on a page with the others
};
inline constexpr Words<4> kSubstrateWords = {"hardware", "kernel-driver", "vendor-driver", "emulated"};
constexpr const auto& words_of(Substrate) noexcept {
  return kSubstrateWords;
}

/// Between the two ends.
enum class Path : std::uint8_t {
  none,      ///< no second end
  loopback,  ///< both ends on one host, nothing on a wire
  wire,
};
inline constexpr Words<3> kPathWords = {"none", "loopback", "wire"};
constexpr const auto& words_of(Path) noexcept {
  return kPathWords;
}

/// The two columns of a case.
enum class Side : std::uint8_t { raw, verbena };
inline constexpr Words<2> kSideWords = {"raw", "verbena"};
constexpr const auto& words_of(Side) noexcept {
  return kSideWords;
}

/// One departure from a requirement, as it was seen.
struct Finding {
  std::string requirement;            ///< its id
  Seen seen = Seen::refused;
  std::optional<std::string> error;   ///< name of the errno (`EINVAL`); `errno` in the JSON
  std::optional<std::string> status;  ///< name of the completion's status without its prefix (`LOC_PROT_ERR`)
  std::optional<std::string> state;   ///< of the queue pair afterwards (`RTS`)
  std::string text;                   ///< one sentence: what was done, what came, what should have

  friend bool operator==(const Finding&, const Finding&) = default;
};

/// One change that Verbena made to a request, and why.
struct Adjustment {
  std::string field;  ///< verbs' name, or a feature's
  std::uint64_t asked = 0;
  std::uint64_t granted = 0;
  std::string kind;  ///< `reduced`, `raised`, `substituted`, `beyond_declared`
  std::string rule;  ///< empty: no rule, the device said so
  std::string reason;
  std::string source;

  friend bool operator==(const Adjustment&, const Adjustment&) = default;
};

/// One case on one side.
struct Column {
  Verdict verdict = Verdict::not_run;
  Table table = Table::none;
  bool red = false;
  double ms = 0;
  std::uint32_t runs = 0;
  std::optional<std::string> rate;  ///< `2 of 5` of a flaky case
  std::string reason;               ///< absent, blocked, withheld, not_run: why, in words
  std::vector<Finding> findings;
  std::vector<std::string> expectations;  ///< ids of the entries that explain the findings
  std::vector<Adjustment> adjustments;    ///< through Verbena only
  std::vector<std::string> notes;

  friend bool operator==(const Column&, const Column&) = default;
};

struct CaseResult {
  std::string id;
  std::string says;
  std::string area;
  std::vector<std::string> covers;  ///< ids of requirements
  std::string impact;               ///< `none`, `objects`, `traffic`, `exhausts`, `may_wedge`
  Column raw;
  Column verbena;

  const Column& column(Side side) const noexcept { return side == Side::raw ? raw : verbena; }
  Column& column(Side side) noexcept { return side == Side::raw ? raw : verbena; }
  bool red() const noexcept { return raw.red || verbena.red; }
  friend bool operator==(const CaseResult&, const CaseResult&) = default;
};

/// Who was asked. Everything in it is text from outside.
struct Identity {
  std::string name;
  std::string driver;
  std::string part;  ///< PCI vendor:device in a rule's words; empty where there is no PCI device
  std::string firmware;
  std::string kernel;
  std::string library;
  std::string transport;
  std::string node_guid;
  std::optional<std::string> model;  ///< the model's name; on emulated NICs only

  friend bool operator==(const Identity&, const Identity&) = default;
};

/// The entry of a table that a column names, so that a report can say why without the table.
struct Expectation {
  std::string id;
  std::string says;
  std::string reason;
  std::vector<std::string> source;
  std::string until;

  friend bool operator==(const Expectation&, const Expectation&) = default;
};

struct Run {
  std::uint32_t suite_version = 1;
  std::uint32_t suite_cases = 0;         ///< listed in that version, whether selected or not
  std::uint32_t suite_requirements = 0;
  std::string verbena;                   ///< version of the library
  std::string begun;                     ///< UTC, `2026-11-30T02:00:00Z`
  double seconds = 0;
  std::uint64_t seed = 0;
  std::uint32_t repeat = 1;
  bool official = false;
  std::vector<std::string> command;      ///< the arguments
  Substrate substrate = Substrate::hardware;
  Identity device;
  std::optional<Identity> peer;
  Path path = Path::none;
  std::string quirks_hash;
  std::vector<std::string> layers_left_out;  ///< `PATH: WHY`: tables of the host of which nothing was in force
  std::vector<CaseResult> cases;
  std::vector<Expectation> expectations;  ///< those that a column names, each once
  std::uint32_t blocked_budget = 0;
  bool red = false;
  std::vector<std::string> why_red;       ///< `state.init.rc_needs_each (raw): violates: ...`

  friend bool operator==(const Run&, const Run&) = default;
};

/// How often each verdict stands on one side.
using Counts = std::map<Verdict, std::uint32_t>;
Counts count(const Run& run, Side side);

/// Is this column red by itself? violates, misdeclares, crash, timeout, stale, missing.
bool is_red(Verdict verdict, Table table) noexcept;

/// Is it a verdict that needs no explanation: conforms, degraded, absent?
bool is_clean(Verdict verdict) noexcept;

/// The entry that a column names; null when the run does not hold it.
const Expectation* find_expectation(const Run& run, std::string_view id) noexcept;

/// How a reader calls the device: its part or driver with kernel or firmware; `model of X` on an emulated NIC.
std::string title(const Run& run);

}  // namespace conform
