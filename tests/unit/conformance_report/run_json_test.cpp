// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "report/run_json.hpp"

#include <gmock/gmock.h>

#include <string>

#include "small_run.hpp"

namespace conform {
namespace {

using testing::AllOf;
using testing::Eq;
using testing::Field;
using testing::HasSubstr;
using verbena::Error;
using verbena::ErrorKind;

/// The document of the small run with the first `from` replaced.
std::string with(const std::string& from, const std::string& to) {
  std::string text = run_to_json(small_run());
  const std::size_t at = text.find(from);
  EXPECT_NE(at, text.npos) << from;
  return at == text.npos ? text : text.replace(at, from.size(), to);
}

Error refused(const std::string& text) {
  const verbena::Result<conform::Run> run = run_from_json(text, "run.json");
  EXPECT_FALSE(run) << "taken";
  return run ? Error{} : run.error();
}

TEST(RunJson, AllValuesComeBack) {
  conform::Run run = small_run();
  run.peer = rxe("6.1.170");
  run.peer->model = "rxe-6.1";
  run.path = Path::wire;
  run.official = true;
  const verbena::Result<conform::Run> back = run_from_json(run_to_json(run), "run.json");
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(*back, run);
  EXPECT_EQ(run_to_json(*back), run_to_json(run));
}

TEST(RunJson, EveryWordOfEveryEnumerationComesBack) {
  conform::Run run = small_run();
  run.cases[0].raw.findings = {Finding{}};
  for (std::size_t i = 0; i < kVerdictWords.size(); ++i) {
    run.cases[0].raw.verdict = static_cast<Verdict>(i);
    run.cases[0].raw.table = static_cast<Table>(i % kTableWords.size());
    run.cases[0].raw.findings[0].seen = static_cast<Seen>(i % kSeenWords.size());
    run.substrate = static_cast<Substrate>(i % kSubstrateWords.size());
    run.path = static_cast<Path>(i % kPathWords.size());
    const verbena::Result<conform::Run> back = run_from_json(run_to_json(run), "run.json");
    ASSERT_TRUE(back) << to_string(back.error());
    EXPECT_EQ(*back, run);
  }
}

TEST(RunJson, ACaseIsOneLineAndComesBack) {
  for (const CaseResult& one : small_run().cases) {
    const std::string line = case_to_json_line(one);
    EXPECT_EQ(line.find('\n'), line.npos);
    const verbena::Result<CaseResult> back = case_from_json_line(line, "cases.jsonl");
    ASSERT_TRUE(back) << to_string(back.error());
    EXPECT_EQ(*back, one);
  }
}

TEST(RunJson, CountsAreThoseOfTheCases) {
  const std::string text = run_to_json(small_run());
  EXPECT_THAT(text, HasSubstr("\"degraded\": 1"));
  EXPECT_THAT(refused(with("\"degraded\": 0", "\"degraded\": 7")),
              AllOf(Field(&Error::field, Eq("counts.raw.degraded")), Field(&Error::text, HasSubstr("have 0"))));
}

TEST(RunJson, AnotherSchemaIsRefusedWithBothNumbers) {
  const Error error = refused(with("\"schema\": 1", "\"schema\": 2"));
  EXPECT_EQ(error.kind, ErrorKind::bad_table);
  EXPECT_EQ(error.field, "schema");
  EXPECT_THAT(error.text, AllOf(HasSubstr("is 2"), HasSubstr("schema 1")));
}

TEST(RunJson, AMissingKeyIsNamedWithItsPath) {
  EXPECT_EQ(refused(with("\"firmware\"", "\"firmvare\"")).field, "device.firmware");
  EXPECT_EQ(refused(with("\"verdict\": \"deviates\"", "\"verdikt\": \"deviates\"")).field, "cases[1].raw.verdict");
  EXPECT_EQ(refused(with("\"state\": \"ERR\"", "\"stat\": \"ERR\"")).field, "cases[1].raw.findings[0].state");
  EXPECT_EQ(refused("{}").field, "schema");
}

TEST(RunJson, AWrongValueIsNamedWithWhatMayStandThere) {
  EXPECT_THAT(refused(with("\"flaky\"", "\"flakey\"")),
              AllOf(Field(&Error::field, Eq("cases[1].verbena.verdict")),
                    Field(&Error::text, AllOf(HasSubstr("'flakey'"), HasSubstr("withheld")))));
  EXPECT_THAT(refused(with("\"runs\": 5", "\"runs\": -1")),
              AllOf(Field(&Error::field, Eq("cases[0].raw.runs")), Field(&Error::text, HasSubstr("4294967295"))));
  EXPECT_EQ(refused(with("\"red\": false", "\"red\": \"no\"")).field, "cases[0].raw.red");
  EXPECT_EQ(refused(with("\"ms\": 12.5", "\"ms\": null")).field, "cases[0].raw.ms");
  EXPECT_THAT(refused("[]").text, HasSubstr("the document should be an object and is array"));
}

TEST(RunJson, WhatIsNoJsonIsRefusedWithItsPlace) {
  EXPECT_THAT(refused("{\n  \"schema\": 1,\n  oh").text, HasSubstr("run.json:3:3"));
  EXPECT_THAT(refused("").text, HasSubstr("empty"));
  const std::string whole = run_to_json(small_run());
  for (std::size_t length = 0; length + 1 < whole.size(); length += 97) refused(whole.substr(0, length));
  EXPECT_THAT(refused(std::string(100'000, '[')).text, HasSubstr("no JSON"));
}

TEST(RunJson, KeysOfALaterVersionAreSkipped) {
  const verbena::Result<conform::Run> run = run_from_json(with("\"seed\"", "\"weather\": [1], \"seed\""), "run.json");
  ASSERT_TRUE(run) << to_string(run.error());
  EXPECT_EQ(*run, small_run());
}

TEST(RunJson, BytesThatAreNoUtf8CannotBreakTheDocument) {
  conform::Run run = small_run();
  run.device.name = "rxe\xff";
  const verbena::Result<conform::Run> back = run_from_json(run_to_json(run), "run.json");
  ASSERT_TRUE(back) << to_string(back.error());
  EXPECT_EQ(back->device.name, "rxe\xef\xbf\xbd");
}

TEST(RunJson, AFileThatIsNotThereIsAnErrorWithItsName) {
  const verbena::Result<conform::Run> run = load_run("/nowhere/run.json");
  ASSERT_FALSE(run);
  EXPECT_EQ(run.error().kind, ErrorKind::io);
  EXPECT_EQ(run.error().errno_value, ENOENT);
  EXPECT_THAT(run.error().text, HasSubstr("/nowhere/run.json"));
  EXPECT_EQ(load_run("/").error().errno_value, EISDIR);
}

TEST(Red, IsWhatTheDocumentationSays) {
  for (const Verdict verdict : {Verdict::violates, Verdict::misdeclares, Verdict::crash, Verdict::timeout}) {
    EXPECT_TRUE(is_red(verdict, Table::none)) << word(verdict);
  }
  for (const Verdict verdict : {Verdict::conforms, Verdict::degraded, Verdict::absent, Verdict::deviates,
                                Verdict::flaky, Verdict::blocked, Verdict::withheld}) {
    EXPECT_FALSE(is_red(verdict, Table::expected)) << word(verdict);
    EXPECT_TRUE(is_red(verdict, Table::stale)) << word(verdict);
    EXPECT_TRUE(is_red(verdict, Table::missing)) << word(verdict);
  }
}

TEST(Title, AnEmulatedNicIsAModelOfOne) {
  conform::Run run = small_run();
  EXPECT_EQ(title(run), "rxe, kernel 6.12.117");
  run.device.firmware = "0.0.0";
  EXPECT_EQ(title(run), "rxe, kernel 6.12.117");
  run.device.firmware = "1.70";
  EXPECT_EQ(title(run), "rxe, firmware 1.70, kernel 6.12.117");
  run.substrate = Substrate::emulated;
  run.device.model = "e810-roce";
  EXPECT_EQ(title(run), "model of e810-roce");
}

}  // namespace
}  // namespace conform
