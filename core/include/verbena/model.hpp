// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "verbena/behaviours.hpp"
#include "verbena/caps.hpp"
#include "verbena/deviations.hpp"
#include "verbena/device_id.hpp"
#include "verbena/faults.hpp"
#include "verbena/features.hpp"
#include "verbena/quirks.hpp"
#include "verbena/result.hpp"

#pragma GCC visibility push(default)
namespace verbena {

/// A fault that is switched on, with every parameter that it has: as the model names it, else its fallback.
struct SwitchedFault {
  struct Parameter {
    std::string name;
    std::uint64_t number = 0;
    std::string word;  ///< in place of the number where words are allowed
    friend bool operator==(const Parameter&, const Parameter&) = default;
  };
  Fault fault{};
  std::vector<Parameter> parameters;  ///< in the order of FaultInfo
  friend bool operator==(const SwitchedFault&, const SwitchedFault&) = default;
};

/// A NIC as data: what `verbena dump` writes and `--nic` reads.
struct Model {
  std::string name;               ///< `e810-roce`; with a variant `connectx5@kernel-6.12`
  std::string title;              ///< for people: "Intel E810, RoCE v2"
  DeviceId device;
  Caps caps;
  std::vector<std::string> variants;   ///< names that may follow `@`
  std::string source;             ///< where the figures come from
  std::string creation_yaml;      ///< the `creation:` part as written: roundings, errnos; read by the emulator
  std::vector<SwitchedFault> faults;   ///< in the order named; a variant's list stands in place of the model's
  std::vector<Deviation> deviations;   ///< likewise
  /// What the device does where others do otherwise, as the model names it; nothing where no source says.
  std::vector<std::pair<Behaviour, Choice>> behaviours;
  std::vector<std::pair<Feature, Support>> features;  ///< native or absent; of the rest caps and creation tell

  friend bool operator==(const Model&, const Model&) = default;
};

/// Names of the models in this build, sorted.
std::vector<std::string> builtin_models();

/// `name`, `name@variant` of a model in this build, or a path to a file (anything with a slash or ending in .yaml).
/// An unknown name is refused with the nearest known one.
[[nodiscard]] Result<Model> load_model(std::string_view name_or_path);

/// Reads one model from text; `file` is shown in errors.
[[nodiscard]] Result<Model> parse_model(std::string_view text, std::string_view file, std::string_view variant = {});

/// A fault as a command line names it: NAME, or NAME:PARAMETER=VALUE[:PARAMETER=VALUE]. An unknown name or parameter is
/// refused with the nearest known one, a value with what is allowed.
[[nodiscard]] Result<SwitchedFault> parse_fault(std::string_view words);

/// The model file of a device, ready to be sent in: identity, caps, ports, gid types; unknown values are written as
/// `unknown`. With `redact`, GUIDs, MACs and addresses are left out.
std::string write_model(const DeviceId& device, const Caps& caps, bool redact);

}  // namespace verbena
#pragma GCC visibility pop
