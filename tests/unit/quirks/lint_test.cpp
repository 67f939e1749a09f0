// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <filesystem>

#include <gmock/gmock.h>

#include "table_texts.hpp"

namespace verbena::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::Not;

auto says(FindingLevel level, const std::string& text) {
  return AllOf(Field("level", &Finding::level, level), Field("text", &Finding::text, HasSubstr(text)));
}

std::vector<Finding> lint_rules(const std::vector<RuleText>& rules, LayerKind kind = LayerKind::builtin) {
  return lint({layer(kind, table(rules))});
}

TEST(Lint, TheShippedTablesHaveNoFinding) {
  const auto findings = lint({default_layers("", true).front()});
  for (const Finding& finding : findings) ADD_FAILURE() << to_string(finding);
}

TEST(Lint, FindsOneFlagWithTwoValuesForADeviceThatBothRulesMatch) {
  EXPECT_THAT(
      lint_rules({rule("a", "on: qp, set: {ack_timeout: ignored}"),
                  rule("b", "on: qp, set: {ack_timeout: clamped}, match: {part_id: 0x1592}")}),
      Contains(says(FindingLevel::error, "sets ack_timeout to clamped, and a (builtin.yaml:4) says otherwise")));
}

TEST(Lint, SeesThatDisjointMatchesNeverMeet) {
  const auto quiet = [](const std::string& one, const std::string& other) {
    return lint_rules({rule("a", "on: qp, set: {ack_timeout: ignored}, " + one),
                       rule("b", "on: qp, set: {ack_timeout: clamped}, " + other)});
  };
  const auto conflict = Contains(says(FindingLevel::error, "says otherwise"));
  EXPECT_THAT(quiet("match: {transport: roce2}", "match: {transport: iwarp}"), Not(conflict));
  EXPECT_THAT(quiet("match: {kernel: '<6.18'}", "match: {kernel: '>=6.18'}"), Not(conflict));
  EXPECT_THAT(quiet("match: {kernel: '<=6.12'}", "match: {kernel: '>6.12'}"), Not(conflict));
  EXPECT_THAT(quiet("match: {part_id: [0x1591, 0x1593]}", "match: {part_id: 0x1592}"), Not(conflict));
  EXPECT_THAT(quiet("when: {max_qp_wr: 1-100}", "when: {max_qp_wr: 101-4294967295}"), Not(conflict));
  EXPECT_THAT(quiet("match: {kernel: '<=6.12'}", "match: {kernel: '>=6.12.5'}"), conflict);
}

TEST(Lint, FindsARuleThatWouldLoosenWithoutSayingWhatItReplaces) {
  const auto site = [](const std::string& rest) {
    return lint({shipped({"irdma.yaml"}), layer(LayerKind::etc, table({rule("site", rest)}))});
  };
  const auto loosens = Contains(says(FindingLevel::warning, "without 'replaces' it does not"));
  EXPECT_THAT(site("on: cq, limit: {cqe: {max: 99999999}}, match: {part_id: 0x1592}"), loosens);
  EXPECT_THAT(site("on: qp, feature: {xrc: native}"), loosens);
  EXPECT_THAT(site("on: cq, limit: {cqe: {max: 100}}"), Not(loosens));
  EXPECT_THAT(site("on: qp, limit: {max_inline_data: {max: 220}}, match: {part_id: 0x1592}, "
                   "replaces: irdma-gen2-inline"),
              Not(loosens));
}

TEST(Lint, FindsARangeOfVersionsThatHoldsNone) {
  EXPECT_THAT(lint_rules({rule("a", "on: cq, limit: {cqe: {max: 9}}, match: {kernel: '>=6.5 <6.1'}")}, LayerKind::etc),
              Contains(says(FindingLevel::error, "no version is all of '>=6.5 <6.1'")));
  EXPECT_THAT(lint_rules({rule("a", "on: cq, limit: {cqe: {max: 9}}, match: {kernel: ['>=6.1 <6.5', '<5 >=5']}")}),
              Contains(says(FindingLevel::error, "matches no kernel at all")));
  EXPECT_THAT(lint_rules({rule("a", "on: cq, limit: {cqe: {max: 9}}, match: {kernel: '>=6.1 <6.5'}")}, LayerKind::etc),
              Not(Contains(says(FindingLevel::error, "no version"))));
}

