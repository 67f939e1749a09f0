// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/verdict.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "contract/contract_builder.hpp"
#include "runner/applies.hpp"
#include "small_list.hpp"

namespace conform::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using verbena::Contract;
using verbena::Feature;
using verbena::Support;

/// A contract that calls `features` native and nothing else known.
Contract contract_with(const std::vector<Feature>& features) {
  verbena::DeviceId id;
  id.driver = "fake";
  id.kernel = "6.12.1";
  verbena::ContractBuilder builder(id, verbena::Caps{}, 1, true);
  for (const Feature feature : features)
    builder.feature(feature, Support::native, true, builder.add(verbena::Provenance{}));
  return std::move(builder).build(1);
}

ListedCase listed_case(std::vector<std::string> covers = {"srq.create.works"}, std::vector<Feature> needs = {}) {
  ListedCase one;
  one.id = "srq.case";
  one.covers = std::move(covers);
  one.conditions.needs = std::move(needs);
  return one;
}

Finding finding(Seen seen, std::optional<std::string> error = {}, std::optional<std::string> status = {}) {
  Finding one;
  one.seen = seen;
  one.error = std::move(error);
  one.status = std::move(status);
  one.text = "it was seen";
  return one;
}

Ended ended(std::vector<Finding> findings) {
  Ended one;
  one.outcome.emplace();
  one.outcome->findings = std::move(findings);
  return one;
}

Ended stopped(Stop::Why why, const std::string& word, const std::string& text) {
  Ended one = ended({});
  one.outcome->stop = Stop{why, word, text};
  return one;
}

ExpectationEntry entry(Seen seen, std::vector<std::string> error = {}) {
  ExpectationEntry one;
  one.id = "fake-entry";
  one.requirements = {"srq.create.works"};
  one.seen.result = seen;
  one.seen.error = std::move(error);
  one.source = {"Linux 6.12 sw/fake.c fake"};
  return one;
}

Column raw(const ListedCase& listed, const Ended& end, const Known& known = {},
           const std::vector<Feature>& native = {Feature::srq}) {
  return judge(listed, Side::raw, end, contract_with(native), known);
}

TEST(Verdict, NothingFoundConformsAndAChangeDegrades) {
  const Column good = raw(listed_case(), ended({}));
  EXPECT_EQ(good.verdict, Verdict::conforms);
  EXPECT_EQ(good.table, Table::expected);
  EXPECT_FALSE(good.red);
  Ended changed = ended({});
  changed.outcome->adjustments.emplace_back();
  EXPECT_EQ(judge(listed_case(), Side::verbena, changed, contract_with({}), {}).verdict, Verdict::degraded);
}

TEST(Verdict, AFindingThatNoTableRecordsViolates) {
  const Column bad = raw(listed_case(), ended({finding(Seen::accepted)}));
  EXPECT_EQ(bad.verdict, Verdict::violates);
  EXPECT_EQ(bad.table, Table::missing);
  EXPECT_TRUE(bad.red);
  EXPECT_EQ(bad.findings.front().requirement, "srq.create.works");
}

TEST(Verdict, OneThatATableRecordsDeviates) {
  const ExpectationEntry known = entry(Seen::refused, {"EINVAL", "EIO"});
  const Column good = raw(listed_case(), ended({finding(Seen::refused, "EIO")}), {{&known}, {}});
  EXPECT_EQ(good.verdict, Verdict::deviates);
  EXPECT_EQ(good.table, Table::expected);
  EXPECT_FALSE(good.red);
  EXPECT_THAT(good.expectations, ElementsAre("fake-entry"));
}

TEST(Verdict, WhatTheSecondDeviceIsKnownForExplainsWhatShowsBetweenTwo) {
  const ExpectationEntry others = entry(Seen::refused, {"EINVAL"});
  Known known;
  add_others(known, Known{.expectations = {&others}, .must_be_native = {Feature::uc}}, contract_with({}));
  EXPECT_THAT(known.must_be_native, IsEmpty()) << "that is asked of the device under test";
  EXPECT_TRUE(known.never_stale.contains(&others));
  const Ended refused = ended({finding(Seen::refused, "EINVAL")});
  EXPECT_EQ(raw(listed_case(), refused, known).verdict, Verdict::violates) << "the second device is not in this case";
  for (const char* const setup : {"two_ends", "unlike_devices"}) {
    ListedCase between = listed_case();
    between.conditions.setup = {setup};
    EXPECT_EQ(raw(between, refused, known).verdict, Verdict::deviates) << setup;
  }
  add_others(known, Known{.expectations = {&others}, .must_be_native = {}}, contract_with({}));
  EXPECT_EQ(known.expectations.size(), 1U) << "of one driver both have it";
}

TEST(Verdict, WhatTheSecondDeviceDoesNotClaimMayBeAbsentBetweenTwo) {
  ListedCase between = listed_case({"pair.works"}, {Feature::srq});
  const Ended absent = stopped(Stop::Why::absent, "", "the second device has none");
  Known known;
  EXPECT_EQ(raw(between, absent, known).verdict, Verdict::misdeclares);
  add_others(known, Known{}, contract_with({}));
  EXPECT_EQ(raw(between, absent, known).verdict, Verdict::misdeclares) << "a case of one device";
  between.conditions.setup = {"unlike_devices"};
  EXPECT_EQ(raw(between, absent, known).verdict, Verdict::absent);
}

