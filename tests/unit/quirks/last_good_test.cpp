// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reloads, switches and the hash: what is told is what holds.
#include <gmock/gmock.h>

#include "table_texts.hpp"

namespace verbena::test {
namespace {

using testing::Contains;
using testing::Each;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

std::uint64_t inline_bytes(const QuirkSet& set) {
  return contract(set).domain(verbena::Field::max_inline_data).max;
}

const RuleSummary& summary(const QuirkSet& set, const std::string& id) {
  for (const RuleSummary& rule : set.rules())
    if (rule.id == id) return rule;
  static const RuleSummary none;
  return none;
}

TEST(LastGood, ALayerWhoseSwitchLostItsRuleKeepsItsRules) {
  const auto off = inline_at_most("claim", 40, "enabled: false");
  const auto etc =
      layer(LayerKind::etc, table({inline_at_most("own", 64)}, "  - {enable: claim, reason: seen here}\n"));
  const auto first = load({layer(LayerKind::builtin, table({inline_at_most("a", 101), off})), etc});
  ASSERT_TRUE(first);
  ASSERT_EQ(inline_bytes(**first), 40U);
  const auto second = load({layer(LayerKind::builtin, table({inline_at_most("a", 101)})), etc}, false, first->get());
  ASSERT_TRUE(second);
  const LayerReport& report = (*second)->layers()[1];
  EXPECT_TRUE(report.loaded);
  EXPECT_EQ(inline_bytes(**second), 64U) << "the layer's own rule is gone";
  EXPECT_THAT(report.findings,
              Contains(Field("text", &Finding::text, HasSubstr("there is no rule 'claim' to turn on"))));
  EXPECT_THAT(report.findings, Contains(Field("text", &Finding::text, HasSubstr("last good rules stay in force"))));
  EXPECT_THAT(report.findings, Each(Field("level", &Finding::level, Not(FindingLevel::error))));

  // Without a last good set the layer is out, and nothing says otherwise.
  const auto fresh = load({layer(LayerKind::builtin, table({inline_at_most("a", 101)})), etc});
  ASSERT_TRUE(fresh);
  EXPECT_FALSE((*fresh)->layers()[1].loaded);
  EXPECT_EQ(inline_bytes(**fresh), 101U);
}

TEST(LastGood, WhatCannotStandOnTheLayersBelowIsSaidToBeOut) {
  const auto env = layer(LayerKind::env, table({inline_at_most("own", 64, "replaces: a")}));
  const auto first = load({layer(LayerKind::builtin, table({inline_at_most("a", 60)})), env});
  ASSERT_TRUE(first);
  ASSERT_EQ(inline_bytes(**first), 64U);
  RuleText safety = inline_at_most("a", 60);
  safety.severity = "safety";
  const auto second = load({layer(LayerKind::builtin, table({safety})), env}, false, first->get());
  ASSERT_TRUE(second);
  const LayerReport& report = (*second)->layers()[1];
  EXPECT_FALSE(report.loaded);
  EXPECT_EQ(inline_bytes(**second), 60U);
  EXPECT_THAT(report.findings, Not(Contains(Field("text", &Finding::text, HasSubstr("stay in force")))));
  EXPECT_THAT(report.findings, Contains(Field("text", &Finding::text, HasSubstr("nothing of it is in force"))));
}

TEST(LastGood, SaysNothingTwiceOfTheOtherLayers) {
  const auto etc = layer(LayerKind::etc, table({inline_at_most("a", 64)}));
  const auto first = load({layer(LayerKind::builtin, table({inline_at_most("a", 101)})), etc,
                           layer(LayerKind::run, table({inline_at_most("r", 32)}))});
  ASSERT_TRUE(first);
  const auto second =
      load({layer(LayerKind::builtin, table({inline_at_most("a", 101)})), etc, layer(LayerKind::run, "rules: [\n")},
           false, first->get());
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)->layers()[1].findings, (*first)->layers()[1].findings);
}

