// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "contracts.hpp"
#include "unit/requests.hpp"
#include "verbena/fit.hpp"

namespace verbena {
namespace {

using requests::rc;
using ::testing::AllOf;
using ::testing::HasSubstr;

const Adjustment* adjustment(const GrantNotes& notes, std::string_view field, AdjustmentKind kind) {
  for (const Adjustment& entry : notes.adjustments) {
    if (entry.field == field && entry.kind == kind) return &entry;
  }
  return nullptr;
}

TEST(Fit, ADemandingTupleOnE810GetsWhatTheCardReallyHas) {
  const auto fitted = fit(rc(4096, 4096, 16, 16, 256), contracts::e810());
  ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
  const QpGrant& grant = fitted->grant;
  EXPECT_EQ(grant.max_send_wr().granted, 4063U);
  EXPECT_EQ(grant.max_recv_wr().granted, 4095U);
  EXPECT_EQ(grant.max_send_sge().granted, 13U);
  EXPECT_EQ(grant.max_recv_sge().granted, 13U);
  EXPECT_EQ(grant.max_inline_data().granted, 101U);  // F25: 101, not 0
  const Adjustment* depth = adjustment(grant, "max_send_wr", AdjustmentKind::reduced);
  ASSERT_NE(depth, nullptr);
  EXPECT_EQ(depth->by.set_by, SetBy::formula);
  EXPECT_EQ(depth->by.rule, "irdma_quanta-rule");
  EXPECT_EQ(depth->by.line, 7);
  EXPECT_THAT(depth->by.reason, AllOf(HasSubstr("258"), HasSubstr("4063")));
  const Adjustment* inlined = adjustment(grant, "max_inline_data", AdjustmentKind::reduced);
  ASSERT_NE(inlined, nullptr);
  EXPECT_EQ(inlined->by.rule, "max_inline_data-max");
  EXPECT_EQ(inlined->by.source, "a test");
  for (const FieldGrant& field : grant.fields) {
    EXPECT_TRUE(field.asked == field.granted ||
                adjustment(grant, name(field.field), AdjustmentKind::reduced) != nullptr)
        << name(field.field);
  }
}

TEST(Fit, MoreThanIsDeclaredIsGrantedWhereARuleProvesItAndSaysSo) {
  const auto fitted = fit(rc(16000, 64, 2, 1, 0), contracts::e810());
  ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
  EXPECT_EQ(fitted->grant.max_send_wr().granted, 16000U);
  const Adjustment* beyond = adjustment(fitted->grant, "max_send_wr", AdjustmentKind::beyond_declared);
  ASSERT_NE(beyond, nullptr);
  EXPECT_EQ(beyond->asked, beyond->granted);
  EXPECT_THAT(beyond->by.reason, HasSubstr("4063"));
}

TEST(Fit, ASiteCanForbidMoreThanIsDeclared) {
  const auto fitted = fit(rc(16000, 64, 2, 1, 0), contracts::e810(false));
  ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
  EXPECT_EQ(fitted->grant.max_send_wr().granted, 4063U);
  EXPECT_EQ(adjustment(fitted->grant, "max_send_wr", AdjustmentKind::beyond_declared), nullptr);
  const Adjustment* reduced = adjustment(fitted->grant, "max_send_wr", AdjustmentKind::reduced);
  ASSERT_NE(reduced, nullptr);
  EXPECT_EQ(reduced->by.set_by, SetBy::site);
}

TEST(Fit, DepthOfMlx5IsCountedInBytes) {
  // F03: the declared 32768 counts blocks of 64 bytes.
  const auto fitted = fit(rc(32768, 64, 4, 1, 60), contracts::connectx5());
  ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
  EXPECT_EQ(fitted->grant.max_send_wr().granted, 8192U);
  EXPECT_EQ(fitted->grant.max_inline_data().granted, 60U);
  EXPECT_FALSE(fitted->declare_ops);
  const Adjustment* depth = adjustment(fitted->grant, "max_send_wr", AdjustmentKind::reduced);
  ASSERT_NE(depth, nullptr);
  EXPECT_THAT(depth->by.reason, HasSubstr("2097152 / 256 = 8192"));
}

TEST(Fit, FewerOpcodesMakeADeeperQueueOfMlx5) {
  QpRequest request = rc(32768, 64, 4, 1, 60);
  request.ops = *parse_send_ops("send+write+read");
  const auto fitted = fit(request, contracts::connectx5());
  ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
  EXPECT_EQ(fitted->grant.max_send_wr().granted, 16384U);
  EXPECT_TRUE(fitted->declare_ops);
  EXPECT_EQ(fitted->grant.ops, request.ops);
}

TEST(Fit, OpcodesThatTheDriverIsNotToldMakeNoQueueDeeper) {
  QpRequest request = rc(32768, 64, 4, 1, 60);
  request.ops = *parse_send_ops("send+write+read");
  request.declare_ops = false;
  const auto fitted = fit(request, contracts::connectx5());
  ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
  EXPECT_EQ(fitted->grant.max_send_wr().granted, 8192U);
  EXPECT_FALSE(fitted->declare_ops);
}

TEST(Fit, DataInPlaceIsAskedForOnlyWhereItIsWantedAndRefusedOnlyWhereItIsAbsent) {
  QpRequest request = rc(64, 64, 1, 1, 0);
  const Contract unknown = contracts::connectx5();
  EXPECT_FALSE(fit(request, unknown)->in_place);
  request.in_place = true;
  ASSERT_TRUE(fit(request, unknown)) << "nothing denies it";
  EXPECT_TRUE(fit(request, unknown)->in_place);

  const Contract absent = contracts::lacking(Feature::in_place_data);
  const auto refused = fit(request, absent);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(refused.error().field, "in_place_data");
  request.in_place = false;
  EXPECT_TRUE(fit(request, absent)) << "nobody asked";
}

TEST(Fit, DepthGivesWayBeforeSges) {
  const auto fitted = fit(rc(8192, 1, 30, 1, 0), contracts::connectx5());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(fitted->grant.max_send_sge().granted, 30U);
  EXPECT_EQ(fitted->grant.max_send_wr().granted, 2978U);
}

TEST(Fit, InlineGivesWayBeforeDepthIfThatBuysAnything) {
  const auto fitted = fit(rc(8192, 1, 1, 1, 256), contracts::connectx5());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(fitted->grant.max_send_wr().granted, 8192U);
  EXPECT_EQ(fitted->grant.max_inline_data().granted, 60U);
  // What one more byte would cost, whatever was asked: 192 + align16(4 + 61) = 272, in blocks 320.
  const Adjustment* inlined = adjustment(fitted->grant, "max_inline_data", AdjustmentKind::reduced);
  ASSERT_NE(inlined, nullptr);
  EXPECT_THAT(inlined->by.reason, AllOf(HasSubstr("align16(4 + 61)"), HasSubstr("2097152 / 320 = 6553"),
                                        HasSubstr("the price of keeping depth and SGEs")));
  const auto more = fit(rc(8192, 1, 1, 1, 5000), contracts::connectx5());
  ASSERT_TRUE(more.has_value());
  EXPECT_EQ(adjustment(more->grant, "max_inline_data", AdjustmentKind::reduced)->by.reason, inlined->by.reason);
}

/// Four SGEs make the WQE 128 bytes, and 60 inline bytes have room in that.
TEST(Fit, InlineHasWhatTheOthersLeave) {
  QpRequest request = rc(32768, 64, 4, 1, 60);
  request.ops = *parse_send_ops("send+write+read");
  const auto fitted = fit(request, contracts::connectx5());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(fitted->grant.max_send_wr().granted, 16384U);
  EXPECT_EQ(fitted->grant.max_inline_data().granted, 60U);
  EXPECT_EQ(adjustment(fitted->grant, "max_inline_data", AdjustmentKind::reduced), nullptr);
  request.max_inline_data.want = 200;
  const auto more = fit(request, contracts::connectx5());
  ASSERT_TRUE(more.has_value());
  EXPECT_EQ(more->grant.max_send_wr().granted, 16384U);
  EXPECT_EQ(more->grant.max_inline_data().granted, 92U);
  EXPECT_THAT(adjustment(more->grant, "max_inline_data", AdjustmentKind::reduced)->by.reason,
              HasSubstr("the price of keeping depth and SGEs"));
}

TEST(Fit, InlineThatNoWorkRequestHoldsIsNotSaidToGiveWay) {
  const auto fitted = fit(rc(1, 1, 1, 1, 2000), contracts::connectx5());
  ASSERT_TRUE(fitted.has_value());
  const Adjustment* inlined = adjustment(fitted->grant, "max_inline_data", AdjustmentKind::reduced);
  ASSERT_NE(inlined, nullptr);
  EXPECT_EQ(inlined->granted, 828U);
  EXPECT_THAT(inlined->by.reason, AllOf(HasSubstr("the largest has 1024"), ::testing::Not(HasSubstr("price"))));
}

TEST(Fit, InlineStaysWhereGivingWayBuysNothing) {
  const auto fitted = fit(rc(4000, 1, 16, 1, 252), contracts::connectx5());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(fitted->grant.max_inline_data().granted, 252U);
  EXPECT_TRUE(fitted->grant.adjustments.empty());
}

TEST(Fit, TheCallerChoosesWhatGivesWay) {
  QpRequest request = rc(8192, 1, 30, 1, 0);
  request.give_way = {Competitor::sges, Competitor::inline_data, Competitor::depth};
  const auto fitted = fit(request, contracts::connectx5());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(fitted->grant.max_send_wr().granted, 8192U);
  EXPECT_EQ(fitted->grant.max_send_sge().granted, 4U);
}

TEST(Fit, NothingGoesBelowItsFloor) {
  QpRequest request = rc(32768, 64, 4, 1, 60);
  request.max_send_wr.at_least = 8193;
  const auto refused = fit(request, contracts::connectx5());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::limit);
  EXPECT_EQ(refused.error().field, "max_send_wr");
  EXPECT_EQ(refused.error().asked, 32768U);
  EXPECT_EQ(refused.error().allowed, 8192U);
  EXPECT_THAT(to_string(refused.error()), AllOf(HasSubstr("8193"), HasSubstr("mlx5_wqe_blocks-rule [test.yaml:7]")));
}

TEST(Fit, ARequiredNumberIsNotReduced) {
  QpRequest request = rc(16, 16, 1, 1, 220);
  request.max_inline_data.policy = Policy::require;
  const auto refused = fit(request, contracts::e810());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::limit);
  EXPECT_EQ(refused.error().field, "max_inline_data");
  EXPECT_EQ(refused.error().asked, 220U);
  EXPECT_EQ(refused.error().allowed, 101U);
  EXPECT_EQ(refused.error().by.rule, "max_inline_data-max");
}

