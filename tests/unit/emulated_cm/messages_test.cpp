// SPDX-License-Identifier: Apache-2.0 OR MIT
// Bytes of the messages. Where each field lies is written down here once more, from the tables of the InfiniBand
// specification, volume 1, chapter 12, as linux drivers/infiniband/core/cm_msgs.h has them as structures.
#include "cm/messages.hpp"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <initializer_list>
#include <random>
#include <vector>

#include "cm/cma_header.hpp"
#include "cm/times.hpp"

namespace verbena::emulator::cm {
namespace {

/// Bytes that must be at a place of the datagram, its header of 24 bytes included.
struct At {
  std::size_t offset;
  std::vector<unsigned> bytes;
};

void expect_bytes(const Mad& mad, std::initializer_list<At> places) {
  for (const At& place : places) {
    for (std::size_t index = 0; index < place.bytes.size(); ++index) {
      EXPECT_EQ(std::to_integer<unsigned>(mad[place.offset + index]), place.bytes[index])
          << "byte " << place.offset + index;
    }
  }
}

TEST(Messages, HaveTheHeaderOfTheirClass) {
  const struct {
    Body body;
    unsigned attribute;
  } rows[] = {{Req{}, 0x10},  {Mra{}, 0x11},  {Rej{}, 0x12},     {Rep{}, 0x13},    {Rtu{}, 0x14},
              {Dreq{}, 0x15}, {Drep{}, 0x16}, {SidrReq{}, 0x17}, {SidrRep{}, 0x18}};
  for (const auto& row : rows) {
    // linux include/rdma/ib_mad.h struct ib_mad_hdr
    expect_bytes(
        encode({0x0102030405060708, row.body}),
        {{0, {1, 7, 2, 3, 0, 0, 0, 0}}, {8, {1, 2, 3, 4, 5, 6, 7, 8}}, {16, {0, row.attribute, 0, 0, 0, 0, 0, 0}}});
  }
}

TEST(Messages, ReqLiesAsSpecified) {
  Req req;
  req.local_comm_id = 0x11223344;
  req.service_id = 0x0000000001060050;
  req.local_ca_guid = 0xa1a2a3a4a5a6a7a8;
  req.local_qkey = 0x51525354;
  req.local_qpn = 0xabcdef;
  req.responder_resources = 3;
  req.initiator_depth = 4;
  req.remote_cm_response_timeout = 20;
  req.transport_service_type = 1;
  req.end_to_end_flow_control = true;
  req.starting_psn = 0x123456;
  req.local_cm_response_timeout = 19;
  req.retry_count = 6;
  req.pkey = 0xffff;
  req.path_mtu = IBV_MTU_4096;
  req.rnr_retry_count = 5;
  req.max_cm_retries = 15;
  req.srq = true;
  req.primary.local_lid = 0x0102;
  req.primary.remote_lid = 0x0304;
  req.primary.local_gid = engine::wire::mapped(10, 11, 1, 1);
  req.primary.remote_gid = engine::wire::mapped(10, 11, 1, 2);
  req.primary.flow_label = 0xabcde;
  req.primary.packet_rate = 0x3f;
  req.primary.traffic_class = 0x68;
  req.primary.hop_limit = 64;
  req.primary.sl = 5;
  req.primary.subnet_local = true;
  req.primary.local_ack_timeout = 17;
  req.private_data.front() = std::byte{0xee};
  req.private_data.back() = std::byte{0xdd};
  expect_bytes(encode({0, req}),
               {{24, {0x11, 0x22, 0x33, 0x44, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0x06, 0x00, 0x50}},
                {40, {0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 0xa8, 0, 0, 0, 0, 0x51, 0x52, 0x53, 0x54}},
                {56, {0xab, 0xcd, 0xef, 3, 0, 0, 0, 4, 0, 0, 0, 20 << 3 | 1 << 1 | 1}},
                {68, {0x12, 0x34, 0x56, 19 << 3 | 6, 0xff, 0xff, 5 << 4 | 5, 15 << 4 | 1 << 3}},
                {76, {1, 2, 3, 4}},
                {80, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 11, 1, 1}},
                {96, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 10, 11, 1, 2}},
                {112, {0xab, 0xcd, 0xe0, 0x3f, 0x68, 64, 5 << 4 | 1 << 3, 17 << 3}},
                {120, {0, 0, 0, 0}},
                {164, {0xee}},
                {255, {0xdd}}});
}

