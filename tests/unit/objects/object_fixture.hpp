// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "device/device_state.hpp"
#include "device/opening.hpp"
#include "fake/fake_rules.hpp"
#include "verbena/pd.hpp"

namespace verbena {

/// One device `nic0` of a fake host, opened under rules in code.
class WithDevice : public ::testing::Test {
protected:
  std::shared_ptr<fake::FakeVerbs> host = std::make_shared<fake::FakeVerbs>();
  fake::FakeDevice& nic = host->add(fake::roce_device("nic0", 1));
  std::vector<LogRecord> log;
  std::shared_ptr<Library::State> library;

  Device open(fake::FakeRules::Apply rules = {}) {
    library = fake::library_over(host, std::move(rules), [this](const LogRecord& record) { log.push_back(record); });
    auto device = open_device(library, "nic0");
    EXPECT_TRUE(device) << to_string(device.error());
    return *device;
  }
  static Pd pd_of(const Device& device) {
    auto pd = device.alloc_pd();
    EXPECT_TRUE(pd) << to_string(pd.error());
    return std::move(*pd);
  }
  unsigned logged(LogLevel level) const {
    unsigned count = 0;
    for (const LogRecord& record : log) count += record.level == level ? 1U : 0U;
    return count;
  }
};

}  // namespace verbena
