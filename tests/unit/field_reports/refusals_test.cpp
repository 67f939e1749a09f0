// SPDX-License-Identifier: Apache-2.0 OR MIT
// Field reports that need a device which refuses, or which writes back something else than it was given. F07 (a budget
// that queue pairs share) is in ../qp/qp_moves_test.cpp and ../device/ledger_test.cpp, F27 (inline bytes written back)
// in ../qp/create_qp_test.cpp and ../objects/ladder_test.cpp, F25 in C in ../c_api.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

#include "fake/qp_rig.hpp"
#include "verbena/fit.hpp"
#include "verbena/qp.hpp"

namespace verbena {
namespace {

using fake::Bench;
using fake::QpRig;
using ::testing::HasSubstr;

QpRequest asking(std::uint32_t send_wr, std::uint32_t inline_data = 0) {
  QpRequest request;
  request.max_send_wr.want = send_wr;
  request.max_recv_wr.want = 1;
  request.max_inline_data.want = inline_data;
  return request;
}

// F01's kind: a refusal at exactly the declared number is the cap's lie and not the caller's mistake, on a device that
// no table knows. It is stepped down within the floor, each try is recorded, and the device itself is named as judge.
TEST(FieldReport, F01ARefusalAtTheDeclaredDepthIsSteppedDownAndTold) {
  QpRig rig;
  fake::FakeDevice script = fake::roce_device("fake0", 1);
  script.attr.orig_attr.max_qp_wr = 4351;
  script.judge_qp = [](const ibv_qp_init_attr_ex& attr) { return attr.cap.max_send_wr > 4350 ? EINVAL : 0; };
  const Bench bench = Bench::make(rig, script);
  const auto qp = Qp::create(bench.pd, asking(4351), {.send_cq = &bench.cq});
  ASSERT_TRUE(qp) << to_string(qp.error());
  const QpGrant& grant = qp->grant();
  EXPECT_LE(grant.max_send_wr().granted, 4350U);
  EXPECT_GE(grant.max_send_wr().granted, 544U) << "an eighth is the floor that was not named";
  ASSERT_EQ(grant.adjustments.size(), 1U);
  EXPECT_EQ(grant.adjustments[0].field, "max_send_wr");
  EXPECT_EQ(grant.adjustments[0].by.set_by, SetBy::probed);
  EXPECT_THAT(grant.adjustments[0].by.reason, HasSubstr("although its contract allows it"));
  ASSERT_GE(grant.ladder.size(), 2U);
  EXPECT_EQ(grant.ladder.front().errno_value, EINVAL);
  EXPECT_THAT(grant.ladder.front().passed, HasSubstr("max_send_wr=4351"));

  QpRequest strict = asking(4351);
  strict.policy = Policy::require;
  const auto refused = Qp::create(bench.pd, strict, {.send_cq = &bench.cq});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused) << "not an invalid request: the contract allows it";
}

// F25's kind: an EINVAL that names nothing, on a device without a rule. Only the attribute that was at fault is
// lowered.
TEST(FieldReport, F25TheGuiltyAttributeIsFoundByItself) {
  QpRig rig;
  fake::FakeDevice script = fake::roce_device("fake0", 1);
  script.judge_qp = [](const ibv_qp_init_attr_ex& attr) { return attr.cap.max_inline_data > 101 ? EINVAL : 0; };
  const Bench bench = Bench::make(rig, script);
  const auto qp = Qp::create(bench.pd, asking(128, 220), {.send_cq = &bench.cq});
  ASSERT_TRUE(qp) << to_string(qp.error());
  EXPECT_LE(qp->grant().max_inline_data().granted, 101U);
  EXPECT_EQ(qp->grant().max_send_wr().granted, 128U);
  ASSERT_EQ(qp->grant().adjustments.size(), 1U);
  EXPECT_EQ(qp->grant().adjustments[0].field, "max_inline_data");
}

// F31 (linux-rdma a7eb3d372): hns returns more SGEs than were asked for, since inline bytes took places. The surplus is
// shown and never counted on.
TEST(FieldReport, F31ASurplusThatIsReturnedIsShownAndNotPlannedWith) {
  QpRig rig;
  fake::FakeDevice script = fake::roce_device("fake0", 1);
  script.qp_write_back = [](ibv_qp_cap& cap) {
    cap.max_send_sge = 8;
    cap.max_send_wr = 64;
  };
  const Bench bench = Bench::make(rig, script);
  const auto qp = Qp::create(bench.pd, asking(33, 128), {.send_cq = &bench.cq});
  ASSERT_TRUE(qp) << to_string(qp.error());
  EXPECT_EQ(qp->grant().max_send_sge().granted, 1U);
  EXPECT_EQ(qp->grant().max_send_sge().returned, 8U);
  EXPECT_EQ(qp->grant().max_send_wr().granted, 33U);
  EXPECT_EQ(qp->grant().max_send_wr().returned, 64U);
  EXPECT_TRUE(qp->grant().adjustments.empty()) << "a surplus is no adjustment";
  const QpGrant grants[] = {qp->grant()};
  EXPECT_EQ(cq_entries_needed(grants, {}), 64U) << "but as many can complete as the provider's queue takes";
}

}  // namespace
}  // namespace verbena
