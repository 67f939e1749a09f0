// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <utility>

#include "contract/contract_builder.hpp"

namespace verbena {
namespace {

using ::testing::HasSubstr;

Contract base(const Caps& caps) {
  return ContractBuilder(DeviceId{}, caps, 1, true).build(7);
}

TEST(ContractBase, BoundsComeFromTheCaps) {
  Caps caps;
  caps.set(Cap::max_qp_wr, 4063);
  caps.set(Cap::max_sge, 13);
  caps.set(Cap::max_cqe, 1048574);
  caps.set(Cap::max_qp_rd_atom, 127);
  caps.set(Cap::max_qp_init_rd_atom, 255);
  const Contract contract = base(caps);
  EXPECT_EQ(contract.domain(Field::max_send_wr).max, 4063U);
  EXPECT_EQ(contract.domain(Field::max_recv_wr).declared, 4063U);
  EXPECT_EQ(contract.domain(Field::max_send_sge).max, 13U);
  EXPECT_EQ(contract.domain(Field::cqe).max, 1048574U);
  EXPECT_EQ(contract.domain(Field::max_rd_atomic).max, 255U);
  EXPECT_EQ(contract.domain(Field::max_dest_rd_atomic).max, 127U);
  const Provenance& by = contract.provenance(contract.domain(Field::max_send_wr).max_by);
  EXPECT_EQ(by.set_by, SetBy::declared);
  EXPECT_THAT(by.reason, HasSubstr("max_qp_wr is 4063"));
  EXPECT_EQ(contract.quirks_hash(), 7U);
}

TEST(ContractBase, SendAndReceiveSgesHaveCapsOfTheirOwnWhereSomebodyToldThemApart) {
  Caps caps;
  caps.set(Cap::max_sge, 1);
  caps.set(Cap::max_send_sge, 6);
  const Contract contract = base(caps);
  EXPECT_EQ(contract.domain(Field::max_send_sge).max, 6U);
  EXPECT_EQ(contract.provenance(contract.domain(Field::max_send_sge).max_by).set_by, SetBy::probed);
  EXPECT_EQ(contract.domain(Field::max_recv_sge).max, 1U);
}

TEST(ContractBase, DepthsOfNothingAreNotFilledIn) {
  Caps caps;
  caps.set(Cap::max_qp_wr, 0);
  caps.set(Cap::max_cqe, 0);
  const Contract contract = base(caps);
  for (const Field field : {Field::max_send_wr, Field::max_recv_wr, Field::cqe})
    EXPECT_FALSE(contract.domain(field).known) << name(field);
}

TEST(ContractBase, WhatNobodySaysIsUnknown) {
  const Contract contract = base(Caps{});
  EXPECT_FALSE(contract.domain(Field::max_inline_data).known);
  EXPECT_FALSE(contract.domain(Field::max_send_wr).known);
  EXPECT_EQ(contract.feature(Feature::uc).support, Support::unknown);
  EXPECT_EQ(contract.feature(Feature::srq).support, Support::unknown);
}

TEST(ContractBase, ZeroOfACapThatDriversLeaveUnfilledIsUnknown) {
  // hns before 2025-03 and Hi1822 leave max_sge_rd at 0; efa fills no max_qp_rd_atom.
  Caps caps;
  caps.set(Cap::max_sge_rd, 0);
  caps.set(Cap::max_qp_rd_atom, 0);
  const Contract contract = base(caps);
  EXPECT_FALSE(contract.domain(Field::read_sge).known);
  EXPECT_FALSE(contract.domain(Field::max_dest_rd_atomic).known);
}

TEST(ContractBase, FeaturesComeFromTheCapsThatGrantOrDenyThem) {
  Caps caps;
  caps.set(Cap::atomic_cap, 0);
  caps.set(Cap::max_srq, 0);
  caps.set(Cap::device_cap_flags, (1U << 17U) | (1U << 21U));
  caps.set(Cap::odp_general_caps, 3);
  const Contract contract = base(caps);
  EXPECT_EQ(contract.feature(Feature::fetch_add).support, Support::absent);
  EXPECT_EQ(contract.feature(Feature::srq).support, Support::absent);
  EXPECT_TRUE(contract.native(Feature::memory_window_1));
  EXPECT_EQ(contract.feature(Feature::memory_window_2).support, Support::absent);
  EXPECT_TRUE(contract.native(Feature::implicit_odp));
  EXPECT_EQ(contract.feature(Feature::flush).support, Support::unknown);
}

TEST(ContractBase, WhatThisVersionDoesNotCoverIsAbsent) {
  const Contract contract = base(Caps{});
  for (const Feature feature : {Feature::xrc, Feature::raw_packet, Feature::driver_qp, Feature::flow_steering}) {
    EXPECT_EQ(contract.feature(feature).support, Support::absent) << name(feature);
    EXPECT_EQ(contract.provenance(contract.feature(feature).by).set_by, SetBy::build);
  }
}

TEST(ContractBase, AnAssumedCapSaysSo) {
  Caps caps;
  caps.set(Cap::max_cqe, 100);
  caps.assumed.push_back(Cap::max_cqe);
  const Contract contract = base(caps);
  EXPECT_THAT(contract.provenance(contract.domain(Field::cqe).max_by).reason, HasSubstr("assumed"));
  EXPECT_TRUE(contract.domain(Field::cqe).declared_assumed);
  EXPECT_FALSE(contract.domain(Field::max_send_wr).declared_assumed);
}

TEST(ContractBase, BehavioursStartWithTheirFallback) {
  const Contract contract = base(Caps{});
  for (const BehaviourInfo& flag : all_behaviours()) {
    EXPECT_EQ(contract.behaviour(flag.behaviour).choice, flag.fallback) << flag.name;
  }
}

TEST(ContractBase, TheVerbsInterfaceItselfBoundsEveryNumber) {
  struct Bound {
    std::uint64_t min, max;
    bool known;
  };
  // The types of infiniband/verbs.h, and the widths of the specification's fields; what has no row is a count of int.
  const std::map<Field, Bound> expected{{Field::max_send_wr, {0, 0xffffffffU, false}},
                                        {Field::max_recv_wr, {0, 0xffffffffU, false}},
                                        {Field::max_send_sge, {0, 0xffffffffU, false}},
                                        {Field::max_recv_sge, {0, 0xffffffffU, false}},
                                        {Field::max_inline_data, {0, 0xffffffffU, false}},
                                        {Field::max_rd_atomic, {0, 255, false}},
                                        {Field::max_dest_rd_atomic, {0, 255, false}},
                                        {Field::timeout, {0, 31, true}},
                                        {Field::retry_cnt, {0, 7, true}},
                                        {Field::rnr_retry, {0, 7, true}},
                                        {Field::min_rnr_timer, {0, 31, true}},
                                        {Field::path_mtu_bytes, {256, 4096, true}},
                                        {Field::cqe, {1, 0x7fffffffU, false}},
                                        {Field::cq_count, {0, 65535, false}},
                                        {Field::cq_period, {0, 65535, false}},
                                        {Field::max_wr, {1, 0xffffffffU, false}},
                                        {Field::max_sge, {0, 0xffffffffU, false}},
                                        {Field::srq_limit, {0, 0xffffffffU, false}},
                                        {Field::mr_length, {0, Domain::kUnbounded, false}},
                                        {Field::message_bytes, {0, 0xffffffffU, false}},
                                        {Field::total_wr, {0, Domain::kUnbounded, false}}};
  const Contract contract = base(Caps{});
  for (const FieldInfo& field : all_fields()) {
    const auto found = expected.find(field.field);
    const Bound bound = found != expected.end() ? found->second : Bound{0, 0x7fffffffU, false};
    const Domain& domain = contract.domain(field.field);
    EXPECT_EQ(domain.min, bound.min) << field.name;
    EXPECT_EQ(domain.max, bound.max) << field.name;
    EXPECT_EQ(domain.known, bound.known) << field.name;
    EXPECT_EQ(contract.provenance(domain.max_by).set_by, SetBy::build) << field.name;
    EXPECT_FALSE(contract.provenance(domain.max_by).source.empty()) << field.name;
  }
}

TEST(ContractBase, ADeviceWithoutSharedQueuesIsNotAskedForOneEntry) {
  Caps caps;
  caps.set(Cap::max_srq_wr, 0);
  const Contract contract = base(caps);
  EXPECT_EQ(contract.domain(Field::max_wr).max, 0U);
  EXPECT_FALSE(contract.domain(Field::max_wr).empty());
}

TEST(ContractBase, ThePortBoundsMessagesAndMtu) {
  Caps caps;
  PortCaps port;
  port.number = 2;
  port.set(PortCap::max_msg_sz, 1U << 30U);
  port.set(PortCap::active_mtu, 1024);
  caps.ports.push_back(port);
  const Contract contract = ContractBuilder(DeviceId{}, caps, 2, true).build(0);
  EXPECT_EQ(contract.domain(Field::message_bytes).max, 1U << 30U);
  EXPECT_EQ(contract.domain(Field::path_mtu_bytes).max, 1024U);
  EXPECT_EQ(contract.port(), 2);
}

}  // namespace
}  // namespace verbena
