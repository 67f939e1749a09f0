// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "object_fixture.hpp"
#include "verbena/cq.hpp"
#include "verbena/mr.hpp"
#include "verbena/srq.hpp"

namespace verbena {
namespace {

using ::testing::HasSubstr;

class Creation : public WithDevice {};

TEST_F(Creation, ACqHoldsWhatWasAsked) {
  const Device device = open();
  const auto cq = Cq::create(device, CqRequest{Wish{100}});
  ASSERT_TRUE(cq) << to_string(cq.error());
  EXPECT_EQ(cq->grant().cqe.granted, 100U);
  EXPECT_EQ(cq->grant().cqe.returned, 100U);
  EXPECT_TRUE(cq->grant().adjustments.empty());
  EXPECT_EQ(cq->grant().quirks_hash, 0x5eedU);
  EXPECT_EQ(device.counters().adjusted, 0U);
}

TEST_F(Creation, WhatTheDeviceRefusesIsSteppedDownAndTold) {
  nic.thresholds.push_back({"cqe", 300, EINVAL});
  const Device device = open();
  const auto cq = Cq::create(device, CqRequest{Wish{1000}});
  ASSERT_TRUE(cq) << to_string(cq.error());
  EXPECT_LE(cq->grant().cqe.granted, 300U);
  EXPECT_GE(cq->grant().cqe.granted, 125U);
  EXPECT_GE(cq->grant().ladder.size(), 3U);
  EXPECT_EQ(cq->grant().ladder.back().errno_value, 0);
  ASSERT_EQ(cq->grant().adjustments.size(), 1U);
  EXPECT_EQ(cq->grant().adjustments[0].by.set_by, SetBy::probed);
  EXPECT_EQ(device.counters().ladder_steps, cq->grant().ladder.size() - 1);
  EXPECT_EQ(logged(LogLevel::warn), 1U);
}

TEST_F(Creation, UnderRequireNothingIsSteppedDown) {
  nic.thresholds.push_back({"cqe", 300, EINVAL});
  const Device device = open();
  CqRequest request{Wish{1000}};
  request.policy = Policy::require;
  const auto cq = Cq::create(device, request);
  ASSERT_FALSE(cq);
  EXPECT_EQ(cq.error().kind, ErrorKind::refused);
  EXPECT_EQ(cq.error().errno_value, EINVAL);
  EXPECT_EQ(cq.error().field, "cqe");
  EXPECT_EQ(cq.error().asked, 1000U);
  EXPECT_EQ(host->count("create_cq"), 1U);
  EXPECT_EQ(device.counters().refused, 1U);
  EXPECT_EQ(nic.cqs, 0U);
}

TEST_F(Creation, ARefusalForGoodTellsEveryTry) {
  nic.thresholds.push_back({"cqe", 0, EINVAL});
  const Device device = open();
  library->settings.values.ladder_tries = 4;
  const auto cq = Cq::create(device, CqRequest{Wish{1000}});
  ASSERT_FALSE(cq);
  EXPECT_EQ(host->count("create_cq"), 4U);
  EXPECT_THAT(cq.error().text, HasSubstr("4 tries"));
  EXPECT_THAT(cq.error().text, HasSubstr("cqe=1000 (EINVAL)"));
}

TEST_F(Creation, LessThanTheFloorIsAnErrorAndLeavesNothingBehind) {
  nic.cqe_write_back = [](int) { return 50; };
  const Device device = open();
  const auto cq = Cq::create(device, CqRequest{Wish{1000, 500}});
  ASSERT_FALSE(cq);
  EXPECT_EQ(cq.error().kind, ErrorKind::limit);
  EXPECT_EQ(cq.error().allowed, 50U);
  EXPECT_EQ(nic.cqs, 0U);
}

// F01/F27 kind: what the provider writes back counts, not that it said yes.
TEST_F(Creation, OneEntryLessThanGrantedIsTold) {
  nic.cqe_write_back = [](int asked) { return asked - 1; };
  const Device device = open();
  const auto cq = Cq::create(device, CqRequest{Wish{64}});
  ASSERT_TRUE(cq);
  EXPECT_EQ(cq->grant().cqe.granted, 63U);
  EXPECT_EQ(cq->grant().cqe.passed, 64U);
  EXPECT_EQ(cq->grant().cqe.returned, 63U);
  ASSERT_EQ(cq->grant().adjustments.size(), 1U);
}

TEST_F(Creation, AnAskOfOneMoreMakesUpForIt) {
  nic.cqe_write_back = [](int asked) { return asked - 1; };
  const Device device = open(
      [](ContractBuilder& builder) { builder.ask(Field::cqe, AskKind::plus, 1, builder.add(fake::rule("plus-one"))); });
  const auto cq = Cq::create(device, CqRequest{Wish{64}});
  ASSERT_TRUE(cq);
  EXPECT_EQ(cq->grant().cqe.granted, 64U);
  EXPECT_EQ(cq->grant().cqe.passed, 65U);
  EXPECT_TRUE(cq->grant().adjustments.empty());
}

TEST_F(Creation, ExtendedCqsAreMadeWhereAskedFor) {
  const Device device = open();
  const auto plain = Cq::create(device, CqRequest{Wish{16}});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->raw_ex(), nullptr);
  CqRequest request{Wish{16}};
  request.single_threaded = true;
  const auto extended = Cq::create(device, request);
  ASSERT_TRUE(extended);
  EXPECT_NE(extended->raw_ex(), nullptr);
  EXPECT_EQ(host->count("create_cq_ex"), 1U);
}

TEST_F(Creation, AnAdoptedCqTellsWhatItHolds) {
  const Device device = open();
  const auto raw = host->create_cq(device.raw(), 77, nullptr, nullptr, 0);
  const auto cq = Cq::adopt(device, raw.handle);
  ASSERT_TRUE(cq);
  EXPECT_EQ(cq->grant().cqe.granted, 77U);
}

TEST_F(Creation, AResizedCqTellsItsNewSize) {
  const Device device = open();
  const auto cq = Cq::create(device, CqRequest{Wish{16}});
  ASSERT_TRUE(cq);
  const auto grant = cq->resize(Wish{200});
  ASSERT_TRUE(grant) << to_string(grant.error());
  EXPECT_EQ(grant->cqe.returned, 200U);
  nic.next_errors["resize_cq"] = {EOPNOTSUPP};
  EXPECT_EQ(cq->resize(Wish{300}).error().kind, ErrorKind::unsupported);
}

TEST_F(Creation, AnSrqHoldsWhatWasAskedAndItsLimitIsChecked) {
  const Device device = open();
  const Pd pd = pd_of(device);
  const auto srq = Srq::create(pd, SrqRequest{Wish{128}, Wish{4}});
  ASSERT_TRUE(srq) << to_string(srq.error());
  EXPECT_EQ(srq->grant().max_wr.granted, 128U);
  EXPECT_EQ(srq->grant().max_sge.returned, 4U);
  EXPECT_TRUE(srq->arm_limit(16));
  EXPECT_EQ(srq->query()->srq_limit, 16U);
  const auto beyond = srq->arm_limit(129);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().allowed, 128U);
}

