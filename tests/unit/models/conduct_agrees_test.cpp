// SPDX-License-Identifier: Apache-2.0 OR MIT
// Models and quirk tables are written apart from each other: where both speak of one thing they must say the same.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unit/shipped_nics.hpp"

namespace verbena {
namespace {

/// Every model of this build with each of its variants.
std::vector<Model> every_model() {
  std::vector<Model> models;
  for (const std::string& base : builtin_models()) {
    models.push_back(shipped::model(base));
    for (const std::string& variant : std::vector<std::string>(models.back().variants))
      models.push_back(shipped::model(base + "@" + variant));
  }
  return models;
}

TEST(ShippedModels, ActAsTheTablesSay) {
  std::size_t compared = 0;
  for (const Model& nic : every_model()) {
    const Contract contract = shipped::contract(nic);
    for (const auto& [flag, choice] : nic.behaviours)
      EXPECT_EQ(name(contract.behaviour(flag).choice), name(choice)) << nic.name << ": " << name(flag);
    compared += nic.behaviours.size();
  }
  EXPECT_GE(compared, 200U) << "models that say nothing agree with everything";
}

TEST(ShippedModels, HaveNoFaultThatTheTablesDeny) {
  std::size_t compared = 0;
  for (const Model& nic : every_model()) {
    const Contract contract = shipped::contract(nic);
    for (const SwitchedFault& one : nic.faults) {
      const auto& same = info(one.fault).same_as;
      if (!same) continue;
      EXPECT_EQ(name(contract.behaviour(same->flag).choice), name(same->choice)) << nic.name << ": " << name(one.fault);
      ++compared;
    }
  }
  EXPECT_GE(compared, 5U);
}

TEST(ShippedModels, HaveTheFeaturesThatTheTablesSay) {
  std::size_t compared = 0;
  for (const Model& nic : every_model()) {
    const Contract contract = shipped::contract(nic);
    for (const auto& [feature, support] : nic.features) {
      const Support said = contract.feature(feature).support;
      if (said == Support::unknown) continue;
      EXPECT_EQ(said == Support::absent, support == Support::absent) << nic.name << ": " << name(feature);
      ++compared;
    }
  }
  EXPECT_GE(compared, 600U);
}

}  // namespace
}  // namespace verbena
