// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <string>

#include "contract_with.hpp"
#include "verbena/transition.hpp"

namespace verbena {
namespace {

using testing::HasSubstr;

constexpr std::array kTypes{QpType::rc, QpType::uc, QpType::ud};
constexpr std::array kStates{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                             IBV_QPS_SQD,   IBV_QPS_SQE,  IBV_QPS_ERR};

/// A request that gives what its row requires, with values that any device takes.
TransitionRequest complete(QpType type, ibv_qp_state from, ibv_qp_state to) {
  TransitionRequest request{.type = type, .from = from, .to = to};
  if (const auto row = find_transition(type, from, to)) request.given = row->required;
  request.attr.ah_attr.port_num = 1;
  request.attr.ah_attr.is_global = 1;
  request.attr.path_mtu = IBV_MTU_256;
  request.attr.max_rd_atomic = 1;
  request.attr.max_dest_rd_atomic = 1;
  return request;
}

TEST(TransitionPlan, SendsExactlyWhatIsGivenAndTheState) {
  const auto plan = plan_transition(complete(QpType::rc, IBV_QPS_INIT, IBV_QPS_RTR), contract_with({}));
  ASSERT_TRUE(plan) << to_string(plan.error());
  EXPECT_TRUE(plan->issue);
  EXPECT_EQ(attribute_names(plan->mask),
            attribute_names(IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER));
  EXPECT_EQ(plan->attr.qp_state, IBV_QPS_RTR);
  EXPECT_TRUE(plan->adjustments.empty());
}

// Any attributes, any edge, any device: what is sent lies within required + optional + state, or there is an error that
// names what was wrong.
TEST(TransitionPlan, NeverSendsABitOutsideItsRow) {
  const std::array contracts{
      contract_with({}), contract_with({{Behaviour::rtr_to_rts_also_needs, Choice::min_rnr_timer}}),
      contract_with({{Behaviour::rts_driven_by, Choice::rdma_cm}, {Behaviour::recycle_through_reset, Choice::no}})};
  EXPECT_TRUE(rc::check([&] {
    const QpType type = *rc::gen::elementOf(kTypes);
    const ibv_qp_state from = *rc::gen::elementOf(kStates);
    const ibv_qp_state to = *rc::gen::elementOf(kStates);
    TransitionRequest request = complete(type, from, to);
    const bool whole = *rc::gen::arbitrary<bool>();
    if (!whole) request.given = *rc::gen::inRange<QpAttributes>(0, QpAttributes{1} << 21);
    const Contract& contract = contracts[*rc::gen::inRange<std::size_t>(0, contracts.size())];
    const auto row = find_transition(type, from, to);
    const auto plan = plan_transition(request, contract);
    if (!row) {
      RC_ASSERT(!plan);
      return;
    }
    if (!plan) {
      RC_ASSERT(!plan.error().text.empty() && !plan.error().field.empty());
      return;
    }
    RC_ASSERT((plan->mask & ~(row->required | row->optional | IBV_QP_STATE)) == 0U);
    if (plan->issue) RC_ASSERT((row->required & ~plan->mask) == 0U);
  }));
}

TEST(TransitionPlan, EveryCompleteEdgeIsTakenByADeviceWithoutRules) {
  for (const QpType type : kTypes) {
    for (const ibv_qp_state from : kStates) {
      for (const ibv_qp_state to : kStates) {
        if (!find_transition(type, from, to)) continue;
        const auto plan = plan_transition(complete(type, from, to), contract_with({}));
        ASSERT_TRUE(plan) << to_string(plan.error());
        EXPECT_EQ(plan->issue, from != IBV_QPS_RESET || to != IBV_QPS_RESET);
      }
    }
  }
}

TEST(TransitionPlan, RefusalSaysStateTargetWhatIsMissingAndWhatIsTooMuch) {
  TransitionRequest request = complete(QpType::rc, IBV_QPS_INIT, IBV_QPS_RTR);
  request.given &= ~static_cast<QpAttributes>(IBV_QP_DEST_QPN | IBV_QP_RQ_PSN);
  request.given |= IBV_QP_QKEY;
  const auto plan = plan_transition(request, contract_with({}));
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::invalid_request);
  EXPECT_THAT(plan.error().text, HasSubstr("rc QP from INIT to RTR"));
  EXPECT_THAT(plan.error().text, HasSubstr("missing IBV_QP_RQ_PSN, IBV_QP_DEST_QPN"));
  EXPECT_THAT(plan.error().text, HasSubstr("too much IBV_QP_QKEY"));
}

TEST(TransitionPlan, AnEdgeThatIsNoneNamesTheOnesThereAre) {
  const auto plan = plan_transition(complete(QpType::rc, IBV_QPS_RESET, IBV_QPS_RTR), contract_with({}));
  ASSERT_FALSE(plan);
  EXPECT_THAT(plan.error().text, HasSubstr("from RESET it can go to RESET, INIT"));
}

// F83 (kvcache-ai/Mooncake #721): RESET of a fresh QP makes an E810 refuse INIT.
TEST(TransitionPlan, F83ResetOfAQpInResetIsNeverSent) {
  const auto plan = plan_transition(complete(QpType::rc, IBV_QPS_RESET, IBV_QPS_RESET), contract_with({}));
  ASSERT_TRUE(plan);
  EXPECT_FALSE(plan->issue);
  EXPECT_EQ(plan->mask, 0U);
}

// F89 (ofiwg/libfabric #8858): not every device comes back from ERR through RESET.
TEST(TransitionPlan, F89RecyclingIsRefusedWhereItSpoilsTheQp) {
  const Contract contract = contract_with({{Behaviour::recycle_through_reset, Choice::no}});
  const auto plan = plan_transition(complete(QpType::rc, IBV_QPS_ERR, IBV_QPS_RESET), contract);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(plan.error().by.rule, "test-rule");
  EXPECT_THAT(plan.error().text, HasSubstr("destroy it and create a new one"));
  EXPECT_TRUE(plan_transition(complete(QpType::rc, IBV_QPS_RESET, IBV_QPS_RESET), contract));
}

// F91 (linux-rdma f311c8725): bnxt_re wants min_rnr_timer again on the way to RTS.
TEST(TransitionPlan, F91MinRnrTimerIsSentAgainWhereTheDeviceWantsItTwice) {
  TransitionRequest request = complete(QpType::rc, IBV_QPS_RTR, IBV_QPS_RTS);
  request.min_rnr_timer = 13;
  const Contract wants = contract_with({{Behaviour::rtr_to_rts_also_needs, Choice::min_rnr_timer}});
  const auto plan = plan_transition(request, wants);
  ASSERT_TRUE(plan);
  EXPECT_NE(plan->mask & IBV_QP_MIN_RNR_TIMER, 0U);
  EXPECT_EQ(plan->attr.min_rnr_timer, 13);
  EXPECT_EQ(plan_transition(request, contract_with({}))->mask & IBV_QP_MIN_RNR_TIMER, 0U);
  const auto uc = plan_transition(complete(QpType::uc, IBV_QPS_RTR, IBV_QPS_RTS), wants);
  ASSERT_TRUE(uc);
  EXPECT_EQ(uc->mask & IBV_QP_MIN_RNR_TIMER, 0U);
}

TEST(TransitionPlan, SqdIsRefusedWhereItIsAbsent) {
  const Contract contract = contract_with({}, {}, {{Feature::sqd, Support::absent}});
  const auto plan = plan_transition(complete(QpType::rc, IBV_QPS_RTS, IBV_QPS_SQD), contract);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error().kind, ErrorKind::unsupported);
}