TEST_F(Creation, AnSrqLimitOutsideItsOwnBoundsReachesNoDriver) {
  const Device device = open([](ContractBuilder& rules) {
    rules.at_least(Field::srq_limit, 8, 0);
    rules.at_most(Field::srq_limit, 64, 0);
  });
  const Pd pd = pd_of(device);
  const auto srq = Srq::create(pd, SrqRequest{Wish{128}, Wish{4}});
  ASSERT_TRUE(srq) << to_string(srq.error());
  for (const std::uint32_t within : {0U, 8U, 64U}) EXPECT_TRUE(srq->arm_limit(within)) << within;
  const unsigned calls = host->count("modify_srq");
  for (const auto& [limit, allowed] : {std::pair{7U, 8U}, {65U, 64U}, {129U, 64U}}) {
    const auto refused = srq->arm_limit(limit);
    ASSERT_FALSE(refused) << limit;
    EXPECT_EQ(refused.error().kind, ErrorKind::limit);
    EXPECT_EQ(refused.error().field, "srq_limit");
    EXPECT_EQ(refused.error().allowed, allowed) << limit;
  }
  EXPECT_EQ(host->count("modify_srq"), calls);
}

// Whoever reads it at night has an SRQ that works, and must not think that it is gone.
TEST_F(Creation, AQueryThatTheDriverLacksSaysWhatToReadInstead) {
  const Device device = open();
  const Pd pd = pd_of(device);
  const auto srq = Srq::create(pd, SrqRequest{Wish{128}, Wish{4}});
  ASSERT_TRUE(srq);
  nic.next_errors["query_srq"] = {EOPNOTSUPP, EINVAL};
  const auto lacking = srq->query();
  ASSERT_FALSE(lacking);
  EXPECT_EQ(lacking.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(lacking.error().text, HasSubstr("the driver does not have this call"));
  EXPECT_THAT(lacking.error().text, HasSubstr("Srq::grant()"));
  EXPECT_THAT(lacking.error().text, HasSubstr("is as it was"));
  const auto refused = srq->query();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
  EXPECT_THAT(refused.error().text, HasSubstr("is as it was"));
  EXPECT_EQ(device.counters().refused, 0U) << "no creation was refused";
}

// F51: 'Cannot allocate memory' with a lock limit of 64 KiB.
TEST_F(Creation, NoMemoryNamesTheLockLimitAndTheNeed) {
  static char memory[256 << 10];
  host->memlock = {64 << 10, 64 << 10};
  const Device device = open();
  const Pd pd = pd_of(device);
  MrRequest request;
  request.length = sizeof memory;
  request.access = IBV_ACCESS_LOCAL_WRITE;
  const auto mr = Mr::reg(pd, memory, request);
  ASSERT_FALSE(mr);
  EXPECT_EQ(mr.error().kind, ErrorKind::no_memory);
  EXPECT_EQ(mr.error().errno_value, ENOMEM);
  EXPECT_THAT(mr.error().text, HasSubstr("64 KiB"));
  EXPECT_THAT(mr.error().text, HasSubstr("256 KiB"));
  EXPECT_THAT(mr.error().text, HasSubstr("limit is too low"));
  request.length = 32 << 10;
  const auto first = Mr::reg(pd, memory, request);
  EXPECT_TRUE(first);
  host->may_lock = true;
  request.length = sizeof memory;
  EXPECT_TRUE(Mr::reg(pd, memory, request));
}

TEST_F(Creation, MlockThatIsNotAllowedIsAMissingRight) {
  char memory[64];
  const Device device = open();
  const Pd pd = pd_of(device);
  nic.next_errors["reg_mr"] = {EPERM};
  MrRequest request;
  request.length = sizeof memory;
  const auto mr = Mr::reg(pd, memory, request);
  ASSERT_FALSE(mr);
  EXPECT_EQ(mr.error().kind, ErrorKind::permission);
}

// libhns' reg_mr may return null without errno.
TEST_F(Creation, ARefusalWithoutErrnoIsSaidToBeOne) {
  char memory[64];
  const Device device = open();
  const Pd pd = pd_of(device);
  nic.next_errors["reg_mr"] = {fake::kNoErrno};
  MrRequest request;
  request.length = sizeof memory;
  const auto mr = Mr::reg(pd, memory, request);
  ASSERT_FALSE(mr);
  EXPECT_EQ(mr.error().errno_value, EINVAL);
  EXPECT_THAT(mr.error().text, HasSubstr("no errno"));
}

TEST_F(Creation, BadRequestsAreRefusedBeforeTheDeviceIsAsked) {
  char memory[64];
  const Device device = open();
  const Pd pd = pd_of(device);
  host->forget_calls();
  const auto empty = Mr::reg(pd, memory, MrRequest{});
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().kind, ErrorKind::invalid_request);
  const auto floor = Cq::create(device, CqRequest{Wish{10, 20}});
  ASSERT_FALSE(floor);
  EXPECT_EQ(floor.error().kind, ErrorKind::invalid_request);
  EXPECT_EQ(floor.error().field, "cqe");
  EXPECT_EQ(host->count("reg_mr") + host->count("create_cq"), 0U);
}

