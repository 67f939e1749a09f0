// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "nic/creation.hpp"
#include "verbena/behaviours.hpp"
#include "verbena/caps.hpp"
#include "verbena/deviations.hpp"
#include "verbena/faults.hpp"
#include "verbena/features.hpp"
#include "verbena/model.hpp"

namespace verbena::emulator {

/// A model as its emulated NIC needs it: a number for every cap, an answer for every feature and behaviour.
class Profile {
public:
  explicit Profile(Model model);

  const Model& model() const noexcept { return model_; }
  /// The model's number, or the one that stands in where no source gives one: what a device would do has no such gap.
  std::uint64_t figure(Cap cap) const noexcept { return *caps_[cap]; }
  std::uint64_t figure(std::uint8_t port, PortCap cap) const noexcept;
  const Caps& caps() const noexcept { return caps_; }
  bool has(Feature feature) const noexcept { return features_[static_cast<std::size_t>(feature)]; }
  /// As the model says, else what most devices do.
  Choice does(Behaviour behaviour) const noexcept { return behaviours_[static_cast<std::size_t>(behaviour)]; }
  /// Null where the switch is off.
  const SwitchedFault* fault(Fault fault) const noexcept;
  /// A number of a switch; `otherwise` where that is off.
  std::uint64_t number(Fault fault, std::string_view parameter, std::uint64_t otherwise) const noexcept;
  /// A word of a switch; empty where that is off.
  std::string_view word(Fault fault, std::string_view parameter) const noexcept;
  /// The errno that a switch has as its word; `otherwise` where that is off.
  int error(Fault fault, std::string_view parameter, int otherwise) const noexcept;
  bool deviates(Deviation deviation) const noexcept { return deviations_[static_cast<std::size_t>(deviation)]; }
  /// With which errno it refuses what it hasn't.
  int unsupported() const noexcept { return unsupported_; }

  const Creation* creation() const noexcept { return creation_ ? &*creation_ : nullptr; }
  Transport transport(std::uint8_t port) const noexcept;

private:
  bool derived(Feature feature) const;
  void switch_faults();

  Model model_;
  Caps caps_;
  std::optional<Creation> creation_;
  std::array<bool, kFeatureCount> features_{};
  std::array<Choice, kBehaviourCount> behaviours_{};
  std::array<bool, kDeviationCount> deviations_{};
  int unsupported_;
};

}  // namespace verbena::emulator
