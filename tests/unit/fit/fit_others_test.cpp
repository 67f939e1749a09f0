// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include "contracts.hpp"
#include "unit/requests.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

using requests::cq;
using ::testing::HasSubstr;

TEST(FitCq, HnsIsAskedForOneMore) {
  const auto grant = fit(cq(64), contracts::hip09());
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->cqe.granted, 64U);
  EXPECT_EQ(grant->cqe.passed, 65U);
  EXPECT_TRUE(grant->adjustments.empty());
}

TEST(FitCq, E810TakesAnyDepth) {
  const auto grant = fit(cq(1000), contracts::e810());
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->cqe.granted, 1000U);
  EXPECT_EQ(grant->cqe.passed, 1000U);
}

TEST(FitCq, ADepthBeyondTheDeviceIsReducedToWhatItHas) {
  // F13: rxe has 32767 entries at most, and nobody looked.
  const auto grant = fit(cq(65536), contracts::rxe());
  ASSERT_TRUE(grant.has_value()) << to_string(grant.error());
  EXPECT_EQ(grant->cqe.granted, 32767U);
  ASSERT_EQ(grant->adjustments.size(), 1U);
  EXPECT_EQ(grant->adjustments[0].field, "cqe");
  EXPECT_THAT(grant->adjustments[0].by.reason, HasSubstr("32767"));
}

TEST(FitCq, WhatARoundingOrAReserveCutsNamesItsRule) {
  Caps caps;
  caps.set(Cap::max_cqe, 65535);
  const auto rounded = fit(cq(40000), contracts::Made(caps).asks(Field::cqe, AskKind::power_of_two, 0).build());
  ASSERT_TRUE(rounded.has_value());
  EXPECT_EQ(rounded->cqe.granted, 32768U);
  ASSERT_EQ(rounded->adjustments.size(), 1U);
  EXPECT_EQ(rounded->adjustments[0].by.rule, "cqe-ask");
  EXPECT_THAT(rounded->adjustments[0].by.reason, HasSubstr("at most 65535 can be passed"));

  const auto reserved = fit(cq(65535), contracts::Made(caps).reserves(Field::cqe, 100).build());
  ASSERT_TRUE(reserved.has_value());
  EXPECT_EQ(reserved->cqe.granted, 65435U);
  EXPECT_EQ(reserved->adjustments.at(0).by.rule, "cqe-reserve");

  const auto cut = fit(cq(70000), contracts::Made(caps).build());
  ASSERT_TRUE(cut.has_value());
  EXPECT_EQ(cut->adjustments.at(0).by.set_by, SetBy::declared);
}

TEST(FitCq, NoEntriesAreRaisedToOne) {
  const auto grant = fit(cq(0), contracts::rxe());
  ASSERT_TRUE(grant.has_value()) << to_string(grant.error());
  EXPECT_EQ(grant->cqe.granted, 1U);
  EXPECT_EQ(grant->adjustments.at(0).kind, AdjustmentKind::raised);
}

TEST(Fit, ADeviceThatMakesNoneIsAskedForNone) {
  // libmana before rdma-core 53 refuses each completion queue.
  const auto hold = [](Field count, const auto& request) {
    Caps declares;
    declares.set(Cap::max_srq, 8);
    const auto refused = fit(request, contracts::Made(declares).at_most(count, 0).build());
    ASSERT_FALSE(refused.has_value()) << name(count);
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
    EXPECT_EQ(refused.error().field, name(count));
    EXPECT_EQ(refused.error().by.rule, std::string(name(count)) + "-max");
  };
  hold(Field::max_cq, cq(64));
  hold(Field::max_qp, QpRequest{});
  hold(Field::max_srq, SrqRequest{});
  MrRequest region;
  region.length = 8;
  hold(Field::max_mr, region);
}

// A driver may take the flag and put something else than a time there.
TEST(FitCq, TimesThatADeviceDoesNotGiveAreRefused) {
  for (const std::uint64_t flag :
       {IBV_WC_EX_WITH_COMPLETION_TIMESTAMP, IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK}) {
    CqRequest request = cq(16);
    request.wc_flags = flag;
    const auto refused = fit(request, contracts::lacking(Feature::completion_timestamp));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
    request.wc_flags = IBV_WC_EX_WITH_BYTE_LEN;
    EXPECT_TRUE(fit(request, contracts::lacking(Feature::completion_timestamp)));
  }
}

TEST(FitCq, ANumberOfQueuesThatIsNotFilledIsNoRefusal) {
  Caps caps;
  caps.set(Cap::max_cq, 0);
  EXPECT_TRUE(fit(cq(64), contracts::Made(caps).build()).has_value());
}