TEST(Fit, ARequiredNumberDoesNotGiveWayInTheRing) {
  QpRequest request = rc(8192, 1, 1, 1, 256);
  request.max_inline_data.policy = Policy::require;
  const auto fitted = fit(request, contracts::connectx5());
  if (fitted) {
    EXPECT_EQ(fitted->grant.max_inline_data().granted, 256U);
    EXPECT_EQ(fitted->grant.max_send_wr().granted, 4096U);
  } else {
    EXPECT_EQ(fitted.error().field, "max_inline_data");
  }
}

TEST(Fit, TooLittleIsRaised) {
  // hns refuses a send queue of no entries (hns_roce_u_verbs.c verify_qp_create_cap).
  const auto fitted = fit(rc(0, 64, 1, 1, 0), contracts::hip09());
  ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
  EXPECT_EQ(fitted->grant.max_send_wr().granted, 1U);
  ASSERT_NE(adjustment(fitted->grant, "max_send_wr", AdjustmentKind::raised), nullptr);
}

TEST(Fit, AFloorAboveTheWishContradictsItself) {
  QpRequest request = rc(16, 16, 1, 1, 0);
  request.max_recv_wr.at_least = 17;
  const auto refused = fit(request, contracts::e810());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::invalid_request);
  EXPECT_EQ(refused.error().field, "max_recv_wr");
}

