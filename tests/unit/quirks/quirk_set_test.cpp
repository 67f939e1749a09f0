// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gmock/gmock.h>
#include <rapidcheck/gtest.h>

#include "table_texts.hpp"

namespace verbena::test {
namespace {

using testing::HasSubstr;

std::uint64_t inline_bytes(const Contract& contract) {
  return contract.domain(Field::max_inline_data).max;
}

const RuleTrace& trace_of(const Contract& contract, std::string_view id) {
  for (const RuleTrace& trace : contract.trace())
    if (trace.id == id) return trace;
  static const RuleTrace none;
  ADD_FAILURE() << "no trace of " << id;
  return none;
}

TEST(QuirkSet, NarrowsADomainAndSaysWhoDidAtWhichLine) {
  const auto set = load({layer(LayerKind::etc, table({inline_at_most("a", 101)}))});
  ASSERT_TRUE(set);
  const Contract made = contract(**set);
  EXPECT_EQ(inline_bytes(made), 101U);
  const Provenance& by = made.provenance(made.domain(Field::max_inline_data).max_by);
  EXPECT_EQ(by.rule, "a");
  EXPECT_EQ(by.layer, "etc");
  EXPECT_EQ(by.file, "etc.yaml");
  EXPECT_EQ(by.line, 4);
  EXPECT_EQ(by.source, "a test");
  EXPECT_EQ(made.quirks_hash(), (*set)->hash());
}

TEST(QuirkSet, AReasonIsOneLineThatATerminalCanBeGivenHoweverItIsWritten) {
  const auto reason_of = [](const std::string& because) {
    std::string text = table({{.id = "a"}});
    const std::string plain = "because: The device says so.";
    text.replace(text.find(plain), plain.size(), "because: " + because);
    const auto set = load({layer(LayerKind::builtin, text)});
    return set && !(*set)->rules().empty() ? (*set)->rules()[0].by.reason : std::string("(refused)");
  };
  EXPECT_EQ(reason_of(R"("one\ntwo\n")"), "one two");
  EXPECT_EQ(reason_of(R"("red \e[31m\x9b31m\x7f end")"), "red [31m 31m end");
  EXPECT_EQ(reason_of(R"("\n ")"), "(refused)");
  const auto findings = lint({layer(LayerKind::builtin, "schema: 1\n\"a\\e[31m\": 1\n")});
  ASSERT_FALSE(findings.empty());
  EXPECT_EQ(findings[0].text.find('\x1b'), std::string::npos) << findings[0].text;
}

TEST(QuirkSet, AReserveOfMoreSlotsThanAQueueCanHaveIsRefused) {
  const auto with = [](const std::string& slots) {
    return load(
        {layer(LayerKind::builtin, table({{.id = "a", .rest = "on: cq, limit: {cqe: {reserve: " + slots + "}}"}}))});
  };
  const auto refused = with("18446744073709551615");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().text, HasSubstr("at most 4294967295 slots"));
  EXPECT_TRUE(with("4294967295"));
}

TEST(QuirkSet, TheTighterOfTwoRulesHolds) {
  const auto set = load({layer(LayerKind::etc, table({inline_at_most("a", 101), inline_at_most("b", 64)}))});
  ASSERT_TRUE(set);
  const Contract made = contract(**set);
  EXPECT_EQ(inline_bytes(made), 64U);
  EXPECT_TRUE(trace_of(made, "a").applied);
  EXPECT_EQ(trace_of(made, "a").beaten_by, "b");
  EXPECT_EQ(trace_of(made, "b").beaten_by, "");
}

TEST(QuirkSet, ALaterLayerReplacesTheRuleOfTheSameIdAndSaysSo) {
  const auto set = load({layer(LayerKind::builtin, table({inline_at_most("a", 101)})),
                         layer(LayerKind::env, table({inline_at_most("a", 200)}))});
  ASSERT_TRUE(set);
  EXPECT_EQ(inline_bytes(contract(**set)), 200U);
  ASSERT_EQ((*set)->rules().size(), 1U);
  ASSERT_EQ((*set)->layers()[1].findings.size(), 1U);
  EXPECT_EQ((*set)->layers()[1].findings[0].level, FindingLevel::note);
  EXPECT_THAT((*set)->layers()[1].findings[0].text, HasSubstr("builtin.yaml:4"));
}

TEST(QuirkSet, OneBadLineDropsItsLayerAndNoOther) {
  const auto set = load({layer(LayerKind::builtin, table({inline_at_most("a", 101)})),
                         layer(LayerKind::etc, table({inline_at_most("b", 10), {.id = "c", .rest = "on: nothing"}})),
                         layer(LayerKind::run, table({inline_at_most("d", 64)}))});
  ASSERT_TRUE(set);
  EXPECT_EQ(inline_bytes(contract(**set)), 64U);
  EXPECT_TRUE((*set)->layers()[0].loaded);
  EXPECT_FALSE((*set)->layers()[1].loaded);
  EXPECT_TRUE((*set)->layers()[2].loaded);
}

TEST(QuirkSet, ALayerLeftOutSaysWhatOfItsSoundFilesIsNotInForce) {
  LayerSource etc = layer(LayerKind::etc, table({inline_at_most("b", 10)}));
  etc.texts.push_back({"broken.yaml", table({inline_at_most("d", 11), {.id = "c", .rest = "on: nothing"}})});
  etc.texts.push_back(
      {"switches.yaml", "schema: 1\nrules:\n  - {enable: a, reason: r}\ndisable: [{id: a, reason: r}]\n"});
  const auto set = load({layer(LayerKind::builtin, table({inline_at_most("a", 101)})), etc});
  ASSERT_TRUE(set);
  EXPECT_FALSE((*set)->layers()[1].loaded);
  EXPECT_THAT((*set)->layers()[1].left_out,
              testing::ElementsAre("broken.yaml: rule d", "etc.yaml: rule b", "switches.yaml: enable a, disable a"));
  EXPECT_TRUE((*set)->layers()[0].left_out.empty());
  // A fault that shows only when the layers are put together keeps it out in the same way.
  etc.texts[1] = {"unknown.yaml", "schema: 1\nrules:\n  - {enable: z, reason: r}\n"};
  const auto merged = load({layer(LayerKind::builtin, table({inline_at_most("a", 101)})), etc});
  ASSERT_TRUE(merged);
  EXPECT_THAT((*merged)->layers()[1].left_out, testing::Contains("etc.yaml: rule b"));
}

TEST(QuirkSet, TheInstalledLayerLiesWhereThisBuildInstallsItsTables) {
  const auto layers = default_layers("", false);
  ASSERT_GE(layers.size(), 2U);
  EXPECT_EQ(layers[1].kind, LayerKind::installed);
  EXPECT_EQ(layers[1].path, INSTALLED_TABLES);
}

TEST(QuirkSet, StrictMakesABrokenLayerAnErrorWithItsPlace) {
  const auto set =
      load({layer(LayerKind::builtin, table({inline_at_most("a", 101)})), layer(LayerKind::etc, "schema: 9\n")}, true);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().kind, ErrorKind::bad_table);
  EXPECT_EQ(set.error().by.file, "etc.yaml");
  EXPECT_EQ(set.error().by.line, 1);
}

TEST(QuirkSet, ABrokenBuiltInLayerIsAlwaysAnError) {
  EXPECT_FALSE(load({layer(LayerKind::builtin, "schema: 1\nrules: 3\n")}));
}

TEST(QuirkSet, AReloadThatFailsKeepsTheLastGoodRulesAndSaysSo) {
  const auto first = load({layer(LayerKind::builtin, table({inline_at_most("a", 101)})),
                           layer(LayerKind::etc, table({inline_at_most("b", 64)}))});
  ASSERT_TRUE(first);
  const auto second =
      load({layer(LayerKind::builtin, table({inline_at_most("a", 101)})), layer(LayerKind::etc, "rules: [\n")}, false,
           first->get());
  ASSERT_TRUE(second);
  EXPECT_EQ(inline_bytes(contract(**second)), 64U);
  EXPECT_EQ((*second)->hash(), (*first)->hash());
  ASSERT_FALSE((*second)->layers()[1].findings.empty());
  EXPECT_THAT((*second)->layers()[1].findings[0].text, HasSubstr("last good rules stay in force"));

  // And a third load that is good again takes the new rules.
  const auto third = load({layer(LayerKind::builtin, table({inline_at_most("a", 101)})),
                           layer(LayerKind::etc, table({inline_at_most("b", 32)}))},
                          false, second->get());
  ASSERT_TRUE(third);
  EXPECT_EQ(inline_bytes(contract(**third)), 32U);
}

TEST(QuirkSet, ALayerTurnsARuleOff) {
  const auto set = load(
      {layer(LayerKind::builtin, table({inline_at_most("a", 101), inline_at_most("b", 200)})),
       layer(LayerKind::env, "schema: 1\ndisable:\n  - {id: a, reason: fixed in our kernel, expires: 2999-01-01}\n")});
  ASSERT_TRUE(set);
  const Contract made = contract(**set);
  EXPECT_EQ(inline_bytes(made), 200U);
  EXPECT_FALSE(trace_of(made, "a").applied);
  EXPECT_THAT(trace_of(made, "a").why_not,
              testing::AllOf(testing::StartsWith("turned off by "),
                             testing::EndsWith(":3: fixed in our kernel (until 2999-01-01)")));
  EXPECT_EQ((*set)->layers()[1].disabled, 1U);
}

TEST(QuirkSet, AnExpiredDisableHoldsNoLonger) {
  const auto set = load({layer(LayerKind::builtin, table({inline_at_most("a", 101)})),
                         layer(LayerKind::etc, "schema: 1\ndisable: [{id: a, reason: r, expires: 2020-01-01}]\n")});
  ASSERT_TRUE(set);
  EXPECT_EQ(inline_bytes(contract(**set)), 101U);
  EXPECT_THAT((*set)->layers()[1].findings.at(0).text, HasSubstr("ran out on 2020-01-01"));
}

TEST(QuirkSet, OnlyEtcTurnsASafetyRuleOffAndOnlyUntilADay) {
  RuleText safety = inline_at_most("a", 101);
  safety.severity = "safety";
  const auto with = [&](LayerKind kind, const std::string& text) {
    auto set = load({layer(LayerKind::builtin, table({safety, inline_at_most("b", 200)})), layer(kind, text)});
    EXPECT_TRUE(set);
    return inline_bytes(contract(**set));
  };
  const std::string dated = "schema: 1\ndisable: [{id: a, reason: r, expires: 2999-01-01}]\n";
  const std::string undated = "schema: 1\ndisable: [{id: a, reason: r}]\n";
  EXPECT_EQ(with(LayerKind::etc, dated), 200U);
  EXPECT_EQ(with(LayerKind::etc, undated), 101U);
  EXPECT_EQ(with(LayerKind::run, dated), 101U);
  EXPECT_EQ(with(LayerKind::env, dated), 101U);
  // Nor is a weaker rule of the same id, or one that replaces it, a way around.
  EXPECT_EQ(with(LayerKind::env, table({inline_at_most("a", 900)})), 101U);
  EXPECT_EQ(with(LayerKind::env, table({inline_at_most("c", 900, "replaces: a")})), 101U);
  // Calling itself a safety rule makes it none.
  RuleText alike = inline_at_most("a", 900);
  alike.severity = "safety";
  EXPECT_EQ(with(LayerKind::env, table({alike})), 101U);
  RuleText loud = inline_at_most("c", 900, "replaces: a");
  loud.severity = "safety";
  EXPECT_EQ(with(LayerKind::env, table({loud})), 101U);
  // And in /etc it is turned off by a date, not by a rule that is off.
  EXPECT_EQ(with(LayerKind::etc, table({inline_at_most("a", 64, "enabled: false")})), 101U);
  EXPECT_EQ(with(LayerKind::etc, table({inline_at_most("c", 150, "replaces: a")})), 150U);
}

TEST(QuirkSet, AClaimIsOffUntilOneLineTurnsItOn) {
  RuleText claim{.id = "claim",
                 .rest = "on: cq, limit: {cqe: {ask: power_of_two}}, enabled: false, for: x, against: y"};
  claim.evidence = "claim";
  const auto builtin = layer(LayerKind::builtin, table({claim}));
  const auto off = load({builtin});
  ASSERT_TRUE(off);
  EXPECT_EQ(contract(**off).domain(Field::cqe).passed_for(1000), 1000U);
  EXPECT_EQ(trace_of(contract(**off), "claim").why_not, "a claim, not turned on here");

  const auto on =
      load({builtin, layer(LayerKind::env, "schema: 1\nrules:\n  - {enable: claim, reason: seen on our hosts}\n")});
  ASSERT_TRUE(on);
  const Contract made = contract(**on);
  EXPECT_EQ(made.domain(Field::cqe).passed_for(1000), 1024U);
  const Provenance& by = made.provenance(made.domain(Field::cqe).asks[0].by);
  EXPECT_EQ(by.layer, "env");
  EXPECT_EQ(by.file, "env.yaml");
  EXPECT_EQ(by.line, 3);
  EXPECT_NE((*off)->hash(), (*on)->hash());
}

TEST(QuirkSet, ARuleThatNeedsALaterLibraryIsSkippedCountedAndShown) {
  const auto set =
      load({layer(LayerKind::etc,
                  table({inline_at_most("a", 64, "requires: [telepathy], mood: good"), inline_at_most("b", 101)}))});
  ASSERT_TRUE(set);
  EXPECT_TRUE((*set)->layers()[0].loaded);
  EXPECT_EQ((*set)->layers()[0].skipped, 1U);
  const Contract made = contract(**set);
  EXPECT_EQ(inline_bytes(made), 101U);
  EXPECT_THAT(trace_of(made, "a").why_not, HasSubstr("telepathy"));
}

TEST(QuirkSet, AReplacedRuleDoesNotApplyWhereItsReplacementDoes) {
  const std::string text =
      table({inline_at_most("a", 101), inline_at_most("b", 220, "match: {part_id: 0x1592}, replaces: a")});
  const auto set = load({layer(LayerKind::etc, text)});
  ASSERT_TRUE(set);
  EXPECT_EQ(inline_bytes(contract(**set)), 220U);
  EXPECT_EQ(trace_of(contract(**set), "a").beaten_by, "b");
  DeviceId other = e810();
  other.part_id = 0x1593;
  EXPECT_EQ(inline_bytes(contract(**set, other)), 101U);
}

TEST(QuirkSet, AReplacedRuleReplacesNothingItself) {
  // c stands over b, so b does not apply, and what b would have replaced holds.
  const auto set = load({layer(LayerKind::etc, table({inline_at_most("a", 101), inline_at_most("b", 220, "replaces: a"),
                                                      inline_at_most("c", 300, "replaces: b")}))});
  ASSERT_TRUE(set);
  EXPECT_EQ(inline_bytes(contract(**set)), 101U);
}

TEST(QuirkSet, RulesThatReplaceEachOtherDoNotBothVanish) {
  const auto set = load({layer(
      LayerKind::etc, table({inline_at_most("a", 101, "replaces: b"), inline_at_most("b", 220, "replaces: a")}))});
  ASSERT_TRUE(set);
  EXPECT_EQ(inline_bytes(contract(**set)), 101U);
}

// F138: a card that no table knows gets what probing tells, and the contract says that no rule spoke.
TEST(QuirkSet, AnUnknownDeviceGetsWhatItDeclaresAndNoRule) {
  const auto set = load({layer(LayerKind::etc, table({inline_at_most("a", 101)}))});
  ASSERT_TRUE(set);
  DeviceId stranger = e810();
  stranger.driver = "newdrv";
  const Contract made = contract(**set, stranger);
  EXPECT_FALSE(made.domain(Field::max_inline_data).known);
  EXPECT_EQ(made.domain(Field::max_send_wr).max, 4063U);
  EXPECT_EQ(made.provenance(made.domain(Field::max_send_wr).max_by).set_by, SetBy::declared);
  EXPECT_TRUE(made.trace().empty());
}

TEST(QuirkSet, AFamilyRuleHoldsForACardOfTheFamilyThatIsNotListed) {
  // F138 again: the driver is enough; an exact part id only says more.
  const auto set = load({layer(
      LayerKind::etc, table({inline_at_most("family", 101), inline_at_most("one", 64, "match: {part_id: 0x1592}")}))});
  ASSERT_TRUE(set);
  DeviceId fresh = e810();
  fresh.part_id = 0x4242;
  EXPECT_EQ(inline_bytes(contract(**set, fresh)), 101U);
}

RC_GTEST_PROP(QuirkSetProperty, TheOrderOfRulesInALayerChangesNeitherContractNorHash, ()) {
  const auto count = *rc::gen::inRange<std::size_t>(1, 9);
  std::vector<RuleText> rules;
  for (std::size_t i = 0; i < count; ++i) {
    RuleText rule{.id = "rule-" + std::to_string(i)};
    const auto number = std::to_string(*rc::gen::inRange(1, 300));
    switch (*rc::gen::inRange(0, 6)) {
      case 0:
        rule.rest = "on: qp, limit: {max_inline_data: {max: " + number + "}}";
        break;
      case 1:
        rule.rest = "on: qp, limit: {max_send_wr: {min: " + number + "}}";
        break;
      case 2:
        rule.rest = "on: qp, set: {ack_timeout: " + *rc::gen::element<std::string>("ignored", "clamped") + "}";
        break;
      case 3:
        rule.rest = "on: qp, feature: {uc: " + *rc::gen::element<std::string>("absent", "native") + "}";
        break;
      case 4:
        rule.rest = "on: cq, limit: {cqe: {reserve: " + number + "}}";
        break;
      default:
        rule.rest = "on: cq, limit: {cqe: {ask: {plus: " + number + "}}}";
        break;
    }
    if (*rc::gen::arbitrary<bool>() && i > 0)
      rule.rest += ", replaces: rule-" + std::to_string(*rc::gen::inRange<std::size_t>(0, i));
    rule.severity = *rc::gen::element<std::string>("safety", "correctness", "performance");
    rules.push_back(std::move(rule));
  }
  std::vector<RuleText> shuffled = rules;
  for (std::size_t i = shuffled.size(); i > 1; --i)
    std::swap(shuffled[i - 1], shuffled[*rc::gen::inRange<std::size_t>(0, i)]);

  const auto one = load({layer(LayerKind::etc, table(rules))});
  const auto other = load({layer(LayerKind::etc, table(shuffled))});
  RC_ASSERT(one.has_value() && (*one)->layers()[0].loaded);
  RC_ASSERT(other.has_value());
  RC_ASSERT((*one)->hash() == (*other)->hash());
  const Contract left = contract(**one);
  const Contract right = contract(**other);
  const auto rule_of = [](const Contract& made, ProvenanceIndex by) { return made.provenance(by).rule; };
  for (const FieldInfo& field : all_fields()) {
    const Domain& a = left.domain(field.field);
    const Domain& b = right.domain(field.field);
    RC_ASSERT(a.min == b.min && a.max == b.max && a.reserve == b.reserve && a.known == b.known);
    RC_ASSERT(a.passed_for(100) == b.passed_for(100));
    RC_ASSERT(rule_of(left, a.max_by) == rule_of(right, b.max_by));
    RC_ASSERT(rule_of(left, a.min_by) == rule_of(right, b.min_by));
  }
  for (const FeatureInfo& feature : all_features())
    RC_ASSERT(left.feature(feature.feature).support == right.feature(feature.feature).support);
  for (const BehaviourInfo& flag : all_behaviours()) {
    RC_ASSERT(left.behaviour(flag.behaviour).choice == right.behaviour(flag.behaviour).choice);
    RC_ASSERT(rule_of(left, left.behaviour(flag.behaviour).by) == rule_of(right, right.behaviour(flag.behaviour).by));
  }
}

}  // namespace
}  // namespace verbena::test
