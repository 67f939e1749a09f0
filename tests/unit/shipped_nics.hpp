// SPDX-License-Identifier: Apache-2.0 OR MIT
// Contracts of the models in this build under the shipped tables.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "unit/requests.hpp"
#include "verbena/fit.hpp"
#include "verbena/model.hpp"
#include "verbena/quirks.hpp"
#include "verbena/registry.hpp"

namespace verbena::shipped {

/// The built-in layer and the one that is named: what lies in /etc of the machine at hand is not under test.
inline std::shared_ptr<const QuirkSet> rules(const std::string& verbena_quirks = {}) {
  static const BackendRegistry registry = BackendRegistry::builtin();
  QuirkOptions options;
  options.layers = default_layers(verbena_quirks, false);
  std::erase_if(options.layers, [](const LayerSource& layer) {
    return layer.kind != LayerKind::builtin && layer.kind != LayerKind::env;
  });
  options.strict = true;
  auto set = load_quirks(options, registry);
  if (!set) throw std::runtime_error(to_string(set.error()));
  return *set;
}

inline Model model(const std::string& nic) {
  auto loaded = load_model(nic);
  if (!loaded) throw std::runtime_error(to_string(loaded.error()));
  return *loaded;
}

inline Contract contract(const QuirkSet& set, const Model& nic, bool beyond_declared = true) {
  return set.contract(nic.device, nic.caps, 1, beyond_declared);
}
inline Contract contract(const QuirkSet& set, const std::string& nic, bool beyond_declared = true) {
  return contract(set, model(nic), beyond_declared);
}
/// Under the built-in tables alone, which are read once.
inline Contract contract(const Model& nic, bool beyond_declared = true) {
  static const auto set = rules();
  return contract(*set, nic, beyond_declared);
}
inline Contract contract(const std::string& nic, bool beyond_declared = true) {
  return contract(model(nic), beyond_declared);
}

/// The installed library makes no objects to send with on it (mana's before rdma-core 53).
inline bool makes_none(const Contract& nic) {
  return nic.domain(Field::max_cq).max == 0;
}

/// The one adjustment of that field.
inline Adjustment about(const GrantNotes& notes, std::string_view field) {
  for (const Adjustment& entry : notes.adjustments)
    if (entry.field == field) return entry;
  ADD_FAILURE() << "no adjustment of " << field;
  return {};
}

}  // namespace verbena::shipped
