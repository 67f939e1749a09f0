// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "device/ledger_state.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

namespace verbena {
namespace {

using ::testing::HasSubstr;

// F07: max_res_rd_atom is a budget of the whole device, and the first queue pair takes it all.
TEST(Ledger, ASharedBudgetShrinksTheNextAndIsShown) {
  LedgerState ledger;
  LedgerLine first, second;
  ledger.set_totals(16, true, std::nullopt);
  EXPECT_EQ(ledger.reserve_responder(first, 0x11, 12, 1), 12U);
  EXPECT_EQ(ledger.reserve_responder(second, 0x12, 12, 1), 4U);
  EXPECT_EQ(ledger.snapshot().responder_used, 16U);
  EXPECT_THAT(to_string(ledger.snapshot()), HasSubstr("16 of 16"));
  EXPECT_THAT(to_string(ledger.snapshot()), HasSubstr("QP 0x11 holds 12"));
}

TEST(Ledger, LessThanTheFloorIsRefusedAndTakesNothing) {
  LedgerState ledger;
  LedgerLine first, second;
  ledger.set_totals(16, true, std::nullopt);
  ASSERT_TRUE(ledger.reserve_responder(first, 1, 16, 1));
  EXPECT_FALSE(ledger.reserve_responder(second, 2, 16, 1));
  EXPECT_EQ(ledger.snapshot().responder_used, 16U);
  ledger.release(first);
  EXPECT_EQ(ledger.reserve_responder(second, 2, 16, 1), 16U);
}

TEST(Ledger, ADerivedBudgetIsShownAndNotEnforced) {
  LedgerState ledger;
  LedgerLine first, second;
  ledger.set_totals(16, false, std::nullopt);
  EXPECT_EQ(ledger.reserve_responder(first, 1, 16, 1), 16U);
  EXPECT_EQ(ledger.reserve_responder(second, 2, 16, 16), 16U);
  EXPECT_EQ(ledger.snapshot().responder_used, 32U);
}

TEST(Ledger, ReservingAgainReplacesWhatTheQueuePairHolds) {
  LedgerState ledger;
  LedgerLine first, second;
  ledger.set_totals(16, true, 1000);
  ledger.reserve_responder(first, 1, 16, 1);
  EXPECT_EQ(ledger.reserve_responder(first, 1, 8, 1), 8U);
  EXPECT_EQ(ledger.snapshot().responder_used, 8U);
  EXPECT_TRUE(ledger.reserve_work_requests(first, 1, 600));
  EXPECT_FALSE(ledger.reserve_work_requests(second, 2, 600));
  EXPECT_TRUE(ledger.reserve_work_requests(second, 2, 400));
  ledger.release_responder(first);
  EXPECT_EQ(ledger.snapshot().responder_used, 0U);
  EXPECT_EQ(ledger.snapshot().work_requests_used, 1000U);
  ledger.release(first);
  ledger.release(second);
  EXPECT_EQ(ledger.snapshot().work_requests_used, 0U);
  EXPECT_TRUE(ledger.snapshot().entries.empty());
}

TEST(Ledger, NeverGivesAwayMoreThanThereIsWhateverTheThreads) {
  LedgerState ledger;
  ledger.set_totals(64, true, std::nullopt);
  const auto work = [&](LedgerLine& line) {
    for (int i = 0; i < 2000; ++i) {
      ledger.reserve_responder(line, 1, 48, 1);
      EXPECT_LE(ledger.snapshot().responder_used, 64U);
      ledger.release(line);
    }
  };
  LedgerLine one, two;
  std::thread other(work, std::ref(one));
  work(two);
  other.join();
  EXPECT_EQ(ledger.snapshot().responder_used, 0U);
}

}  // namespace
}  // namespace verbena
