// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <array>

#include "object_fixture.hpp"
#include "verbena/mr.hpp"

namespace verbena {
namespace {

using ::testing::HasSubstr;

/// One region of 64 bytes that may be written, on a device whose table says that regions can be changed.
class Rereg : public WithDevice {
protected:
  std::array<char, 64> first{};
  std::array<char, 128> second{};

  static void can(ContractBuilder& rules) {
    rules.feature(Feature::rereg_mr, Support::native, true, rules.add(fake::rule("can-rereg")));
  }
  Mr region_of(const Pd& pd, std::uint32_t access = IBV_ACCESS_LOCAL_WRITE) {
    MrRequest request;
    request.length = first.size();
    request.access = access;
    auto mr = Mr::reg(pd, first.data(), request);
    EXPECT_TRUE(mr) << to_string(mr.error());
    return std::move(*mr);
  }
  MrChange to_second() { return {.memory = MrChange::Memory{second.data(), second.size()}}; }
};

TEST_F(Rereg, ChangesWhatIsNamedAndKeepsTheRest) {
  const Device device = open(can);
  const Pd pd = pd_of(device);
  Mr mr = region_of(pd);
  const std::uint32_t old_rkey = mr.rkey();
  const auto moved = mr.rereg(to_second());
  ASSERT_TRUE(moved) << to_string(moved.error());
  EXPECT_EQ(mr.address(), second.data());
  EXPECT_EQ(mr.length(), second.size());
  EXPECT_EQ(mr.grant().length, second.size());
  EXPECT_EQ(mr.grant().access, std::uint32_t{IBV_ACCESS_LOCAL_WRITE});
  EXPECT_NE(mr.rkey(), old_rkey) << "keys are read anew";
  const auto wider = mr.rereg({.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ});
  ASSERT_TRUE(wider);
  EXPECT_EQ(mr.grant().access, std::uint32_t{IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ});
  EXPECT_EQ(mr.length(), second.size());
}

TEST_F(Rereg, TheNewDomainIsKeptAliveAndTheOldOneIsNot) {
  const Device device = open(can);
  auto old_pd = std::make_optional(pd_of(device));
  auto new_pd = std::make_optional(pd_of(device));
  auto mr = std::make_optional(region_of(*old_pd));
  ASSERT_TRUE(mr->rereg({.pd = &*new_pd}));
  EXPECT_EQ(mr->raw()->pd, new_pd->raw());
  old_pd.reset();
  new_pd.reset();
  EXPECT_EQ(nic.pds, 1U);
  mr.reset();
  EXPECT_EQ(nic.pds, 0U);
}

struct ErrorClass {
  int code;
  bool usable;
  const char* text;
};

// ibv_rereg_mr(3): what each class of error leaves behind.
TEST_F(Rereg, EachErrorClassSaysWhatHolds) {
  const Device device = open(can);
  const Pd pd = pd_of(device);
  for (const ErrorClass& error : {ErrorClass{IBV_REREG_MR_ERR_INPUT, true, "is as it was"},
                                  ErrorClass{IBV_REREG_MR_ERR_DONT_FORK_NEW, true, "is as it was"},
                                  ErrorClass{IBV_REREG_MR_ERR_CMD, false, "destroy it"},
                                  ErrorClass{IBV_REREG_MR_ERR_CMD_AND_DO_FORK_NEW, false, "destroy it"}}) {
    Mr mr = region_of(pd);
    nic.rereg_code = error.code;
    nic.next_errors["rereg_mr"] = {EINVAL};
    const auto refused = mr.rereg(to_second());
    ASSERT_FALSE(refused) << error.code;
    EXPECT_EQ(refused.error().errno_value, EINVAL);
    EXPECT_THAT(refused.error().text, HasSubstr(error.text)) << error.code;
    EXPECT_EQ(mr.usable(), error.usable) << error.code;
    EXPECT_EQ(mr.grant().length, first.size()) << error.code;
    host->forget_calls();
    EXPECT_EQ(mr.rereg(to_second()).has_value(), error.usable);
    EXPECT_EQ(host->count("rereg_mr"), error.usable ? 1U : 0U) << "a torn region is not changed again";
  }
  EXPECT_EQ(nic.mrs, 0U) << "each of them is deregistered all the same";
}

TEST_F(Rereg, MemoryThatCouldNotBeGivenBackToForkIsAWarning) {
  const Device device = open(can);
  const Pd pd = pd_of(device);
  Mr mr = region_of(pd);
  nic.rereg_code = IBV_REREG_MR_ERR_DO_FORK_OLD;
  nic.next_errors["rereg_mr"] = {EINVAL};
  ASSERT_TRUE(mr.rereg(to_second()));
  EXPECT_TRUE(mr.usable());
  EXPECT_EQ(mr.grant().length, second.size());
  EXPECT_EQ(logged(LogLevel::warn), 1U);
}

// libibverbs' own stand-in for a missing call arrives as a failed command, though nothing was touched.
TEST_F(Rereg, AProviderWithoutTheCallLeavesTheRegionUsable) {
  const Device device = open();
  const Pd pd = pd_of(device);
  Mr mr = region_of(pd);
  nic.has_rereg = false;
  const auto refused = mr.rereg(to_second());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(refused.error().text, HasSubstr("register the memory anew"));
  EXPECT_TRUE(mr.usable());
}

// irdma may say EOPNOTSUPP after it took the old translation down.
TEST_F(Rereg, UnsupportedByADriverThatHasTheCallIsNotTrusted) {
  const Device device = open(can);
  const Pd pd = pd_of(device);
  Mr mr = region_of(pd);
  nic.next_errors["rereg_mr"] = {EOPNOTSUPP};
  ASSERT_FALSE(mr.rereg(to_second()));
  EXPECT_FALSE(mr.usable());
}

TEST_F(Rereg, WhereATableSaysAbsentTheDeviceIsNotAsked) {
  const Device device = open([](ContractBuilder& rules) {
    rules.feature(Feature::rereg_mr, Support::absent, true, rules.add(fake::rule("no-rereg")));
  });
  const Pd pd = pd_of(device);
  Mr mr = region_of(pd);
  const auto refused = mr.rereg(to_second());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(refused.error().field, "rereg_mr");
  EXPECT_EQ(refused.error().by.rule, "no-rereg");
  EXPECT_EQ(host->count("rereg_mr"), 0U);
  EXPECT_TRUE(mr.usable());
}

// Linux core/umem.c ib_umem_check_rereg: EACCES from the driver, which names nothing.
TEST_F(Rereg, MemoryPinnedForReadingCannotBecomeWritableInPlace) {
  const Device device = open(can);
  const Pd pd = pd_of(device);
  Mr mr = region_of(pd, IBV_ACCESS_REMOTE_READ);
  const auto refused = mr.rereg({.access = IBV_ACCESS_LOCAL_WRITE});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "access");
  EXPECT_EQ(host->count("rereg_mr"), 0U);
  EXPECT_TRUE(mr.rereg({.memory = MrChange::Memory{first.data(), first.size()}, .access = IBV_ACCESS_LOCAL_WRITE}));
  EXPECT_TRUE(mr.rereg({.access = 0}));
  EXPECT_TRUE(mr.rereg({.access = IBV_ACCESS_LOCAL_WRITE})) << "pinned for writing it stays";
}

TEST_F(Rereg, WhatCannotBeMeantIsRefusedByName) {
  const Device device = open(can);
  const auto other = open_device(library, "nic0");
  ASSERT_TRUE(other);
  const Pd foreign = pd_of(*other);
  const Pd pd = pd_of(device);
  Mr mr = region_of(pd);
  EXPECT_EQ(mr.rereg({}).error().field, "flags");
  EXPECT_EQ(mr.rereg({.pd = &foreign}).error().field, "pd");
  EXPECT_EQ(mr.rereg({.memory = MrChange::Memory{nullptr, 64}}).error().field, "addr");
  EXPECT_EQ(mr.rereg({.memory = MrChange::Memory{second.data(), 0}}).error().field, "length");
  EXPECT_EQ(mr.rereg({.access = IBV_ACCESS_REMOTE_WRITE}).error().field, "access");
  EXPECT_EQ(host->count("rereg_mr"), 0U);
  EXPECT_TRUE(mr.usable());
}

}  // namespace
}  // namespace verbena
