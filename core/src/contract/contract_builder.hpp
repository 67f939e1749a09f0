// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string>

#include "verbena/contract.hpp"

namespace verbena {

/// The only writer of a Contract. Starts from what the caps say and is then narrowed by rules, in any order: each
/// operation is commutative with the others of its kind (the tighter bound holds, a tie goes to the smaller rule id),
/// so that the result does not depend on the order of rules.
class ContractBuilder {
public:
  /// Base bounds, features and behaviours from the caps (docs/quirk-tables.md, 'limit' and 'feature and set').
  ContractBuilder(const DeviceId& device, const Caps& caps, std::uint8_t port, bool beyond_declared_allowed);

  ProvenanceIndex add(Provenance provenance);

  void at_least(Field field, std::uint64_t min, ProvenanceIndex by);
  void at_most(Field field, std::uint64_t max, ProvenanceIndex by);
  /// The rule's bound stands in place of the declared one; Domain::declared keeps what the device said.
  void replace_declared_max(Field field, std::uint64_t max, ProvenanceIndex by);
  void ask(Field field, AskKind kind, std::uint64_t n, ProvenanceIndex by);
  void reserve(Field field, std::uint64_t slots, ProvenanceIndex by);
  void joint(const JointFormula& formula, const JointParams& params, ProvenanceIndex by);
  /// absent beats substituted beats native; with `loosens` the rule's word stands over the declared one.
  void feature(Feature feature, Support support, bool loosens, ProvenanceIndex by);
  /// Of two rules for one flag the more severe holds, then the alphabetically first id.
  void behaviour(Behaviour flag, Choice choice, ProvenanceIndex by);
  void trace(RuleTrace entry);
  void invalidated_by(std::string what);

  /// Finishes: an empty domain becomes its lower bound. The builder is spent.
  Contract build(std::uint64_t quirks_hash) &&;

private:
  Contract contract_;
};

}  // namespace verbena
