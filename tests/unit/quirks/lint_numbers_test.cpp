// SPDX-License-Identifier: Apache-2.0 OR MIT
// What lint says of numbers that come to nothing, and of `replaces` that replaces nothing.
#include <gmock/gmock.h>

#include "table_texts.hpp"

namespace verbena::test {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

/// A layer over the shipped tables of some drivers with one rule of irdma, or several.
std::vector<Finding> site(const std::vector<RuleText>& rules) {
  return lint({shipped({"bnxt_re.yaml", "hns.yaml", "irdma.yaml", "mlx5.yaml"}), layer(LayerKind::etc, table(rules))});
}

struct Case {
  const char* name;
  const char* rest;  ///< of a rule of irdma
  const char* says;  ///< empty: nothing
  friend std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }
};

class LintOfNumbers : public testing::TestWithParam<Case> {};

TEST_P(LintOfNumbers, SeesWhatComesToNothing) {
  const auto findings = site({rule("site", GetParam().rest)});
  const auto finding =
      Contains(AllOf(Field("level", &Finding::level, Not(FindingLevel::note)), Field("rule", &Finding::rule, "site"),
                     Field("line", &Finding::line, 4), Field("text", &Finding::text, HasSubstr(GetParam().says))));
  if (*GetParam().says != 0) {
    EXPECT_THAT(findings, finding);
  } else {
    EXPECT_THAT(findings, IsEmpty());
  }
}

