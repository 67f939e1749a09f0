// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <array>
#include <string>

#include "connect/gid_choice.hpp"
#include "verbena/connect.hpp"

namespace verbena {
namespace {

IpAddress ipv4(std::uint8_t last) {
  return {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 77, 0, last};
}
IpAddress ipv6(std::uint8_t first, std::uint8_t second, std::uint8_t last) {
  IpAddress address{};
  address[0] = first;
  address[1] = second;
  address[15] = last;
  return address;
}

TEST(GidChoice, AnAddressOfThePortsOwnInterfaceByRoceV2) {
  const std::array entries{
      GidEntry{.index = 0, .gid = ipv6(0xfe, 0x80, 1), .type = GidType::roce_v1, .netdev = "eth0"},
      GidEntry{.index = 1, .gid = ipv6(0xfe, 0x80, 1), .type = GidType::roce_v2, .netdev = "eth0"},
      GidEntry{.index = 2, .gid = ipv4(1), .type = GidType::roce_v1, .netdev = "eth0"},
      GidEntry{.index = 3, .gid = ipv4(1), .type = GidType::roce_v2, .netdev = "eth0"},
      GidEntry{.index = 4, .gid = ipv4(9), .type = GidType::roce_v2, .netdev = "eth0.7"},
      GidEntry{.index = 5, .gid = ipv6(0x20, 0x01, 1), .type = GidType::roce_v2, .netdev = "eth0"},
  };
  const std::span all(entries);
  EXPECT_EQ(choose_roce_gid(all, "eth0")->index, 3U);
  EXPECT_EQ(choose_roce_gid(all, "eth0.7")->index, 4U);
  EXPECT_EQ(choose_roce_gid(all, "")->index, 3U);
  EXPECT_EQ(choose_roce_gid(all.last(1), "eth0")->index, 5U);
  EXPECT_EQ(choose_roce_gid(all.first(3), "eth0")->index, 1U) << "RoCE v2 by link-local before RoCE v1 by address";
  EXPECT_EQ(choose_roce_gid(all.first(1), "eth0")->index, 0U);
  EXPECT_EQ(choose_roce_gid({}, "eth0"), nullptr);
}

TEST(GidChoice, EmptyEntriesAndInfinibandOnesAreNoChoice) {
  const std::array entries{GidEntry{.index = 0, .gid = {}, .type = GidType::roce_v2, .netdev = "eth0"},
                           GidEntry{.index = 1, .gid = ipv6(0xfe, 0x80, 1), .type = GidType::ib, .netdev = {}}};
  EXPECT_EQ(choose_roce_gid(entries, "eth0"), nullptr);
}

QpFacts facts(std::uint32_t qp_num) {
  QpFacts out;
  out.transport = Transport::roce_v2;
  out.gid_type = GidType::roce_v2;
  out.gid = ipv4(static_cast<std::uint8_t>(qp_num));
  out.qp_num = qp_num;
  out.mtu = 4096;
  out.max_rd_atomic = 16;
  out.max_dest_rd_atomic = 16;
  return out;
}

TEST(Agree, TakesTheSmallerMtuAndNeverMoreReadsThanThePeerAnswers) {
  QpFacts own = facts(1);
  QpFacts peer = facts(2);
  own.max_rd_atomic = 128;  // F07's kin: an E810 initiates 255 and answers 127
  own.max_dest_rd_atomic = 8;
  peer.max_dest_rd_atomic = 4;
  peer.mtu = 1024;
  const Agreement agreement = agree(own, peer).value();
  EXPECT_EQ(agreement.mtu, 1024U);
  EXPECT_EQ(agreement.max_rd_atomic, 4);
  EXPECT_EQ(agreement.max_dest_rd_atomic, 8);
}

TEST(Agree, BothSidesComputeTheSame) {
  EXPECT_TRUE(rc::check([] {
    QpFacts one = facts(*rc::gen::inRange<std::uint32_t>(1, 4));
    QpFacts other = facts(*rc::gen::inRange<std::uint32_t>(1, 4));
    for (QpFacts* side : {&one, &other}) {
      side->over_rdma_cm = true;
      side->cm_address = ipv4(*rc::gen::inRange<std::uint8_t>(1, 3));
      side->cm_port = *rc::gen::inRange<std::uint16_t>(1, 3);
      side->max_rd_atomic = *rc::gen::inRange<std::uint8_t>(0, 20);
      side->max_dest_rd_atomic = *rc::gen::inRange<std::uint8_t>(0, 20);
    }
    const auto here = agree(one, other);
    const auto there = agree(other, one);
    RC_ASSERT(here.has_value() == there.has_value());
    if (!here) return;
    RC_ASSERT(here->mtu == there->mtu);
    RC_ASSERT(here->dials != there->dials);
    RC_ASSERT(here->max_rd_atomic == there->max_dest_rd_atomic);
  }));
}

TEST(Agree, WhatDoesNotFitIsNamed) {
  const QpFacts own = facts(1);
  const auto refused = [&own](auto change) {
    QpFacts peer = facts(2);
    change(peer);
    const auto agreement = agree(own, peer);
    return agreement ? std::string("agreed") : agreement.error().field;
  };
  EXPECT_EQ(refused([](QpFacts&) {}), "agreed");
  EXPECT_EQ(refused([](QpFacts& peer) { peer.version = 2; }), "version");
  EXPECT_EQ(refused([](QpFacts& peer) { peer.type = QpType::uc; }), "type");
  EXPECT_EQ(refused([](QpFacts& peer) { peer.transport = Transport::iwarp; }), "transport");
  EXPECT_EQ(refused([](QpFacts& peer) { peer.over_rdma_cm = true; }), "over_rdma_cm");
  EXPECT_EQ(refused([](QpFacts& peer) { peer.gid_type = GidType::roce_v1; }), "gid_type");
  EXPECT_EQ(refused([](QpFacts& peer) { peer.mtu = 0; }), "mtu");
}

TEST(QpFactsText, IsOneLineWithQpNumbersInHex) {
  const std::string text = to_string(facts(0x11));
  EXPECT_EQ(text.find('\n'), std::string::npos);
  EXPECT_NE(text.find("rc qp 0x11"), std::string::npos) << text;
  EXPECT_NE(text.find("::ffff:10.77.0.17"), std::string::npos) << text;
  EXPECT_NE(text.find("mtu 4096"), std::string::npos) << text;
}

}  // namespace
}  // namespace verbena
