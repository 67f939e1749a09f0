// SPDX-License-Identifier: Apache-2.0 OR MIT
// What fit relies on in every formula, whatever its parameters (joint.hpp).
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <regex>
#include <string>

#include <fmt/format.h>

#include "formula_case.hpp"

namespace verbena::formulas {
namespace {

constexpr std::array<std::string_view, 5> kNames{"mlx5_wqe_blocks", "irdma_quanta", "hns_extended_sge",
                                                 "rxe_shared_bytes", "wqe_units"};

/// A formula with parameters drawn from the ranges that it allows itself.
struct Drawn {
  const JointFormula* formula;
  JointParams params{};
};

Drawn draw() {
  static const BackendRegistry registry = BackendRegistry::builtin();
  Drawn drawn{registry.formula(*rc::gen::elementOf(kNames)), {}};
  RC_ASSERT(drawn.formula != nullptr);
  for (std::size_t at = 0; at < drawn.formula->params.size(); ++at) {
    const ParamInfo& param = drawn.formula->params[at];
    const bool small = *rc::gen::arbitrary<bool>();
    const std::int64_t top = small ? std::min(param.max, param.min + 70000) : param.max;
    drawn.params[at] = *rc::gen::weightedOneOf<std::int64_t>(
        {{2, rc::gen::just(param.fallback)}, {1, rc::gen::inRange(param.min, top + 1)}});
  }
  return drawn;
}

QueueShape draw_shape() {
  QueueShape made;
  made.type = static_cast<QpType>(*rc::gen::inRange(0, 3));
  made.ops = SendOps{*rc::gen::inRange<std::uint64_t>(0, 1U << 13U)};
  made.ops_declared = *rc::gen::arbitrary<bool>();
  made.sge = *rc::gen::weightedOneOf<std::uint32_t>(
      {{8, rc::gen::inRange(0U, 80U)}, {1, rc::gen::arbitrary<std::uint32_t>()}});
  made.inline_data = *rc::gen::weightedOneOf<std::uint32_t>(
      {{8, rc::gen::inRange(0U, 1200U)}, {1, rc::gen::arbitrary<std::uint32_t>()}});
  return made;
}

Queue draw_queue() {
  return static_cast<Queue>(*rc::gen::inRange(0, 2));
}

std::uint32_t grown(std::uint32_t value) {
  const auto by = *rc::gen::inRange<std::uint32_t>(0, 100);
  return value > 0xffffffffU - by ? 0xffffffffU : value + by;
}

RC_GTEST_PROP(FormulaProperty, MoreSgesOrInlineBytesNeverMakeAQueueDeeper, ()) {
  const Drawn drawn = draw();
  const Queue queue = draw_queue();
  const QueueShape small = draw_shape();
  QueueShape large = small;
  large.sge = grown(small.sge);
  large.inline_data = grown(small.inline_data);
  RC_ASSERT(drawn.formula->max_wr(drawn.params, queue, large) <= drawn.formula->max_wr(drawn.params, queue, small));
}

RC_GTEST_PROP(FormulaProperty, SgesAndInlineBytesCountByTheLargerOfTheTwo, ()) {
  const Drawn drawn = draw();
  const QueueShape both = draw_shape();
  QueueShape sges = both;
  sges.inline_data = 0;
  QueueShape inlined = both;
  inlined.sge = 0;
  const auto depth = [&](const QueueShape& shape) { return drawn.formula->max_wr(drawn.params, Queue::send, shape); };
  RC_ASSERT(depth(both) == std::min(depth(sges), depth(inlined)));
}

RC_GTEST_PROP(FormulaProperty, ADeeperQueueNeverTakesLessMemory, ()) {
  const Drawn drawn = draw();
  const Queue queue = draw_queue();
  const QueueShape shape = draw_shape();
  const auto wr = *rc::gen::weightedOneOf<std::uint64_t>(
      {{8, rc::gen::inRange<std::uint64_t>(0, 1U << 22U)}, {1, rc::gen::arbitrary<std::uint64_t>()}});
  const auto more = *rc::gen::inRange<std::uint64_t>(0, 5000);
  if (wr > ~std::uint64_t{0} - more) return;
  RC_ASSERT(drawn.formula->ring_bytes(drawn.params, queue, shape, wr) <=
            drawn.formula->ring_bytes(drawn.params, queue, shape, wr + more));
}

/// Each `A / B = C` and `(A - B) / C = D` of a sentence, worked out again.
void expect_right(const std::string& sentence) {
  static const std::regex division(R"((?:\((\d+) - (\d+)\)|(\d+)) / (\d+) = (\d+))");
  for (auto at = std::sregex_iterator(sentence.begin(), sentence.end(), division); at != std::sregex_iterator(); ++at) {
    const auto number = [&](std::size_t group) { return std::stoull((*at)[group]); };
    const bool less = (*at)[1].matched;
    const std::uint64_t from = less ? (number(1) > number(2) ? number(1) - number(2) : 0) : number(3);
    RC_LOG() << sentence << '\n';
    RC_ASSERT(from / number(4) == number(5));
  }
}

RC_GTEST_PROP(FormulaProperty, TheArithmeticOfAnExplanationIsRightAndEndsInTheBound, ()) {
  const Drawn drawn = draw();
  const Queue queue = draw_queue();
  const QueueShape shape = draw_shape();
  const std::string sentence = drawn.formula->explain(drawn.params, queue, shape, 1);
  expect_right(sentence);
  const std::uint64_t most = drawn.formula->max_wr(drawn.params, queue, shape);
  if (sentence.find(" WQEs") != std::string::npos) {
    RC_LOG() << sentence << '\n';
    RC_ASSERT(sentence.find(fmt::format(" {} ", most)) != std::string::npos);
  }
}

RC_GTEST_PROP(FormulaProperty, AnyShapeHasAnExplanation, ()) {
  const Drawn drawn = draw();
  const std::string reason =
      drawn.formula->explain(drawn.params, draw_queue(), draw_shape(), *rc::gen::arbitrary<std::uint64_t>());
  RC_ASSERT(!reason.empty());
  RC_ASSERT(reason.find('\n') == std::string::npos);
}

}  // namespace
}  // namespace verbena::formulas