TEST(FitCq, BelowTheFloorIsRefused) {
  CqRequest request = cq(65536);
  request.cqe.at_least = 40000;
  const auto refused = fit(request, contracts::rxe());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::limit);
  EXPECT_EQ(refused.error().allowed, 32767U);
}

TEST(FitCq, AVectorThatTheDeviceLacksIsRefused) {
  CqRequest request = cq(16);
  request.comp_vector = 8;
  const auto refused = fit(request, contracts::connectx5());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().field, "comp_vector");
}

TEST(FitCq, HoldsEveryWorkRequestThatCanCompleteOrFlush) {
  QpGrant sender;
  sender.fields[0].granted = 100;
  sender.fields[0].returned = 127;
  sender.fields[1].granted = 50;
  QpGrant receiver = sender;
  receiver.fields[1].returned = 40;  // a provider that returned less than was granted
  SrqGrant shared;
  shared.max_wr.granted = 1000;
  const QpGrant senders[]{sender, sender};
  const QpGrant receivers[]{receiver};
  const SrqGrant shareds[]{shared};
  EXPECT_EQ(cq_entries_needed(senders, receivers, shareds), 127U + 127U + 50U + 1000U);
  EXPECT_EQ(cq_entries_needed({}, {}), 0U);
}

TEST(FitSrq, ADeviceWithoutOneSaysSo) {
  SrqRequest request;
  request.max_wr.want = 100;
  const auto refused = fit(request, contracts::e810());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(refused.error().field, "srq");
}

TEST(FitSrq, DepthAndSgesAreClipped) {
  SrqRequest request;
  request.max_wr.want = 40000;
  request.max_sge.want = 40;
  const auto grant = fit(request, contracts::connectx5());
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->max_wr.granted, 32767U);
  EXPECT_EQ(grant->max_sge.granted, 31U);
  EXPECT_EQ(grant->adjustments.size(), 2U);
}

TEST(FitSrq, ALimitAboveTheGrantedDepthIsLoweredWithIt) {
  SrqRequest request;
  request.max_wr.want = 40000;
  request.srq_limit = 35000;
  const auto grant = fit(request, contracts::connectx5());
  ASSERT_TRUE(grant.has_value()) << to_string(grant.error());
  EXPECT_EQ(grant->srq_limit.asked, 35000U);
  EXPECT_EQ(grant->srq_limit.granted, 32767U);
  EXPECT_EQ(grant->srq_limit.passed, 32767U);
  ASSERT_EQ(grant->adjustments.size(), 2U);
  EXPECT_EQ(grant->adjustments[1].field, "srq_limit");
  EXPECT_EQ(grant->adjustments[1].kind, AdjustmentKind::reduced);
  EXPECT_THAT(grant->adjustments[1].by.reason, HasSubstr("depth of 32767"));

  request.srq_limit = 100;
  const auto within = fit(request, contracts::connectx5());
  ASSERT_TRUE(within.has_value());
  EXPECT_EQ(within->srq_limit.granted, 100U);
  EXPECT_EQ(within->adjustments.size(), 1U);
}

TEST(FitSrq, ALimitAboveTheDepthThatIsAskedForContradictsItself) {
  SrqRequest request;
  request.max_wr.want = 100;
  request.srq_limit = 101;
  const auto refused = fit(request, contracts::connectx5());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::invalid_request);
  EXPECT_EQ(refused.error().field, "srq_limit");
  EXPECT_EQ(refused.error().allowed, 100U);
}

TEST(FitSrq, TheLimitHasBoundsOfItsOwn) {
  Caps caps;
  caps.set(Cap::max_srq_wr, 1000);
  const Contract contract = contracts::Made(caps).at_least(Field::srq_limit, 16).at_most(Field::srq_limit, 100).build();
  struct Case {
    std::uint32_t depth, limit;
    Policy policy;
    std::optional<std::uint32_t> granted;
    std::string rule{};
  };
  const Case cases[] = {{500, 0, Policy::require, 0},
                        {500, 16, Policy::require, 16},
                        {500, 100, Policy::require, 100},
                        {500, 7, Policy::prefer, 16, "srq_limit-min"},
                        {500, 300, Policy::prefer, 100, "srq_limit-max"},
                        {500, 300, Policy::require, std::nullopt, "srq_limit-max"},
                        {15, 7, Policy::prefer, std::nullopt, "srq_limit-min"},
                        {16, 7, Policy::prefer, 16, "srq_limit-min"}};
  for (const Case& each : cases) {
    SrqRequest request{.max_wr = {each.depth}, .srq_limit = each.limit, .policy = each.policy};
    const auto grant = fit(request, contract);
    ASSERT_EQ(grant.has_value(), each.granted.has_value()) << each.depth << " " << each.limit;
    if (!grant) {
      EXPECT_EQ(grant.error().field, "srq_limit");
      EXPECT_EQ(grant.error().by.rule, each.rule);
      continue;
    }
    EXPECT_EQ(grant->srq_limit.granted, *each.granted) << each.depth << " " << each.limit;
    EXPECT_EQ(grant->srq_limit.passed, *each.granted);
    ASSERT_EQ(grant->adjustments.size(), *each.granted == each.limit ? 0U : 1U);
    if (grant->adjustments.empty()) continue;
    EXPECT_EQ(grant->adjustments[0].by.rule, each.rule);
  }
}