TEST(Lint, FindsSwitchesThatContradictOrSayNothing) {
  const auto site = [](const std::string& text) {
    return lint({layer(LayerKind::builtin, table({rule("a", "on: cq, limit: {cqe: {max: 9}}")})),
                 layer(LayerKind::etc, "schema: 1\n" + text)});
  };
  const std::string off = "disable: [{id: a, reason: r}]\n";
  EXPECT_THAT(site("rules: [{enable: a, reason: r}]\n" + off),
              Contains(says(FindingLevel::warning, "turned off here and on in etc.yaml:2")));
  EXPECT_THAT(site("disable: [{id: a, reason: r}, {id: a, reason: s}]\n"),
              Contains(says(FindingLevel::warning, "a second time in this layer (first in etc.yaml:2)")));
  EXPECT_THAT(site("rules: [{enable: a, reason: r}]\n"),
              Contains(says(FindingLevel::warning, "'a' is on already (builtin.yaml:4)")));
  EXPECT_THAT(site(off), Not(Contains(Field("level", &Finding::level, FindingLevel::warning))));
}

TEST(Lint, FindsATableThatSaysNothing) {
  EXPECT_THAT(lint({layer(LayerKind::etc, "schema: 1\nrules: []\n")}),
              Contains(says(FindingLevel::warning, "says nothing")));
  EXPECT_THAT(lint({layer(LayerKind::etc, "schema: 1\ndisable: []\n")}),
              Contains(says(FindingLevel::warning, "says nothing")));
}

TEST(Lint, FindsAReplacedRuleThatThereIsNot) {
  EXPECT_THAT(lint_rules({rule("a", "on: cq, limit: {cqe: {max: 9}}, replaces: bb"),
                          rule("b", "on: qp, limit: {max_send_wr: {max: 9}}")}),
              Contains(says(FindingLevel::error, "replaces 'bb', which is no rule")));
}

TEST(Lint, NamesWhatIsLostWithAReplacedRule) {
  struct Replacing {
    const char *target, *rule, *lost;  // lost: empty where nothing is
  };
  for (const Replacing& each : {
           Replacing{"on: qp, limit: {max_inline_data: {max: 64}, max_send_sge: {max: 3}}",
                     "on: qp, limit: {max_inline_data: {max: 80}}", "lost with it: max_send_sge max"},
           Replacing{"on: qp, limit: {max_send_wr: {min: 2, max: 64}}", "on: qp, limit: {max_send_wr: {max: 80}}",
                     "lost with it: max_send_wr min"},
           Replacing{"on: qp, set: {ack_timeout: ignored}, feature: {flush: absent}",
                     "on: qp, limit: {max_send_wr: {max: 80}}", "lost with it: feature flush, flag ack_timeout"},
           Replacing{"on: qp, joint: {irdma_quanta: {ring: 2048}}", "on: qp, limit: {max_send_wr: {max: 80}}",
                     "lost with it: joint irdma_quanta"},
           Replacing{"on: cq, limit: {cqe: {max: 64}}", "on: qp, limit: {max_send_wr: {max: 80}}",
                     "lost with it: cqe max (that rule is on cq, this one on qp)"},
           Replacing{"on: qp, limit: {max_send_wr: {max: 64}}",
                     "on: qp, limit: {max_send_wr: {max: 80}, max_send_sge: {max: 3}}", ""},
       }) {
    const auto findings = lint_rules({rule("a", each.target), rule("b", std::string(each.rule) + ", replaces: a")});
    if (*each.lost != '\0')
      EXPECT_THAT(findings, Contains(says(FindingLevel::warning, each.lost))) << each.target;
    else
      EXPECT_THAT(findings, Not(Contains(says(FindingLevel::warning, "lost with it")))) << each.target;
  }
}