TEST_F(Creation, ContractsAreKeptUntilTheRulesChange) {
  const Device device = open();
  const auto one = device.contract(1);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->get(), device.contract(1)->get());
  library->rules = std::make_shared<const fake::FakeRules>(fake::FakeRules::Apply{}, 2);
  EXPECT_EQ((*device.contract(1))->quirks_hash(), 2U);
  const auto none = device.contract(2);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().field, "port_num");
  EXPECT_EQ(none.error().allowed, 1U);
}

// irdma reports what is left of QPs, CQs, MRs and PDs (facts 3.2).
TEST_F(Creation, CountsThatShrinkWithUseAreAskedAnew) {
  nic.counts_shrink = true;
  const Device device = open([](ContractBuilder& builder) {
    builder.behaviour(Behaviour::caps_shrink_with_use, Choice::yes, builder.add(fake::rule("shrinks")));
  });
  const auto before = (*device.contract(1))->domain(Field::max_pd).max;
  const Pd pd = pd_of(device);
  EXPECT_EQ((*device.contract(1))->domain(Field::max_pd).max, before - 1);
}

TEST_F(Creation, AllowLogsNothing) {
  nic.thresholds.push_back({"cqe", 300, EINVAL});
  const Device device = open();
  log.clear();
  CqRequest request{Wish{1000}};
  request.policy = Policy::allow;
  ASSERT_TRUE(Cq::create(device, request));
  EXPECT_EQ(logged(LogLevel::warn), 0U);
}

}  // namespace
}  // namespace verbena