TEST(FitQp, OneThatIsLargerThanTheBudgetOfAllIsRefused) {
  const Contract contract = contracts::Made(Caps{}).at_most(Field::total_wr, 100).build();
  EXPECT_TRUE(fit(requests::rc(60, 40, 1, 1, 0), contract).has_value());
  const auto refused = fit(requests::rc(60, 41, 1, 1, 0), contract);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::limit);
  EXPECT_EQ(refused.error().field, "total_wr");
  EXPECT_EQ(refused.error().asked, 101U);
  EXPECT_EQ(refused.error().allowed, 100U);
  EXPECT_EQ(refused.error().by.rule, "total_wr-max");
  QpRequest shared = requests::rc(60, 1, 1, 1, 0);
  shared.srq = true;
  EXPECT_TRUE(fit(shared, contract).has_value()) << "receives of a shared queue are not this queue pair's";
}

TEST(FitMr, ALengthOfNothingIsRefusedByName) {
  // hns returns null without an errno there (hns_roce_u_verbs.c hns_roce_u_reg_mr).
  MrRequest request;
  const auto refused = fit(request, contracts::e810());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::invalid_request);
  EXPECT_THAT(refused.error().field, HasSubstr("length"));
}

TEST(FitMr, ALengthBeyondTheDeviceShowsBothNumbers) {
  MrRequest request;
  request.length = (std::uint64_t{1} << 45U) + 1;
  const auto refused = fit(request, contracts::e810());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::limit);
  EXPECT_EQ(refused.error().asked, request.length);
  EXPECT_EQ(refused.error().allowed, std::uint64_t{1} << 45U);
}

TEST(FitMr, ALengthBelowTheLeastIsRefusedWithTheLeast) {
  const Contract contract = contracts::Made(Caps{}).at_least(Field::mr_length, 4096).build();
  MrRequest request;
  request.length = 4095;
  for (const Policy policy : {Policy::require, Policy::prefer, Policy::allow}) {
    request.policy = policy;
    const auto refused = fit(request, contract);
    ASSERT_FALSE(refused.has_value());
    EXPECT_EQ(refused.error().kind, ErrorKind::limit);
    EXPECT_EQ(refused.error().field, "mr_length");
    EXPECT_EQ(refused.error().allowed, 4096U);
    EXPECT_EQ(refused.error().by.rule, "mr_length-min");
  }
  request.length = 4096;
  EXPECT_TRUE(fit(request, contract).has_value());
}

TEST(FitMr, RemoteWritesNeedLocalOnes) {
  MrRequest request;
  request.length = 4096;
  for (const std::uint32_t access : {IBV_ACCESS_REMOTE_WRITE, IBV_ACCESS_REMOTE_ATOMIC}) {
    request.access = access;
    ASSERT_FALSE(fit(request, contracts::connectx5()).has_value());
    request.access = access | IBV_ACCESS_LOCAL_WRITE;
    EXPECT_TRUE(fit(request, contracts::connectx5()).has_value());
  }
}

TEST(FitMr, OnDemandPagingThatTheDeviceDeniesIsRefused) {
  Caps caps;
  caps.set(Cap::odp_general_caps, 0);
  MrRequest request;
  request.length = 4096;
  request.access = IBV_ACCESS_ON_DEMAND;
  const auto refused = fit(request, contracts::Made(caps).build());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(refused.error().field, "on_demand_paging");
}

