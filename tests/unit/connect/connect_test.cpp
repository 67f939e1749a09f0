// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <string>

#include "fake/qp_rig.hpp"
#include "verbena/connect.hpp"

namespace verbena {
namespace {

using fake::Bench;
using fake::QpRig;
using testing::HasSubstr;
using namespace std::chrono_literals;

const IpAddress kOne{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 78, 0, 1};
const IpAddress kTwo{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 78, 0, 2};
const IpAddress kLinkLocal{0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

// RoCE

TEST(Connect, APairOnRoceMeetsInOneThread) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  Qp one = bench.qp(rig);
  Qp other = bench.qp(rig);
  const auto notes = connect_pair(one, other, 1s);
  ASSERT_TRUE(notes) << to_string(notes.error());
  EXPECT_EQ(one.state(), IBV_QPS_RTS);
  EXPECT_EQ(other.state(), IBV_QPS_RTS);
  const QpNow now = one.query().value();
  EXPECT_EQ(now.attr.dest_qp_num, other.qp_num());
  EXPECT_EQ(now.attr.rq_psn, other.facts().value().psn);
  EXPECT_EQ(now.attr.sq_psn, one.facts().value().psn);
  EXPECT_EQ(now.attr.path_mtu, IBV_MTU_1024) << "what the port has active, not the largest it could";
  EXPECT_EQ(now.attr.ah_attr.grh.sgid_index, 3) << "RoCE v2 by the interface's IPv4 address";
  EXPECT_EQ(now.attr.timeout, 14);
  EXPECT_EQ(now.attr.min_rnr_timer, 12);
  EXPECT_EQ(now.attr.max_rd_atomic, 16);
}

TEST(Connect, PsnsAre24BitsAndDifferFromQpToQp) {  // F93 (dingodb/DingoCache #19)
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  Qp one = bench.qp(rig);
  Qp other = bench.qp(rig);
  EXPECT_LE(one.facts().value().psn, 0xffffffU);
  EXPECT_NE(one.facts().value().psn, other.facts().value().psn);
  EXPECT_EQ(one.facts().value(), one.facts().value()) << "asked again, the same";
}

TEST(Connect, UcAndUdReachRtsToo) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD}) {
    Qp one = bench.qp(rig, type);
    Qp other = bench.qp(rig, type);
    const auto notes = connect_pair(one, other, 1s);
    ASSERT_TRUE(notes) << to_string(notes.error());
    EXPECT_EQ(one.state(), IBV_QPS_RTS);
  }
}

TEST(Connect, AnAddressThatCameAfterTheProbeIsFound) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  // The rig's probe saw no GID at all; the table has them now.
  Qp qp = bench.qp(rig);
  EXPECT_EQ(qp.facts().value().gid_type, GidType::roce_v2);
  bench.on.fake->ports[0].gids.clear();
  Qp late = bench.qp(rig);
  const auto none = late.facts();
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().kind, ErrorKind::no_device);
  EXPECT_THAT(none.error().text, HasSubstr("IP address"));
}

TEST(Connect, F07FactsTakeAShareOfASharedBudgetNotAllOfIt) {
  QpRig rig({.behaviours = {{Behaviour::rd_atomic_budget, Choice::shared}}, .limits = {}});
  fake::FakeDevice script = fake::roce_device("fake0", 1);
  script.attr.orig_attr.max_res_rd_atom = 16;
  const Bench bench = Bench::make(rig, script);
  Qp one = bench.qp(rig);
  Qp other = bench.qp(rig);
  ASSERT_TRUE(connect_pair(one, other, 1s));
  EXPECT_EQ(bench.on.state->ledger.snapshot().responder_used, 2U);
  EXPECT_EQ(one.query().value().attr.max_rd_atomic, 1);
}

TEST(Connect, TwiceIsRefused) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  Qp one = bench.qp(rig);
  Qp other = bench.qp(rig);
  ASSERT_TRUE(connect_pair(one, other, 1s));
  const auto again = connect(one, other.facts().value(), 1s);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().field, "qp_state");
}

TEST(Connect, TheQueuePairMayMoveWhileItIsUnderWay) {
  QpRig rig;
  const Bench bench = Bench::make(rig, fake::roce_device("fake0", 1));
  Qp one = bench.qp(rig);
  Qp other = bench.qp(rig);
  Connecting connecting = start_connect(one, other.facts().value(), 1s).value();
  Qp moved = std::move(one);
  EXPECT_TRUE(connecting.progress().value());
  EXPECT_EQ(moved.state(), IBV_QPS_RTS);
}

// Over rdma_cm

struct Iwarp {
  QpRig rig{{.behaviours = {{Behaviour::rts_driven_by, Choice::rdma_cm}}, .limits = {}}};
  Bench a = Bench::make(rig, fake::iwarp_device("siw0", 1), Transport::iwarp);
  Bench b = Bench::make(rig, fake::iwarp_device("siw1", 2), Transport::iwarp);
  Iwarp() {
    rig.verbs->interface_ips[a.on.fake->ports[0].netdev] = {kOne};
    rig.verbs->interface_ips[b.on.fake->ports[0].netdev] = {kTwo};
  }
};

