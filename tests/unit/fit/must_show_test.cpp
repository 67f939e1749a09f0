// SPDX-License-Identifier: Apache-2.0 OR MIT
// Tables, models, formulas and fit together: what known NICs grant for known requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "verbena/fit.hpp"
#include "verbena/model.hpp"
#include "verbena/quirks.hpp"
#include "verbena/registry.hpp"

namespace verbena {
namespace {

using ::testing::HasSubstr;

/// The contract of a model's first port under the built-in tables.
Contract contract_of(std::string_view model, bool beyond_declared = true) {
  static const BackendRegistry registry = BackendRegistry::builtin();
  static const auto quirks = [] {
    QuirkOptions options;
    options.layers.push_back(default_layers({}, true).front());  // built in; what the host has on top does not count
    auto loaded = load_quirks(options, registry);
    return loaded ? *loaded : nullptr;
  }();
  EXPECT_NE(quirks, nullptr);
  const auto loaded = load_model(model);
  EXPECT_TRUE(loaded.has_value()) << to_string(loaded.error());
  return quirks->contract(loaded->device, loaded->caps, 1, beyond_declared);
}

QpRequest rc(std::uint32_t send_wr, std::uint32_t recv_wr, std::uint32_t send_sge, std::uint32_t recv_sge,
             std::uint32_t inline_data) {
  QpRequest request;
  request.max_send_wr.want = send_wr;
  request.max_recv_wr.want = recv_wr;
  request.max_send_sge.want = send_sge;
  request.max_recv_sge.want = recv_sge;
  request.max_inline_data.want = inline_data;
  return request;
}

CqRequest cq(std::uint32_t cqe) {
  CqRequest request;
  request.cqe.want = cqe;
  return request;
}

TEST(KnownNics, E810GrantsWhatItsRingHolds) {
  const auto fitted = fit(rc(4096, 4096, 16, 16, 256), contract_of("e810-roce"));
  ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
  EXPECT_EQ(fitted->grant.max_send_wr().granted, 4063U);
  EXPECT_EQ(fitted->grant.max_recv_wr().granted, 4095U);
  EXPECT_EQ(fitted->grant.max_send_sge().granted, 13U);
  EXPECT_EQ(fitted->grant.max_recv_sge().granted, 13U);
  EXPECT_EQ(fitted->grant.max_inline_data().granted, 101U);
  for (const Adjustment& entry : fitted->grant.adjustments) {
    SCOPED_TRACE(to_string(entry));
    EXPECT_FALSE(entry.by.rule.empty());
    EXPECT_FALSE(entry.by.source.empty());
    EXPECT_GT(entry.by.line, 0);
  }
}

TEST(KnownNics, E810GrantsMoreThanItDeclaresWithFewSges) {
  const auto fitted = fit(rc(16000, 64, 2, 1, 0), contract_of("e810-roce"));
  ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
  EXPECT_EQ(fitted->grant.max_send_wr().granted, 16000U);
  ASSERT_EQ(fitted->grant.adjustments.size(), 1U);
  EXPECT_EQ(fitted->grant.adjustments[0].kind, AdjustmentKind::beyond_declared);
  const auto forbidden = fit(rc(16000, 64, 2, 1, 0), contract_of("e810-roce", false));
  ASSERT_TRUE(forbidden.has_value());
  EXPECT_EQ(forbidden->grant.max_send_wr().granted, 4063U);
}

TEST(KnownNics, ConnectX5CountsBytes) {
  QpRequest request = rc(32768, 64, 4, 1, 60);
  const auto plain = fit(request, contract_of("connectx5"));
  ASSERT_TRUE(plain.has_value()) << to_string(plain.error());
  EXPECT_EQ(plain->grant.max_send_wr().granted, 8192U);
  ASSERT_FALSE(plain->grant.adjustments.empty());
  EXPECT_THAT(plain->grant.adjustments[0].by.reason, HasSubstr("2097152 / 256 = 8192"));
  request.ops = *parse_send_ops("send+write+read");
  const auto fewer = fit(request, contract_of("connectx5"));
  ASSERT_TRUE(fewer.has_value()) << to_string(fewer.error());
  EXPECT_EQ(fewer->grant.max_send_wr().granted, 16384U);
  EXPECT_TRUE(fewer->declare_ops);
}

TEST(KnownNics, CompletionQueuesArePassedAsEachDriverWants) {
  const auto hip09 = fit(cq(64), contract_of("hip09"));
  ASSERT_TRUE(hip09.has_value());
  EXPECT_EQ(hip09->cqe.granted, 64U);
  EXPECT_EQ(hip09->cqe.passed, 65U);
  const auto e810 = fit(cq(1000), contract_of("e810-roce"));
  ASSERT_TRUE(e810.has_value());
  EXPECT_EQ(e810->cqe.granted, 1000U);
  EXPECT_EQ(e810->cqe.passed, 1000U);
  const auto rxe = fit(cq(65536), contract_of("rxe-6.12"));
  ASSERT_TRUE(rxe.has_value()) << to_string(rxe.error());
  EXPECT_EQ(rxe->cqe.granted, 32767U);
}

TEST(KnownNics, KunpengHasNoEmptySendQueue) {
  const auto fitted = fit(rc(0, 64, 1, 1, 0), contract_of("hip09"));
  ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
  EXPECT_GE(fitted->grant.max_send_wr().granted, 1U);
  ASSERT_FALSE(fitted->grant.adjustments.empty());
  EXPECT_EQ(fitted->grant.adjustments[0].kind, AdjustmentKind::raised);
}

TEST(KnownNics, EveryModelFitsAModestRequest) {
  for (const std::string& model : builtin_models()) {
    SCOPED_TRACE(model);
    const Contract contract = contract_of(model);
    QpRequest request = rc(16, 16, 1, 1, 0);
    request.type = contract.feature(Feature::rc).support == Support::absent ? QpType::ud : QpType::rc;
    const auto fitted = fit(request, contract);
    ASSERT_TRUE(fitted.has_value()) << to_string(fitted.error());
    EXPECT_EQ(fitted->grant.max_send_wr().granted, 16U);
    EXPECT_TRUE(fit(cq(128), contract).has_value());
  }
}

}  // namespace
}  // namespace verbena