TEST(Verdict, ACaseOfTwoDevicesNeedsWhatItNeedsOfBoth) {
  ListedCase between = listed_case({"pair.works"}, {Feature::fetch_add});
  Environment here;
  const Contract has = contract_with({Feature::fetch_add});
  verbena::DeviceId id;
  id.driver = "other";
  verbena::ContractBuilder builder(id, verbena::Caps{}, 1, true);
  builder.feature(Feature::fetch_add, Support::absent, true, builder.add(verbena::Provenance{}));
  here.other = std::make_shared<const Contract>(std::move(builder).build(1));
  EXPECT_FALSE(settled(between, Side::raw, has, here)) << "a case of one device doesn't ask the second";
  between.conditions.setup = {"unlike_devices"};
  const auto absent = settled(between, Side::raw, has, here);
  ASSERT_TRUE(absent);
  EXPECT_EQ(absent->verdict, Verdict::absent);
  EXPECT_THAT(absent->reason, HasSubstr("on the second device fetch_add is absent"));
}

TEST(Verdict, EveryFindingMustBeExplainedAndEveryGivenKeyEqual) {
  const ExpectationEntry known = entry(Seen::refused, {"EINVAL"});
  const Known table{{&known}, {}};
  const auto verdict = [&](std::vector<Finding> findings) {
    return raw(listed_case(), ended(std::move(findings)), table).verdict;
  };
  EXPECT_EQ(verdict({finding(Seen::refused, "EINVAL"), finding(Seen::accepted)}), Verdict::violates);
  EXPECT_EQ(verdict({finding(Seen::refused, "ENOMEM")}), Verdict::violates);
  EXPECT_EQ(verdict({finding(Seen::refused)}), Verdict::violates);
  EXPECT_EQ(raw(listed_case({"pd.alloc.works"}), ended({finding(Seen::refused, "EINVAL")}), table).verdict,
            Verdict::violates);
  Finding other = finding(Seen::refused, "EINVAL");
  other.requirement = "pd.alloc.works";
  EXPECT_EQ(raw(listed_case({"pd.alloc.works", "srq.create.works"}), ended({other}), table).verdict, Verdict::violates);
}

TEST(Verdict, AStateIsComparedWhereOneWasSeen) {
  ExpectationEntry known = entry(Seen::completion);
  known.seen.status = {"WR_FLUSH_ERR"};
  known.seen.state = {"ERR"};
  const Known table{{&known}, {}};
  Finding flushed = finding(Seen::completion, {}, "WR_FLUSH_ERR");
  Finding state = finding(Seen::value);
  state.state = "ERR";
  EXPECT_EQ(raw(listed_case(), ended({flushed, state}), table).verdict, Verdict::deviates);
  state.state = "RTS";
  EXPECT_EQ(raw(listed_case(), ended({flushed, state}), table).verdict, Verdict::violates);
}

TEST(Verdict, WhatARuleCorrectsMustConformThroughVerbena) {
  ExpectationEntry known = entry(Seen::refused);
  known.corrected_by = "fake-rule";
  const Ended refused = ended({finding(Seen::refused, "EINVAL")});
  EXPECT_EQ(raw(listed_case(), refused, {{&known}, {}}).verdict, Verdict::deviates);
  EXPECT_EQ(judge(listed_case(), Side::verbena, refused, contract_with({}), {{&known}, {}}).verdict, Verdict::violates);
}

TEST(Verdict, WhatIsCalledNativeAndRefusedAsUnsupportedIsMisdeclared) {
  const ListedCase needs = listed_case({"srq.create.works"}, {Feature::srq});
  const Ended refused = ended({finding(Seen::refused, "EOPNOTSUPP")});
  const Column bad = raw(needs, refused);
  EXPECT_EQ(bad.verdict, Verdict::misdeclares);
  EXPECT_TRUE(bad.red);
  EXPECT_THAT(bad.reason, HasSubstr("srq"));
  EXPECT_EQ(raw(needs, ended({finding(Seen::refused, "EINVAL")})).verdict, Verdict::violates);
  EXPECT_EQ(raw(needs, refused, {}, {}).verdict, Verdict::violates);
}

TEST(Verdict, WhatNobodyKnowsMayBeAbsentAndWhatIsClaimedMayNot) {
  const ListedCase needs = listed_case({"srq.create.works"}, {Feature::srq});
  const Ended absent = stopped(Stop::Why::absent, {}, "it has none");
  EXPECT_EQ(raw(needs, absent, {}, {}).verdict, Verdict::absent);
  EXPECT_FALSE(raw(needs, absent, {}, {}).red);
  EXPECT_EQ(raw(needs, absent).verdict, Verdict::misdeclares);
  const Known native{{}, {Feature::srq}};
  EXPECT_EQ(raw(needs, absent, native, {}).verdict, Verdict::misdeclares);
  EXPECT_THAT(denied_features(contract_with({}), native), ElementsAre(Feature::srq));
}

