// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/fabric/impairments.hpp"
#include "verbena/model.hpp"
#include "verbena/verbs.hpp"

namespace verbena::emulator {

struct EmulatedOptions {
  std::vector<Model> models;  ///< one NIC each; a model that comes twice makes two
  engine::fabric::Impairments impairments;
  std::uint64_t seed = 1;     ///< of what the impairments draw
};

/// A host with these NICs, connected to each other in this process, and nothing of the real one but its clock and
/// memory. A NIC is named after its model (`e810-roce`, the next one `e810-roce_1`).
std::shared_ptr<Verbs> emulated_verbs(EmulatedOptions options);

}  // namespace verbena::emulator