const Case kCases[] = {
    {"MaxOfNone", "on: qp, limit: {max_send_wr: {max: 0}}", "max_send_wr of at most 0 leaves nothing"},
    {"MaxOfNoneInlineIsAWord", "on: qp, limit: {max_inline_data: {max: 0}}", ""},
    {"MaxBelowNone", "on: qp, limit: {max_send_wr: {max: max_qp_wr - 10000}}",
     "max_send_wr of at most max_qp_wr - 10000 leaves nothing on"},
    {"MaxBelowTheDevice", "on: qp, limit: {max_send_wr: {max: max_qp_wr - 10}}", ""},
    {"ReserveOfAll", "on: cq, limit: {cqe: {max: 100, reserve: 200}}", "200 reserved of 100"},
    {"ReserveOfAllOfADevice", "on: cq, limit: {cqe: {reserve: 4000000000}}", "4000000000 reserved of"},
    {"ReserveOfSome", "on: cq, limit: {cqe: {reserve: 3}}", ""},
    {"EmptyByACap", "on: qp, limit: {max_send_wr: {min: 100, max: max_qp_wr - 10000}}", "at least 100, at most 0"},
    {"EmptyByTheDevice", "on: qp, limit: {max_recv_wr: {min: 99999999}}", "leaves nothing of max_recv_wr on "},
    {"EmptyByAPowerOfTwo", "on: cq, limit: {cqe: {min: 65, max: 100, ask: power_of_two}}",
     "at least 65 is asked for as 128, and at most 100 may be"},
    {"PowerOfTwoThatFits", "on: cq, limit: {cqe: {min: 33, max: 100, ask: power_of_two}}", ""},
    {"EmptyByAMultiple", "on: cq, limit: {cqe: {max: 100, ask: {multiple_of: 128}}}",
     "at least 1 is asked for as 128, and at most 100 may be"},
    {"MinAboveTheRing", "on: qp, limit: {max_send_wr: {min: 9000}}, match: {driver: mlx5}",
     "has the least rc queue pair for every opcode refused on"},
    {"RingOfNothing", "on: qp, joint: {irdma_quanta: {ring: 1, hidden: 258}}",
     "has the least rc queue pair refused on"},
    {"ReceiveRingOfNothing", "on: qp, joint: {irdma_quanta: {recv_ring: 1, recv_hidden: 258}}",
     "has the least rc queue pair refused on"},
    {"RingThatHolds", "on: qp, joint: {irdma_quanta: {ring: 16384, hidden: 258}}", ""},
    {"SgesAboveTheRing", "on: qp, limit: {max_send_sge: {min: 60}}, match: {driver: mlx5}",
     "leaves nothing of max_send_sge on"},
    {"TotalOfNone", "on: device, limit: {total_wr: {max: 0}}", "total_wr of at most 0 leaves nothing"},
    {"TotalOfOne", "on: device, limit: {total_wr: {max: 1}}", "has the least rc queue pair refused on"},
    {"TotalOfSome", "on: device, limit: {total_wr: {max: 4000}}", ""},
    {"RegionsOfNone", "on: mr, limit: {mr_length: {max: 0}}", "mr_length of at most 0 leaves nothing"},
    {"RegionsOfSome", "on: mr, limit: {mr_length: {min: 100}}", ""},
    {"MessagesOfNone", "on: data, limit: {message_bytes: {max: 0}}", "message_bytes of at most 0 leaves nothing"},
    {"MtuOfNone", "on: qp, limit: {path_mtu_bytes: {max: 100}}",
     "path_mtu_bytes of at most 100 leaves nothing; 256 is the least there is"},
    {"MtuOfSome", "on: qp, limit: {path_mtu_bytes: {max: 1024}}", ""},
    {"MtuBetweenTwo", "on: qp, limit: {path_mtu_bytes: {min: 300, max: 500}}", "no MTU is from 300 to 500"},
    {"MtuAboveAll", "on: qp, limit: {path_mtu_bytes: {min: 9000}}", "leaves nothing of path_mtu_bytes on"},
    {"TimerAboveItsCodes", "on: qp, limit: {timeout: {min: 40}}", "leaves nothing of timeout on"},
    {"LimitEventAboveTheQueue", "on: srq, limit: {srq_limit: {min: 99999999}}", "leaves nothing of srq_limit on"},
    {"ReplacesARuleOfAnother", "on: qp, limit: {max_inline_data: {max: 100}}, replaces: hns-cq-one-less",
     "no device matches both: it replaces nothing"},
    {"ReplacesItself", "on: qp, limit: {max_inline_data: {max: 100}}, replaces: site", "replaces itself"},
    {"ReplacesDeclaredWithNothing", "on: qp, limit: {max_send_sge: {min: 2}}, replaces: declared",
     "has neither a max nor a feature"},
    {"ReplacesWhatApplies",
     "on: qp, limit: {max_inline_data: {max: 90}}, match: {part_id: 0x1592}, replaces: irdma-gen2-inline", ""},
};
INSTANTIATE_TEST_SUITE_P(Each, LintOfNumbers, testing::ValuesIn(kCases),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(LintOfCaps, NotesACapThatNoModelTells) {
  const auto findings =
      site({rule("site", "on: srq, limit: {max_wr: {max: max_srq_wr - 2}}, match: {driver: bnxt_re}")});
  EXPECT_THAT(findings, Contains(AllOf(Field("level", &Finding::level, FindingLevel::note),
                                       Field("text", &Finding::text,
                                             HasSubstr("says nothing where the device does not tell max_srq_wr")))));
}

TEST(LintOfMatches, SeesAForgottenHexadecimal) {
  const auto text = [](const std::string& match) {
    for (const Finding& finding : site({rule("site", "on: qp, limit: {max_inline_data: {max: 60}}, " + match)}))
      if (finding.text.starts_with("matches no known model")) return std::string(name(finding.level)) + finding.text;
    return std::string();
  };
  EXPECT_THAT(text("match: {part_id: 1592}"), HasSubstr("warningmatches no known model: part_id 1592 is decimal, and "
                                                        "0x1592 is that of"));
  EXPECT_EQ(text("match: {part_id: 5522}"), "") << "that is 0x1592";
  EXPECT_EQ(text("match: {part_id: 77}"), "notematches no known model");
}

auto says(const std::string& rule_id, const std::string& text) {
  return AllOf(Field("rule", &Finding::rule, rule_id), Field("text", &Finding::text, HasSubstr(text)));
}

TEST(LintOfTwoRules, NamesBothThatLeaveNothingOnADevice) {
  const auto findings = site({rule("a", "on: cq, limit: {cqe: {min: 500}}"),
                              rule("b", "on: cq, limit: {cqe: {max: max_cqe - 4000000}}, match: {part_id: 0x1592}")});
  EXPECT_THAT(findings, Contains(AnyOf(says("a", "by b (etc.yaml:5)"), says("b", "by a (etc.yaml:4)"))));
}

TEST(LintOfReplaces, SeesThatTheOriginalComesBack) {
  const auto findings = site({rule("first", "on: qp, limit: {max_inline_data: {max: 60}}"),
                              rule("second", "on: qp, limit: {max_inline_data: {max: 70}}, replaces: first"),
                              rule("third", "on: qp, limit: {max_inline_data: {max: 80}}, replaces: second")});
  EXPECT_THAT(findings, Contains(says("third",
                                      "replaces second (etc.yaml:5), which stands in place of first "
                                      "(etc.yaml:4): that one holds again")));
  EXPECT_THAT(findings, Not(Contains(says("second", "holds again"))));
}

TEST(LintOfReplaces, SeesThatWhatItReplacesIsOff) {
  const auto findings = site({rule("off", "on: qp, limit: {max_inline_data: {max: 60}}, enabled: false"),
                              rule("on", "on: qp, limit: {max_inline_data: {max: 70}}, replaces: off")});
  EXPECT_THAT(findings,
              Contains(says("on", "replaces off (etc.yaml:4), which is not in force: turned off in its own")));
}

TEST(LintOfPairs, ADriverDoesNotContradictAPartThatItHasNot) {
  // hi1822-depth names no driver, for its driver is out of tree: it is told by its PCI part.
  const auto findings = site({rule("site", "on: qp, limit: {max_recv_wr: {min: 99999999}}")});
  EXPECT_THAT(findings, Not(Contains(Field("text", &Finding::text, HasSubstr("hi1822")))));
  const auto same = lint(
      {layer(LayerKind::builtin, table({rule("a", "on: qp, limit: {max_inline_data: {min: 50}}")}) +
                                     "  - {id: b, on: qp, limit: {max_inline_data: {max: 40}}, match: {pci_vendor: "
                                     "0x8086, part_id: 0x1592}, because: x, source: y, evidence: measured, severity: "
                                     "correctness, until: open, proof: qp.create.inline_at_limit}\n")});
  EXPECT_THAT(same, Contains(Field("text", &Finding::text, HasSubstr("says otherwise"))));
}

}  // namespace
}  // namespace verbena::test
