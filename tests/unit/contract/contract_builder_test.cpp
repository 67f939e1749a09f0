// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "contract/contract_builder.hpp"
#include "contract/interface_bounds.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace verbena {
namespace {

using ::testing::HasSubstr;

Provenance rule(std::string id, Severity severity = Severity::correctness) {
  Provenance by;
  by.set_by = SetBy::rule;
  by.rule = std::move(id);
  by.severity = severity;
  return by;
}

Caps e810_caps() {
  Caps caps;
  caps.set(Cap::max_qp_wr, 4063);
  caps.set(Cap::max_sge, 13);
  caps.set(Cap::max_cqe, 1048574);
  caps.set(Cap::max_srq, 0);
  return caps;
}

TEST(ContractBuilder, TheTighterBoundHolds) {
  ContractBuilder builder(DeviceId{}, e810_caps(), 1, true);
  builder.at_most(Field::max_inline_data, 200, builder.add(rule("a-loose")));
  builder.at_most(Field::max_inline_data, 101, builder.add(rule("b-tight")));
  builder.at_least(Field::max_send_wr, 1, builder.add(rule("c-floor")));
  const Contract contract = std::move(builder).build(0);
  const Domain& domain = contract.domain(Field::max_inline_data);
  EXPECT_EQ(domain.max, 101U);
  EXPECT_TRUE(domain.known);
  EXPECT_EQ(contract.provenance(domain.max_by).rule, "b-tight");
  EXPECT_EQ(contract.domain(Field::max_send_wr).min, 1U);
}

TEST(ContractBuilder, ARuleCannotLoosenWhatTheDeviceDeclares) {
  ContractBuilder builder(DeviceId{}, e810_caps(), 1, true);
  builder.at_most(Field::max_send_wr, 16255, builder.add(rule("only-tightens")));
  const Contract contract = std::move(builder).build(0);
  EXPECT_EQ(contract.domain(Field::max_send_wr).max, 4063U);
  EXPECT_EQ(contract.provenance(contract.domain(Field::max_send_wr).max_by).set_by, SetBy::declared);
}

TEST(ContractBuilder, ARuleThatRepeatsTheDevicesWordOwnsTheBound) {
  ContractBuilder builder(DeviceId{}, e810_caps(), 1, true);
  builder.at_most(Field::max_send_sge, 13, builder.add(rule("with-a-source")));
  const Contract contract = std::move(builder).build(0);
  EXPECT_EQ(contract.provenance(contract.domain(Field::max_send_sge).max_by).rule, "with-a-source");
}

TEST(ContractBuilder, AReplacedBoundKeepsWhatWasDeclared) {
  ContractBuilder builder(DeviceId{}, e810_caps(), 1, true);
  builder.replace_declared_max(Field::max_send_wr, 16255, builder.add(rule("worst-case-only")));
  const Contract contract = std::move(builder).build(0);
  EXPECT_EQ(contract.domain(Field::max_send_wr).max, 16255U);
  EXPECT_EQ(contract.domain(Field::max_send_wr).declared, 4063U);
}

TEST(ContractBuilder, ASiteCanForbidMoreThanIsDeclared) {
  ContractBuilder builder(DeviceId{}, e810_caps(), 1, false);
  builder.replace_declared_max(Field::max_send_wr, 16255, builder.add(rule("worst-case-only")));
  const Contract contract = std::move(builder).build(0);
  EXPECT_EQ(contract.domain(Field::max_send_wr).max, 4063U);
  const Provenance& by = contract.provenance(contract.domain(Field::max_send_wr).max_by);
  EXPECT_EQ(by.set_by, SetBy::site);
  EXPECT_EQ(by.rule, "worst-case-only");
  EXPECT_THAT(by.reason, HasSubstr("4063"));
}

TEST(ContractBuilder, ATighteningRuleHoldsOverALooseningOne) {
  ContractBuilder builder(DeviceId{}, e810_caps(), 1, true);
  builder.replace_declared_max(Field::max_send_wr, 16255, builder.add(rule("loosens")));
  builder.at_most(Field::max_send_wr, 8000, builder.add(rule("tightens")));
  EXPECT_EQ(std::move(builder).build(0).domain(Field::max_send_wr).max, 8000U);
}

TEST(ContractBuilder, AbsentBeatsNativeUnlessARuleLoosens) {
  ContractBuilder builder(DeviceId{}, e810_caps(), 1, true);
  builder.feature(Feature::uc, Support::native, false, builder.add(rule("says-native")));
  builder.feature(Feature::uc, Support::absent, false, builder.add(rule("says-absent")));
  builder.feature(Feature::srq, Support::native, false, builder.add(rule("not-enough")));
  const Contract strict = std::move(builder).build(0);
  EXPECT_EQ(strict.feature(Feature::uc).support, Support::absent);
  EXPECT_EQ(strict.feature(Feature::srq).support, Support::absent);

  ContractBuilder loosened(DeviceId{}, e810_caps(), 1, true);
  loosened.feature(Feature::srq, Support::native, true, loosened.add(rule("really-has-it")));
  EXPECT_TRUE(std::move(loosened).build(0).native(Feature::srq));
}

TEST(ContractBuilder, ASubstituteThatThisBuildLacksIsAbsent) {
  ContractBuilder builder(DeviceId{}, e810_caps(), 1, true);
  builder.feature(Feature::uc, Support::substituted, false, builder.add(rule("uc")));
  builder.feature(Feature::multicast, Support::substituted, false, builder.add(rule("multicast")));
  const Contract contract = std::move(builder).build(0);
  EXPECT_EQ(contract.feature(Feature::uc).support, Support::substituted);
  EXPECT_EQ(contract.feature(Feature::multicast).support, Support::absent);
}

TEST(ContractBuilder, NoTableMakesUpForWhatThisBuildDoesNotCover) {
  ContractBuilder builder(DeviceId{}, e810_caps(), 1, true);
  builder.feature(Feature::xrc, Support::native, true, builder.add(rule("has-xrc")));
  EXPECT_EQ(std::move(builder).build(0).feature(Feature::xrc).support, Support::absent);
}

TEST(ContractBuilder, OfTwoRulesForOneFlagTheMoreSevereHolds) {
  ContractBuilder builder(DeviceId{}, e810_caps(), 1, true);
  builder.behaviour(Behaviour::noop_reset, Choice::harmless, builder.add(rule("a", Severity::performance)));
  builder.behaviour(Behaviour::noop_reset, Choice::spoils, builder.add(rule("z", Severity::safety)));
  EXPECT_TRUE(std::move(builder).build(0).is(Behaviour::noop_reset, Choice::spoils));
}

TEST(ContractBuilder, AnEmptyDomainStaysEmptyWhoeverSetItsEnds) {
  struct Case {
    const char* what;
    void (*set)(ContractBuilder& builder);
    bool beyond_declared;
  };
  const Case cases[] = {
      {"a rule's minimum above the device's word",
       [](ContractBuilder& b) { b.at_least(Field::max_send_sge, 20, b.add(rule("floor"))); }, true},
      {"the same where the site forbids more than is declared",
       [](ContractBuilder& b) { b.at_least(Field::max_send_sge, 20, b.add(rule("floor"))); }, false},
      {"a rule's minimum above another's maximum",
       [](ContractBuilder& b) {
         b.at_most(Field::max_send_sge, 10, b.add(rule("ceiling")));
         b.at_least(Field::max_send_sge, 11, b.add(rule("floor")));
       },
       true},
      {"a minimum above a replaced bound",
       [](ContractBuilder& b) {
         b.replace_declared_max(Field::max_send_sge, 30, b.add(rule("ceiling")));
         b.at_least(Field::max_send_sge, 31, b.add(rule("floor")));
       },
       true},
      {"a minimum that is rounded above the maximum",
       [](ContractBuilder& b) {
         b.at_most(Field::max_send_sge, 12, b.add(rule("ceiling")));
         b.at_least(Field::max_send_sge, 9, b.add(rule("floor")));
         b.ask(Field::max_send_sge, AskKind::power_of_two, 0, b.add(rule("rounds")));
       },
       true},
  };
  for (const Case& each : cases) {
    ContractBuilder builder(DeviceId{}, e810_caps(), 1, each.beyond_declared);
    each.set(builder);
    const Contract contract = std::move(builder).build(0);
    const Domain& domain = contract.domain(Field::max_send_sge);
    EXPECT_TRUE(domain.empty()) << each.what;
    EXPECT_EQ(contract.provenance(domain.min_by).rule, "floor") << each.what;
    EXPECT_NE(contract.provenance(domain.max_by).rule, "floor") << each.what;
  }
}

TEST(ContractBuilder, WhatTheVerbsInterfaceCarriesIsNeverReplaced) {
  for (const FieldInfo& field : all_fields()) {
    ContractBuilder builder(DeviceId{}, e810_caps(), 1, true);
    builder.replace_declared_max(field.field, Domain::kUnbounded, builder.add(rule("anything-goes")));
    const Contract contract = std::move(builder).build(0);
    const Domain& domain = contract.domain(field.field);
    const InterfaceBound& bound = interface_bound(field.field);
    EXPECT_EQ(domain.max, bound.max) << field.name;
    EXPECT_TRUE(domain.known) << field.name;
    if (bound.max == Domain::kUnbounded) continue;
    EXPECT_EQ(contract.provenance(domain.max_by).set_by, SetBy::build) << field.name;
    EXPECT_EQ(contract.provenance(domain.max_by).source, bound.source) << field.name;
  }
}

RC_GTEST_PROP(ContractBuilderProperty, TheOrderOfRulesDoesNotMatter, ()) {
  const auto steps = *rc::gen::container<std::vector<std::pair<int, int>>>(
      rc::gen::pair(rc::gen::inRange(0, 8), rc::gen::inRange(0, 60)));
  const auto apply = [](ContractBuilder& builder, std::pair<int, int> step) {
    const int n = step.second;
    const auto severity = static_cast<Severity>(n % 3);
    const ProvenanceIndex by =
        builder.add(rule("rule-" + std::to_string(step.first) + "-" + std::to_string(n), severity));
    const auto field = n % 2 == 0 ? Field::max_send_wr : Field::cqe;
    const auto value = static_cast<std::uint64_t>(n) * 100;
    switch (step.first) {
      case 0:
        return builder.at_most(field, value, by);
      case 1:
        return builder.at_least(field, value / 50, by);
      case 2:
        return builder.replace_declared_max(field, value, by);
      case 3:
        return builder.ask(field, AskKind::plus, static_cast<std::uint64_t>(n % 3), by);
      case 4:
        return builder.reserve(field, static_cast<std::uint64_t>(n % 5), by);
      case 5:
        return builder.feature(Feature::uc, static_cast<Support>(n % 4), n % 2 == 0, by);
      case 6:
        return builder.behaviour(Behaviour::noop_reset, n % 2 == 0 ? Choice::spoils : Choice::harmless, by);
      default:
        builder.trace(RuleTrace{"rule-" + std::to_string(n), n % 2 == 0, {}, {}});
        return builder.invalidated_by("reason " + std::to_string(n % 3));
    }
  };
  auto shuffled = steps;
  for (std::size_t at = shuffled.size(); at > 1; --at) {
    std::swap(shuffled[at - 1], shuffled[*rc::gen::inRange<std::size_t>(0, at)]);
  }
  const bool allowed = *rc::gen::arbitrary<bool>();
  ContractBuilder left(DeviceId{}, e810_caps(), 1, allowed);
  ContractBuilder right(DeviceId{}, e810_caps(), 1, allowed);
  for (const auto& step : steps) apply(left, step);
  for (const auto& step : shuffled) apply(right, step);
  RC_ASSERT(std::move(left).build(1) == std::move(right).build(1));
}

}  // namespace
}  // namespace verbena