TEST(Lint, FindsACircleOfThreeAndTellsOfItOnce) {
  const auto circle = Contains(says(FindingLevel::error, "in a circle: c replaces a replaces b replaces c"));
  const auto findings = lint_rules({rule("a", "on: qp, limit: {max_inline_data: {max: 64}}, replaces: b"),
                                    rule("b", "on: qp, limit: {max_inline_data: {max: 70}}, replaces: c"),
                                    rule("c", "on: qp, limit: {max_inline_data: {max: 80}}, replaces: a")});
  EXPECT_THAT(findings, circle.Times(1));
  EXPECT_THAT(lint_rules({rule("a", "on: qp, limit: {max_inline_data: {max: 64}}"),
                          rule("b", "on: qp, limit: {max_inline_data: {max: 70}}, replaces: c"),
                          rule("c", "on: qp, limit: {max_inline_data: {max: 80}}, replaces: a")}),
              Not(Contains(says(FindingLevel::error, "in a circle"))));
}

TEST(Lint, FindsADomainThatNothingIsLeftOf) {
  EXPECT_THAT(lint_rules({rule("a", "on: qp, limit: {max_send_wr: {min: 64}}"),
                          rule("b", "on: qp, limit: {max_send_wr: {max: 32}}")}),
              Contains(says(FindingLevel::error, "leaves nothing of max_send_wr")));
}

TEST(Lint, FindsTwoWaysToAskForOneNumber) {
  EXPECT_THAT(lint_rules({rule("a", "on: cq, limit: {cqe: {ask: power_of_two}}"),
                          rule("b", "on: cq, limit: {cqe: {ask: {plus: 1}}}")}),
              Contains(says(FindingLevel::error, "asks for cqe")));
}

TEST(Lint, FindsARuleThatAnotherMakesSuperfluous) {
  const auto findings = lint_rules({rule("wide", "on: qp, limit: {max_inline_data: {max: 64}}"),
                                    rule("narrow",
                                         "on: qp, limit: {max_inline_data: {max: 101}}, "
                                         "match: {part_id: 0x1592}")});
  EXPECT_THAT(findings, Contains(says(FindingLevel::warning, "changes nothing: wide")));
}

TEST(Lint, ASiteMayTightenWhatIsShippedWithoutAFinding) {
  const auto findings =
      lint({layer(LayerKind::builtin, table({rule("shipped", "on: qp, limit: {max_inline_data: {max: 101}}")})),
            layer(LayerKind::etc, table({rule("ours", "on: qp, limit: {max_inline_data: {max: 64}}")}))});
  EXPECT_THAT(findings, Not(Contains(says(FindingLevel::warning, "changes nothing"))));
}

TEST(Lint, ASiteMayDenyAFeatureAndNotGrantOneWithoutAFinding) {
  struct Row {
    const char* shipped;
    const char* site;
    bool one_layer;
    bool taken;
  };
  for (const Row& row : {
           Row{"native", "absent", false, true},
           Row{"native", "substitute", false, true},
           Row{"substitute", "absent", false, true},
           Row{"absent", "native", false, false},
           Row{"absent", "substitute", false, false},
           Row{"native", "absent", true, false},
           Row{"native", "native", true, true},
       }) {
    const auto says_of = [](const char* id, const std::string& word, const std::string& match) {
      return rule(id, "on: qp, feature: {uc: " + word + "}" + match);
    };
    // Either order of the ids, since rules come in the order of these.
    for (const bool site_first : {true, false}) {
      const RuleText shipped = says_of("m", row.shipped, "");
      const RuleText ours = says_of(site_first ? "a" : "z", row.site, ", match: {part_id: 0x1592, firmware: '<1.70'}");
      const auto findings =
          row.one_layer ? lint_rules({shipped, ours}, LayerKind::etc)
                        : lint({layer(LayerKind::builtin, table({shipped})), layer(LayerKind::etc, table({ours}))});
      const auto apart = Contains(says(FindingLevel::error, "says otherwise"));
      if (row.taken) {
        EXPECT_THAT(findings, Not(apart)) << row.shipped << " then " << row.site << site_first;
      } else {
        EXPECT_THAT(findings, apart) << row.shipped << " then " << row.site << site_first;
      }
    }
  }
}

