// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "contract_with.hpp"
#include "verbena/timers.hpp"

namespace verbena {
namespace {

unsigned code(Result<AckTimeoutCode> result) {
  return static_cast<unsigned>(result.value());
}
unsigned code(Result<RnrTimerCode> result) {
  return static_cast<unsigned>(result.value());
}

TEST(Timers, AckTimeoutCodesAreTheSpecificationsPowersOfTwo) {
  EXPECT_NEAR(duration(AckTimeoutCode{8}).count(), 1.05, 0.01);
  EXPECT_NEAR(duration(AckTimeoutCode{12}).count(), 16.8, 0.05);
  EXPECT_NEAR(duration(AckTimeoutCode{14}).count(), 67.1, 0.05);
  EXPECT_NEAR(duration(AckTimeoutCode{20}).count(), 4295, 1);
  EXPECT_EQ(duration(AckTimeoutCode{0}), kForever);
}

TEST(Timers, AckTimeoutIsRoundedUpNeverDown) {
  EXPECT_EQ(code(ack_timeout_code(Milliseconds(0.001))), 1U);
  EXPECT_EQ(code(ack_timeout_code(Milliseconds(67.0))), 14U);
  EXPECT_EQ(code(ack_timeout_code(Milliseconds(67.108864))), 14U);
  EXPECT_EQ(code(ack_timeout_code(Milliseconds(67.2))), 15U);
  EXPECT_EQ(code(ack_timeout_code(kForever)), 0U);
}

TEST(Timers, EachCodeSurvivesTheWayThroughMilliseconds) {
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(code(ack_timeout_code(duration(static_cast<AckTimeoutCode>(i)))), i);
    EXPECT_EQ(code(rnr_timer_code(duration(static_cast<RnrTimerCode>(i)))), i);
  }
}

TEST(Timers, ZeroNegativeAndEndlessWishesAreRefusedByName) {
  for (const double wish : {0.0, -1.0, 1e12, std::nan("")}) {
    const auto ack = ack_timeout_code(Milliseconds(wish));
    ASSERT_FALSE(ack) << wish;
    EXPECT_EQ(ack.error().kind, ErrorKind::invalid_request);
    EXPECT_EQ(ack.error().field, "timeout");
    const auto rnr = rnr_timer_code(Milliseconds(wish));
    ASSERT_FALSE(rnr) << wish;
    EXPECT_EQ(rnr.error().field, "min_rnr_timer");
  }
  EXPECT_FALSE(rnr_timer_code(kForever));
}

TEST(Timers, AnyWishGetsTheShortestCodeThatCoversIt) {
  EXPECT_TRUE(rc::check([] {
    const double wish = static_cast<double>(*rc::gen::inRange(1, 655360)) / 1000.0;
    const auto rnr = rnr_timer_code(Milliseconds(wish)).value();
    RC_ASSERT(duration(rnr).count() >= wish * (1 - 1e-6));
    for (unsigned other = 0; other < 32; ++other) {
      const double time = duration(static_cast<RnrTimerCode>(other)).count();
      RC_ASSERT(time < wish * (1 - 1e-6) || time >= duration(rnr).count());
    }
    const auto ack = ack_timeout_code(Milliseconds(wish)).value();
    RC_ASSERT(duration(ack).count() >= wish * (1 - 1e-6));
    RC_ASSERT(ack == AckTimeoutCode{1} || duration(ack).count() / 2 < wish);
  }));
}

// F97 (NVIDIA/daqiri #138): code 0 of the RNR timer is the longest, and rnr_retry 7 hides it.
TEST(Timers, F97RnrTimerZeroIsTheLongestAndSaidSoInMilliseconds) {
  EXPECT_DOUBLE_EQ(duration(RnrTimerCode{0}).count(), 655.36);
  const WorstStall stall = worst_receiver_stall(RnrTimerCode{0}, 7, Contract{});
  EXPECT_EQ(stall.nominal, kForever);
  EXPECT_NE(stall.text.find("min_rnr_timer 0 = 655.36 ms"), std::string::npos) << stall.text;
  EXPECT_EQ(code(rnr_timer_code(QpTimers{}.min_rnr_timer)), 12U);
}

// F99 (spdk/spdk #2429): one SEND that is early breaks a connection with rnr_retry 0.
TEST(Timers, F99ADefaultConnectionOutlivesAReceiverThatIsLate) {
  EXPECT_GT(QpTimers{}.rnr_retry, 0);
  EXPECT_EQ(code(ack_timeout_code(QpTimers{}.ack_timeout)), 14U);
}

TEST(WorstStall, IsTimeoutTimesTriesAndHardwareMayTakeFourTimesThat) {
  const WorstStall stall = worst_stall(AckTimeoutCode{14}, 7, Contract{});
  EXPECT_NEAR(stall.nominal.count(), 536.9, 0.1);
  EXPECT_NEAR(stall.at_most.count(), 2147.5, 0.1);
  EXPECT_TRUE(stall.known);
  EXPECT_NE(stall.text.find("67.109 ms x 8 tries"), std::string::npos) << stall.text;
}

TEST(WorstStall, TimeoutZeroNeverEnds) {
  EXPECT_EQ(worst_stall(AckTimeoutCode{0}, 1, Contract{}).nominal, kForever);
}

TEST(WorstStall, SevenRetriesNeverEndWhereTheDeviceTakesSevenForInfinite) {
  const Contract contract = contract_with({{Behaviour::retry_cnt_seven, Choice::infinite}});
  EXPECT_EQ(worst_stall(AckTimeoutCode{14}, 7, contract).nominal, kForever);
  EXPECT_LT(worst_stall(AckTimeoutCode{14}, 6, contract).nominal, kForever);
}

TEST(WorstStall, IsUnknownWhereTheDeviceIgnoresTheTimeout) {
  EXPECT_FALSE(worst_stall(AckTimeoutCode{14}, 7, contract_with({{Behaviour::ack_timeout, Choice::ignored}})).known);
  EXPECT_FALSE(
      worst_stall(AckTimeoutCode{14}, 7, contract_with({{Behaviour::ack_timeout, Choice::not_applicable}})).known);
}

TEST(WorstStall, CountsWholeMillisecondsWhereTheDriverRoundsToThem) {
  const Contract contract = contract_with({{Behaviour::ack_timeout, Choice::milliseconds}});
  EXPECT_DOUBLE_EQ(worst_stall(AckTimeoutCode{14}, 0, contract).nominal.count(), 64);
  EXPECT_DOUBLE_EQ(worst_stall(AckTimeoutCode{8}, 0, contract).nominal.count(), 1);
  EXPECT_DOUBLE_EQ(worst_stall(AckTimeoutCode{3}, 0, contract).nominal.count(), 1);
}

TEST(WorstStall, AShortTimeoutLastsATickWhereTheDriverCountsTicks) {
  const Contract ticks = contract_with({{Behaviour::ack_timeout, Choice::jiffies}});
  const WorstStall shortest = worst_stall(AckTimeoutCode{1}, 6, ticks);
  EXPECT_EQ(shortest.nominal, Milliseconds(70));
  EXPECT_NE(shortest.text.find("kernel ticks"), std::string::npos) << shortest.text;
  EXPECT_EQ(worst_stall(AckTimeoutCode{14}, 6, ticks).nominal, 7 * duration(AckTimeoutCode{14}));
}

TEST(WorstStall, IsUnknownAboveWhatADeviceKeeps) {
  const Contract contract = contract_with({{Behaviour::ack_timeout, Choice::clamped}}, {{Field::timeout, 20}});
  EXPECT_TRUE(worst_stall(AckTimeoutCode{20}, 0, contract).known);
  EXPECT_FALSE(worst_stall(AckTimeoutCode{21}, 0, contract).known);
}

}  // namespace
}  // namespace verbena
