// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "runner/applies.hpp"
#include "verbena/match.hpp"

namespace conform {
namespace {

using verbena::Contract;
using verbena::Feature;

bool holds(const std::vector<std::string>& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A key that the entry leaves out is not compared.
bool agrees(const std::vector<std::string>& wanted, const std::optional<std::string>& found) {
  return wanted.empty() || (found && holds(wanted, *found));
}

bool covers(const ExpectationEntry& entry, const std::string& requirement) {
  return holds(entry.requirements, requirement);
}

/// Is the errno one by which a driver says that it has no such thing?
bool says_unsupported(const Finding& finding) {
  static constexpr std::array<std::string_view, 3> kFamily = {"EOPNOTSUPP", "ENOSYS", "ENOTSUP"};
  return finding.seen == Seen::refused && finding.error &&
         std::find(kFamily.begin(), kFamily.end(), *finding.error) != kFamily.end();
}

std::optional<Feature> needs_denied(const ListedCase& listed, const Contract& contract, const Known& known) {
  for (const Feature feature : listed.conditions.needs)
    if (known.must_be_native.contains(feature) && !contract.native(feature)) return feature;
  return std::nullopt;
}

void decide(Column& column, Verdict verdict, Table table, std::string reason = {}) {
  column.verdict = verdict;
  column.table = table;
  column.red = is_red(verdict, table);
  if (!reason.empty()) column.reason = std::move(reason);
}

void name_entry(Column& column, const ExpectationEntry& entry) {
  if (!holds(column.expectations, entry.id)) column.expectations.push_back(entry.id);
}

/// What an entry expects of this column: it is of the raw one alone where a rule makes the other conform, and what the
/// second device is known for shows where that is the other end.
bool expected_of(const ExpectationEntry& entry, const ListedCase& listed, Side side, const Known& known) {
  const bool between = has_setup(listed, "two_ends") || has_setup(listed, "unlike_devices");
  return (side == Side::raw || entry.corrected_by.empty()) && (between || !known.of_other.contains(&entry));
}

/// Does the contract call a feature native, and the second device's too where the case is about both?
bool claims(const ListedCase& listed, const Contract& contract, const Known& known, Feature feature) {
  return contract.native(feature) && !(has_setup(listed, "unlike_devices") && known.unclaimed.contains(feature));
}

/// The process died or was ended.
void judge_death(Column& column, const ListedCase& listed, Side side, const Ended& ended, const Known& known) {
  if (ended.timed_out) {
    decide(column, Verdict::timeout, Table::missing, fmt::format("it did not end within {:.0f} s", ended.ms / 1000));
    return;
  }
  Finding died;
  died.seen = Seen::crash;
  died.text = fmt::format("the process ended with {}", ended.how);
  for (const ExpectationEntry* entry : known.expectations) {
    if (!expected_of(*entry, listed, side, known) || !explains(*entry, listed, died)) continue;
    name_entry(column, *entry);
    column.findings.push_back(died);
    decide(column, Verdict::deviates, Table::expected);
    return;
  }
  column.findings.push_back(died);
  decide(column, Verdict::crash, Table::missing, died.text);
}

/// The body asked the device, and it said that it has no such thing.
void judge_absent(Column& column, const ListedCase& listed, const Contract& contract, const Known& known,
                  const std::string& text) {
  const auto& needs = listed.conditions.needs;
  for (const ExpectationEntry* entry : known.expectations) {
    if (!entry->absent) continue;
    if (std::any_of(listed.covers.begin(), listed.covers.end(), [&](const auto& one) { return covers(*entry, one); })) {
      name_entry(column, *entry);
      decide(column, Verdict::absent, Table::expected, text);
      return;
    }
  }
  const bool claimed = !needs.empty() && std::all_of(needs.begin(), needs.end(), [&](Feature feature) {
    return claims(listed, contract, known, feature);
  });
  if (claimed) {
    decide(column, Verdict::misdeclares, Table::missing,
           fmt::format("the contract calls {} native, and the device says: {}", name(needs.front()), text));
    return;
  }
  decide(column, Verdict::absent, Table::expected, text);
}

/// The one sort of finding that the entry of each explains; false when one is left over.
bool all_explained(Column& column, const ListedCase& listed, Side side, const Known& known) {
  for (Finding& finding : column.findings) {
    const auto entry =
        std::find_if(known.expectations.begin(), known.expectations.end(), [&](const ExpectationEntry* one) {
          return expected_of(*one, listed, side, known) && explains(*one, listed, finding);
        });
    if (entry == known.expectations.end()) return false;
    name_entry(column, **entry);
  }
  return true;
}

/// A finding that names no requirement is about each that the case covers.
void name_requirements(Column& column, const ListedCase& listed) {
  if (listed.covers.size() != 1) return;
  for (Finding& finding : column.findings)
    if (finding.requirement.empty()) finding.requirement = listed.covers.front();
}

void judge_findings(Column& column, const ListedCase& listed, Side side, const Contract& contract, const Known& known) {
  if (all_explained(column, listed, side, known)) {
    const bool all_absent = std::all_of(column.expectations.begin(), column.expectations.end(), [&](const auto& id) {
      return std::any_of(known.expectations.begin(), known.expectations.end(),
                         [&](const ExpectationEntry* one) { return one->id == id && one->absent; });
    });
    decide(column, all_absent ? Verdict::absent : Verdict::deviates, Table::expected);
    return;
  }
  column.expectations.clear();
  for (const Feature feature : listed.conditions.needs) {
    if (!claims(listed, contract, known, feature) ||
        !std::all_of(column.findings.begin(), column.findings.end(), says_unsupported))
      continue;
    decide(column, Verdict::misdeclares, Table::missing,
           fmt::format("the contract calls {} native, and the device refuses it as unsupported", name(feature)));
    return;
  }
  decide(column, Verdict::violates, Table::missing);
}

}  // namespace

bool explains(const ExpectationEntry& entry, const ListedCase& listed, const Finding& finding) {
  const bool about = finding.requirement.empty()
                         ? std::any_of(listed.covers.begin(), listed.covers.end(),
                                       [&](const std::string& one) { return covers(entry, one); })
                         : covers(entry, finding.requirement);
  if (!about) return false;
  if (entry.absent) return finding.seen == Seen::refused;
  // The state after it may be found by a query of its own.
  if (finding.state && finding.seen == Seen::value && !entry.seen.state.empty())
    return holds(entry.seen.state, *finding.state);
  const bool state = finding.state ? agrees(entry.seen.state, finding.state) : entry.seen.result.has_value();
  return (!entry.seen.result || finding.seen == *entry.seen.result) && agrees(entry.seen.error, finding.error) &&
         agrees(entry.seen.status, finding.status) && state;
}

verbena::Result<Known> known_of(const DriverTable* table, const verbena::DeviceId& device, std::uint8_t port,
                                Substrate substrate) {
  Known known;
  if (table == nullptr) return known;
  for (const MustBeNative& native : table->must_be_native) {
    const auto matched = verbena::device_matches(native.match, device, port);
    if (!matched) return verbena::Failure(matched.error());
    if (*matched) known.must_be_native.insert(native.features.begin(), native.features.end());
  }
  for (const ExpectationEntry& entry : table->expectations) {
    const auto matched = verbena::device_matches(entry.match, device, port);
    if (!matched) return verbena::Failure(matched.error());
    const bool kernels = !entry.source.empty() && entry.source.front().starts_with("Linux");
    if (!*matched) continue;
    known.expectations.push_back(&entry);
    if (substrate == Substrate::vendor_driver && kernels) known.never_stale.insert(&entry);
  }
  return known;
}

verbena::Result<Known> known_of(const CaseList& list, const verbena::DeviceId& device, std::uint8_t port,
                                Substrate substrate) {
  auto known = known_of(list.driver(device.driver), device, port, substrate);
  if (!known || substrate != Substrate::emulated) return known;
  auto emulated = known_of(list.driver("emulated"), device, port, substrate);
  if (!emulated) return emulated;
  known->expectations.insert(known->expectations.end(), emulated->expectations.begin(), emulated->expectations.end());
  return known;
}

void add_others(Known& known, const Known& other, const Contract& contract) {
  for (const verbena::FeatureInfo& each : verbena::all_features())
    if (!contract.native(each.feature)) known.unclaimed.insert(each.feature);
  for (const ExpectationEntry* const entry : other.expectations) {
    if (std::find(known.expectations.begin(), known.expectations.end(), entry) != known.expectations.end()) continue;
    known.expectations.push_back(entry);
    known.never_stale.insert(entry);
    known.of_other.insert(entry);
  }
}

Column judge(const ListedCase& listed, Side side, const Ended& ended, const Contract& contract, const Known& known) {
  Column column;
  column.runs = 1;
  column.ms = ended.ms;
  if (!ended.outcome) {
    judge_death(column, listed, side, ended, known);
    name_requirements(column, listed);
    return column;
  }
  const Outcome& outcome = *ended.outcome;
  column.ms = outcome.ms;
  column.findings = outcome.findings;
  column.notes = outcome.notes;
  if (side == Side::verbena) column.adjustments = outcome.adjustments;
  if (!outcome.fault.empty()) {
    decide(column, Verdict::crash, Table::none, fmt::format("the case itself failed: {}", outcome.fault));
  } else if (const auto denied = needs_denied(listed, contract, known)) {
    decide(column, Verdict::misdeclares, Table::missing,
           fmt::format("{} must be native on this driver, and the contract calls it {}", name(*denied),
                       name(contract.feature(*denied).support)));
  } else if (!column.findings.empty()) {
    judge_findings(column, listed, side, contract, known);
  } else if (outcome.stop && outcome.stop->why == Stop::Why::blocked) {
    decide(column, Verdict::blocked, Table::none, fmt::format("{}: {}", outcome.stop->word, outcome.stop->text));
  } else if (outcome.stop && outcome.stop->why == Stop::Why::elsewhere) {
    decide(column, Verdict::not_run, Table::none, fmt::format("{}: {}", outcome.stop->word, outcome.stop->text));
  } else if (outcome.stop && outcome.stop->why == Stop::Why::absent && !outcome.stop->word.empty()) {
    decide(column, Verdict::absent, Table::expected, outcome.stop->text);
  } else if (outcome.stop && outcome.stop->why == Stop::Why::absent) {
    judge_absent(column, listed, contract, known, outcome.stop->text);
  } else if (outcome.stop) {
    decide(column, Verdict::crash, Table::none, "the case ended early and reported nothing");
  } else {
    decide(column, column.adjustments.empty() ? Verdict::conforms : Verdict::degraded, Table::expected);
  }
  name_requirements(column, listed);
  return column;
}

Column judge_all(const ListedCase& listed, Side side, const std::vector<Ended>& runs, const Contract& contract,
                 const Known& known) {
  if (runs.empty()) return {};
  Column first = judge(listed, side, runs.front(), contract, known);
  first.runs = static_cast<std::uint32_t>(runs.size());
  std::size_t others = 0;
  std::optional<Column> other;
  bool red = first.red;
  for (std::size_t at = 1; at < runs.size(); ++at) {
    Column next = judge(listed, side, runs[at], contract, known);
    first.ms = std::max(first.ms, next.ms);
    if (next.verdict == first.verdict && next.expectations == first.expectations) continue;
    ++others;
    red = red || next.red;
    if (!other) other = std::move(next);
  }
  if (!other) return first;
  // The run that says more is the one to show.
  const bool other_says_more = other->red && !first.red;
  const std::size_t of_shown = other_says_more ? others : runs.size() - others;
  Column shown = other_says_more ? *other : first;
  shown.runs = first.runs;
  shown.rate = fmt::format("{} of {}", of_shown, runs.size());
  shown.reason = fmt::format("{} in {} of {} runs, {} in another{}{}", word(shown.verdict), of_shown, runs.size(),
                             word(other_says_more ? first.verdict : other->verdict), shown.reason.empty() ? "" : "; ",
                             shown.reason);
  shown.verdict = Verdict::flaky;
  shown.table = red ? Table::missing : Table::expected;
  shown.red = red;
  return shown;
}

std::vector<Feature> denied_features(const Contract& contract, const Known& known) {
  std::vector<Feature> denied;
  for (const Feature feature : known.must_be_native)
    if (!contract.native(feature)) denied.push_back(feature);
  return denied;
}

}  // namespace conform
