// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verbena/behaviours.hpp"
#include "verbena/caps.hpp"
#include "verbena/device_id.hpp"
#include "verbena/features.hpp"
#include "verbena/fields.hpp"
#include "verbena/joint.hpp"
#include "verbena/provenance.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// Index of a Provenance in its contract. 0 is `declared`.
using ProvenanceIndex = std::uint16_t;

/// What must be passed for a wish to hold.
enum class AskKind : std::uint8_t { as_is, power_of_two, multiple_of, not_multiple_of, plus };
struct Ask {
  AskKind kind = AskKind::as_is;
  std::uint64_t n = 0;
  ProvenanceIndex by = 0;
  friend bool operator==(const Ask&, const Ask&) = default;
};
inline constexpr std::size_t kMaxAsks = 4;

/// What can be asked of one number. The device accepts `passed` in [min, max]; passed = asks applied in order to
/// (granted + reserve).
struct Domain {
  static constexpr std::uint64_t kUnbounded = std::numeric_limits<std::uint64_t>::max();

  std::uint64_t min = 0;
  std::uint64_t max = kUnbounded;
  ProvenanceIndex min_by = 0;
  ProvenanceIndex max_by = 0;
  bool known = false;                       ///< somebody gave an upper bound; else `max` is unknown, not unbounded
  std::optional<std::uint64_t> declared;    ///< what the device says, whether or not it is the bound
  bool declared_assumed = false;            ///< of a model: what the driver falls back to, where firmware would say
  std::array<Ask, kMaxAsks> asks{};
  std::uint8_t ask_count = 0;
  std::uint64_t reserve = 0;                ///< slots that the driver keeps out of what is passed
  ProvenanceIndex reserve_by = 0;

  /// What must be passed so that `granted` is really there; saturates.
  std::uint64_t passed_for(std::uint64_t granted) const noexcept;
  /// The largest grant whose passed_for() is within `max`.
  std::uint64_t largest_grant() const noexcept;
  /// Nothing can be passed: what `min` asks for, as the asks round it, is above `max`. fit() refuses such a field.
  bool empty() const noexcept;
  friend bool operator==(const Domain&, const Domain&) = default;
};

struct FeatureState {
  Support support = Support::unknown;
  ProvenanceIndex by = 0;
  friend bool operator==(const FeatureState&, const FeatureState&) = default;
};

struct BehaviourState {
  Choice choice = Choice::unknown;
  ProvenanceIndex by = 0;
  friend bool operator==(const BehaviourState&, const BehaviourState&) = default;
};

/// Which rule was looked at and what came of it; kept for `explain` and `quirks show`.
struct RuleTrace {
  std::string id;
  bool applied = false;
  std::string why_not;     ///< empty when applied: "kernel 6.12 is not < 6.2"
  std::string beaten_by;   ///< id of the rule that set the same value tighter, when that happened
  friend bool operator==(const RuleTrace&, const RuleTrace&) = default;
};

/// What can really be asked of one device and port: a domain for each number, a Support for each feature, a value for
/// each behaviour flag, and behind each the rule or probe that says so. A value: copyable, comparable, printable.
class Contract {
public:
  const Domain& domain(Field field) const noexcept { return domains_[static_cast<std::size_t>(field)]; }
  const FeatureState& feature(Feature feature) const noexcept { return features_[static_cast<std::size_t>(feature)]; }
  const BehaviourState& behaviour(Behaviour flag) const noexcept { return behaviours_[static_cast<std::size_t>(flag)]; }
  /// The ring limits in force; a shape must satisfy each of them.
  std::span<const Joint> joints() const noexcept { return joints_; }
  const Provenance& provenance(ProvenanceIndex index) const noexcept { return provenances_[index]; }
  std::span<const Provenance> provenances() const noexcept { return provenances_; }
  std::span<const RuleTrace> trace() const noexcept { return trace_; }

  const DeviceId& device() const noexcept { return device_; }
  const Caps& caps() const noexcept { return caps_; }
  std::uint8_t port() const noexcept { return port_; }
  std::uint64_t quirks_hash() const noexcept { return quirks_hash_; }
  /// A site setting: may a grant exceed what the device declares, where a rule proves that more works?
  bool beyond_declared_allowed() const noexcept { return beyond_declared_allowed_; }
  bool native(Feature wanted) const noexcept { return feature(wanted).support == Support::native; }
  bool is(Behaviour flag, Choice choice) const noexcept { return behaviour(flag).choice == choice; }
  /// What makes this contract out of date: "port or device event", "reload of tables", "objects made (irdma counts)".
  std::span<const std::string> invalidated_by() const noexcept { return invalidated_by_; }

  friend bool operator==(const Contract&, const Contract&) = default;

private:
  friend class ContractBuilder;  // core/src/contract: the only writer
  DeviceId device_;
  Caps caps_;
  std::uint8_t port_ = 1;
  std::array<Domain, kFieldCount> domains_{};
  std::array<FeatureState, kFeatureCount> features_{};
  std::array<BehaviourState, kBehaviourCount> behaviours_{};
  std::vector<Joint> joints_;
  std::vector<Provenance> provenances_;
  std::vector<RuleTrace> trace_;
  std::vector<std::string> invalidated_by_;
  std::uint64_t quirks_hash_ = 0;
  bool beyond_declared_allowed_ = true;
};

}  // namespace verbena
#pragma GCC visibility pop
