// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "cases/bodies.hpp"
#include "fake_ground.hpp"
#include "report/file.hpp"
#include "report/run_json.hpp"
#include "runner/worker.hpp"

namespace conform::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string one_case(const std::string& id, const std::string& more = {}) {
  return "  - id: " + id + "\n    says: It holds.\n    covers: [pd.alloc.works]\n" + more;
}

struct Conform : FakeGround {
  std::string folder = ::testing::TempDir() + "verbena-conform-" + std::to_string(getpid());

  void TearDown() override { std::filesystem::remove_all(folder); }

  verbena::Result<conform::Run> conform(const std::string& items, const std::string& table = {},
                                        ReportFolder* into = nullptr, const std::string& area = "pd") {
    LoadedList read = testing::read(cases_of(area, items), table);
    EXPECT_THAT(read.findings, IsEmpty());
    lists.push_back(std::make_unique<CaseList>(std::move(read.list)));
    return run_suite(*lists.back(), ground, options, into);
  }

private:
  std::vector<std::unique_ptr<CaseList>> lists;
};

TEST_F(Conform, EachCaseRunsOnceInEachColumn) {
  const auto run = conform(one_case("pd.alloc.works"));
  ASSERT_TRUE(run) << to_string(run.error());
  EXPECT_FALSE(run->red) << run->why_red.front();
  ASSERT_EQ(run->cases.size(), 1U);
  EXPECT_EQ(run->cases[0].raw.verdict, Verdict::conforms);
  EXPECT_EQ(run->cases[0].verbena.verdict, Verdict::conforms);
  EXPECT_EQ(run->cases[0].raw.runs, 1U);
  EXPECT_EQ(run->device.name, "fake0");
  EXPECT_EQ(run->device.driver, "rxe");
}

TEST_F(Conform, ARowReachesItsBody) {
  const auto run = conform(
      "  - id: pd.row.{type}\n    body: pd.row\n    says: It holds.\n    covers: [pd.alloc.works]\n"
      "    qp_types: [\"{type}\"]\n    each: {type: [rc]}\n");
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->red) << run->why_red.front();
}

TEST_F(Conform, ACrashIsRedByItsNameAndTheNextCaseRuns) {
  const auto run = conform(one_case("pd.crashes") + one_case("pd.leaves") + one_case("pd.alloc.works"));
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->red);
  EXPECT_EQ(run->cases[0].raw.verdict, Verdict::crash);
  EXPECT_EQ(run->cases[0].verbena.verdict, Verdict::crash);
  EXPECT_EQ(run->cases[1].raw.verdict, Verdict::crash);
  EXPECT_EQ(run->cases[2].raw.verdict, Verdict::conforms);
  EXPECT_THAT(run->why_red, Contains(HasSubstr("pd.crashes (raw): crash: the process ended with signal 6")));
  EXPECT_THAT(run->why_red, Contains(HasSubstr("pd.leaves (verbena): crash: the process ended with exit 3")));
}

TEST_F(Conform, ACrashIsSeenEvenWhereAChildOfTheCaseLivesOn) {
  options.seconds = 60;
  const auto run = conform(one_case("pd.forks"));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->cases[0].raw.verdict, Verdict::crash);
  EXPECT_LT(run->seconds, 30);
}

TEST_F(Conform, AHangIsEndedAtItsDeadlineAndRedByItsName) {
  options.seconds = 0.3;
  const auto run = conform(one_case("pd.hangs") + one_case("pd.alloc.works"));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->cases[0].raw.verdict, Verdict::timeout);
  EXPECT_THAT(run->why_red, Contains(HasSubstr("pd.hangs (raw): timeout")));
  EXPECT_EQ(run->cases[1].verbena.verdict, Verdict::conforms);
}