TEST(Fit, ATypeThatTheDeviceLacksIsRefusedByName) {
  QpRequest request = rc(16, 16, 1, 1, 0);
  request.type = QpType::uc;
  const auto refused = fit(request, contracts::e810());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(refused.error().field, "uc");
  EXPECT_EQ(refused.error().by.rule, "uc-feature");
  EXPECT_TRUE(fit(request, contracts::rxe()).has_value());
}

TEST(Fit, ATypeThatNothingDeniesIsLetThrough) {
  QpRequest request = rc(16, 16, 1, 1, 0);
  request.type = QpType::ud;
  EXPECT_TRUE(fit(request, contracts::Made(Caps{}).build()).has_value());
}

TEST(Fit, ASubstituteForUcIsNeverGivenUnasked) {
  Caps caps;
  caps.set(Cap::max_qp_wr, 1000);
  const Contract contract = contracts::Made(caps).feature(Feature::uc, Support::substituted).build();
  QpRequest request = rc(16, 16, 1, 1, 0);
  request.type = QpType::uc;
  const auto refused = fit(request, contract);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(refused.error().field, "uc");

  request.substitutes = Policy::prefer;
  const auto fitted = fit(request, contract);
  ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
  EXPECT_EQ(fitted->grant.type, QpType::rc);
  const Adjustment* substituted = adjustment(fitted->grant, "uc", AdjustmentKind::substituted);
  ASSERT_NE(substituted, nullptr);
  EXPECT_EQ(substituted->by.rule, "uc-feature");
}

