// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/applies.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace conform {
namespace {

using verbena::Contract;
using verbena::Feature;
using verbena::Support;

std::string who_says(const Contract& contract, const verbena::FeatureState& state) {
  const verbena::Provenance& by = contract.provenance(state.by);
  if (!by.rule.empty()) return fmt::format("rule {}: {}", by.rule, by.reason);
  return by.reason.empty() ? std::string(verbena::name(by.set_by)) : by.reason;
}

std::optional<Settled> by_transport(const ListedCase& listed, const Contract& contract) {
  const auto& transports = listed.conditions.transport;
  const verbena::PortId* port = contract.device().port(contract.port());
  if (transports.empty() || port == nullptr || port->transport == verbena::Transport::unknown) return std::nullopt;
  if (std::find(transports.begin(), transports.end(), port->transport) != transports.end()) return std::nullopt;
  std::string names;
  for (const verbena::Transport one : transports) names += (names.empty() ? "" : ", ") + std::string(name(one));
  return Settled{Verdict::absent, Table::expected,
                 fmt::format("it holds on {}, and this port is {}", names, name(port->transport))};
}

/// What the contract says is not there; through Verbena a substitute will do.
std::optional<Settled> by_features(const ListedCase& listed, Side side, const Contract& contract) {
  for (const Feature feature : listed.conditions.needs) {
    const verbena::FeatureState& state = contract.feature(feature);
    const bool substituted = state.support == Support::substituted && side == Side::raw;
    if (state.support != Support::absent && !substituted) continue;
    return Settled{Verdict::absent, Table::expected,
                   fmt::format("{} is {} ({})", name(feature), substituted ? "there by a substitute alone" : "absent",
                               who_says(contract, state))};
  }
  const auto& types = listed.conditions.qp_types;
  if (types.empty() || std::any_of(types.begin(), types.end(),
                                   [&](Feature type) { return contract.feature(type).support != Support::absent; }))
    return std::nullopt;
  std::string names;
  for (const Feature type : types) names += (names.empty() ? "" : ", ") + std::string(name(type));
  return Settled{Verdict::absent, Table::expected, fmt::format("the contract has no queue pair of {}", names)};
}

}  // namespace

std::optional<Settled> settled(const ListedCase& listed, Side side, const Contract& contract,
                               const Environment& environment) {
  if (auto absent = by_transport(listed, contract)) return absent;
  if (auto absent = by_features(listed, side, contract)) return absent;
  if (environment.other != nullptr && has_setup(listed, "unlike_devices")) {
    if (auto absent = by_features(listed, side, *environment.other)) {
      absent->reason = "on the second device " + absent->reason;
      return absent;
    }
  }
  for (const std::string& word : listed.conditions.setup) {
    if (const auto found = environment.elsewhere.find(word); found != environment.elsewhere.end())
      return Settled{Verdict::not_run, Table::none, fmt::format("{}: {}", word, found->second)};
  }
  if (environment.shared && listed.impact > Impact::traffic) {
    return Settled{Verdict::withheld, Table::none,
                   fmt::format("its impact is {}, and others use the device", word(listed.impact))};
  }
  for (const std::string& word : listed.conditions.setup) {
    if (const auto found = environment.lacks.find(word); found != environment.lacks.end())
      return Settled{Verdict::blocked, Table::none, fmt::format("{}: {}", word, found->second)};
  }
  return std::nullopt;
}

bool waits_for_another_run(const Column& column, const Environment& environment) {
  const auto found = environment.elsewhere.find(column.reason.substr(0, column.reason.find(':')));
  return column.verdict == Verdict::not_run && found != environment.elsewhere.end();
}

bool waits_for_another_run(const ListedCase& listed, const Environment& environment) {
  return std::any_of(listed.conditions.setup.begin(), listed.conditions.setup.end(),
                     [&](const std::string& word) { return environment.elsewhere.contains(word); });
}

bool has_setup(const ListedCase& listed, std::string_view word) {
  return std::find(listed.conditions.setup.begin(), listed.conditions.setup.end(), word) !=
         listed.conditions.setup.end();
}

bool alone(const ListedCase& listed) {
  return listed.isolated || listed.impact == Impact::may_wedge || has_setup(listed, "no_privilege") ||
         has_setup(listed, "memory_limit") || has_setup(listed, "two_processes") || has_setup(listed, "link_control");
}

}  // namespace conform
