// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is required keeps all of its wish in a shared ring: the others give way first.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "contracts.hpp"
#include "unit/requests.hpp"
#include "unit/shipped_nics.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

TEST(Require, OfEachCompetitorLeavesTheRestToTheOthers) {
  struct Case {
    const char* what;
    Contract contract;
    Wish QpRequest::* required;
    std::uint32_t want;
    std::array<std::uint32_t, 3> granted;   ///< depth, SGEs, inline bytes
  };
  const Case cases[] = {
      {"e810, inline bytes", contracts::e810(), &QpRequest::max_inline_data, 101, {4063, 13, 101}},
      {"e810, SGEs", contracts::e810(), &QpRequest::max_send_sge, 13, {4063, 13, 101}},
      {"e810, depth", contracts::e810(), &QpRequest::max_send_wr, 16000, {16000, 2, 39}},
      {"connectx5, inline bytes", contracts::connectx5(), &QpRequest::max_inline_data, 256, {4096, 16, 256}},
      {"connectx5, SGEs", contracts::connectx5(), &QpRequest::max_send_sge, 30, {2978, 30, 300}},
      {"connectx5, depth", contracts::connectx5(), &QpRequest::max_send_wr, 8192, {8192, 4, 60}},
  };
  for (const Case& each : cases) {
    QpRequest request = requests::rc(16000, 1, 16, 1, 300);
    for (Wish* wish : requests::wishes(request)) wish->at_least = 0;
    request.*each.required = {.want = each.want, .policy = Policy::require};
    const auto fitted = fit(request, each.contract);
    ASSERT_TRUE(fitted) << each.what << ": " << to_string(fitted.error());
    const std::array granted{fitted->grant.max_send_wr().granted, fitted->grant.max_send_sge().granted,
                             fitted->grant.max_inline_data().granted};
    EXPECT_EQ(granted, each.granted) << each.what;
  }
}

TEST(Require, E810KeepsTheInlineBytesAndGivesUpDepth) {
  for (const Policy others : {Policy::prefer, Policy::allow}) {
    QpRequest request = requests::rc(16000, 1, 1, 1, 101);
    request.policy = others;
    request.max_send_wr.at_least = 0;
    request.max_inline_data.policy = Policy::require;
    const auto fitted = fit(request, shipped::contract("e810-roce"));
    ASSERT_TRUE(fitted) << to_string(fitted.error());
    EXPECT_EQ(fitted->grant.max_send_wr().granted, 8127U);
    EXPECT_EQ(fitted->grant.max_inline_data().granted, 101U);
  }
}

TEST(Require, OfTwoThatDoNotFitTogetherIsRefused) {
  QpRequest request = requests::rc(16000, 1, 1, 1, 101);
  request.max_send_wr.policy = Policy::require;
  request.max_inline_data.policy = Policy::require;
  const auto refused = fit(request, contracts::e810());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "max_send_wr");
  EXPECT_EQ(refused.error().allowed, 8127U);
}

/// A contract in which everything competes, or a model under the shipped tables.
const Contract& competing_contract() {
  static const std::vector<Contract> competing{contracts::rounding(),  contracts::cramped(), contracts::e810(),
                                               contracts::connectx5(), contracts::rxe(),     contracts::hip09()};
  static const std::vector<Contract> shipped = [] {
    std::vector<Contract> made;
    for (const std::string& nic : builtin_models()) made.push_back(shipped::contract(nic));
    return made;
  }();
  const auto& all = *rc::gen::inRange(0, 4) != 0 ? competing : shipped;
  return all[*rc::gen::inRange<std::size_t>(0, all.size())];
}

RC_GTEST_PROP(RequireProperty, IsAFloorOfTheWholeWish, ()) {
  const Contract& contract = competing_contract();
  QpRequest request;
  const std::array<std::uint32_t, 5> bits{17, 17, 6, 6, 11};
  const auto drawn = requests::wishes(request);
  for (std::size_t at = 0; at < drawn.size(); ++at) {
    drawn[at]->want = *rc::gen::inRange<std::uint32_t>(0, (1U << *rc::gen::inRange(bits[at] / 2, bits[at] + 1)) + 1);
    drawn[at]->at_least = drawn[at]->want / *rc::gen::elementOf(std::array<std::uint32_t, 4>{3, 8, 64, 100000});
  }
  std::sort(request.give_way.begin(), request.give_way.end());
  const auto turns = *rc::gen::inRange(0, 6);
  for (int turn = 0; turn < turns; ++turn) std::next_permutation(request.give_way.begin(), request.give_way.end());
  QpRequest floor = request;
  const auto which = *rc::gen::container<std::vector<bool>>(5, rc::gen::arbitrary<bool>());
  for (std::size_t at = 0; at < 5; ++at) {
    if (!which[at]) continue;
    requests::wishes(request)[at]->policy = Policy::require;
    requests::wishes(floor)[at]->at_least = requests::wishes(floor)[at]->want;
  }
  const auto required = fit(request, contract);
  const auto floored = fit(floor, contract);
  if (!required) RC_LOG() << to_string(required.error()) << '\n';
  if (!floored) RC_LOG() << to_string(floored.error()) << '\n';
  RC_ASSERT(required.has_value() == floored.has_value());
  if (!required) return;
  for (std::size_t at = 0; at < 5; ++at) {
    RC_ASSERT(required->grant.fields[at].granted == floored->grant.fields[at].granted);
    RC_ASSERT(!which[at] || required->grant.fields[at].granted >= requests::wishes(request)[at]->want);
  }
}

}  // namespace
}  // namespace verbena
