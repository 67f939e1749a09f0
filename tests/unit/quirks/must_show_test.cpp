// SPDX-License-Identifier: Apache-2.0 OR MIT
// What `verbena explain` must show for the shipped tables and models, worked out by the library alone.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "unit/shipped_nics.hpp"

namespace verbena {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using requests::cq;
using requests::rc;
using shipped::about;
using shipped::contract;

TEST(MustShow, E810GrantsThirteenSgesAnd101BytesEachWithItsRuleAndSource) {
  const auto set = shipped::rules();
  const auto fitted = fit(rc(4096, 4096, 16, 16, 256), contract(*set, "e810-roce"));
  ASSERT_TRUE(fitted) << to_string(fitted.error());
  const QpGrant& grant = fitted->grant;
  EXPECT_EQ(grant.max_send_sge().granted, 13U);
  EXPECT_EQ(grant.max_recv_sge().granted, 13U);
  EXPECT_EQ(grant.max_inline_data().granted, 101U);
  EXPECT_EQ(grant.max_send_wr().granted, 4063U);
  EXPECT_EQ(grant.max_recv_wr().granted, 4095U);
  EXPECT_EQ(grant.quirks_hash, set->hash());
  for (const std::string_view field : {"max_send_wr", "max_recv_wr", "max_inline_data"}) {
    const Adjustment entry = about(grant, field);
    EXPECT_EQ(entry.kind, AdjustmentKind::reduced) << field;
    EXPECT_FALSE(entry.by.rule.empty()) << field;
    EXPECT_FALSE(entry.by.source.empty()) << field;
    EXPECT_EQ(entry.by.file, "builtin:irdma.yaml") << field;
    EXPECT_GT(entry.by.line, 0) << field;
  }
  // The device itself says 13 SGEs: no rule is behind that, and the adjustment says so.
  EXPECT_EQ(about(grant, "max_send_sge").granted, 13U);
  EXPECT_FALSE(about(grant, "max_send_sge").by.reason.empty());
}

TEST(MustShow, E810GrantsMoreThanItDeclaresUnlessTheSiteForbidsThat) {
  const auto set = shipped::rules();
  const auto free = fit(rc(16000, 64, 2, 1, 0), contract(*set, "e810-roce"));
  ASSERT_TRUE(free) << to_string(free.error());
  EXPECT_EQ(free->grant.max_send_wr().granted, 16000U);
  ASSERT_EQ(free->grant.adjustments.size(), 1U);
  EXPECT_EQ(about(free->grant, "max_send_wr").kind, AdjustmentKind::beyond_declared);

  const auto held = fit(rc(16000, 64, 2, 1, 0), contract(*set, "e810-roce", false));
  ASSERT_TRUE(held) << to_string(held.error());
  EXPECT_EQ(held->grant.max_send_wr().granted, 4063U);
}

TEST(MustShow, ConnectX5CountsBytesAndTheOpcodesThatWereNamed) {
  const auto set = shipped::rules();
  QpRequest request = rc(32768, 64, 4, 1, 60);
  const auto all = fit(request, contract(*set, "connectx5"));
  ASSERT_TRUE(all) << to_string(all.error());
  EXPECT_EQ(all->grant.max_send_wr().granted, 8192U);
  EXPECT_THAT(about(all->grant, "max_send_wr").by.reason, AllOf(HasSubstr("byte"), HasSubstr("2097152 / 256 = 8192")));

  request.ops = *parse_send_ops("send+write+read");
  const auto named = fit(request, contract(*set, "connectx5"));
  ASSERT_TRUE(named) << to_string(named.error());
  EXPECT_EQ(named->grant.max_send_wr().granted, 16384U);
  EXPECT_TRUE(named->declare_ops);
}

TEST(MustShow, AConnectXThatTellsItsRingIsNotHeldToOneWorkedOutFromItsDeclaredDepth) {
  Model nic = shipped::model("connectx5");
  nic.caps.set(Cap::max_qp_wr, 16384);
  const auto worked_out = fit(rc(16384, 64, 4, 1, 60), contract(nic));
  ASSERT_TRUE(worked_out) << to_string(worked_out.error());
  EXPECT_EQ(worked_out->grant.max_send_wr().granted, 4096U) << "the depth may count blocks";
  nic.caps.set(Cap::max_send_wqebb, 65536);
  const auto told = fit(rc(16384, 64, 4, 1, 60), contract(nic));
  ASSERT_TRUE(told) << to_string(told.error());
  EXPECT_EQ(told->grant.max_send_wr().granted, 16384U);
}

TEST(MustShow, ConnectX5HasItsDataInPlaceOnlyWhereTheVendorsLibraryIs) {
  const auto set = shipped::rules();
  QpRequest request = rc(64, 64, 1, 1, 0);
  request.in_place = true;
  const auto without = fit(request, contract(*set, "connectx5"));
  ASSERT_FALSE(without);
  EXPECT_EQ(without.error().field, "in_place_data");
  EXPECT_EQ(without.error().by.rule, "mlx5-small-data-in-completion");

  Model nic = shipped::model("connectx5");
  nic.caps.set(Cap::vendor_create_qp, 1);
  const auto with = fit(request, contract(*set, nic));
  ASSERT_TRUE(with) << to_string(with.error());
  EXPECT_TRUE(with->in_place);
}

TEST(MustShow, Hip09PassesOneMoreThanAPowerOfTwo) {
  const auto fitted = fit(cq(64), contract(*shipped::rules(), "hip09"));
  ASSERT_TRUE(fitted) << to_string(fitted.error());
  EXPECT_EQ(fitted->cqe.granted, 64U);
  EXPECT_EQ(fitted->cqe.passed, 65U);
}

TEST(MustShow, Hip09RaisesASendQueueOfNothingInsteadOfRefusingIt) {
  const auto fitted = fit(rc(0, 64, 1, 1, 0), contract(*shipped::rules(), "hip09"));
  ASSERT_TRUE(fitted) << to_string(fitted.error());
  EXPECT_EQ(about(fitted->grant, "max_send_wr").kind, AdjustmentKind::raised);
}

TEST(MustShow, E810TakesAnyDepthUntilASiteTurnsTheClaimOn) {
  const auto before = fit(cq(1000), contract(*shipped::rules(), "e810-roce"));
  ASSERT_TRUE(before) << to_string(before.error());
  EXPECT_EQ(before->cqe.granted, 1000U);
  EXPECT_EQ(before->cqe.passed, 1000U);

  const std::string example = QUIRKS_FOLDER "/examples/e810-cq-power-of-two.yaml";
  const auto set = shipped::rules(example);
  const Contract claimed = contract(*set, "e810-roce");
  const auto after = fit(cq(1000), claimed);
  ASSERT_TRUE(after) << to_string(after.error());
  EXPECT_EQ(after->cqe.granted, 1000U);
  EXPECT_EQ(after->cqe.passed, 1024U);
  const Domain& domain = claimed.domain(Field::cqe);
  ASSERT_GE(domain.ask_count, 1);
  const Provenance& by = claimed.provenance(domain.asks[0].by);
  EXPECT_EQ(by.layer, "env");
  EXPECT_EQ(by.file, example);
  EXPECT_EQ(by.line, 8);
}

TEST(MustShow, RxeBoundsACompletionQueue) {
  const auto fitted = fit(cq(65536), contract(*shipped::rules(), "rxe-6.12"));
  ASSERT_TRUE(fitted) << to_string(fitted.error());
  EXPECT_EQ(fitted->cqe.granted, 32767U);
}

TEST(MustShow, EveryModelGrantsAModestRequest) {
  for (const std::string& nic : builtin_models()) {
    SCOPED_TRACE(nic);
    const Contract made = contract(nic == "mana" ? "mana@rdma-core-64" : nic);
    QpRequest request = rc(16, 16, 1, 1, 0);
    request.type = made.feature(Feature::rc).support == Support::absent ? QpType::ud : QpType::rc;
    const auto fitted = fit(request, made);
    ASSERT_TRUE(fitted) << to_string(fitted.error());
    EXPECT_EQ(fitted->grant.max_send_wr().granted, 16U);
    EXPECT_TRUE(fit(cq(128), made));
  }
}

TEST(MustShow, ALibraryThatMakesNothingIsToldBeforeItIsAsked) {
  const Contract made = contract("mana");  // with rdma-core 44
  const auto pair = fit(rc(16, 16, 1, 1, 0), made);
  ASSERT_FALSE(pair);
  EXPECT_EQ(pair.error().by.rule, "mana-rc-library");
  const auto queue = fit(cq(128), made);
  ASSERT_FALSE(queue);
  EXPECT_EQ(queue.error().by.rule, "mana-cq-library");
}

TEST(MustShow, EveryModelAndVariantHasAContractUnderTheShippedRules) {
  const auto set = shipped::rules();
  for (const std::string& name : builtin_models()) {
    auto base = load_model(name);
    ASSERT_TRUE(base) << to_string(base.error());
    std::vector<Model> all{*base};
    for (const std::string& variant : base->variants) {
      auto model = load_model(name + "@" + variant);
      ASSERT_TRUE(model) << to_string(model.error());
      all.push_back(std::move(*model));
    }
    for (const Model& model : all) {
      ASSERT_FALSE(model.device.ports.empty()) << model.name;
      for (const PortId& port : model.device.ports) {
        const Contract made = set->contract(model.device, model.caps, port.number, true);
        EXPECT_EQ(made.quirks_hash(), set->hash()) << model.name;
        EXPECT_TRUE(
            std::any_of(made.trace().begin(), made.trace().end(), [](const RuleTrace& entry) { return entry.applied; }))
            << model.name << ": no rule applies";
        for (const FieldInfo& field : all_fields()) {
          const Domain& domain = made.domain(field.field);
          EXPECT_LE(domain.min, domain.max) << model.name << " " << field.name;
        }
        for (const RuleTrace& entry : made.trace())
          EXPECT_NE(entry.applied, !entry.why_not.empty()) << model.name << " " << entry.id << ": " << entry.why_not;
      }
    }
  }
}

}  // namespace
}  // namespace verbena
