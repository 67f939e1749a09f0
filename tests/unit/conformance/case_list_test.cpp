// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/case_list.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "cases/bodies.hpp"
#include "small_list.hpp"

namespace conform::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::string all_of(const std::vector<verbena::Finding>& findings) {
  std::string text;
  for (const verbena::Finding& one : findings) text += to_string(one) + "\n";
  return text;
}

TEST(CaseList, ACaseOfARequirementsIdInheritsAllOfIt) {
  const LoadedList read = testing::read(cases_of("srq", "  - id: srq.data.works\n"));
  ASSERT_THAT(read.findings, IsEmpty()) << all_of(read.findings);
  ASSERT_THAT(read.list.cases, SizeIs(1));
  const ListedCase& one = read.list.cases.front();
  EXPECT_EQ(one.says, "A receive comes from the shared queue.");
  EXPECT_EQ(one.body, one.id);
  EXPECT_THAT(one.covers, ElementsAre("srq.data.works"));
  EXPECT_THAT(one.conditions.needs, ElementsAre(verbena::Feature::srq, verbena::Feature::send));
  EXPECT_THAT(one.conditions.qp_types, ElementsAre(verbena::Feature::rc, verbena::Feature::uc));
  EXPECT_THAT(one.conditions.setup, ElementsAre("two_ends"));
  EXPECT_EQ(one.row.at("qp_types"), "rc uc");
  EXPECT_EQ(one.impact, Impact::objects);
}

TEST(CaseList, OneThatCoversSeveralNeedsTheirUnionAndHoldsWhereAllHold) {
  const LoadedList read = testing::read(
      cases_of("pd", "  - id: pd.both\n    says: Both hold.\n    covers: [srq.create.works, srq.data.works]\n"));
  ASSERT_THAT(read.findings, IsEmpty()) << all_of(read.findings);
  const Conditions& conditions = read.list.cases.front().conditions;
  EXPECT_THAT(conditions.needs, ElementsAre(verbena::Feature::srq, verbena::Feature::send));
  EXPECT_THAT(conditions.transport, ElementsAre(verbena::Transport::roce_v2));
}

TEST(CaseList, EachCombinationOfATablesRowsIsACase) {
  const LoadedList read =
      testing::read(cases_of("pd",
                             "  - id: pd.{type}.{size}\n    body: pd.all\n    says: A {type} of {size}.\n"
                             "    covers: [pd.alloc.works]\n    qp_types: [\"{type}\"]\n"
                             "    each: {type: [rc, ud], size: [\"0\", mtu+1]}\n"));
  ASSERT_THAT(read.findings, IsEmpty()) << all_of(read.findings);
  std::vector<std::string> ids;
  for (const ListedCase& one : read.list.cases) ids.push_back(one.id);
  EXPECT_THAT(ids, ElementsAre("pd.rc.0", "pd.rc.mtu+1", "pd.ud.0", "pd.ud.mtu+1"));
  EXPECT_EQ(read.list.cases[3].says, "A ud of mtu+1.");
  EXPECT_EQ(read.list.cases[3].row.at("size"), "mtu+1");
  EXPECT_THAT(read.list.cases[3].conditions.qp_types, ElementsAre(verbena::Feature::ud));
}

TEST(CaseList, EachFaultIsFoundWithItsPlace) {
  const auto faults = [](const std::string& items) { return all_of(testing::read(cases_of("pd", items)).findings); };
  EXPECT_THAT(faults("  - id: pd.alloc.works\n  - id: pd.alloc.works\n"), HasSubstr("cases/pd.yaml:5:5: error: "));
  EXPECT_THAT(faults("  - id: pd.alloc.works\n  - id: pd.alloc.works\n"), HasSubstr("'pd.alloc.works' stands twice"));
  EXPECT_THAT(faults("  - id: srq.create.works\n"), HasSubstr("cases/pd.yaml:4:9: error: 'srq.create.works' is no id"));
  EXPECT_THAT(faults("  - id: pd.x\n    says: It.\n    covers: [pd.no]\n"), HasSubstr("covers 'pd.no'"));
  EXPECT_THAT(faults("  - id: pd.x\n    covers: [pd.alloc.works]\n"), HasSubstr("pd.x says nothing"));
  EXPECT_THAT(faults("  - id: pd.x\n    says: It.\n    covers: []\n"), HasSubstr("has no source"));
  EXPECT_THAT(faults("  - id: pd.alloc.works\n    impact: much\n"), HasSubstr("cases/pd.yaml:5:13: error: 'much'"));
  EXPECT_THAT(faults("  - id: pd.alloc.works\n    setup: [moon]\n"), HasSubstr("'moon' in setup is no setup word"));
  EXPECT_THAT(faults("  - id: pd.alloc.works\n    needs: [teleport]\n"), HasSubstr("'teleport' in needs"));
  EXPECT_THAT(faults("  - id: pd.alloc.works\n    transport: [pigeon]\n"), HasSubstr("'pigeon' in transport"));
  EXPECT_THAT(faults("  - id: pd.alloc.works\n    qp_types: [srq]\n"), HasSubstr("'srq' in qp_types"));
  EXPECT_THAT(faults("  - id: pd.alloc.works\n    sesonds: 3\n"), HasSubstr("cases/pd.yaml:5:5: error: 'sesonds'"));
  EXPECT_THAT(faults("  - id: pd.alloc.works\n    seconds: -1\n"), HasSubstr("'seconds' should be a number above 0"));
  EXPECT_THAT(faults("  - id: pd.a\n    says: It.\n    covers: [pd.alloc.works]\n    each: {type: [rc, ud]}\n"),
              HasSubstr("the id does not name 'type'"));
  EXPECT_THAT(faults("  - id: [\n"), HasSubstr("is no YAML"));
}