TEST(Fit, AnOpcodeThatTheDeviceLacksIsRefusedOnlyWhenNamed) {
  QpRequest request = rc(16, 16, 1, 1, 0);
  EXPECT_TRUE(fit(request, contracts::e810()).has_value());
  request.ops = *parse_send_ops("send+fetch_add");
  const auto refused = fit(request, contracts::e810());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_EQ(refused.error().field, "fetch_add");
}

// rxe refuses LOCAL_INV on UC and TSO on every type, mlx5 and hns TSO.
TEST(Fit, AnOpcodeThatTheTypeMayLackIsRefusedByName) {
  struct Refusal {
    QpType type;
    const char* ops;
    const char* field;  // null: granted
    ErrorKind kind;
  };
  for (const Refusal& each : {
           Refusal{QpType::uc, "send+local_inv", "local_inv", ErrorKind::unsupported},
           Refusal{QpType::uc, "read", "rdma_read", ErrorKind::invalid_request},
           Refusal{QpType::uc, "fetch_add", "fetch_add", ErrorKind::invalid_request},
           Refusal{QpType::ud, "write", "rdma_write", ErrorKind::invalid_request},
           Refusal{QpType::ud, "send_inv", "send_with_inv", ErrorKind::invalid_request},
           Refusal{QpType::rc, "send+tso", "tso", ErrorKind::invalid_request},
           Refusal{QpType::uc, "tso", "tso", ErrorKind::invalid_request},
           Refusal{QpType::ud, "tso", "tso", ErrorKind::unsupported},
           Refusal{QpType::rc, "send+local_inv", nullptr, {}},
           Refusal{QpType::uc, "send+send_inv+write+bind_mw", nullptr, {}},
           Refusal{QpType::uc, "all", nullptr, {}},
       }) {
    SCOPED_TRACE(each.ops);
    QpRequest request = rc(16, 16, 1, 1, 0);
    request.type = each.type;
    request.ops = *parse_send_ops(each.ops);
    const auto fitted = fit(request, contracts::connectx5());
    ASSERT_EQ(fitted.has_value(), each.field == nullptr) << name(each.type);
    if (each.field == nullptr) continue;
    EXPECT_EQ(fitted.error().field, each.field);
    EXPECT_EQ(fitted.error().kind, each.kind);
    EXPECT_FALSE(fitted.error().text.empty());
  }
}

