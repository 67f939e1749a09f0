// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>

#include "fake/qp_rig.hpp"
#include "verbena/qp.hpp"

namespace verbena {
namespace {

using fake::Bench;
using fake::QpRig;
using testing::HasSubstr;

RtrWish to_peer(std::uint32_t qp_num) {
  RtrWish wish;
  wish.dest_qp_num = qp_num;
  wish.address.is_global = 1;
  return wish;
}

TEST(Qp, GoesFromResetToRtsWithTheMasksOfItsType) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  Qp qp = bench.qp(rig);
  ASSERT_TRUE(qp.to_init());
  ASSERT_TRUE(qp.to_rtr(to_peer(0x20)));
  ASSERT_TRUE(qp.to_rts());
  EXPECT_EQ(qp.state(), IBV_QPS_RTS);
  const auto sent = rig.verbs->modifies();
  ASSERT_EQ(sent.size(), 3U);
  for (const auto& [index, from, to] :
       {std::tuple{0, IBV_QPS_RESET, IBV_QPS_INIT}, std::tuple{1, IBV_QPS_INIT, IBV_QPS_RTR},
        std::tuple{2, IBV_QPS_RTR, IBV_QPS_RTS}}) {
    const auto row = find_transition(QpType::rc, from, to);
    EXPECT_EQ(attribute_names(static_cast<QpAttributes>(sent[static_cast<std::size_t>(index)].mask)),
              attribute_names(row->required | IBV_QP_STATE));
  }
  EXPECT_EQ(sent[1].attr.ah_attr.port_num, 1) << "port 0 in a wish is the queue pair's own";
  EXPECT_EQ(sent[1].attr.min_rnr_timer, 12) << "0.64 ms, not 655.36 (F97)";
  EXPECT_EQ(bench.on.state->counters.snapshot().transitions, 3U);
}

TEST(Qp, UdAndUcSendNothingOfRc) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  Qp ud = bench.qp(rig, IBV_QPT_UD);
  ASSERT_TRUE(ud.to_init({.qkey = 7}));
  ASSERT_TRUE(ud.to_rtr());
  ASSERT_TRUE(ud.to_rts());
  Qp uc = bench.qp(rig, IBV_QPT_UC);
  ASSERT_TRUE(uc.to_init());
  ASSERT_TRUE(uc.to_rtr(to_peer(1)));
  ASSERT_TRUE(uc.to_rts());
  const auto sent = rig.verbs->modifies();
  ASSERT_EQ(sent.size(), 6U);
  EXPECT_EQ(sent[0].attr.qkey, 7U);
  EXPECT_EQ(sent[1].mask, IBV_QP_STATE);
  EXPECT_EQ(sent[3].attr.qp_access_flags & IBV_ACCESS_REMOTE_READ, 0U);
  EXPECT_EQ(sent[4].mask & (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER), 0);
}

TEST(Qp, ARefusalByTheDeviceTellsTheStateBelievedAndTheStateItIsIn) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  Qp qp = bench.qp(rig);
  ASSERT_TRUE(qp.to_init());
  qp.raw()->state = IBV_QPS_ERR;  // the hardware moved it
  bench.on.fake->next_errors["modify_qp"] = {EINVAL};
  const auto refused = qp.to_rtr(to_peer(1));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
  EXPECT_EQ(refused.error().errno_value, EINVAL);
  EXPECT_THAT(refused.error().text, HasSubstr("from INIT to RTR"));
  EXPECT_THAT(refused.error().text, HasSubstr("it is in ERR, not in INIT as believed"));
  EXPECT_EQ(qp.state(), IBV_QPS_ERR);
  EXPECT_EQ(bench.on.state->counters.snapshot().transitions_refused, 1U);
}

TEST(Qp, NothingIsSentForWhatCannotBe) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  Qp qp = bench.qp(rig);
  EXPECT_FALSE(qp.to_rts());
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  EXPECT_FALSE(qp.modify(attr, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_QKEY));
  EXPECT_TRUE(qp.to_reset()) << "RESET of a fresh one is no error";
  EXPECT_TRUE(rig.verbs->modifies().empty()) << "and is never sent (F83)";
}

TEST(Qp, ResetBeginsANewGeneration) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  Qp qp = bench.qp(rig);
  const std::uint16_t first = qp.generation();
  ASSERT_TRUE(qp.to_init());
  EXPECT_EQ(qp.generation(), first);
  ASSERT_TRUE(qp.to_reset());
  EXPECT_NE(qp.generation(), first) << "F85: completions of the earlier life can be told apart";
}