TEST(CaseList, AnExpectationsGlobIsItsRequirements) {
  const std::string table = table_of("fake",
                                     "  - id: fake-srq\n    requirement: srq.*\n    kind: deviates\n"
                                     "    seen: {result: refused, errno: [EINVAL]}\n    says: It is refused.\n"
                                     "    reason: For no reason.\n    source: somewhere\n    evidence: measured\n"
                                     "    until: open\n");
  const LoadedList read = testing::read(cases_of("pd", "  - id: pd.alloc.works\n"), table);
  ASSERT_THAT(read.findings, IsEmpty()) << all_of(read.findings);
  const ExpectationEntry& entry = read.list.driver("fake")->expectations.front();
  EXPECT_THAT(entry.requirements, ElementsAre("srq.create.works", "srq.data.works"));
  EXPECT_EQ(entry.seen.result, Seen::refused);
  EXPECT_THAT(entry.seen.error, ElementsAre("EINVAL"));
}

TEST(CaseList, StarsMatchAnyText) {
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("cq.*", "cq.create.at_least_asked"));
  EXPECT_TRUE(glob_matches("*.create.*d", "cq.create.at_least_asked"));
  EXPECT_FALSE(glob_matches("cq.*", "cqx.create"));
  EXPECT_FALSE(glob_matches("*.create", "cq.create.more"));
}

TEST(CaseList, TheHashTellsListsApart) {
  const auto one = testing::read(cases_of("pd", "  - id: pd.alloc.works\n"));
  const auto other = testing::read(cases_of("pd", "  - id: pd.x\n    says: It.\n    covers: [pd.alloc.works]\n"));
  EXPECT_EQ(one.list.hash(), testing::read(cases_of("pd", "  - id: pd.alloc.works\n")).list.hash());
  EXPECT_NE(one.list.hash(), other.list.hash());
}

TEST(CaseList, WhatIsShippedHasNoFault) {
  const LoadedList shipped = read_list(built_in_texts());
  EXPECT_THAT(shipped.findings, IsEmpty()) << all_of(shipped.findings);
  EXPECT_GE(shipped.list.requirements.size(), 250U);
  EXPECT_GE(shipped.list.drivers.size(), 10U);
}

TEST(CaseList, AFolderHoldsTheSameAsTheBuild) {
  const auto texts = folder_texts(VERBENA_CONFORMANCE_FOLDER);
  ASSERT_TRUE(texts) << to_string(texts.error());
  EXPECT_EQ(read_list(*texts).list.hash(), read_list(built_in_texts()).list.hash());
  EXPECT_EQ(folder_texts("/nowhere/at/all").error().kind, verbena::ErrorKind::io);
}

TEST(CaseList, EachCaseHasABodyAndEachBodyACase) {
  const LoadedList shipped = read_list(built_in_texts());
  std::set<std::string> wanted;
  std::set<std::string> areas;
  for (const ListedCase& one : shipped.list.cases) {
    wanted.insert(one.body);
    areas.insert(one.area);
  }
  std::set<std::string> there;
  for (const Body& body : all_bodies()) {
    EXPECT_TRUE(there.insert(std::string(body.id)).second) << body.id << " stands twice";
    EXPECT_NE(body.run, nullptr) << body.id;
  }
  for (const std::string& one : wanted) EXPECT_TRUE(there.contains(one)) << "no body " << one;
  for (const std::string& one : there) {
    // Not one of an area whose list is yet to come.
    if (!areas.contains(one.substr(0, one.find('.')))) continue;
    EXPECT_TRUE(wanted.contains(one)) << "no case runs body " << one;
  }
}

}  // namespace
}  // namespace conform::testing
