// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "objects/ladder.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "contract/contract_builder.hpp"
#include "fake/fake_rules.hpp"

namespace verbena {
namespace {

using ::testing::HasSubstr;

Contract plain_contract() {
  return ContractBuilder(DeviceId{}, Caps{}, 1, true).build(1);
}

FieldGrant granted(Field field, std::uint32_t value) {
  FieldGrant grant;
  grant.field = field;
  grant.asked = grant.granted = grant.passed = value;
  return grant;
}

class Ladder : public ::testing::Test {
protected:
  Contract contract = plain_contract();
  FieldGrant depth = granted(Field::max_send_wr, 1024);
  FieldGrant sges = granted(Field::max_send_sge, 16);
  FieldGrant inlined = granted(Field::max_inline_data, 256);
  std::array<Rung, 3> rungs{Rung{&inlined, 0, StepDown::to_floor, 0}, Rung{&depth, 128, StepDown::by_half, 1},
                            Rung{&sges, 1, StepDown::by_half, 2}};
};

TEST_F(Ladder, AFirstTryThatIsAcceptedRecordsNothing) {
  auto attempt = [] { return TryResult{true, 0, false}; };
  const LadderOutcome outcome = climb_down(rungs, contract, 8, attempt);
  EXPECT_TRUE(outcome.last.made);
  EXPECT_TRUE(outcome.steps.empty());
  EXPECT_EQ(depth.granted, 1024U);
}

TEST_F(Ladder, StepsDownOneFieldAtATimeAndRecordsEachTry) {
  auto attempt = [&] { return depth.passed <= 600 ? TryResult{true, 0, false} : TryResult{false, EINVAL, false}; };
  const LadderOutcome outcome = climb_down(rungs, contract, 8, attempt);
  ASSERT_TRUE(outcome.last.made);
  ASSERT_EQ(outcome.steps.size(), 3U);
  EXPECT_EQ(outcome.steps[0].changed, "max_inline_data");
  EXPECT_EQ(outcome.steps[0].errno_value, EINVAL);
  EXPECT_EQ(outcome.steps[1].changed, "max_send_wr");
  EXPECT_THAT(outcome.steps[1].passed, HasSubstr("max_inline_data=0"));
  EXPECT_EQ(outcome.steps[2].errno_value, 0);
  EXPECT_THAT(outcome.steps[2].passed, HasSubstr("max_send_wr=576"));
  EXPECT_EQ(sges.granted, 16U) << "SGEs come last";
}

TEST_F(Ladder, NeverGoesBelowAFloorAndEnds) {
  unsigned tries = 0;
  auto attempt = [&] {
    ++tries;
    EXPECT_GE(depth.granted, 128U);
    EXPECT_GE(sges.granted, 1U);
    return TryResult{false, ENOMEM, false};
  };
  const LadderOutcome outcome = climb_down(rungs, contract, 64, attempt);
  EXPECT_FALSE(outcome.last.made);
  EXPECT_EQ(depth.granted, 128U);
  EXPECT_EQ(sges.granted, 1U);
  EXPECT_EQ(outcome.steps.size(), tries);
  EXPECT_LT(tries, 20U);
}

TEST_F(Ladder, TriesAreBounded) {
  unsigned tries = 0;
  auto attempt = [&] {
    ++tries;
    return TryResult{false, EINVAL, false};
  };
  climb_down(rungs, contract, 3, attempt);
  EXPECT_EQ(tries, 3U);
}

TEST_F(Ladder, AMissingRightIsNotTriedTwice) {
  unsigned tries = 0;
  auto attempt = [&] {
    ++tries;
    return TryResult{false, EPERM, false};
  };
  climb_down(rungs, contract, 8, attempt);
  EXPECT_EQ(tries, 1U);
}

// F39: which errno 'unsupported' and 'too big' have depends on driver, kernel and library.
TEST_F(Ladder, EveryErrnoOfTooMuchIsTriedAgain) {
  for (const int error : {EINVAL, ENOMEM, EOPNOTSUPP, ENOSYS, EPROTONOSUPPORT, E2BIG, EIO}) {
    FieldGrant field = granted(Field::cqe, 100);
    std::array one{Rung{&field, 1, StepDown::by_half, 0}};
    unsigned tries = 0;
    auto attempt = [&] { return ++tries == 2 ? TryResult{true, 0, false} : TryResult{false, error, false}; };
    EXPECT_TRUE(climb_down(one, contract, 8, attempt).last.made) << error;
  }
}

TEST_F(Ladder, WhatWasLoweredHasOneAdjustmentThatNamesTheDevice) {
  const std::array<std::uint32_t, 3> before{256, 1024, 16};
  QpGrant notes;
  notes.adjustments.push_back({"max_send_wr", 4096, 1024, AdjustmentKind::reduced, Provenance{}});
  depth.asked = 4096;
  auto attempt = [&] { return depth.passed <= 600 ? TryResult{true, 0, false} : TryResult{false, EINVAL, false}; };
  const LadderOutcome outcome = climb_down(rungs, contract, 8, attempt);
  note_ladder(notes, rungs, before, outcome);
  ASSERT_EQ(notes.adjustments.size(), 2U);
  EXPECT_EQ(notes.adjustments[0].field, "max_send_wr");
  EXPECT_EQ(notes.adjustments[0].asked, 4096U);
  EXPECT_EQ(notes.adjustments[0].granted, 576U);
  EXPECT_EQ(notes.adjustments[0].by.set_by, SetBy::probed);
  EXPECT_EQ(notes.adjustments[1].field, "max_inline_data");
  EXPECT_EQ(notes.ladder.size(), 3U);
}

TEST(Floor, DefaultsAreAnEighthOneAndNothing) {
  EXPECT_EQ(floor_of(Field::max_send_wr, Wish{100}, Policy::prefer), 13U);
  EXPECT_EQ(floor_of(Field::cqe, Wish{0xffffffff}, Policy::prefer), 0x20000000U);
  EXPECT_EQ(floor_of(Field::max_send_sge, Wish{16}, Policy::prefer), 1U);
  EXPECT_EQ(floor_of(Field::max_send_sge, Wish{0}, Policy::prefer), 0U);
  EXPECT_EQ(floor_of(Field::max_inline_data, Wish{256}, Policy::prefer), 0U);
  EXPECT_EQ(floor_of(Field::max_send_wr, Wish{100, 60}, Policy::prefer), 60U);
  EXPECT_EQ(floor_of(Field::max_send_wr, Wish{100, 60, Policy::require}, Policy::prefer), 100U);
  EXPECT_EQ(floor_of(Field::max_send_wr, Wish{100}, Policy::require), 100U);
}

// F27: creation succeeds with an inline size that is too big, and the provider writes back 0 or the true size.
TEST(ReadBack, InlineZeroMeansNone) {
  const Contract contract = plain_contract();
  FieldGrant field = granted(Field::max_inline_data, 64);
  QpGrant notes;
  read_back(field, 0, contract, notes);
  EXPECT_EQ(field.granted, 0U);
  EXPECT_EQ(field.returned, 0U);
  ASSERT_EQ(notes.adjustments.size(), 1U);
  EXPECT_EQ(notes.adjustments[0].asked, 64U);
  EXPECT_EQ(notes.adjustments[0].granted, 0U);
}

TEST(ReadBack, LessInlineThanGrantedLowersTheGrant) {
  const Contract contract = plain_contract();
  FieldGrant field = granted(Field::max_inline_data, 64);
  QpGrant notes;
  read_back(field, 32, contract, notes);
  EXPECT_EQ(field.granted, 32U);
  EXPECT_EQ(notes.adjustments.size(), 1U);
}

TEST(ReadBack, ASurplusIsNoAdjustment) {
  const Contract contract = plain_contract();
  FieldGrant field = granted(Field::max_send_wr, 100);
  QpGrant notes;
  read_back(field, 127, contract, notes);
  EXPECT_EQ(field.granted, 100U);
  EXPECT_EQ(field.returned, 127U);
  EXPECT_TRUE(notes.adjustments.empty());
}

// Facts 13.1: mana never fills cq->cqe; siw leaves the caps of a QP as they were passed.
TEST(ReadBack, ZeroEntriesAreNotReported) {
  const Contract contract = plain_contract();
  FieldGrant field = granted(Field::cqe, 100);
  CqGrant notes;
  read_back(field, 0, contract, notes);
  EXPECT_EQ(field.granted, 100U);
  EXPECT_FALSE(field.returned);
}

TEST(ReadBack, CapsThatAreNotWrittenBackAreNotTaken) {
  ContractBuilder builder(DeviceId{}, Caps{}, 1, true);
  builder.behaviour(Behaviour::caps_written_back, Choice::no, builder.add(fake::rule("no-write-back")));
  const Contract contract = std::move(builder).build(1);
  FieldGrant field = granted(Field::max_inline_data, 64);
  QpGrant notes;
  read_back(field, 0, contract, notes);
  EXPECT_EQ(field.granted, 64U);
  EXPECT_FALSE(field.returned);
}

// Facts 4.3: hns returns one less than the ring, so the wish plus one is passed, and what comes back is the wish.
TEST(ReadBack, OneMoreThatWasPassedMakesUpForOneThatIsKept) {
  const Contract contract = plain_contract();
  FieldGrant field = granted(Field::cqe, 64);
  field.passed = 65;
  CqGrant notes;
  read_back(field, 127, contract, notes);
  EXPECT_TRUE(notes.adjustments.empty());
  FieldGrant unaided = granted(Field::cqe, 64);
  read_back(unaided, 63, contract, notes);
  EXPECT_EQ(unaided.granted, 63U);
}

TEST(ReadBack, ReservedSlotsOfWhatIsReturnedAreTheDrivers) {
  ContractBuilder builder(DeviceId{}, Caps{}, 1, true);
  builder.reserve(Field::max_send_wr, 2, builder.add(fake::rule("two-kept")));
  const Contract contract = std::move(builder).build(1);
  FieldGrant field = granted(Field::max_send_wr, 100);
  field.passed = 102;
  QpGrant notes;
  read_back(field, 102, contract, notes);
  EXPECT_EQ(field.granted, 100U);
  EXPECT_TRUE(notes.adjustments.empty());
  read_back(field, 101, contract, notes);
  EXPECT_EQ(field.granted, 99U);
}

}  // namespace
}  // namespace verbena
