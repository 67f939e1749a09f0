// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
  /// Where the site forbids grants beyond what is declared, the smaller of both holds. What the verbs interface can
  /// carry is never replaced.
  void replace_declared_max(Field field, std::uint64_t max, ProvenanceIndex by);
  /// Asks of one rule are applied in the order of the calls; those of several rules in the order of the rules' ids.
  /// More than kMaxAsks different ones of a field: the rest is dropped (lint refuses that).
  void ask(Field field, AskKind kind, std::uint64_t n, ProvenanceIndex by);
  /// The larger of two reserves holds.
  void reserve(Field field, std::uint64_t slots, ProvenanceIndex by);
  void joint(const JointFormula& formula, const JointParams& params, ProvenanceIndex by);
  /// absent beats substituted beats native; with `loosens` the rule's word stands over the declared one.
  /// `substituted` means absent for a feature that has no substitute in this build.
  void feature(Feature feature, Support support, bool loosens, ProvenanceIndex by);
  /// Of two rules for one flag the more severe rule holds, then the alphabetically first id.
  void behaviour(Behaviour flag, Choice choice, ProvenanceIndex by);
  void trace(RuleTrace entry);
  void invalidated_by(std::string what);

  /// Finishes. A domain that is empty stays so (Domain::empty): neither bound gives way to the other. The builder is
  /// spent.
  Contract build(std::uint64_t quirks_hash) &&;

private:
  struct Bound {
    std::uint64_t value = 0;
    ProvenanceIndex by = 0;
  };
  struct FieldAsk {
    Field field;
    Ask ask;
  };

  void base_from_interface();
  void base_from_caps();
  void base_from_port();
  void base_features();
  void declare(Field field, std::optional<std::uint64_t> value, std::string_view cap, SetBy set_by);
  void declare(Field field, Cap cap, SetBy set_by = SetBy::declared);
  void declare_feature(Feature feature, std::optional<bool> native, std::string_view cap);
  /// Whether a rule with this id wins a tie.
  bool earlier(ProvenanceIndex left, ProvenanceIndex right) const noexcept;
  void settle_domains();
  void settle_features();
  void sort_provenances();

  Contract contract_;
  std::array<Bound, kFieldCount> interface_{};  ///< what the types of the verbs interface hold
  std::array<std::optional<Bound>, kFieldCount> replaced_{};
  std::array<std::optional<Bound>, kFieldCount> limits_{};
  std::vector<FieldAsk> asks_;
  std::array<std::optional<FeatureState>, kFeatureCount> loosened_{};
  std::array<std::optional<FeatureState>, kFeatureCount> ruled_{};
};

}  // namespace verbena