TEST(Lint, TellsOfEachRuleOnceHoweverManyItMeets) {
  constexpr std::size_t kRules = 40;
  struct Row {
    const char* what;
    std::string (*rest)(std::size_t number);
    FindingLevel level;
  };
  for (const Row& row : {
           Row{"matches every device that this rule does, and says at least as much (and 38 other rules)",
               [](std::size_t) { return std::string("on: qp, limit: {max_inline_data: {max: 64}}"); },
               FindingLevel::warning},
           Row{"asks for cqe its own way, and r10 (builtin.yaml:4) says otherwise for a device that both match (and 38 "
               "other rules as well)",
               [](std::size_t number) {
                 return "on: cq, limit: {cqe: {ask: {multiple_of: " + std::to_string(2 * number) + "}}}";
               },
               FindingLevel::error},
       }) {
    std::vector<RuleText> rules;
    for (std::size_t i = 10; i < 10 + kRules; ++i) rules.push_back(rule("r" + std::to_string(i), row.rest(i)));
    const auto findings = lint_rules(rules);
    EXPECT_LE(findings.size(), 2 * kRules) << row.what;
    EXPECT_THAT(findings, Contains(says(row.level, row.what)));
  }
}

TEST(Lint, ARuleThatThisVersionSkipsIsANoteAndNoMore) {
  const auto findings = lint_rules({rule("a", "on: qp, limit: {max_inline_data: {max: 64}}"),
                                    rule("b", "on: qp, requires: [later], limit: {max_inline_data: {most: 64}}")});
  EXPECT_THAT(findings, Contains(says(FindingLevel::note, "is skipped")));
  for (const Finding& finding : findings) EXPECT_EQ(finding.level, FindingLevel::note) << to_string(finding);
}

TEST(Lint, FindsARuleThatMatchesOnlyWhereItIsFixed) {
  RuleText late = rule("a", "on: qp, limit: {max_inline_data: {max: 64}}, match: {kernel: '>=6.9'}");
  late.until = "kernel >= 6.8";
  EXPECT_THAT(lint_rules({late}), Contains(says(FindingLevel::error, "until 'kernel >= 6.8'")));
}

TEST(Lint, FindsARuleThatRunsPastWhatFixesIt) {
  const auto until_6_8 = [](const std::string& match) {
    RuleText text = rule("a", "on: qp, limit: {max_inline_data: {max: 64}}" + match);
    text.until = "kernel >= 6.8";
    return lint_rules({text});
  };
  const auto past = Contains(says(FindingLevel::error, "runs past what fixes it: until 'kernel >= 6.8'"));
  EXPECT_THAT(until_6_8(", match: {kernel: '>=6.1'}"), past);
  EXPECT_THAT(until_6_8(", match: {kernel: '<=6.8'}"), past) << "6.8.0 has the fix";
  EXPECT_THAT(until_6_8(", match: {kernel: ['<6.2', '>=6.4']}"), past) << "one of two ends open";
  EXPECT_THAT(until_6_8(", match: {firmware: '<1.50'}"),
              Contains(says(FindingLevel::error, "matches every kernel, and is fixed by one")));
  for (const char* bounded : {", match: {kernel: '<6.8'}", ", match: {kernel: '<=6.7'}", ", match: {kernel: '6.7'}",
                              ", match: {kernel: ['<6.1.100', '>=6.2 <6.8']}"})
    EXPECT_THAT(until_6_8(bounded), Not(Contains(says(FindingLevel::error, "until 'kernel >= 6.8'")))) << bounded;
  EXPECT_THAT(until_6_8(", when: {max_sge_rd: 0}"), Not(Contains(says(FindingLevel::error, "until"))))
      << "the cap tells";
}