TEST_F(Conform, SeveralWorkersRunAllOfIt) {
  options.jobs = 3;
  options.repeat = 2;
  const auto run =
      conform(one_case("pd.alloc.works") + one_case("pd.crashes") + one_case("pd.throws") + one_case("pd.leaves"));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->cases.size(), 4U);
  for (const CaseResult& result : run->cases) EXPECT_EQ(result.raw.runs, 2U) << result.id;
  EXPECT_EQ(run->cases[0].raw.verdict, Verdict::conforms);
  EXPECT_THAT(run->cases[2].raw.reason, HasSubstr("the list gives no 'nothing'"));
}

TEST_F(Conform, ACaseWithoutABodyIsRed) {
  const auto run = conform(one_case("pd.nobody"));
  ASSERT_TRUE(run);
  EXPECT_THAT(run->why_red, Contains(HasSubstr("pd.nobody (raw): crash: the case itself failed: there is no body")));
}

TEST_F(Conform, ABlockedCaseIsRedPastTheBudget) {
  EXPECT_TRUE(conform(one_case("pd.blocked"))->red);
  options.blocked_budget = 1;
  EXPECT_FALSE(conform(one_case("pd.blocked"))->red);
}

TEST_F(Conform, WhereNothingCompletesACaseEndsWithWhatItHasFound) {
  ground.carries_data = false;
  options.substrate = Substrate::vendor_driver;
  const auto run = conform(one_case("pd.waits") + one_case("pd.fails_and_waits"));
  ASSERT_TRUE(run) << to_string(run.error());
  EXPECT_EQ(run->cases[0].raw.verdict, Verdict::not_run);
  EXPECT_THAT(run->cases[0].raw.reason, HasSubstr("data: "));
  EXPECT_EQ(run->cases[1].raw.verdict, Verdict::violates);
  EXPECT_THAT(run->why_red,
              ElementsAre(HasSubstr("pd.fails_and_waits (raw)"), HasSubstr("pd.fails_and_waits (verbena)")));
  // On a device that is to carry data the same end is a hole in the run.
  options.substrate = Substrate::kernel_driver;
  EXPECT_THAT(conform(one_case("pd.waits"))->why_red, Contains(HasSubstr("pd.waits (raw): is listed and did not run")));
}

TEST_F(Conform, ADeviceThatRefusesEveryOptionalVerbIsRed) {
  for (const char* verb : {"create_srq", "alloc_mw", "create_cq_ex", "create_qp_ex", "resize_cq", "create_ah"})
    nic->next_errors[verb] = std::deque<int>(1000, EOPNOTSUPP);
  const auto run = conform("  - id: srq.create.works\n", {}, nullptr, "srq");
  ASSERT_TRUE(run);
  EXPECT_TRUE(run->red);
  EXPECT_EQ(run->cases[0].raw.verdict, Verdict::misdeclares);
  EXPECT_THAT(run->why_red, Contains(HasSubstr("srq.create.works (raw): misdeclares")));
}

TEST_F(Conform, TheShippedCasesAreRedOnADeviceThatRefusesEveryOptionalVerb) {
  for (const char* verb : {"create_srq", "alloc_mw", "create_cq_ex", "create_qp_ex", "resize_cq", "create_ah"})
    nic->next_errors[verb] = std::deque<int>(100000, EOPNOTSUPP);
  const LoadedList shipped = read_list(built_in_texts());
  const std::vector<Body> bodies = all_bodies();
  options.start_worker = forked([&](int channel) { return work(channel, channel, ground, bodies); });
  options.choice.globs = {"srq.create.*", "mw.alloc.*"};
  const auto run = run_suite(shipped.list, ground, options, nullptr);
  ASSERT_TRUE(run) << to_string(run.error());
  EXPECT_TRUE(run->red);
  const auto misdeclared = std::count_if(run->cases.begin(), run->cases.end(), [](const CaseResult& result) {
    return result.raw.verdict == Verdict::misdeclares && result.raw.red;
  });
  EXPECT_GE(misdeclared, 4);
}

