// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/fabric/impairments.hpp"
#include "nic/host.hpp"
#include "verbena/model.hpp"
#include "verbena/result.hpp"
#include "verbena/verbs.hpp"

namespace verbena::emulator {

struct EmulatedOptions {
  std::vector<Model> models;  ///< one NIC each; a model that comes twice makes two
  engine::fabric::Impairments impairments;
  std::uint64_t seed = 1;     ///< of what the impairments draw
  // How the NICs reach others; emulated_verbs() leaves these aside.
  NetKind net = NetKind::in_process;
  std::string fabric = "default";      ///< NetKind::shared: who gives the same name is on the same one
  std::vector<std::string> addresses;  ///< one for each port of the NICs (NetOptions::addresses)
  /// Switched on in each NIC, beside those of its model; one that the model names too has these parameters. For one NIC
  /// alone they go into its model.
  std::vector<SwitchedFault> faults;
};

/// A host with these NICs, connected to each other in this process, and nothing of the real one but its clock and
/// memory. A NIC is named after its model (`e810-roce`, the next one `e810-roce_1`).
std::shared_ptr<Verbs> emulated_verbs(EmulatedOptions options);

/// The same on the net that the options name. Errors: a net that can't be joined, with what to do.
[[nodiscard]] Result<std::shared_ptr<Verbs>> joined_verbs(EmulatedOptions options);

}  // namespace verbena::emulator