TEST(TransitionPlan, RtrAndRtsAreRefusedWhereRdmaCmDrivesAndConnectIsNamed) {
  const Contract contract = contract_with({{Behaviour::rts_driven_by, Choice::rdma_cm}}, {}, {}, Transport::iwarp);
  for (const auto& [from, to] : {std::pair{IBV_QPS_INIT, IBV_QPS_RTR}, std::pair{IBV_QPS_RTR, IBV_QPS_RTS}}) {
    const auto plan = plan_transition(complete(QpType::rc, from, to), contract);
    ASSERT_FALSE(plan);
    EXPECT_THAT(plan.error().text, HasSubstr("connect()"));
  }
  EXPECT_TRUE(plan_transition(complete(QpType::rc, IBV_QPS_RESET, IBV_QPS_INIT), contract));
  EXPECT_TRUE(plan_transition(complete(QpType::rc, IBV_QPS_RTS, IBV_QPS_ERR), contract));
}

struct Limit {
  Field field;
  QpAttributes bit;
  ibv_qp_state from, to;
};

TEST(TransitionPlan, NumbersOverTheContractAreLoweredAndReportedOrRefused) {
  for (const Limit& limit : {Limit{Field::timeout, IBV_QP_TIMEOUT, IBV_QPS_RTR, IBV_QPS_RTS},
                             Limit{Field::max_rd_atomic, IBV_QP_MAX_QP_RD_ATOMIC, IBV_QPS_RTR, IBV_QPS_RTS},
                             Limit{Field::max_dest_rd_atomic, IBV_QP_MAX_DEST_RD_ATOMIC, IBV_QPS_INIT, IBV_QPS_RTR}}) {
    SCOPED_TRACE(name(limit.field));
    const Contract contract = contract_with({}, {{limit.field, 20}});
    TransitionRequest request = complete(QpType::rc, limit.from, limit.to);
    request.attr.timeout = request.attr.max_rd_atomic = request.attr.max_dest_rd_atomic = 21;
    const auto plan = plan_transition(request, contract);
    ASSERT_TRUE(plan);
    ASSERT_EQ(plan->adjustments.size(), 1U);
    EXPECT_EQ(plan->adjustments[0].field, name(limit.field));
    EXPECT_EQ(plan->adjustments[0].asked, 21U);
    EXPECT_EQ(plan->adjustments[0].granted, 20U);
    EXPECT_EQ(plan->adjustments[0].by.rule, "test-rule");

    request.policy = Policy::require;
    const auto refused = plan_transition(request, contract);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::limit);
    EXPECT_EQ(refused.error().allowed, 20U);

    request.attr.timeout = request.attr.max_rd_atomic = request.attr.max_dest_rd_atomic = 20;
    EXPECT_TRUE(plan_transition(request, contract)) << "the limit itself is fine";
  }
}

