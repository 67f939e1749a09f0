// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>

#include "fake/fake_verbs.hpp"
#include "runner/run_suite.hpp"
#include "small_list.hpp"

namespace conform::testing {

/// What the scripted cases do; pd.crashes and its like do what they are called.
Bodies scripted_bodies();

/// A scripted device that shows itself as rxe, and workers that are forks of this process.
struct FakeGround : ::testing::Test {
  std::shared_ptr<verbena::fake::FakeVerbs> host = std::make_shared<verbena::fake::FakeVerbs>();
  verbena::fake::FakeDevice* nic = nullptr;
  std::optional<verbena::Library> library;
  Ground ground;
  SuiteOptions options;

  void SetUp() override;
  /// Opens the device anew under these layers; none: those of the host.
  void open(std::vector<verbena::LayerSource> layers);
};

}  // namespace conform::testing