TEST(Fit, ReceivesFromAnSrqCountNothingOnTheQueuePairAndThatIsTold) {
  QpRequest request = rc(16, 100000, 1, 99, 0);
  request.srq = true;
  const auto fitted = fit(request, contracts::connectx5());
  ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
  EXPECT_EQ(fitted->grant.max_recv_wr().granted, 0U);
  EXPECT_EQ(fitted->grant.max_recv_wr().passed, 0U);
  EXPECT_EQ(fitted->grant.max_recv_sge().passed, 0U);
  for (const std::string_view field : {"max_recv_wr", "max_recv_sge"}) {
    const Adjustment* told = adjustment(fitted->grant, field, AdjustmentKind::reduced);
    ASSERT_NE(told, nullptr) << field;
    EXPECT_EQ(told->granted, 0U);
    EXPECT_EQ(told->by.set_by, SetBy::build);
    EXPECT_THAT(told->by.reason, HasSubstr("shared receive queue"));
    EXPECT_EQ(told->by.source, "man ibv_create_qp");
  }
  const auto refused = fit(request, contracts::e810());
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().field, "srq");
}

TEST(Fit, BesideAnSrqAReceiveNumberThatIsNeededIsRefused) {
  for (Wish QpRequest::* number : {&QpRequest::max_recv_wr, &QpRequest::max_recv_sge}) {
    QpRequest request;
    request.srq = true;
    request.*number = {.want = 8, .at_least = 2};
    const auto below_floor = fit(request, contracts::connectx5());
    ASSERT_FALSE(below_floor.has_value());
    EXPECT_EQ(below_floor.error().kind, ErrorKind::limit);
    EXPECT_EQ(below_floor.error().field, number == &QpRequest::max_recv_wr ? "max_recv_wr" : "max_recv_sge");
    EXPECT_EQ(below_floor.error().asked, 8U);
    EXPECT_EQ(below_floor.error().allowed, 0U);
    EXPECT_EQ(below_floor.error().by.set_by, SetBy::build);
    EXPECT_THAT(below_floor.error().text, AllOf(HasSubstr("at least 2"), HasSubstr("shared")));

    request.*number = {.want = 8, .policy = Policy::require};
    const auto required = fit(request, contracts::connectx5());
    ASSERT_FALSE(required.has_value());
    EXPECT_THAT(required.error().text, HasSubstr("policy requires"));

    request.*number = {.want = 1, .at_least = 1};
    EXPECT_FALSE(fit(request, contracts::connectx5()).has_value());
  }
}

TEST(Fit, BesideAnSrqReceiveNumbersThatNobodySetAreNotAskedFor) {
  QpRequest request;
  request.srq = true;
  request.policy = Policy::require;
  const auto fitted = fit(request, contracts::connectx5());
  ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
  EXPECT_TRUE(fitted->grant.adjustments.empty());
  EXPECT_EQ(fitted->grant.max_recv_wr().asked, 0U);
  EXPECT_EQ(fitted->grant.max_recv_wr().granted, 0U);
}

TEST(Fit, AnUnknownBoundGrantsAsAsked) {
  const auto fitted = fit(rc(5000, 5000, 7, 7, 700), contracts::Made(Caps{}).build());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(fitted->grant.max_inline_data().granted, 700U);
  EXPECT_TRUE(fitted->grant.adjustments.empty());
}

TEST(Fit, TheLargestNumbersThereAreDoNotWrapAround) {
  const auto most = 0xffffffffU;
  for (const Contract& contract : {contracts::e810(), contracts::connectx5(), contracts::hip09(), contracts::rxe(),
                                   contracts::cramped(), contracts::Made(Caps{}).build()}) {
    QpRequest request = rc(most, most, most, most, most);
    for (Wish* wish : {&request.max_send_wr, &request.max_recv_wr, &request.max_send_sge, &request.max_recv_sge,
                       &request.max_inline_data}) {
      wish->at_least = 0;
    }
    const auto fitted = fit(request, contract);
    ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
    for (const FieldGrant& field : fitted->grant.fields) EXPECT_GE(field.passed, field.granted);
  }
}

TEST(Fit, RingMemoryIsWhatTheFormulaCounts) {
  const auto fitted = fit(rc(4096, 64, 4, 1, 60), contracts::connectx5());
  ASSERT_TRUE(fitted.has_value());
  EXPECT_EQ(ring_bytes(fitted->grant, contracts::connectx5()), 4096U * 256U + 64U * 16U);
}

TEST(Fit, EveryGrantCarriesTheRuleSetInForce) {
  EXPECT_EQ(fit(rc(1, 1, 1, 1, 0), contracts::rxe())->grant.quirks_hash, 42U);
}

}  // namespace
}  // namespace verbena
