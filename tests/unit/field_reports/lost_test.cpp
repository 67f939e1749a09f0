// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/lost.hpp"

#include <gmock/gmock.h>
#include <infiniband/verbs.h>

#include "unit/shipped_nics.hpp"

namespace verbena {
namespace {

using shipped::contract;
using shipped::model;
using ::testing::AllOf;
using ::testing::HasSubstr;

const Lost* of(const std::vector<Lost>& lost, std::string_view what) {
  for (const Lost& item : lost)
    if (item.what == what) return &item;
  return nullptr;
}

// F49 (linux-rdma 7d7e37c39): a kernel upgrade takes memory windows from an E810. What was kept at the last start, in
// the form that `dump` writes, is compared with the device as it is now.
TEST(FieldReport, F49WhatAKernelUpgradeTookAwayIsNamedWithBothVersions) {
  const Model old = model("e810-roce@kernel-6.1");
  const auto kept = parse_model(write_model(old.device, old.caps, true), "kept.yaml");
  ASSERT_TRUE(kept) << to_string(kept.error());
  const Model now = model("e810-roce@kernel-6.18");
  const auto lost = lost_since(contract(*kept), contract(now));
  const Lost* windows = of(lost, "memory_window_1");
  ASSERT_NE(windows, nullptr);
  EXPECT_THAT(windows->by.reason, HasSubstr("MEM_WINDOW")) << "the device itself says so by now";
  EXPECT_NE(of(lost, "bind_mw"), nullptr);
  EXPECT_THAT(to_string(lost, kept->device, now.device),
              AllOf(HasSubstr("capability lost since the last start: "), HasSubstr("memory_window_1"),
                    HasSubstr("kernel 6.1.192 -> 6.18.0")));
}

// F49: (b) the fallback. A request that asks for the right to bind windows still gets its region, a plain one.
TEST(FieldReport, F49WithoutWindowsARegionIsStillGranted) {
  MrRequest request;
  request.length = 1;
  request.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND;
  const auto before = fit(request, contract("e810-roce@kernel-6.1"));
  ASSERT_TRUE(before);
  EXPECT_EQ(before->access, request.access);
  const auto now = fit(request, contract("e810-roce@kernel-6.18"));
  ASSERT_TRUE(now) << to_string(now.error());
  EXPECT_EQ(now->access, std::uint32_t{IBV_ACCESS_LOCAL_WRITE});
  EXPECT_THAT(shipped::about(*now, "IBV_ACCESS_MW_BIND").by.reason, HasSubstr("MEM_WINDOW"));
}

// F49's kind: the device goes on saying that it has them, and only the rule knows.
TEST(FieldReport, F49WhatOnlyARuleWithdrawsIsNamedWithTheRule) {
  const Model before = model("e810-roce@kernel-6.1");
  Model after = before;
  after.device.kernel = "6.18.0";
  const auto lost = lost_since(contract(before), contract(after));
  const Lost* windows = of(lost, "memory_window_1");
  ASSERT_NE(windows, nullptr);
  EXPECT_EQ(windows->by.rule, "irdma-gen12-windows-withdrawn");
  EXPECT_GT(windows->by.line, 0);
}

TEST(FieldReport, F49ANumberThatShrankIsTold) {
  const Model before = model("e810-roce");
  Model after = before;
  after.caps.set(Cap::max_cqe, 65535);
  after.device.firmware = "1.80";
  const auto lost = lost_since(contract(before), contract(after));
  const Lost* depth = of(lost, "cqe");
  ASSERT_NE(depth, nullptr);
  EXPECT_EQ(depth->now, 65535U);
  EXPECT_GT(depth->before.value_or(0), 65535U);
  EXPECT_THAT(to_string(lost, before.device, after.device), AllOf(HasSubstr("-> 65535"), HasSubstr("firmware")));
}

TEST(FieldReport, F49WhatCameOrNobodyKnowsIsNoLoss) {
  const Model before = model("e810-roce@kernel-6.18");
  const Model after = model("e810-roce@kernel-6.1");
  EXPECT_EQ(of(lost_since(contract(before), contract(after)), "memory_window_1"), nullptr);
  EXPECT_NE(of(lost_since(contract(before), contract(after)), "rereg_mr"), nullptr) << "a step back is a loss as well";
  EXPECT_TRUE(lost_since(contract(before), contract(before)).empty());
  Model fewer = model("e810-roce");
  fewer.caps.set(Cap::max_qp, 3);
  EXPECT_TRUE(lost_since(contract("e810-roce"), contract(fewer)).empty()) << "a count that use shrinks";
  Model unknown = model("e810-roce");
  unknown.caps = Caps{};
  unknown.caps.ports = fewer.caps.ports;
  for (const Lost& item : lost_since(contract("e810-roce"), contract(unknown)))
    EXPECT_TRUE(item.now) << item.what << " is unknown now, which is no loss";
  EXPECT_EQ(to_string({}, before.device, after.device), "");
}

}  // namespace
}  // namespace verbena