TEST(Lint, FindsABoundThatNoFirmwareOfThatDriverCanBeComparedWith) {
  const auto of = [](const std::string& driver, const std::string& bound) {
    std::string text =
        table({rule("a", "on: qp, limit: {max_inline_data: {max: 64}}, match: {firmware: '" + bound + "'}")});
    text.replace(text.find("irdma"), 5, driver);
    return lint({layer(LayerKind::etc, text)});
  };
  EXPECT_THAT(of("irdma", "<1.74.1"), Contains(says(FindingLevel::error, "by 3 numbers, and that of irdma has 2")));
  EXPECT_THAT(of("mlx5", "<16.35.1012.1"), Contains(says(FindingLevel::error, "that of mlx5 has 3")));
  EXPECT_THAT(of("rxe", "<1"), Contains(says(FindingLevel::error, "a software device, which has none")));
  EXPECT_THAT(of("mana", "<1"), Contains(says(FindingLevel::warning, "how that is written is not known")));
  EXPECT_THAT(of("bnxt_re", "<231.0.154.0"), Not(Contains(says(FindingLevel::error, "firmware"))));
  EXPECT_THAT(of("mlx5", "<16.35"), Not(Contains(says(FindingLevel::error, "firmware"))));
}

TEST(Lint, FindsAProofThatIsNoCaseWithTheNearest) {
  std::string text = table({rule("a", "on: qp, limit: {max_inline_data: {max: 64}}")});
  text.replace(text.find("inline_at_limit"), 15, "inline_at_limi");
  EXPECT_THAT(lint({layer(LayerKind::builtin, text)}),
              Contains(says(FindingLevel::error, "did you mean 'qp.create.inline_at_limit'?")));
}

TEST(Lint, FindsAClaimThatShipsTurnedOn) {
  RuleText claim = rule("a", "on: qp, limit: {max_inline_data: {max: 64}}, for: x, against: y");
  claim.evidence = "claim";
  EXPECT_THAT(lint_rules({claim}), Contains(says(FindingLevel::error, "a claim ships 'enabled: false'")));
}

TEST(Lint, FindsThatNoKnownModelMatchesWhichIsANoteInASitesOwnLayer) {
  const RuleText lonely = rule("a", "on: qp, limit: {max_inline_data: {max: 64}}, match: {part_id: 0xfffe}");
  EXPECT_THAT(lint_rules({lonely}), Contains(says(FindingLevel::error, "matches no known model")));
  const auto site = lint_rules({lonely}, LayerKind::etc);
  EXPECT_THAT(site, Contains(says(FindingLevel::note, "matches no known model")));
  EXPECT_THAT(site, Not(Contains(Field(&Finding::level, FindingLevel::error))));
}

TEST(Lint, TellsADriverThatNoModelHasFromOneThatIsMistyped) {
  RuleText strange = rule("a", "on: qp, limit: {max_inline_data: {max: 64}}, match: {part_id: 0xfffe}");
  const auto text = [&](const std::string& driver) {
    std::string made = table({strange});
    return made.replace(made.find("driver: irdma"), std::string("driver: irdma").size(), "driver: " + driver);
  };
  EXPECT_THAT(lint({layer(LayerKind::etc, text("idrma"))}),
              Contains(says(FindingLevel::warning, "none has the driver 'idrma'; did you mean 'irdma'?")));
}

TEST(Lint, FindsThatARuleReplacesNothing) {
  EXPECT_THAT(lint_rules({rule("abc", "on: qp, limit: {max_inline_data: {max: 64}}"),
                          rule("b", "on: qp, limit: {max_inline_data: {max: 101}}, replaces: abd")}),
              Contains(says(FindingLevel::error, "did you mean 'abc'?")));
}

TEST(Lint, FindsRulesThatReplaceEachOther) {
  EXPECT_THAT(lint_rules({rule("a", "on: qp, limit: {max_inline_data: {max: 64}}, replaces: b"),
                          rule("b", "on: qp, limit: {max_inline_data: {max: 101}}, replaces: a")}),
              Contains(says(FindingLevel::error, "in a circle")));
}

TEST(Lint, TheExamplesAreFitToBeUsed) {
  for (const auto& entry : std::filesystem::directory_iterator(QUIRKS_FOLDER "/examples")) {
    if (entry.path().extension() != ".yaml") continue;
    LayerSource example;
    example.kind = LayerKind::etc;
    example.path = entry.path().string();
    for (const Finding& finding : lint({default_layers("", true).front(), example}))
      EXPECT_EQ(finding.level, FindingLevel::note) << to_string(finding);
  }
}

}  // namespace
}  // namespace verbena::test