TEST_F(Conform, ASampleIsOfTheChosenCasesInTheirOrderAndHangsOnTheSeedAlone) {
  const CaseList list = read_list(built_in_texts()).list;
  const auto ids = [&](const CaseChoice& choice) {
    std::vector<std::string> found;
    for (const ListedCase* listed : select_cases(list, choice)) found.push_back(listed->id);
    return found;
  };
  const auto all = ids({.globs = {"srq.*"}});
  const auto drawn = ids({.globs = {"srq.*"}, .sample = 20, .seed = 7});
  ASSERT_EQ(drawn.size(), 20U);
  std::size_t at = 0;
  for (const std::string& id : all) at += at < drawn.size() && drawn[at] == id ? 1 : 0;
  EXPECT_EQ(at, drawn.size());
  EXPECT_EQ(drawn, ids({.globs = {"srq.*"}, .sample = 20, .seed = 7}));
  EXPECT_NE(drawn, ids({.globs = {"srq.*"}, .sample = 20, .seed = 8}));
  EXPECT_EQ(ids({.globs = {"srq.*"}, .sample = 100000}), all);
}

TEST_F(Conform, AStaleExpectationIsRedByItsName) {
  const auto run = conform(one_case("pd.alloc.works"),
                           table_of("rxe",
                                    "  - id: rxe-old\n    requirement: pd.alloc.works\n    kind: deviates\n"
                                    "    seen: {result: refused}\n    says: It is refused.\n    reason: None.\n"
                                    "    source: Linux 6.12 x.c y\n    evidence: measured\n    until: open\n"));
  ASSERT_TRUE(run);
  EXPECT_THAT(run->why_red, ElementsAre(HasSubstr("pd.alloc.works (raw): stale: rxe-old")));
}

TEST_F(Conform, ADeviceThatIsGoneEndsTheRunAndWhatDidNotRunIsRed) {
  nic->next_errors["alloc_pd"] = std::deque<int>(1000, EIO);
  const auto run = conform(one_case("pd.alloc.works"));
  ASSERT_TRUE(run);
  EXPECT_THAT(run->why_red, Contains(HasSubstr("the device cannot be used")));
  EXPECT_THAT(run->why_red, Contains(HasSubstr("pd.alloc.works (raw): is listed and did not run")));
}

TEST_F(Conform, TheFolderHoldsEachCaseAndTheRun) {
  auto made = ReportFolder::open(folder);
  ASSERT_TRUE(made) << to_string(made.error());
  const auto run = conform(one_case("pd.crashes") + one_case("pd.alloc.works"), {}, &*made);
  ASSERT_TRUE(run);
  const std::string lines = *read_file(folder + "/cases.jsonl");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), '\n'), 2);
  EXPECT_EQ(*read_file(folder + "/running"), "");
  const auto back = load_run(folder + "/run.json");
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->cases.size(), 2U);
  EXPECT_TRUE(back->red);
}

TEST_F(Conform, AFolderThatCannotBeWrittenIsSaidBeforeAnythingRuns) {
  const auto made = ReportFolder::open("/proc/verbena/nowhere");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().kind, verbena::ErrorKind::io);
  EXPECT_THAT(to_string(made.error()), HasSubstr("/proc/verbena/nowhere"));
}

TEST_F(Conform, ADiskThatFillsEndsTheRunWithAnErrorAndKeepsWhatWasWritten) {
  auto made = ReportFolder::open(folder);
  ASSERT_TRUE(made);
  // The lines go where nothing more fits.
  const int full = ::open("/dev/full", O_WRONLY);
  if (full < 0) GTEST_SKIP() << "there is no /dev/full";
  const std::string lines = folder + "/cases.jsonl";
  for (int fd = 3; fd < 200; ++fd) {
    char target[256];
    const ssize_t length = readlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), target, sizeof target);
    if (length > 0 && std::string(target, static_cast<std::size_t>(length)) == lines) dup2(full, fd);
  }
  close(full);
  const auto run = conform(one_case("pd.alloc.works") + one_case("pd.crashes"), {}, &*made);
  ASSERT_FALSE(run);
  EXPECT_THAT(to_string(run.error()), HasSubstr("cases.jsonl cannot be written: No space left"));
}

}  // namespace
}  // namespace conform::testing