TEST(ConnectOverCm, APairMeetsAndTheConnectionManagerMovesIt) {
  Iwarp net;
  Qp one = net.a.qp(net.rig);
  Qp other = net.b.qp(net.rig);
  const auto notes = connect_pair(one, other, 1s);
  ASSERT_TRUE(notes) << to_string(notes.error());
  EXPECT_EQ(one.state(), IBV_QPS_RTS);
  EXPECT_EQ(one.query().value().attr.qp_state, IBV_QPS_RTS);
  EXPECT_EQ(other.query().value().attr.qp_state, IBV_QPS_RTS);
  for (const auto& call : net.rig.verbs->modifies()) {
    EXPECT_EQ(call.attr.qp_state, IBV_QPS_INIT) << "RTR and RTS are never sent by hand";
    EXPECT_EQ(call.mask, IBV_QP_STATE | IBV_QP_ACCESS_FLAGS) << "what rdma_init_qp_attr said";
  }
}

TEST(ConnectOverCm, FactsCarryTheAddressAndPortToDial) {
  Iwarp net;
  Qp qp = net.a.qp(net.rig);
  const QpFacts facts = qp.facts().value();
  EXPECT_TRUE(facts.over_rdma_cm);
  EXPECT_EQ(facts.cm_address, kOne);
  EXPECT_NE(facts.cm_port, 0);
  EXPECT_THAT(to_string(facts), HasSubstr("rdma_cm at ::ffff:10.78.0.1 port"));
}

TEST(ConnectOverCm, WithoutAnAddressThereIsNothingToDial) {
  Iwarp net;
  net.rig.verbs->interface_ips[net.a.on.fake->ports[0].netdev] = {kLinkLocal};
  Qp qp = net.a.qp(net.rig);
  const auto facts = qp.facts();
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().kind, ErrorKind::no_device);
  EXPECT_EQ(facts.error().field, "cm_address");
}

TEST(ConnectOverCm, ADeadlineIsKeptAndSaysWhatWasWaitedFor) {
  Iwarp net;
  Qp one = net.a.qp(net.rig);
  Qp other = net.b.qp(net.rig);
  const QpFacts peer = one.facts().value();
  // `other` listens, since its address is the larger; nobody dials.
  const std::uint64_t before = net.rig.verbs->monotonic_ns();
  const auto connected = connect(other, peer, 250ms);
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().kind, ErrorKind::timeout);
  EXPECT_THAT(connected.error().text, HasSubstr("the peer to dial"));
  const auto waited = (net.rig.verbs->monotonic_ns() - before) / 1'000'000;
  EXPECT_GE(waited, 250U);
  EXPECT_LT(waited, 500U);
}

TEST(ConnectOverCm, APeerThatNoLongerListensIsARefusalWithItsAddress) {
  Iwarp net;
  Qp one = net.a.qp(net.rig);
  QpFacts peer;
  {
    Qp other = net.b.qp(net.rig);
    peer = other.facts().value();
  }
  const auto connected = connect(one, peer, 1s);
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().kind, ErrorKind::refused);
  EXPECT_EQ(connected.error().errno_value, ECONNREFUSED);
  EXPECT_THAT(connected.error().text, HasSubstr("10.78.0.2"));
}

TEST(ConnectOverCm, AStrangerIsRejectedAndThePeerStillGetsThrough) {
  Iwarp net;
  Qp listener = net.b.qp(net.rig);
  Qp stranger = net.a.qp(net.rig);
  Qp peer = net.a.qp(net.rig);
  const QpFacts called = listener.facts().value();
  Connecting by_stranger = start_connect(stranger, called, 1s).value();
  Connecting by_peer = start_connect(peer, called, 1s).value();
  Connecting here = start_connect(listener, peer.facts().value(), 1s).value();
  EXPECT_FALSE(by_stranger.progress().value());
  EXPECT_FALSE(here.progress().value());
  const auto rejected = by_stranger.progress();
  ASSERT_FALSE(rejected);
  EXPECT_EQ(rejected.error().kind, ErrorKind::refused);
  EXPECT_FALSE(by_peer.progress().value());
  EXPECT_TRUE(here.progress().value());
  EXPECT_TRUE(by_peer.progress().value());
  EXPECT_EQ(peer.state(), IBV_QPS_RTS);
}

TEST(ConnectOverCm, EndsBeforeTheQueuePairIsDestroyed) {
  Iwarp net;
  {
    Qp one = net.a.qp(net.rig);
    Qp other = net.b.qp(net.rig);
    ASSERT_TRUE(connect_pair(one, other, 1s));
  }
  EXPECT_EQ(net.rig.verbs->count("cm_disconnect"), 2U);
  EXPECT_EQ(net.rig.verbs->count("destroy_qp"), 2U);
  EXPECT_EQ(net.rig.verbs->count("cm_create_id") + 1, net.rig.verbs->count("cm_destroy_id"))
      << "each id made, and the one that the request brought";
  EXPECT_EQ(net.rig.verbs->count("cm_destroy_event_channel"), 2U);
}

}  // namespace
}  // namespace verbena