std::uint8_t& value_of(ibv_qp_attr& attr, Field field) {
  switch (field) {
    case Field::timeout:
      return attr.timeout;
    case Field::retry_cnt:
      return attr.retry_cnt;
    case Field::rnr_retry:
      return attr.rnr_retry;
    case Field::min_rnr_timer:
      return attr.min_rnr_timer;
    case Field::max_rd_atomic:
      return attr.max_rd_atomic;
    default:
      return attr.max_dest_rd_atomic;
  }
}

TEST(TransitionPlan, NumbersBelowTheContractAreRaisedAndReportedOrRefused) {
  for (const Limit& limit : {Limit{Field::timeout, IBV_QP_TIMEOUT, IBV_QPS_RTR, IBV_QPS_RTS},
                             Limit{Field::retry_cnt, IBV_QP_RETRY_CNT, IBV_QPS_RTR, IBV_QPS_RTS},
                             Limit{Field::rnr_retry, IBV_QP_RNR_RETRY, IBV_QPS_RTR, IBV_QPS_RTS},
                             Limit{Field::max_rd_atomic, IBV_QP_MAX_QP_RD_ATOMIC, IBV_QPS_RTR, IBV_QPS_RTS},
                             Limit{Field::min_rnr_timer, IBV_QP_MIN_RNR_TIMER, IBV_QPS_INIT, IBV_QPS_RTR},
                             Limit{Field::max_dest_rd_atomic, IBV_QP_MAX_DEST_RD_ATOMIC, IBV_QPS_INIT, IBV_QPS_RTR}}) {
    SCOPED_TRACE(name(limit.field));
    const Contract contract = contract_with({}, {}, {}, Transport::roce_v2, {{limit.field, 5}});
    TransitionRequest request = complete(QpType::rc, limit.from, limit.to);
    value_of(request.attr, limit.field) = 4;
    auto plan = plan_transition(request, contract);
    ASSERT_TRUE(plan) << to_string(plan.error());
    ASSERT_EQ(plan->adjustments.size(), 1U);
    EXPECT_EQ(plan->adjustments[0].field, name(limit.field));
    EXPECT_EQ(plan->adjustments[0].asked, 4U);
    EXPECT_EQ(plan->adjustments[0].granted, 5U);
    EXPECT_EQ(plan->adjustments[0].kind, AdjustmentKind::raised);
    EXPECT_EQ(plan->adjustments[0].by.rule, "test-rule");
    EXPECT_EQ(value_of(plan->attr, limit.field), 5);

    request.policy = Policy::require;
    const auto refused = plan_transition(request, contract);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::limit);
    EXPECT_EQ(refused.error().allowed, 5U);
    EXPECT_EQ(refused.error().by.rule, "test-rule");

    value_of(request.attr, limit.field) = 5;
    EXPECT_TRUE(plan_transition(request, contract)) << "the limit itself is fine";
  }
}

