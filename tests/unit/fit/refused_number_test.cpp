// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a refusal says would have been allowed is granted when it is asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <infiniband/verbs.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <array>
#include <regex>
#include <string>
#include <vector>

#include "contracts.hpp"
#include "unit/requests.hpp"
#include "unit/shipped_nics.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

using requests::rc;
using ::testing::AllOf;
using ::testing::HasSubstr;

/// Every model under the shipped tables, and contracts in which everything competes.
const std::vector<Contract>& contracts_of_all() {
  static const std::vector<Contract> all = [] {
    std::vector<Contract> made{contracts::rounding(), contracts::cramped(), contracts::e810(false)};
    for (const std::string& nic : builtin_models()) made.push_back(shipped::contract(nic));
    return made;
  }();
  return all;
}

const Contract& any_contract() {
  const auto& all = contracts_of_all();
  return all[*rc::gen::inRange<std::size_t>(0, all.size())];
}

Wish& wish_of(QpRequest& request, std::string_view field) {
  const std::array<std::pair<Field, Wish*>, 5> wishes{{{Field::max_send_wr, &request.max_send_wr},
                                                       {Field::max_recv_wr, &request.max_recv_wr},
                                                       {Field::max_send_sge, &request.max_send_sge},
                                                       {Field::max_recv_sge, &request.max_recv_sge},
                                                       {Field::max_inline_data, &request.max_inline_data}}};
  for (const auto& [which, wish] : wishes)
    if (name(which) == field) return *wish;
  throw std::out_of_range(std::string(field));
}

Wish draw_wish(std::uint32_t bits) {
  Wish wish;
  const auto width = *rc::gen::inRange<std::uint32_t>(0, bits + 1);
  wish.want = static_cast<std::uint32_t>(*rc::gen::inRange<std::uint64_t>(0, (std::uint64_t{1} << width) + 1));
  const auto floor = *rc::gen::inRange(0, 5);
  if (floor < 4)
    wish.at_least = floor == 0 ? wish.want + 1
                               : wish.want - wish.want / (std::uint32_t{1} << (2U * static_cast<unsigned>(floor) - 2U));
  if (*rc::gen::inRange(0, 6) == 0) wish.policy = Policy::require;
  return wish;
}

QpRequest draw_request() {
  QpRequest request;
  request.max_send_wr = draw_wish(18);
  request.max_recv_wr = draw_wish(18);
  request.max_send_sge = draw_wish(6);
  request.max_recv_sge = draw_wish(6);
  request.max_inline_data = draw_wish(11);
  if (*rc::gen::arbitrary<bool>()) request.ops = SendOps{SendOps::kSend};
  if (*rc::gen::inRange(0, 8) == 0) request.policy = Policy::require;
  request.srq = *rc::gen::inRange(0, 8) == 0;
  std::sort(request.give_way.begin(), request.give_way.end());
  const auto turns = *rc::gen::inRange(0, 6);
  for (int turn = 0; turn < turns; ++turn) std::next_permutation(request.give_way.begin(), request.give_way.end());
  return request;
}

/// The request as it would be made again: with the number that the refusal allows, as the wish and as the floor.
QpRequest again(QpRequest request, const Error& refused) {
  Wish& wish = wish_of(request, refused.field);
  wish.want = static_cast<std::uint32_t>(*refused.allowed);
  if (wish.policy.value_or(request.policy) == Policy::require)
    wish.at_least = std::min(wish.at_least.value_or(0), wish.want);
  else
    wish.at_least = wish.want;
  return request;
}

/// What the text says that other fields must be.
std::vector<std::pair<std::string, std::uint64_t>> others_of(const Error& refused) {
  static const std::regex must(R"((\w+) must (?:shrink|rise) to (\d+))");
  std::vector<std::pair<std::string, std::uint64_t>> found;
  for (auto at = std::sregex_iterator(refused.text.begin(), refused.text.end(), must); at != std::sregex_iterator();
       ++at)
    found.emplace_back((*at)[1], std::stoull((*at)[2]));
  return found;
}

RC_GTEST_PROP(RefusedNumber, WhatIsAllowedIsGrantedWhenItIsAskedFor, ()) {
  const Contract& contract = any_contract();
  const QpRequest request = draw_request();
  const auto fitted = fit(request, contract);
  if (fitted || fitted.error().kind == ErrorKind::unsupported) return;
  const Error& refused = fitted.error();
  RC_ASSERT(!refused.field.empty());
  RC_ASSERT(refused.asked.has_value());
  RC_LOG() << to_string(refused) << '\n';
  if (!refused.allowed) {
    RC_ASSERT(!others_of(refused).empty());
    return;
  }
  const auto granted = fit(again(request, refused), contract);
  if (!granted) RC_LOG() << to_string(granted.error()) << '\n';
  RC_ASSERT(granted.has_value());
  for (const FieldGrant& field : granted->grant.fields) {
    if (name(field.field) == refused.field) RC_ASSERT(field.granted >= *refused.allowed);
  }
}

