// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <string>

#include "fake/qp_rig.hpp"
#include "verbena/qp.hpp"

namespace verbena {
namespace {

using fake::Bench;
using fake::QpRig;
using testing::HasSubstr;

QpRequest asking(std::uint32_t send_wr, std::uint32_t inline_data = 0) {
  QpRequest request;
  request.max_send_wr = {send_wr};
  request.max_recv_wr = {16};
  request.max_inline_data = {inline_data};
  return request;
}

TEST(CreateQp, GrantsWhatWasAskedAndSaysNothingWhenNothingChanged) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  const Qp qp = Qp::create(bench.pd, asking(64, 100), {.send_cq = &bench.cq}).value();
  EXPECT_EQ(qp.grant().max_send_wr().granted, 64U);
  EXPECT_EQ(qp.grant().max_send_wr().returned, 64U);
  EXPECT_TRUE(qp.grant().adjustments.empty());
  EXPECT_TRUE(qp.grant().ladder.empty());
  EXPECT_EQ(qp.grant().quirks_hash, 0x5eedU);
  EXPECT_EQ(qp.state(), IBV_QPS_RESET);
  EXPECT_EQ(qp.raw()->send_cq, bench.cq.raw());
  EXPECT_EQ(bench.on.state->counters.snapshot().created, 2U) << "PD and QP; the CQ was adopted";
}

TEST(CreateQp, AWishAboveTheContractIsAdjustedNotTried) {
  QpRig rig({.behaviours = {}, .limits = {{Field::max_send_wr, 1000}}});
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  const Qp qp = Qp::create(bench.pd, asking(4096), {.send_cq = &bench.cq}).value();
  EXPECT_EQ(qp.grant().max_send_wr().granted, 1000U);
  ASSERT_EQ(qp.grant().adjustments.size(), 1U);
  EXPECT_EQ(qp.grant().adjustments[0].by.rule, "test-rule");
  EXPECT_EQ(rig.verbs->count("create_qp") + rig.verbs->count("create_qp_ex"), 1U);
}

TEST(CreateQp, StepsDownWithinItsFloorsWhereTheDeviceTakesLessThanItsContract) {
  QpRig rig;
  fake::FakeDevice script = fake::roce_device("fake0", 1);
  script.thresholds = {{.field = "max_send_wr", .above = 300, .error = ENOMEM}};
  const Bench bench = Bench::make(rig, script);
  const Qp qp = Qp::create(bench.pd, asking(1024), {.send_cq = &bench.cq}).value();
  EXPECT_LE(qp.grant().max_send_wr().granted, 300U);
  EXPECT_GE(qp.grant().max_send_wr().granted, 128U) << "an eighth of the wish";
  EXPECT_FALSE(qp.grant().ladder.empty());
  const auto& adjustments = qp.grant().adjustments;
  EXPECT_TRUE(std::any_of(adjustments.begin(), adjustments.end(),
                          [](const Adjustment& adjustment) { return adjustment.field == "max_send_wr"; }));
}

TEST(CreateQp, ARefusalForGoodNamesEveryTryAndLeavesNothingBehind) {
  QpRig rig;
  fake::FakeDevice script = fake::roce_device("fake0", 1);
  script.judge_qp = [](const ibv_qp_init_attr_ex&) { return EINVAL; };
  const Bench bench = Bench::make(rig, script);
  const auto refused = Qp::create(bench.pd, asking(64), {.send_cq = &bench.cq});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
  EXPECT_EQ(refused.error().errno_value, EINVAL);
  EXPECT_THAT(refused.error().text, HasSubstr("ibv_create_qp"));
  EXPECT_TRUE(bench.on.state->ledger.snapshot().entries.empty());
  EXPECT_TRUE(rig.verbs->live_qps().empty());
}

// F27: a provider that takes the number and then writes back less.
TEST(CreateQp, F27WhatIsWrittenBackBelowTheGrantLowersItOrIsRefusedBelowTheFloor) {
  QpRig rig;
  fake::FakeDevice script = fake::roce_device("fake0", 1);
  script.qp_write_back = [](ibv_qp_cap& cap) { cap.max_inline_data = 32; };
  const Bench bench = Bench::make(rig, script);
  const Qp qp = Qp::create(bench.pd, asking(64, 128), {.send_cq = &bench.cq}).value();
  EXPECT_EQ(qp.grant().max_inline_data().granted, 32U);
  EXPECT_EQ(qp.grant().max_inline_data().returned, 32U);

  QpRequest strict = asking(64, 128);
  strict.max_inline_data.at_least = 64;
  const auto refused = Qp::create(bench.pd, strict, {.send_cq = &bench.cq});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "max_inline_data");
  EXPECT_EQ(refused.error().allowed, 32U);
  EXPECT_EQ(rig.verbs->live_qps().size(), 1U) << "the one that fell short was destroyed";
}

TEST(CreateQp, ABudgetOfWorkRequestsThatQpsShareIsKept) {
  QpRig rig({.behaviours = {}, .limits = {{Field::total_wr, 100}}});
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  const auto first = Qp::create(bench.pd, asking(64), {.send_cq = &bench.cq});
  ASSERT_TRUE(first) << to_string(first.error());
  const auto second = Qp::create(bench.pd, asking(64), {.send_cq = &bench.cq});
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, ErrorKind::limit);
  EXPECT_EQ(second.error().field, "total_wr");
  EXPECT_EQ(second.error().allowed, 20U);
}

TEST(CreateQp, WhatDoesNotBelongTogetherIsRefusedByName) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  const Bench other = Bench::make(rig, fake::roce_device("fake1", 2));
  EXPECT_EQ(Qp::create(bench.pd, asking(1), {}).error().field, "send_cq");
  EXPECT_EQ(Qp::create(bench.pd, asking(1), {.send_cq = &other.cq}).error().field, "send_cq");
  EXPECT_EQ(Qp::create(bench.pd, asking(1), {.send_cq = &bench.cq}, 9).error().field, "port_num");
  bench.on.fake->gone = true;
  bench.on.state->mark_gone();
  EXPECT_EQ(Qp::create(bench.pd, asking(1), {.send_cq = &bench.cq}).error().kind, ErrorKind::device_gone);
}

TEST(CreateQp, KeepsWhatItUsesAlive) {
  QpRig rig;
  fake::FakeDevice* script = nullptr;
  {
    std::optional<Qp> qp;
    {
      const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
      script = bench.on.fake;
      qp = Qp::create(bench.pd, asking(4), {.send_cq = &bench.cq}).value();
    }
    EXPECT_EQ(script->pds, 1U);
    EXPECT_EQ(script->cqs, 1U);
    EXPECT_EQ(script->contexts, 1U);
  }
  EXPECT_EQ(script->qps + script->cqs + script->pds + script->contexts, 0U);
}

}  // namespace
}  // namespace verbena
