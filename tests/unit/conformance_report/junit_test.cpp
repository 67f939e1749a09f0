// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "report/junit.hpp"

#include <gmock/gmock.h>

#include <string>

#include "small_run.hpp"

namespace conform {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++n;
  return n;
}

TEST(Junit, HasATestForEachCaseAndColumnAndOneForTheRun) {
  const std::string xml = run_to_junit(small_run());
  EXPECT_EQ(times(xml, "<testcase "), 7U);
  EXPECT_THAT(xml, AllOf(HasSubstr(R"(classname="raw.cq" name="cq.create.depth_at_limit")"),
                         HasSubstr(R"(classname="verbena.cq" name="cq.create.depth_at_limit")")));
  EXPECT_THAT(xml, HasSubstr(R"(tests="7" failures="2" errors="0" skipped="1")"));
}

TEST(Junit, CarriesTheIdentityAsProperties) {
  EXPECT_THAT(run_to_junit(small_run()),
              AllOf(HasSubstr(R"(<property name="device.kernel" value="6.12.117"/>)"),
                    HasSubstr(R"(<property name="substrate" value="kernel-driver"/>)"), Not(HasSubstr("peer."))));
  conform::Run run = small_run();
  run.peer = rxe("6.1.170");
  EXPECT_THAT(run_to_junit(run), HasSubstr(R"(<property name="peer.kernel" value="6.1.170"/>)"));
}

TEST(Junit, ARedColumnFailsWithItsFinding) {
  EXPECT_THAT(run_to_junit(small_run()), HasSubstr("<failure type=\"violates\" message=\"violates (missing): Without "
                                                   "IBV_QP_PORT: ENOMEM instead of EINVAL.\">"));
}

TEST(Junit, ACrashAndATimeoutAreErrors) {
  conform::Run run = small_run();
  run.cases[0].raw.verdict = Verdict::crash;
  run.cases[1].raw.verdict = Verdict::timeout;
  EXPECT_THAT(run_to_junit(run), AllOf(HasSubstr(R"(errors="2")"), HasSubstr("<error type=\"crash\""),
                                       HasSubstr("<error type=\"timeout\"")));
}

TEST(Junit, AStaleResultFailsAsStaleThoughItConforms) {
  conform::Run run = small_run();
  run.cases[0].raw.table = Table::stale;
  run.cases[0].raw.red = true;
  EXPECT_THAT(run_to_junit(run), HasSubstr("<failure type=\"stale\" message=\"conforms (stale)\">"));
}

TEST(Junit, ASkipSaysWhy) {
  EXPECT_THAT(run_to_junit(small_run()), HasSubstr(R"(<skipped message="blocked: no second host"/>)"));
}

TEST(Junit, WhatIsAbsentPassesWhereItWasAskedForAndIsSkippedWhereItWasNot) {
  conform::Run run = small_run();
  Column& column = run.cases[0].raw;
  column.verdict = Verdict::absent;
  column.reason = "no such feature";
  EXPECT_THAT(run_to_junit(run), Not(HasSubstr("<skipped message=\"absent")));
  column.runs = 0;
  EXPECT_THAT(run_to_junit(run), HasSubstr("<skipped message=\"absent: no such feature\"/>"));
}

TEST(Junit, ARunThatIsRedForNoCaseFailsToo) {
  conform::Run run = small_run();
  run.cases.pop_back();
  run.why_red = {"3 cases blocked, at most 2 may be"};
  const std::string xml = run_to_junit(run);
  EXPECT_THAT(xml, HasSubstr(R"(failures="1")"));
  EXPECT_THAT(xml, HasSubstr(R"(<failure type="red" message="3 cases blocked, at most 2 may be">)"));
  run.red = false;
  EXPECT_THAT(run_to_junit(run), HasSubstr(R"(failures="0")"));
}

}  // namespace
}  // namespace conform
