// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>
#include <utility>

#include "nic/creation.hpp"
#include "tuple.hpp"
#include "verbena/caps.hpp"
#include "verbena/model.hpp"

namespace agreement {

/// What the emulated NIC does with a creation, beside what the device does.
class ModelCreation {
public:
  /// Caps are those of the device, since a model leaves some unknown. Empty when the model has no creation part.
  static std::optional<ModelCreation> of(const verbena::Model& model, const verbena::Caps& caps);

  /// Taken or refused, with the numbers written back, as far as the model knows them. Empty where it says nothing.
  std::optional<Outcome> predict(const Tuple& tuple) const;

private:
  explicit ModelCreation(verbena::emulator::Creation creation) : creation_(std::move(creation)) {}

  verbena::emulator::Creation creation_;
};

}  // namespace agreement