TEST(Switches, TurningOnWhatIsOnChangesNothingNotEvenWhoseItIs) {
  const auto builtin = layer(LayerKind::builtin, table({inline_at_most("a", 101)}));
  const auto plain = load({builtin});
  ASSERT_TRUE(plain);
  for (const char* text : {"schema: 1\nrules:\n  - {enable: a, reason: r}\n",
                           "schema: 1\nrules:\n  - {enable: a, reason: r}\ndisable:\n  - {id: a, reason: r, expires: "
                           "2999-01-01}\n"}) {
    const auto set = load({builtin, layer(LayerKind::etc, text)});
    ASSERT_TRUE(set);
    EXPECT_EQ(summary(**set, "a"), summary(**plain, "a")) << text;
    EXPECT_EQ((*set)->layers()[1].disabled, 0U);
    EXPECT_FALSE((*set)->layers()[1].findings.empty());
  }
}

TEST(Hash, IsOfTheMeaningAndNotOfHowItIsWritten) {
  const auto hash = [](const std::string& rest) {
    const auto set = load({layer(LayerKind::builtin, table({RuleText{.id = "a", .rest = rest}}))});
    EXPECT_TRUE(set && (*set)->layers()[0].loaded) << rest;
    return set ? (*set)->hash() : 0;
  };
  const std::string limit = "on: qp, limit: {max_send_wr: {min: 2, max: 16}, max_inline_data: {max: 8}}, ";
  const std::string base =
      limit + "match: {part_id: [0x10, 0x11, 0x20], kernel: ['<6.1', '>=6.5 <6.8'], arch: [x86_64, arm64]}";
  const std::uint64_t known = hash(base);
  for (const std::string& same : {
           limit + "match: {part_id: [16, 17, 32], kernel: ['<6.1', '>=6.5 <6.8'], arch: [x86_64, arm64]}",
           limit + "match: {part_id: [0x20, 0x10-0x11], kernel: ['<6.1', '>=6.5 <6.8'], arch: [x86_64, arm64]}",
           limit + "match: {part_id: [0x10-0x11, 17, 0x20], kernel: ['>=6.5.0 <6.8', '<6.1'], arch: [arm64, x86_64]}",
           limit + "match: {arch: [arm64, x86_64], kernel: ['<6.8 >=6.5', '<6.1'], part_id: [0x10, 0x11, 0x20]}",
           std::string("on: qp, limit: {max_inline_data: {max: 0x8}, max_send_wr: {max: 0x10, min: 0x2}}, match: "
                       "{part_id: [0x10, 0x11, 0x20], kernel: ['<6.1', '>=6.5 <6.8'], arch: [x86_64, arm64]}"),
       })
    EXPECT_EQ(hash(same), known) << same;
  for (const std::string& other : {
           limit + "match: {part_id: [0x10, 0x11, 0x21], kernel: ['<6.1', '>=6.5 <6.8'], arch: [x86_64, arm64]}",
           limit + "match: {part_id: [0x10, 0x11, 0x20], kernel: ['<=6.1', '>=6.5 <6.8'], arch: [x86_64, arm64]}",
           limit + "match: {part_id: [0x10-0x20], kernel: ['<6.1', '>=6.5 <6.8'], arch: [x86_64, arm64]}",
           limit + "match: {part_id: [0x10, 0x11, 0x20], kernel: ['<6.1', '>=6.5 <6.8'], arch: [x86_64]}",
       })
    EXPECT_NE(hash(other), known) << other;
  // The order of asks is how they are applied.
  EXPECT_NE(hash("on: cq, limit: {cqe: {ask: [{plus: 1}, power_of_two]}}"),
            hash("on: cq, limit: {cqe: {ask: [power_of_two, {plus: 1}]}}"));
}

}  // namespace
}  // namespace verbena::test
