// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "report/diff.hpp"

#include <gmock/gmock.h>

#include <string>

#include "small_run.hpp"

namespace conform {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

TEST(Diff, ARunIsTheSameAsItself) {
  const RunDiff diff = diff_runs(small_run(), small_run());
  EXPECT_EQ(diff, RunDiff{});
  EXPECT_TRUE(diff.same());
  EXPECT_THAT(diff_to_text(diff, "a", "b"), HasSubstr("no result differs"));
}

TEST(Diff, TimesNotesAndWordingAreNoChange) {
  conform::Run run = small_run();
  run.seconds = 99;
  run.begun = "2027-01-01T00:00:00Z";
  run.cases[1].raw.ms = 99;
  run.cases[1].raw.notes.clear();
  run.cases[1].raw.findings[0].text = "said otherwise";
  run.cases[1].says = "said otherwise";
  EXPECT_EQ(diff_runs(small_run(), run), RunDiff{});
}

TEST(Diff, AnotherKernelIsShownAndIsNoDifferenceByItself) {
  conform::Run run = small_run();
  run.device = rxe("6.1.170");
  run.quirks_hash = "11";
  const RunDiff diff = diff_runs(small_run(), run);
  EXPECT_THAT(diff.identity, ElementsAre(Change{"device.kernel", "6.12.117", "6.1.170"},
                                         Change{"quirks.hash", "00ff00ff00ff00ff", "11"}));
  EXPECT_TRUE(diff.same());
  EXPECT_THAT(diff_to_text(diff, "a", "b"), HasSubstr("device.kernel: 6.12.117 -> 6.1.170"));
}

TEST(Diff, EachSideOfACaseIsComparedInVerdictTableFindingsAndAdjustments) {
  conform::Run run = small_run();
  run.cases[0].verbena.adjustments[0].granted = 16383;
  run.cases[1].raw.verdict = Verdict::conforms;
  run.cases[1].raw.findings.clear();
  run.cases[1].verbena.rate = "3 of 5";
  run.cases[2].raw.table = Table::expected;
  const RunDiff diff = diff_runs(small_run(), run);
  EXPECT_THAT(
      diff.cases,
      ElementsAre(CaseDiff{"cq.create.depth_at_limit",
                           Side::verbena,
                           {{"adjustments", "cqe: asked 18446744073709551615, granted 32767 (reduced)",
                             "cqe: asked 18446744073709551615, granted 16383 (reduced)"}}},
                  CaseDiff{"error.local.bad_lkey_send",
                           Side::raw,
                           {{"verdict", "deviates", "conforms"},
                            {"findings", "error.local.bad_lkey_send: completion WR_FLUSH_ERR, state ERR", ""}}},
                  CaseDiff{"error.local.bad_lkey_send", Side::verbena, {{"verdict", "flaky 2 of 5", "flaky 3 of 5"}}},
                  CaseDiff{"state.init.rc_needs_each", Side::raw, {{"table", "missing", "expected"}}}));
  EXPECT_FALSE(diff.same());
}

TEST(Diff, CasesOfOneRunAloneAreNamed) {
  conform::Run a = small_run(), b = small_run();
  a.cases.erase(a.cases.begin());
  b.cases.pop_back();
  const RunDiff diff = diff_runs(a, b);
  EXPECT_THAT(diff.only_a, ElementsAre("state.init.rc_needs_each"));
  EXPECT_THAT(diff.only_b, ElementsAre("cq.create.depth_at_limit"));
  EXPECT_THAT(diff.cases, IsEmpty());
  EXPECT_FALSE(diff.same());
}

TEST(Diff, ACaseThatRanTwiceInOneIsFoundOnceMore) {
  conform::Run twice = small_run();
  twice.cases.push_back(twice.cases[0]);
  EXPECT_THAT(diff_runs(twice, small_run()).only_a, ElementsAre("cq.create.depth_at_limit"));
  EXPECT_THAT(diff_runs(small_run(), twice).only_b, ElementsAre("cq.create.depth_at_limit"));
  EXPECT_TRUE(diff_runs(twice, twice).same());
}

TEST(Diff, WhatChangedAlikeOnBothSidesIsSaidOnceInTheText) {
  conform::Run run = small_run();
  run.cases[0].raw.table = run.cases[0].verbena.table = Table::stale;
  const RunDiff diff = diff_runs(small_run(), run);
  EXPECT_EQ(diff.cases.size(), 2U);
  EXPECT_THAT(diff_to_text(diff, "a", "b"), AllOf(HasSubstr("cq.create.depth_at_limit (raw, verbena)\n"),
                                                  Not(HasSubstr("(verbena)")), HasSubstr("2 results differ")));
}

TEST(Diff, TheTextMovesNoCursorAndTheJsonHoldsTheSame) {
  conform::Run run = small_run();
  run.device.name = "\x1b[31m";
  run.cases[1].raw.verdict = Verdict::conforms;
  const RunDiff diff = diff_runs(small_run(), run);
  EXPECT_THAT(diff_to_text(diff, "a", "b\x1b"), Not(HasSubstr("\x1b")));
  EXPECT_THAT(diff_to_json(diff, "a", "b"),
              AllOf(HasSubstr("\"schema\": 1"), HasSubstr("\"same\": false"), HasSubstr("\"side\": \"raw\"")));
}

}  // namespace
}  // namespace conform
