// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "report/summary.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "small_run.hpp"

namespace conform {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Summary, SaysWhoWasAskedAndWhatCameOfIt) {
  const std::string text = run_to_summary(small_run());
  EXPECT_THAT(text, AllOf(HasSubstr("rxe, kernel 6.12.117\n"), HasSubstr("RED, 1 reason:\n"),
                          HasSubstr("state.init.rc_needs_each (raw): violates"), HasSubstr("of 3 listed")));
  EXPECT_THAT(text, AllOf(HasSubstr("departs raw:      error 1, state 1\n"),
                          HasSubstr("through Verbena:  error 1; not tried: state 1\n")));
}

TEST(Summary, WhatWasNotTriedDepartsFromNothing) {
  conform::Run run = small_run();
  for (const Verdict verdict : {Verdict::blocked, Verdict::not_run, Verdict::blocked}) {
    run.cases.push_back(run.cases[0]);
    run.cases.back().area = "data";
    run.cases.back().raw = run.cases.back().verbena = Column{};
    run.cases.back().raw.verdict = run.cases.back().verbena.verdict = verdict;
  }
  EXPECT_THAT(run_to_summary(run), HasSubstr("departs raw:      error 1, state 1; not tried: data 3\n"));
}

TEST(Summary, OfAGreenRunSaysSo) {
  conform::Run run = small_run();
  run.red = false;
  EXPECT_THAT(run_to_summary(run), AllOf(HasSubstr("\nnot red\n"), Not(HasSubstr("RED"))));
}

TEST(Summary, SaysWhichTablesWereNotInForce) {
  conform::Run run = small_run();
  EXPECT_THAT(run_to_summary(run), Not(HasSubstr("left out")));
  run.layers_left_out = {"/etc/verbena/quirks.d: a.yaml:3:1: unknown key", "/run/verbena/quirks.d: no"};
  EXPECT_THAT(run_to_summary(run),
              HasSubstr("\nwarning: a layer is left out, and 1 more: /etc/verbena/quirks.d: a.yaml:3:1"));
}

TEST(Summary, FitsAScreenWhateverTheRunHolds) {
  conform::Run run = small_run();
  run.layers_left_out = {std::string(200, 'l'), "another"};
  for (std::size_t i = 0; i < kVerdictWords.size(); ++i) {
    run.cases.push_back(run.cases[0]);
    run.cases.back().area = "area" + std::to_string(i);
    run.cases.back().raw.verdict = static_cast<Verdict>(i);
  }
  run.why_red.assign(300, std::string(200, 'x') + "\n\n\n");
  run.device.name = run.device.driver = std::string(300, 'd') + "\x1b[2J";
  const std::string text = run_to_summary(run);
  EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 23);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 82U) << line;
  EXPECT_THAT(text, AllOf(HasSubstr("and 298 more"), Not(HasSubstr("\x1b"))));
}

TEST(Summary, ALineIsCutBetweenCharacters) {
  conform::Run run = small_run();
  run.device.driver.clear();
  for (int i = 0; i < 100; ++i) run.device.driver += "é";
  const std::string first = run_to_summary(run).substr(0, run_to_summary(run).find('\n'));
  std::string expected;
  for (int i = 0; i < 79; ++i) expected += "é";
  EXPECT_EQ(first, expected + "…");
}

}  // namespace
}  // namespace conform
