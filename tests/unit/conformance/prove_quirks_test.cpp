// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/prove_quirks.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "fake_ground.hpp"
#include "runner/worker.hpp"

namespace conform::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

/// One rule that calls shared receive queues absent.
std::string rule(const std::string& proof, const std::string& severity = "correctness") {
  return "schema: 1\ndriver: rxe\nrules:\n  - id: rxe-no-srq\n    on: srq\n    feature: {srq: absent}\n"
         "    because: Creation fails.\n    source: this test\n    evidence: measured\n    severity: " +
         severity + "\n    until: open\n    proof: " + proof + "\n";
}
const std::string kOff = "schema: 1\ndisable:\n  - id: rxe-no-srq\n    reason: tried without\n";

struct ProveQuirks : FakeGround {
  std::unique_ptr<verbena::Library> without;
  Ground bare;
  CaseList list;

  verbena::Result<std::vector<Proof>> prove(const std::string& table, const std::string& cases,
                                            const std::string& area = "srq") {
    verbena::LayerSource builtin;
    builtin.texts = {{"rxe.yaml", table}};
    open({builtin});
    list = read(cases_of(area, cases)).list;
    return prove_quirks(list, ground, options, [&](const std::string& id) -> verbena::Result<WithoutRule> {
      EXPECT_EQ(id, "rxe-no-srq");
      verbena::LibraryOptions wish;
      wish.settings.emplace();
      wish.verbs = host;
      verbena::LayerSource off;
      off.kind = verbena::LayerKind::etc;
      off.texts = {{"off.yaml", kOff}};
      wish.layers = {builtin, off};
      auto made = verbena::Library::create(std::move(wish));
      if (!made) return verbena::Failure(made.error());
      without = std::make_unique<verbena::Library>(*std::move(made));
      bare = ground;
      bare.library = without.get();
      bare.device = *without->open("fake0");
      return WithoutRule{std::shared_ptr<const Ground>(std::shared_ptr<void>(), &bare),
                         forked([this](int channel) { return work(channel, channel, bare, scripted_bodies()); })};
    });
  }
};

TEST_F(ProveQuirks, ARuleWithoutWhichItsCaseFailsIsNeededAndEnough) {
  nic->next_errors["create_srq"] = std::deque<int>(1000, EINVAL);
  const auto proofs = prove(rule("srq.create.works"), "  - id: srq.create.works\n");
  ASSERT_TRUE(proofs) << to_string(proofs.error());
  ASSERT_THAT(*proofs, SizeIs(1));
  EXPECT_EQ(proofs->front().outcome, ProofOutcome::needed_and_enough) << proofs->front().why;
  EXPECT_THAT(proofs->front().why, HasSubstr("ibv_create_srq failed"));
}

TEST_F(ProveQuirks, OneThatCallsAbsentWhatWorksIsWrong) {
  const auto proofs = prove(rule("srq.create.works"), "  - id: srq.create.works\n");
  ASSERT_TRUE(proofs);
  EXPECT_EQ(proofs->front().outcome, ProofOutcome::wrong);
  EXPECT_THAT(proofs->front().why, HasSubstr("srq is absent"));
}

TEST_F(ProveQuirks, OneWithoutWhichItHoldsIsUnnecessary) {
  const auto proofs = prove(rule("pd.alloc.works"), "  - id: pd.alloc.works\n", "pd");
  ASSERT_TRUE(proofs);
  EXPECT_EQ(proofs->front().outcome, ProofOutcome::unnecessary);
  EXPECT_THAT(proofs->front().why, HasSubstr("srq: absent, without it native"));
}

TEST_F(ProveQuirks, OneThatAloneSaysWhatTheDeviceDoesInforms) {
  std::string says = rule("pd.alloc.works");
  says.replace(says.find("feature: {srq: absent}"), 22, "set: {last_wqe_reached: not_raised}");
  const auto proofs = prove(says, "  - id: pd.alloc.works\n", "pd");
  ASSERT_TRUE(proofs) << to_string(proofs.error());
  ASSERT_THAT(*proofs, SizeIs(1));
  EXPECT_EQ(proofs->front().outcome, ProofOutcome::informs) << proofs->front().why;
  EXPECT_THAT(proofs->front().why, HasSubstr("without it unknown"));
}

TEST_F(ProveQuirks, OneWithWhichItFailsIsNotEnough) {
  const auto proofs =
      prove(rule("pd.crashes"), "  - id: pd.crashes\n    says: It.\n    covers: [pd.alloc.works]\n", "pd");
  ASSERT_TRUE(proofs);
  EXPECT_EQ(proofs->front().outcome, ProofOutcome::not_enough);
  EXPECT_THAT(proofs->front().why, HasSubstr("signal 6"));
}

TEST_F(ProveQuirks, WhatCannotRunHereIsNotShownHere) {
  const auto blocked =
      prove(rule("pd.blocked"), "  - id: pd.blocked\n    says: It.\n    covers: [pd.alloc.works]\n", "pd");
  EXPECT_EQ(blocked->front().outcome, ProofOutcome::not_shown_here);
  EXPECT_THAT(blocked->front().why, HasSubstr("huge_pages"));
  // What would only fail behind the first completion says nothing where there is none.
  ground.carries_data = false;
  const auto waiting = prove(rule("pd.waits"), "  - id: pd.waits\n    says: It.\n    covers: [pd.alloc.works]\n", "pd");
  EXPECT_EQ(waiting->front().outcome, ProofOutcome::not_shown_here);
  EXPECT_THAT(prove(rule("pd.nowhere"), "  - id: srq.create.works\n")->front().why, HasSubstr("no case of this list"));
  EXPECT_THAT(prove(rule("srq.create.works", "safety"), "  - id: srq.create.works\n")->front().why,
              HasSubstr("emulated"));
}

}  // namespace
}  // namespace conform::testing