TEST(FitMr, RightsThatTheDeviceHasNoUseForAreLeftOutAndNamed) {
  struct Right {
    std::uint32_t bit;
    const char* word;
    std::vector<Feature> features;
  };
  const Right rights[] = {
      {IBV_ACCESS_REMOTE_ATOMIC, "IBV_ACCESS_REMOTE_ATOMIC", {Feature::compare_swap, Feature::fetch_add}},
      {IBV_ACCESS_MW_BIND, "IBV_ACCESS_MW_BIND", {Feature::memory_window_1, Feature::memory_window_2}},
      {1U << 8, "IBV_ACCESS_FLUSH_GLOBAL", {Feature::flush}},
      {1U << 9, "IBV_ACCESS_FLUSH_PERSISTENT", {Feature::flush}}};
  for (const Right& right : rights) {
    contracts::Made without{Caps{}};
    for (const Feature feature : right.features) without.feature(feature, Support::absent);
    const Contract contract = without.build();
    MrRequest request;
    request.length = 1;
    request.access = IBV_ACCESS_LOCAL_WRITE | right.bit;
    const auto grant = fit(request, contract);
    ASSERT_TRUE(grant.has_value()) << right.word;
    EXPECT_EQ(grant->access, std::uint32_t{IBV_ACCESS_LOCAL_WRITE});
    ASSERT_EQ(grant->adjustments.size(), 1U) << right.word;
    EXPECT_EQ(grant->adjustments[0].field, right.word);
    EXPECT_EQ(grant->adjustments[0].asked, right.bit);
    EXPECT_EQ(grant->adjustments[0].granted, 0U);
    EXPECT_EQ(grant->adjustments[0].by, contract.provenance(contract.feature(right.features[0]).by));
    EXPECT_EQ(grant->adjustments[0].by.set_by, SetBy::rule);

    request.policy = Policy::require;
    const auto refused = fit(request, contract);
    ASSERT_FALSE(refused.has_value()) << right.word;
    EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
    EXPECT_EQ(refused.error().field, name(right.features[0]));
    EXPECT_THAT(refused.error().text, HasSubstr(right.word));

    request.policy = Policy::prefer;
    EXPECT_EQ(fit(request, contracts::Made(Caps{}).build())->access, request.access) << "nobody denies it";
  }
}

TEST(FitMr, OneKindOfWindowOrAtomicIsEnoughForTheRight) {
  MrRequest request;
  request.length = 1;
  request.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND | IBV_ACCESS_REMOTE_ATOMIC;
  const auto grant = fit(request, contracts::Made(Caps{})
                                      .feature(Feature::memory_window_1, Support::absent)
                                      .feature(Feature::compare_swap, Support::absent)
                                      .build());
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->access, request.access);
  EXPECT_TRUE(grant->adjustments.empty());
}

TEST(FitMr, FlushToPersistenceIsAnotherBitThanToGlobalVisibility) {
  Caps caps;
  caps.set(Cap::device_cap_flags_ex, std::uint64_t{1} << 38U);
  MrRequest request;
  request.length = 1;
  request.access = IBV_ACCESS_LOCAL_WRITE | 3U << 8U;
  const auto grant = fit(request, contracts::Made(caps).build());
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->access, IBV_ACCESS_LOCAL_WRITE | 1U << 8U);
  ASSERT_EQ(grant->adjustments.size(), 1U);
  EXPECT_THAT(grant->adjustments[0].by.reason, HasSubstr("FLUSH_PERSISTENT"));
}

TEST(FitMr, AnotherRegionThanTheOneAskedForIsNeverGranted) {
  MrRequest request;
  request.length = 4096;
  request.access = IBV_ACCESS_ZERO_BASED;
  request.policy = Policy::allow;
  const auto refused = fit(request, contracts::Made(Caps{}).feature(Feature::zero_based_mr, Support::absent).build());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().field, "zero_based_mr");
}

TEST(FitMr, HintsAreLeftOutEvenUnderRequire) {
  MrRequest request;
  request.length = 4096;
  request.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING | IBV_ACCESS_HUGETLB;
  request.policy = Policy::require;
  const auto grant = fit(request, contracts::Made(Caps{}).feature(Feature::relaxed_ordering, Support::absent).build());
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->access, std::uint32_t{IBV_ACCESS_LOCAL_WRITE});
  ASSERT_EQ(grant->adjustments.size(), 2U);
  EXPECT_EQ(grant->adjustments[0].field, "IBV_ACCESS_RELAXED_ORDERING");
  EXPECT_EQ(grant->adjustments[1].field, "IBV_ACCESS_HUGETLB");
  EXPECT_EQ(grant->adjustments[1].by.set_by, SetBy::build);

  request.access |= IBV_ACCESS_ON_DEMAND;
  EXPECT_NE(fit(request, contracts::connectx5())->access & IBV_ACCESS_HUGETLB, 0U)
      << "on demand it tells the page size";
}

TEST(FitMr, RelaxedOrderingIsPassedOnSinceDriversMayIgnoreIt) {
  MrRequest request;
  request.length = 4096;
  request.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING;
  const auto grant = fit(request, contracts::e810());
  ASSERT_TRUE(grant.has_value());
  EXPECT_EQ(grant->access, request.access);
}

}  // namespace
}  // namespace verbena
