// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/closing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "small_list.hpp"

namespace conform::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

CaseResult result(const std::string& id, Verdict verdict, const std::string& requirement = {}) {
  CaseResult one;
  one.id = id;
  for (Column* column : {&one.raw, &one.verbena}) {
    column->verdict = verdict;
    column->runs = verdict == Verdict::not_run || verdict == Verdict::blocked ? 0 : 1;
    column->table = Table::expected;
    if (!requirement.empty()) column->findings.push_back({requirement, Seen::refused, {}, {}, {}, "it was refused"});
  }
  return one;
}

ListedCase listed(const std::string& id, std::vector<std::string> covers, std::vector<std::string> setup = {}) {
  ListedCase one;
  one.id = id;
  one.covers = std::move(covers);
  one.conditions.setup = std::move(setup);
  return one;
}

struct Closed : ::testing::Test {
  CaseList list;
  verbena::Contract contract;
  ExpectationEntry entry;
  Closing closing;
  conform::Run run;

  void SetUp() override {
    entry.id = "fake-entry";
    entry.requirements = {"r"};
    list.cases = {listed("pd.one", {"r"}), listed("pd.two", {"r"}), listed("pd.other", {"s"})};
    run.cases = {result("pd.one", Verdict::conforms), result("pd.two", Verdict::conforms),
                 result("pd.other", Verdict::conforms)};
    closing.list = &list;
    closing.contract = &contract;
  }
  void close() {
    if (closing.selected.empty())
      for (const ListedCase& one : list.cases) closing.selected.push_back(&one);
    close_run(run, closing);
  }
};

TEST_F(Closed, ARunOfConformingCasesIsNotRed) {
  close();
  EXPECT_FALSE(run.red);
  EXPECT_THAT(run.why_red, IsEmpty());
}

TEST_F(Closed, AnEntryThatNoCaseShowsAnyMoreIsStale) {
  closing.known.expectations = {&entry};
  close();
  EXPECT_TRUE(run.red);
  EXPECT_EQ(run.cases[0].raw.table, Table::stale);
  EXPECT_EQ(run.cases[1].raw.table, Table::stale);
  EXPECT_EQ(run.cases[0].verbena.table, Table::expected);
  EXPECT_EQ(run.cases[2].raw.table, Table::expected);
  EXPECT_THAT(run.why_red, Contains(HasSubstr("pd.one (raw): stale: fake-entry expects otherwise of r")));
  ASSERT_EQ(run.expectations.size(), 1U);
  EXPECT_EQ(run.expectations[0].id, "fake-entry");
}

TEST_F(Closed, OneCaseThatStillShowsItIsEnough) {
  closing.known.expectations = {&entry};
  run.cases[1] = result("pd.two", Verdict::deviates, "r");
  close();
  EXPECT_FALSE(run.red);
}

TEST_F(Closed, ADepartureFromAnotherRequirementIsNone) {
  closing.known.expectations = {&entry};
  list.cases[1].covers = {"r", "s"};
  run.cases[1] = result("pd.two", Verdict::deviates, "s");
  close();
  EXPECT_THAT(run.why_red, Contains(HasSubstr("pd.one (raw): stale")));
}

TEST_F(Closed, ACaseThatWasNotAskedLeavesAnEntryOpen) {
  closing.known.expectations = {&entry};
  closing.selected = {&list.cases[0], &list.cases[2]};
  run.cases.erase(run.cases.begin() + 1);
  close();
  EXPECT_FALSE(run.red);
}

TEST_F(Closed, ACaseThatDidNotRunOrRanTwiceIsRedByItsName) {
  run.cases[1] = result("pd.two", Verdict::not_run);
  run.cases.push_back(run.cases[2]);
  run.cases.push_back(result("pd.nobody", Verdict::conforms));
  run.cases.erase(run.cases.begin());
  close();
  EXPECT_TRUE(run.red);
  EXPECT_THAT(run.why_red, ElementsAre("pd.one: is listed and did not run", "pd.two (raw): is listed and did not run",
                                       "pd.two (verbena): is listed and did not run", "pd.other: ran 2 times",
                                       "pd.nobody: ran and is not listed"));
}

TEST_F(Closed, ACaseThatIsListedTwiceIsRed) {
  list.cases.push_back(list.cases[0]);
  run.cases.push_back(run.cases[0]);
  close();
  EXPECT_THAT(run.why_red, Contains(HasSubstr("pd.one: is listed twice")));
}

TEST_F(Closed, WhatWaitsForAnotherRunIsNoGap) {
  list.cases.push_back(listed("pd.lossy", {"r"}, {"lossy_fabric"}));
  run.cases.push_back(result("pd.lossy", Verdict::not_run));
  closing.environment.elsewhere["lossy_fabric"] = "runs on an emulated NIC";
  close();
  EXPECT_FALSE(run.red);
}

TEST_F(Closed, PastItsBudgetABlockedCaseIsRed) {
  run.cases[0] = result("pd.one", Verdict::blocked);
  run.cases[0].raw.reason = run.cases[0].verbena.reason = "huge_pages: there are none";
  run.blocked_budget = 1;
  close();
  EXPECT_FALSE(run.red);
  run.why_red.clear();
  run.blocked_budget = 0;
  close();
  EXPECT_THAT(run.why_red, ElementsAre(HasSubstr("1 cases are blocked, and 0 may be: 1 of huge_pages")));
}

TEST_F(Closed, WhatMustBeNativeAndIsNotIsRedEvenWithoutACase) {
  closing.known.must_be_native = {verbena::Feature::srq};
  close();
  EXPECT_THAT(run.why_red, ElementsAre(HasSubstr("srq must be native")));
}

TEST_F(Closed, ARunThatEndedEarlySaysWhy) {
  closing.stopped = "the device cannot be used any more after pd.one: gone";
  close();
  EXPECT_THAT(run.why_red, Contains(HasSubstr("cannot be used any more after pd.one")));
}

}  // namespace
}  // namespace conform::testing
