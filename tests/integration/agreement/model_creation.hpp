// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <optional>
#include <string_view>

#include "tuple.hpp"
#include "verbena/caps.hpp"
#include "verbena/model.hpp"
#include "yaml/tree.hpp"

namespace agreement {

/// What a model's `creation:` says of a creation (docs/models.md). It is the other side of the fit: written from the
/// same sources, never read by it.
class ModelCreation {
public:
  /// Caps are those of the device, since a model leaves some unknown. Empty when the model has no creation part.
  static std::optional<ModelCreation> of(const verbena::Model& model, const verbena::Caps& caps);

  /// Taken or refused, with the numbers written back, as far as the model knows them. Empty where it says nothing.
  std::optional<Outcome> predict(const Tuple& tuple) const;

private:
  ModelCreation(verbena::yaml::Node root, const verbena::Caps& caps) : root_(std::move(root)), caps_(&caps) {}

  std::optional<Outcome> predict_qp(const Tuple& tuple) const;
  std::optional<Outcome> predict_cq(std::uint32_t depth) const;
  std::optional<Outcome> predict_srq(std::uint32_t depth, std::uint32_t sges) const;

  verbena::yaml::Node root_;
  const verbena::Caps* caps_;
};

}  // namespace agreement