TEST(Verdict, AnAbsentThingThatIsRecordedIsExpected) {
  ExpectationEntry known = entry(Seen::refused);
  known.absent = true;
  const Column good = raw(listed_case(), ended({finding(Seen::refused, "EOPNOTSUPP")}), {{&known}, {}});
  EXPECT_EQ(good.verdict, Verdict::absent);
  EXPECT_EQ(good.table, Table::expected);
}

TEST(Verdict, ACrashAHangAndAFaultOfTheCaseAreRedAndSayWhatHappened) {
  Ended crash;
  crash.how = "signal 11 (Segmentation fault)";
  EXPECT_EQ(raw(listed_case(), crash).verdict, Verdict::crash);
  EXPECT_THAT(raw(listed_case(), crash).reason, HasSubstr("signal 11"));
  Ended hang;
  hang.timed_out = true;
  hang.ms = 3000;
  EXPECT_EQ(raw(listed_case(), hang).verdict, Verdict::timeout);
  EXPECT_THAT(raw(listed_case(), hang).reason, HasSubstr("3 s"));
  Ended fault = ended({});
  fault.outcome->fault = "bad any_cast";
  EXPECT_TRUE(raw(listed_case(), fault).red);
  EXPECT_THAT(raw(listed_case(), fault).reason, HasSubstr("bad any_cast"));
  ExpectationEntry known = entry(Seen::crash);
  EXPECT_EQ(raw(listed_case(), crash, {{&known}, {}}).verdict, Verdict::deviates);
}

TEST(Verdict, BothOutcomesAreFlakyWithTheRate) {
  const auto judged = [&](const std::vector<Ended>& runs, const Known& known = {}) {
    return judge_all(listed_case(), Side::raw, runs, contract_with({}), known);
  };
  const Column same = judged({ended({}), ended({})});
  EXPECT_EQ(same.verdict, Verdict::conforms);
  EXPECT_EQ(same.runs, 2U);
  EXPECT_FALSE(same.rate);
  const Column flaky = judged({ended({}), ended({finding(Seen::accepted)}), ended({})});
  EXPECT_EQ(flaky.verdict, Verdict::flaky);
  EXPECT_EQ(flaky.rate, "1 of 3");
  EXPECT_TRUE(flaky.red);
  EXPECT_EQ(flaky.findings.size(), 1U);
  const ExpectationEntry known = entry(Seen::accepted);
  EXPECT_FALSE(judged({ended({}), ended({finding(Seen::accepted)})}, {{&known}, {}}).red);
}

TEST(Verdict, EntriesOfOtherVersionsAndOfAnAbsentKernelDriverDontCount) {
  const LoadedList read = testing::read(
      cases_of("pd", "  - id: pd.alloc.works\n"),
      table_of(
          "fake",
          "  - id: fake-old\n    requirement: pd.alloc.works\n    match: {kernel: \"<6.2\"}\n    kind: deviates\n"
          "    seen: {result: refused}\n    says: It is refused.\n    reason: None.\n    source: Linux 6.1 x.c y\n"
          "    evidence: measured\n    until: \"kernel >= 6.2\"\n"
          "  - id: fake-kernel\n    requirement: srq.create.works\n    kind: deviates\n"
          "    seen: {result: refused}\n    says: It is refused.\n    reason: None.\n    source: Linux 6.12 x.c y\n"
          "    evidence: measured\n    until: open\n"
          "  - id: fake-library\n    requirement: srq.data.works\n    kind: deviates\n"
          "    seen: {result: refused}\n    says: It is refused.\n    reason: None.\n    source: rdma-core x.c y\n"
          "    evidence: measured\n    until: open\n"));
  const DriverTable* table = read.list.driver("fake");
  const auto ids = [&](const std::string& kernel, Substrate substrate) {
    verbena::DeviceId id;
    id.driver = "fake";
    id.kernel = kernel;
    std::vector<std::string> out;
    const verbena::Result<Known> known = known_of(table, id, 1, substrate);
    for (const ExpectationEntry* one : known->expectations) out.push_back(one->id);
    return out;
  };
  EXPECT_THAT(ids("6.12.3", Substrate::kernel_driver), ElementsAre("fake-kernel", "fake-library"));
  EXPECT_THAT(ids("6.1.0", Substrate::kernel_driver), ElementsAre("fake-old", "fake-kernel", "fake-library"));
  // On a device shell what the kernel's driver does may show, and need not.
  EXPECT_THAT(ids("6.12.3", Substrate::vendor_driver), ElementsAre("fake-kernel", "fake-library"));
  verbena::DeviceId shell;
  shell.driver = "fake";
  shell.kernel = "6.12.3";
  EXPECT_EQ(known_of(table, shell, 1, Substrate::vendor_driver)->never_stale.size(), 1U);
  EXPECT_TRUE(known_of(table, shell, 1, Substrate::hardware)->never_stale.empty());
  EXPECT_THAT(known_of(nullptr, {}, 1, Substrate::hardware)->expectations, IsEmpty());
}

}  // namespace
}  // namespace conform::testing