RC_GTEST_PROP(RefusedNumber, OneMoreThanWhatIsAllowedIsRefused, ()) {
  const Contract& contract = any_contract();
  const QpRequest request = draw_request();
  const auto fitted = fit(request, contract);
  if (fitted || fitted.error().kind != ErrorKind::limit || !fitted.error().allowed) return;
  Error more = fitted.error();
  ++*more.allowed;
  const auto granted = fit(again(request, more), contract);
  RC_ASSERT(!granted.has_value());
}

/// The same as it would be asked again.
Wish again(Wish wish, std::uint64_t number) {
  wish.want = static_cast<std::uint32_t>(number);
  wish.at_least = wish.want;
  return wish;
}

/// A refused request, its field set to what is allowed and nothing else changed, is granted; where no number does
/// alone, the others are named, and with all of them as the text says it is.
template <class Request, class Set>
void allowed_is_granted(Request request, const Contract& contract, Set set) {
  const auto fitted = fit(request, contract);
  if (fitted || fitted.error().kind == ErrorKind::unsupported) return;
  const Error& refused = fitted.error();
  RC_LOG() << to_string(refused) << '\n';
  const auto others = others_of(refused);
  RC_ASSERT(refused.allowed.has_value() == others.empty());
  if (refused.allowed) set(request, refused.field, *refused.allowed);
  for (const auto& [field, number] : others) {
    RC_ASSERT(field != refused.field);
    set(request, field, number);
  }
  const auto granted = fit(request, contract);
  if (!granted) RC_LOG() << to_string(granted.error()) << '\n';
  if (refused.allowed)
    RC_ASSERT(granted.has_value());
  else
    RC_ASSERT(granted.has_value() || (granted.error().field == refused.field && granted.error().allowed));
}

/// What the caller didn't ask for and can't lower is named with whose it is.
TEST(RefusedNumber, NamesTheRuleWhoseMinimumStandsInTheWay) {
  struct Case {
    Field field;
    std::uint64_t min;
    const char* short_of;
    std::array<Wish, 3> wish;  // depth, SGEs, inline bytes
    const char* says;
  };
  const std::array<Case, 3> cases{{
      {Field::max_inline_data,
       60,
       "max_send_wr",
       {Wish{16000, 16000}, Wish{1}, Wish{0}},
       "max_inline_data 60 (rule max_"},
      {Field::max_send_wr, 5000, "max_send_sge", {Wish{10}, Wish{13, 13}, Wish{0}}, "max_send_wr 5000 (rule max_"},
      {Field::max_send_sge, 13, "max_send_wr", {Wish{16000, 16000}, Wish{1}, Wish{0}}, "max_send_sge 13 (rule max_"},
  }};
  for (const Case& one : cases) {
    Caps caps;
    caps.set(Cap::max_qp_wr, 32768);
    caps.set(Cap::max_send_sge, 13);
    caps.set(Cap::max_inline_data, 101);
    const Contract contract = contracts::Made(caps).at_least(one.field, one.min).joint("irdma_quanta").build();
    QpRequest request = rc(1, 1, 1, 1, 0);
    request.max_send_wr = one.wish[0];
    request.max_send_sge = one.wish[1];
    request.max_inline_data = one.wish[2];
    const auto refused = fit(request, contract);
    ASSERT_FALSE(refused.has_value()) << one.says;
    EXPECT_EQ(refused.error().field, one.short_of);
    EXPECT_THAT(refused.error().text, AllOf(HasSubstr(one.says), HasSubstr("-min")));
  }
}

const Contract& any_contract_with_queues() {
  static const std::vector<Contract> all = [] {
    std::vector<Contract> made = contracts_of_all();
    Caps caps;
    caps.set(Cap::max_cqe, 3000);
    caps.set(Cap::max_srq_wr, 3000);
    caps.set(Cap::max_srq_sge, 20);
    caps.set(Cap::max_mr_size, 1U << 20U);
    caps.set(Cap::num_comp_vectors, 4);
    made.push_back(contracts::Made(caps)
                       .asks(Field::max_wr, AskKind::power_of_two, 0)
                       .reserves(Field::max_wr, 5)
                       .at_least(Field::max_wr, 8)
                       .at_least(Field::max_sge, 2)
                       .at_least(Field::srq_limit, 16)
                       .at_most(Field::srq_limit, 600)
                       .asks(Field::cqe, AskKind::plus, 3)
                       .at_least(Field::cqe, 4)
                       .at_least(Field::mr_length, 4096)
                       .build());
    return made;
  }();
  return all[*rc::gen::inRange<std::size_t>(0, all.size())];
}

Policy any_policy() {
  return *rc::gen::elementOf(std::array<Policy, 3>{Policy::require, Policy::prefer, Policy::allow});
}

RC_GTEST_PROP(RefusedNumber, TheSameHoldsForACompletionQueue, ()) {
  CqRequest request;
  request.cqe = draw_wish(24);
  request.comp_vector = *rc::gen::inRange(0U, 12U);
  request.policy = any_policy();
  allowed_is_granted(request, any_contract_with_queues(),
                     [](CqRequest& asked, std::string_view field, std::uint64_t number) {
                       if (field == "comp_vector")
                         asked.comp_vector = static_cast<std::uint32_t>(number);
                       else
                         asked.cqe = again(asked.cqe, number);
                     });
}