// Code 0 is no time at all on a timer's scale: no timer, and 655 ms for a receiver that isn't ready.
TEST(TransitionPlan, TheLongestTimeIsNotRaised) {
  for (const Limit& limit : {Limit{Field::timeout, IBV_QP_TIMEOUT, IBV_QPS_RTR, IBV_QPS_RTS},
                             Limit{Field::min_rnr_timer, IBV_QP_MIN_RNR_TIMER, IBV_QPS_INIT, IBV_QPS_RTR}}) {
    TransitionRequest request = complete(QpType::rc, limit.from, limit.to);
    request.policy = Policy::require;
    value_of(request.attr, limit.field) = 0;
    EXPECT_TRUE(plan_transition(request, contract_with({}, {}, {}, Transport::roce_v2, {{limit.field, 5}})));
  }
}

TEST(TransitionPlan, PathMtuBelowTheLeastIsRaisedToOneThatFits) {
  const Contract contract =
      contract_with({}, {{Field::path_mtu_bytes, 4096}}, {}, Transport::roce_v2, {{Field::path_mtu_bytes, 600}});
  TransitionRequest request = complete(QpType::rc, IBV_QPS_INIT, IBV_QPS_RTR);
  request.attr.path_mtu = IBV_MTU_256;
  const auto plan = plan_transition(request, contract);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->attr.path_mtu, IBV_MTU_1024);
  ASSERT_EQ(plan->adjustments.size(), 1U);
  EXPECT_EQ(plan->adjustments[0].kind, AdjustmentKind::raised);
  request.policy = Policy::require;
  EXPECT_FALSE(plan_transition(request, contract));
}

TEST(TransitionPlan, PathMtuOverThePortIsLoweredToOneThatFits) {
  const Contract contract = contract_with({}, {{Field::path_mtu_bytes, 1024}});
  TransitionRequest request = complete(QpType::rc, IBV_QPS_INIT, IBV_QPS_RTR);
  request.attr.path_mtu = IBV_MTU_4096;
  const auto plan = plan_transition(request, contract);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->attr.path_mtu, IBV_MTU_1024);
  ASSERT_EQ(plan->adjustments.size(), 1U);
  EXPECT_EQ(plan->adjustments[0].asked, 4096U);
  request.policy = Policy::require;
  EXPECT_FALSE(plan_transition(request, contract));
}

TEST(TransitionPlan, ValuesThatNoPacketHoldsAreRefusedByName) {
  TransitionRequest request = complete(QpType::rc, IBV_QPS_RTR, IBV_QPS_RTS);
  request.attr.sq_psn = 0x1000000;
  EXPECT_EQ(plan_transition(request, contract_with({})).error().field, "sq_psn");
  request.attr.sq_psn = 0xffffff;
  EXPECT_TRUE(plan_transition(request, contract_with({})));
  request.attr.retry_cnt = 8;
  EXPECT_EQ(plan_transition(request, contract_with({})).error().field, "retry_cnt");
  request.attr.retry_cnt = 7;
  request.attr.timeout = 32;
  EXPECT_EQ(plan_transition(request, contract_with({})).error().field, "timeout");
}

TEST(TransitionPlan, AddressMustFitThePortAndTheTransport) {
  TransitionRequest request = complete(QpType::rc, IBV_QPS_INIT, IBV_QPS_RTR);
  request.attr.ah_attr.port_num = 2;
  EXPECT_EQ(plan_transition(request, contract_with({})).error().field, "ah_attr.port_num");
  request.attr.ah_attr.port_num = 1;
  request.attr.ah_attr.is_global = 0;
  EXPECT_EQ(plan_transition(request, contract_with({})).error().field, "ah_attr.is_global");
  EXPECT_TRUE(plan_transition(request, contract_with({}, {}, {}, Transport::infiniband)));
  request.attr.ah_attr.is_global = 1;
  request.given |= IBV_QP_ALT_PATH;
  EXPECT_EQ(plan_transition(request, contract_with({})).error().field, "alt_ah_attr");
}

}  // namespace
}  // namespace verbena