TEST(Messages, TheOthersLieAsSpecified) {
  Rep rep;
  rep.local_comm_id = 1;
  rep.remote_comm_id = 2;
  rep.local_qkey = 3;
  rep.local_qpn = 0x010203;
  rep.starting_psn = 0x040506;
  rep.responder_resources = 7;
  rep.initiator_depth = 8;
  rep.target_ack_delay = 16;
  rep.failover_accepted = 2;
  rep.end_to_end_flow_control = true;
  rep.rnr_retry_count = 6;
  rep.srq = true;
  rep.local_ca_guid = 0x0807060504030201;
  rep.private_data.front() = std::byte{0xcc};
  expect_bytes(encode({0, rep}), {{24, {0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 1, 2, 3, 0, 0, 0, 0, 0, 4, 5, 6, 0}},
                                  {48, {7, 8, 16 << 3 | 2 << 1 | 1, 6 << 5 | 1 << 4, 8, 7, 6, 5, 4, 3, 2, 1, 0xcc}}});

  Rej rej;
  rej.local_comm_id = 1;
  rej.remote_comm_id = 2;
  rej.message = Answers::rep;
  rej.info_length = 8;
  rej.reason = Reason::consumer_defined;
  rej.info.front() = std::byte{0xaa};
  rej.private_data.front() = std::byte{0xbb};
  expect_bytes(encode({0, rej}), {{24, {0, 0, 0, 1, 0, 0, 0, 2, 1 << 6, 8 << 1, 0, 28, 0xaa}}, {24 + 84, {0xbb}}});

  expect_bytes(encode({0, Mra{1, 2, Answers::other, 24, {std::byte{0x77}}}}),
               {{24, {0, 0, 0, 1, 0, 0, 0, 2, 2 << 6, 24 << 3, 0x77}}});
  expect_bytes(encode({0, Rtu{1, 2, {std::byte{0x77}}}}), {{24, {0, 0, 0, 1, 0, 0, 0, 2, 0x77}}});
  expect_bytes(encode({0, Dreq{1, 2, 0x112233, {std::byte{0x77}}}}),
               {{24, {0, 0, 0, 1, 0, 0, 0, 2, 0x11, 0x22, 0x33, 0, 0x77}}});
  expect_bytes(encode({0, Drep{1, 2, {std::byte{0x77}}}}), {{24, {0, 0, 0, 1, 0, 0, 0, 2, 0x77}}});
  expect_bytes(encode({0, SidrReq{9, 0xffff, 0x01110007, {std::byte{0x77}}}}),
               {{24, {0, 0, 0, 9, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0x01, 0x11, 0x00, 0x07, 0x77}}});
  SidrRep sidr;
  sidr.request_id = 9;
  sidr.status = SidrStatus::reject;
  sidr.info_length = 4;
  sidr.qpn = 0x445566;
  sidr.service_id = 0x01110007;
  sidr.qkey = 0x01234567;
  sidr.info.front() = std::byte{0xaa};
  sidr.private_data.front() = std::byte{0xbb};
  expect_bytes(encode({0, sidr}), {{24, {0, 0, 0, 9, 2, 4, 0, 0, 0x44, 0x55, 0x66, 0, 0, 0, 0, 0, 1, 0x11, 0, 7}},
                                   {44, {0x01, 0x23, 0x45, 0x67, 0xaa}},
                                   {24 + 96, {0xbb}}});
}

/// Every bit of a datagram is drawn, but for those that say which message it is.
TEST(Messages, WhatWasReadIsWrittenTheSame) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    Mad mad{};
    std::generate(mad.begin(), mad.end(), [&random] { return static_cast<std::byte>(random()); });
    const Mad head = encode({random(), Req{}});
    std::copy_n(head.begin(), 16, mad.begin());
    mad[16] = std::byte{};
    mad[17] = static_cast<std::byte>(0x10 + round % 9);
    const auto message = parse(mad);
    ASSERT_TRUE(message);
    const auto again = parse(encode(*message));
    ASSERT_TRUE(again);
    EXPECT_EQ(*message, *again);
  }
}