RC_GTEST_PROP(RefusedNumber, TheSameHoldsForASharedReceiveQueue, ()) {
  SrqRequest request;
  request.max_wr = draw_wish(*rc::gen::elementOf(std::array<std::uint32_t, 2>{12, 20}));
  request.max_sge = draw_wish(6);
  request.srq_limit = draw_wish(12).want;
  request.policy = any_policy();
  allowed_is_granted(request, any_contract_with_queues(),
                     [](SrqRequest& asked, std::string_view field, std::uint64_t number) {
                       if (field == "srq_limit")
                         asked.srq_limit = static_cast<std::uint32_t>(number);
                       else
                         (field == "max_wr" ? asked.max_wr : asked.max_sge) =
                             again(field == "max_wr" ? asked.max_wr : asked.max_sge, number);
                     });
}

RC_GTEST_PROP(RefusedNumber, TheSameHoldsForARegion, ()) {
  MrRequest request;
  request.length = *rc::gen::inRange<std::uint64_t>(1, std::uint64_t{1} << *rc::gen::inRange(1U, 63U));
  request.access = *rc::gen::inRange(0U, 1U << 10U) | IBV_ACCESS_LOCAL_WRITE;
  request.policy = any_policy();
  allowed_is_granted(request, any_contract_with_queues(),
                     [](MrRequest& asked, std::string_view field, std::uint64_t number) {
                       RC_ASSERT(field == "mr_length");
                       asked.length = number;
                     });
}

TEST(RefusedNumber, OfASharedReceiveQueueNamesTheLimitThatWouldBeRefusedNext) {
  SrqRequest request;
  request.max_wr.want = 16;
  request.max_sge = {.want = 64, .at_least = 40};
  request.srq_limit = 20;
  const auto refused = fit(request, shipped::contract("connectx5"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().field, "max_sge");
  EXPECT_EQ(refused.error().allowed, std::nullopt);
  EXPECT_THAT(refused.error().text,
              AllOf(HasSubstr("at most 31 can be granted"), HasSubstr("srq_limit must shrink to 16")));
  request.max_sge = {.want = 31, .at_least = 31};
  request.srq_limit = 16;
  EXPECT_TRUE(fit(request, shipped::contract("connectx5")).has_value());
}

TEST(RefusedNumber, ADepthAboveItsOwnDomainIsToldWhatTheRingLeavesOfIt) {
  // The device declares 32768, but a send with one SGE takes 256 of 2097152 bytes.
  QpRequest request = rc(40000, 64, 1, 1, 0);
  request.max_send_wr.at_least = 40000;
  const auto refused = fit(request, contracts::connectx5());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().field, "max_send_wr");
  EXPECT_EQ(refused.error().asked, 40000U);
  EXPECT_EQ(refused.error().allowed, 8192U);
  EXPECT_EQ(refused.error().by.set_by, SetBy::formula);
  EXPECT_THAT(to_string(refused.error()), AllOf(HasSubstr("2097152 / 256 = 8192"), HasSubstr("at least 40000")));
}

TEST(RefusedNumber, AShapeThatNoWorkRequestHoldsIsToldHowSmallItMustBe) {
  QpRequest request = rc(4, 1, 1, 1, 1000);
  request.max_inline_data.at_least = 900;
  const auto refused = fit(request, contracts::connectx5());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().field, "max_inline_data");
  EXPECT_EQ(refused.error().asked, 1000U);
  // 192 + align16(4 + 828) = 1024 bytes
  EXPECT_EQ(refused.error().allowed, 828U);
  EXPECT_THAT(refused.error().by.reason, HasSubstr("192 + align16(4 + 829)"));
}

TEST(RefusedNumber, TwoNumbersThatAreBothTooLargeAreBothTold) {
  QpRequest request = rc(1000000, 1000000, 1, 1, 0);
  const auto refused = fit(request, contracts::e810());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().field, "max_send_wr");
  EXPECT_EQ(refused.error().allowed, std::nullopt);
  EXPECT_THAT(refused.error().text, AllOf(HasSubstr("16255"), HasSubstr("max_recv_wr must shrink to 32767")));
  request.max_send_wr.want = 16255;
  request.max_recv_wr.want = 32767;
  EXPECT_TRUE(fit(request, contracts::e810()).has_value());
}

TEST(RefusedNumber, AFloorAboveTheWishIsToldTheWishThatWouldDo) {
  QpRequest request = rc(16, 16, 1, 1, 0);
  request.max_recv_wr.at_least = 17;
  EXPECT_EQ(fit(request, contracts::e810()).error().allowed, 17U);
  request.max_recv_wr.at_least = 40000;
  EXPECT_EQ(fit(request, contracts::e810()).error().allowed, 32767U);
  CqRequest cq = requests::cq(5);
  cq.cqe.at_least = 40000;
  EXPECT_EQ(fit(cq, contracts::rxe()).error().allowed, 32767U);
}

}  // namespace
}  // namespace verbena
