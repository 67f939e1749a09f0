// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "verbena/contract.hpp"

namespace verbena {
namespace {

Domain with(std::uint64_t max, std::initializer_list<Ask> asks, std::uint64_t reserve = 0) {
  Domain domain;
  domain.max = max;
  domain.known = true;
  domain.reserve = reserve;
  for (const Ask& ask : asks) domain.asks[domain.ask_count++] = ask;
  return domain;
}

TEST(Domain, PassesOneMoreWhereThatIsAsked) {
  // hns reports one less than the ring, so 64 are there only when 65 were asked for (kernel hns_roce_cq.c
  // set_cq_param).
  const Domain cqe = with(4194304, {Ask{AskKind::plus, 1, 0}});
  EXPECT_EQ(cqe.passed_for(64), 65U);
  EXPECT_EQ(cqe.largest_grant(), 4194303U);
}

TEST(Domain, RoundsUpToAPowerOfTwo) {
  const Domain cqe = with(65535, {Ask{AskKind::power_of_two, 0, 0}});
  EXPECT_EQ(cqe.passed_for(1000), 1024U);
  EXPECT_EQ(cqe.passed_for(1024), 1024U);
  // F13: rounding up must not cross max_cqe.
  EXPECT_EQ(cqe.largest_grant(), 32768U);
}

TEST(Domain, AppliesAsksInOrderAfterTheReserve) {
  const Domain domain = with(1024, {Ask{AskKind::plus, 1, 0}, Ask{AskKind::multiple_of, 16, 0}}, 3);
  EXPECT_EQ(domain.passed_for(12), 16U);
  EXPECT_EQ(domain.passed_for(13), 32U);
  EXPECT_EQ(domain.largest_grant(), 1020U);
}

TEST(Domain, AvoidsMultiplesWhereAsked) {
  const Domain domain = with(128, {Ask{AskKind::not_multiple_of, 64, 0}});
  EXPECT_EQ(domain.passed_for(64), 65U);
  EXPECT_EQ(domain.passed_for(63), 63U);
  EXPECT_EQ(domain.largest_grant(), 127U);
}

TEST(Domain, NothingWantedPassesNothing) {
  EXPECT_EQ(with(100, {Ask{AskKind::plus, 1, 0}}, 5).passed_for(0), 0U);
}

TEST(Domain, SaturatesInsteadOfWrapping) {
  const Domain domain = with(Domain::kUnbounded, {Ask{AskKind::power_of_two, 0, 0}, Ask{AskKind::plus, 9, 0}});
  EXPECT_EQ(domain.passed_for(Domain::kUnbounded - 1), Domain::kUnbounded);
}

RC_GTEST_PROP(DomainProperty, TheLargestGrantFitsAndOneMoreDoesNot, ()) {
  Domain domain;
  domain.max = *rc::gen::inRange<std::uint64_t>(2, 1U << 20U);
  domain.reserve = *rc::gen::inRange<std::uint64_t>(0, 4);
  const auto count = *rc::gen::inRange<int>(0, 4);
  for (int at = 0; at < count; ++at) {
    const auto kind = static_cast<AskKind>(*rc::gen::inRange<int>(0, 5));
    domain.asks[domain.ask_count++] = Ask{kind, *rc::gen::inRange<std::uint64_t>(0, 70), 0};
  }
  const std::uint64_t largest = domain.largest_grant();
  RC_ASSERT(largest == 0 || domain.passed_for(largest) <= domain.max);
  RC_ASSERT(domain.passed_for(largest + 1) > domain.max);
  const auto granted = *rc::gen::inRange<std::uint64_t>(1, 1U << 21U);
  RC_ASSERT(domain.passed_for(granted) >= granted + domain.reserve);
  RC_ASSERT(domain.passed_for(granted) <= domain.passed_for(granted + 1));
}

}  // namespace
}  // namespace verbena