// F07 (kvcache-ai/Mooncake #3977): 16 responder resources for the whole device, and a second QP that wants 16 too.
TEST(Qp, F07ASharedBudgetShrinksTheSecondQpAndShowsTheLedgerWhenNothingIsLeft) {
  QpRig rig({.behaviours = {{Behaviour::rd_atomic_budget, Choice::shared}}, .limits = {}});
  fake::FakeDevice script = fake::roce_device("fake0", 1);
  script.attr.orig_attr.max_res_rd_atom = 16;
  const Bench bench = Bench::make(rig, script);
  Qp first = bench.qp(rig);
  Qp second = bench.qp(rig);
  Qp third = bench.qp(rig);
  for (Qp* qp : {&first, &second, &third}) ASSERT_TRUE(qp->to_init());

  RtrWish wish = to_peer(9);
  wish.max_dest_rd_atomic = 12;
  ASSERT_TRUE(first.to_rtr(wish));
  const auto shrunk = second.to_rtr(wish);
  ASSERT_TRUE(shrunk) << to_string(shrunk.error());
  ASSERT_EQ(shrunk->size(), 1U);
  EXPECT_EQ(shrunk->front().field, "max_dest_rd_atomic");
  EXPECT_EQ(shrunk->front().granted, 4U);
  EXPECT_EQ(rig.verbs->modifies().back().attr.max_dest_rd_atomic, 4);

  const auto refused = third.to_rtr(wish);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::limit);
  EXPECT_EQ(refused.error().allowed, 0U);
  EXPECT_THAT(refused.error().text, HasSubstr("16 of 16"));
  EXPECT_EQ(refused.error().by.rule, "test-rule");

  ASSERT_TRUE(first.to_err());
  ASSERT_TRUE(first.to_reset());
  EXPECT_TRUE(third.to_rtr(wish)) << "what a reset gives back can be had again";
}

TEST(Qp, DestroyingGivesBackItsShareAndAFailureGoesToTheLog) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  ibv_qp* left = nullptr;
  {
    Qp qp = bench.qp(rig);
    left = qp.raw();
    ASSERT_TRUE(qp.to_init());
    RtrWish wish = to_peer(9);
    wish.max_dest_rd_atomic = 8;
    ASSERT_TRUE(qp.to_rtr(wish));
    EXPECT_EQ(bench.on.state->ledger.snapshot().responder_used, 8U);
    bench.on.fake->next_errors["destroy_qp"] = {EBUSY};
  }
  EXPECT_EQ(bench.on.state->ledger.snapshot().responder_used, 0U);
  EXPECT_EQ(bench.on.state->counters.snapshot().destroy_failures, 1U);
  ASSERT_FALSE(rig.logged.empty());
  EXPECT_THAT(rig.logged.back(), HasSubstr("ibv_destroy_qp"));
  EXPECT_EQ(bench.on.state->verbs().destroy_qp(left), 0) << "what could not be destroyed is still there";
}

TEST(Qp, AdoptedGrantIsWhatTheDeviceTellsAndOwnershipIsAsSaid) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  ibv_qp* raw = nullptr;
  {
    Qp qp = bench.qp(rig);
    EXPECT_EQ(qp.grant().max_send_wr().granted, 16U);
    EXPECT_EQ(qp.grant().max_send_wr().returned, 16U);
    raw = qp.release();
  }
  EXPECT_EQ(rig.verbs->count("destroy_qp"), 0U) << "released";
  {
    const Qp borrowed = Qp::adopt(bench.pd, raw, Ownership::callers).value();
  }
  EXPECT_EQ(rig.verbs->count("destroy_qp"), 0U) << "the caller's";
  {
    const Qp taken = Qp::adopt(bench.pd, raw).value();
  }
  EXPECT_EQ(rig.verbs->count("destroy_qp"), 1U);
}

TEST(Qp, WhatCannotBeAdoptedIsRefusedByName) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  const Bench other = Bench::make(rig, fake::roce_device("fake1", 2));
  EXPECT_EQ(Qp::adopt(bench.pd, nullptr).error().kind, ErrorKind::invalid_request);
  Qp foreign = other.qp(rig);
  EXPECT_EQ(Qp::adopt(bench.pd, foreign.raw()).error().kind, ErrorKind::invalid_request);
  ibv_qp raw_packet{};
  raw_packet.context = bench.on.state->context;
  raw_packet.qp_type = IBV_QPT_RAW_PACKET;
  EXPECT_EQ(Qp::adopt(bench.pd, &raw_packet).error().kind, ErrorKind::unsupported);
}

TEST(Qp, AQueryThatIsRefusedSaysThatTheQueuePairIsAsItWas) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  Qp qp = bench.qp(rig);
  bench.on.fake->next_errors["query_qp"] = {EOPNOTSUPP};
  const auto refused = qp.query();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::unsupported);
  EXPECT_THAT(refused.error().text, HasSubstr("the queue pair is as it was"));
  EXPECT_EQ(bench.on.device().counters().refused, 0U) << "no creation was refused";
}

TEST(Qp, OnADeviceThatIsGoneEverythingSaysSo) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  Qp qp = bench.qp(rig);
  ASSERT_TRUE(qp.to_init());
  bench.on.fake->gone = true;
  EXPECT_EQ(qp.to_rtr(to_peer(1)).error().kind, ErrorKind::device_gone);
  EXPECT_EQ(qp.to_err().error().kind, ErrorKind::device_gone);
  EXPECT_EQ(qp.query().error().kind, ErrorKind::device_gone);
  EXPECT_EQ(qp.facts().error().kind, ErrorKind::device_gone);
}

TEST(Qp, QueryFollowsWhatTheHardwareDid) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  Qp qp = bench.qp(rig);
  ASSERT_TRUE(qp.to_init());
  qp.raw()->state = IBV_QPS_ERR;
  EXPECT_EQ(qp.state(), IBV_QPS_INIT);
  EXPECT_EQ(qp.query().value().attr.qp_state, IBV_QPS_ERR);
  EXPECT_EQ(qp.state(), IBV_QPS_ERR);
}

}  // namespace
}  // namespace verbena