TEST(Messages, OthersAreNone) {
  const Mad good = encode({1, Rtu{1, 2, {}}});
  ASSERT_TRUE(parse(good));
  // In memory of just that size, so that a read behind its end is seen.
  for (std::size_t length = 0; length < good.size(); ++length) {
    const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(length));
    EXPECT_FALSE(parse(cut)) << length;
  }
  std::vector<std::byte> longer(good.begin(), good.end());
  longer.push_back({});
  EXPECT_FALSE(parse(longer));
  const struct {
    std::size_t offset;
    unsigned byte;
  } wrong[] = {{0, 2}, {1, 3}, {2, 1}, {3, 1}, {16, 1}, {17, 0x0f}, {17, 0x19}, {17, 0x1a}};
  for (const auto& row : wrong) {
    Mad mad = good;
    mad[row.offset] = static_cast<std::byte>(row.byte);
    EXPECT_FALSE(parse(mad)) << row.offset << " " << row.byte;
  }
}

/// Source: linux drivers/infiniband/core/cma.c struct cma_hdr.
TEST(CmaHeaders, LieAsTheKernelHasThem) {
  std::array<std::byte, CmaHeader::kBytes> bytes{};
  CmaHeader header{.version = engine::wire::IpVersion::v4,
                   .port = 0x1234,
                   .source = engine::wire::mapped(10, 11, 1, 1),
                   .destination = engine::wire::mapped(10, 11, 1, 2)};
  write(header, bytes);
  const unsigned v4[] = {0, 0x40, 0x12, 0x34, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  0,  10, 11,
                         1, 1,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 11, 1,  2};
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    EXPECT_EQ(std::to_integer<unsigned>(bytes[index]), v4[index]) << index;
  }
  EXPECT_EQ(read_cma_header(bytes), header);

  header.version = engine::wire::IpVersion::v6;
  header.source[0] = header.destination[0] = std::byte{0xfe};
  write(header, bytes);
  EXPECT_EQ(bytes[1], std::byte{0x60});
  EXPECT_EQ(bytes[4], std::byte{0xfe});
  EXPECT_EQ(bytes[20], std::byte{0xfe});
  EXPECT_EQ(read_cma_header(bytes), header);

  bytes[1] = std::byte{0x50};
  EXPECT_FALSE(read_cma_header(bytes));
  bytes[1] = std::byte{0x40};
  bytes[0] = std::byte{1};
  EXPECT_FALSE(read_cma_header(bytes));
}

TEST(CmaHeaders, AServiceIsAPortOfASpace) {
  // rdma/rdma_cma.h RDMA_IB_IP_PS_TCP, RDMA_IB_IP_PS_UDP
  EXPECT_EQ(service_id(0x0106, 7471), 0x01060000U + 7471);
  EXPECT_EQ(service_id(0x0111, 1), 0x01110001U);
  EXPECT_EQ(port_space_of(0x01061d2f), 0x0106);
  EXPECT_EQ(port_of(0x01061d2f), 0x1d2f);
}

/// Source: linux drivers/infiniband/core/cm.c cm_convert_to_ms, and the comment above cm_ack_timeout.
TEST(Times, AreTheKernels) {
  using std::chrono::milliseconds;
  EXPECT_EQ(milliseconds_of(0), milliseconds(1));
  EXPECT_EQ(milliseconds_of(8), milliseconds(1));
  EXPECT_EQ(milliseconds_of(9), milliseconds(2));
  EXPECT_EQ(milliseconds_of(20), milliseconds(4096));
  const struct {
    unsigned ack_delay;
    unsigned life_time;
    unsigned code;
  } rows[] = {{0, 16, 17},  {15, 16, 17}, {16, 16, 18}, {17, 16, 18},
              {18, 16, 19}, {19, 16, 19}, {20, 16, 20}, {31, 31, 31}};
  for (const auto& row : rows) {
    EXPECT_EQ(ack_timeout(row.ack_delay, row.life_time), row.code) << row.ack_delay << " " << row.life_time;
  }
}

}  // namespace
}  // namespace verbena::emulator::cm
