// SPDX-License-Identifier: Apache-2.0 OR MIT
// PSN arithmetic, timers, MTU codes, syndromes, checksums and the numbers of the opcode table.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <vector>

#include "engine/wire/bytes.hpp"
#include "engine/wire/internet_checksum.hpp"
#include "engine/wire/mtu.hpp"
#include "engine/wire/opcode_table.hpp"
#include "engine/wire/packet.hpp"
#include "engine/wire/psn.hpp"
#include "engine/wire/timers.hpp"

namespace verbena::engine::wire {
namespace {

using namespace std::chrono_literals;

TEST(WireBytes, TheMostSignificantIsFirstOnEveryHost) {
  constexpr std::array<std::byte, 9> kBytes{std::byte{0xff}, std::byte{1}, std::byte{2}, std::byte{3},   std::byte{4},
                                            std::byte{5},    std::byte{6}, std::byte{7}, std::byte{0x88}};
  static_assert(load<std::uint64_t>(kBytes.data() + 1) == 0x0102030405060788);
  static_assert(load<std::uint32_t>(kBytes.data() + 1) == 0x01020304);
  static_assert(load<std::uint16_t>(kBytes.data()) == 0xff01);
  std::array<std::byte, 9> written{std::byte{0xff}};
  store(written.data() + 1, std::uint64_t{0x0102030405060788});
  EXPECT_EQ(written, kBytes);
}

TEST(WirePsn, WrapsAtTwoToThe24) {
  EXPECT_EQ((Psn(0xffffff) + 1).value(), 0U);
  EXPECT_EQ((Psn(0) - 1).value(), 0xffffffU);
  EXPECT_EQ(Psn(0x1000005).value(), 5U);
  EXPECT_EQ(distance(Psn(0xfffffe), Psn(3)), 5);
  EXPECT_EQ(distance(Psn(3), Psn(0xfffffe)), -5);
  EXPECT_EQ(distance(Psn(0), Psn(0x7fffff)), 0x7fffff);
  EXPECT_EQ(distance(Psn(0), Psn(0x800000)), -0x800000);
  EXPECT_TRUE(precedes(Psn(0xffffff), Psn(0)));
  EXPECT_FALSE(precedes(Psn(7), Psn(7)));
  EXPECT_TRUE(in_window(Psn(1), Psn(0xffffff), 3));
  EXPECT_FALSE(in_window(Psn(2), Psn(0xffffff), 3));
  EXPECT_FALSE(in_window(Psn(0xfffffe), Psn(0xffffff), 3));
  EXPECT_FALSE(in_window(Psn(5), Psn(5), 0));
}

RC_GTEST_PROP(WirePsn, DistanceIsWhatWasAdded, (std::uint32_t from)) {
  const auto packets = *rc::gen::inRange<std::int32_t>(-Psn::kHalf, Psn::kHalf);
  const Psn first(from);
  const Psn second = first + static_cast<std::uint32_t>(packets);
  RC_ASSERT(distance(first, second) == packets);
  RC_ASSERT(precedes(first, second) == (packets > 0));
  const PsnRegion wanted = packets == 0 ? PsnRegion::expected : packets < 0 ? PsnRegion::duplicate : PsnRegion::ahead;
  RC_ASSERT(region(second, first) == wanted);
}

TEST(WireTimers, AckTimeout) {
  EXPECT_EQ(ack_timeout(0), 0ns) << "no timer";
  EXPECT_EQ(ack_timeout(1), 8192ns);
  EXPECT_EQ(ack_timeout(14), 67108864ns);
  EXPECT_EQ(ack_timeout(31), 4096ns * (1LL << 31));
  EXPECT_EQ(ack_timeout(0x21), ack_timeout(1)) << "five bits";
}

TEST(WireTimers, Rnr) {
  EXPECT_EQ(rnr_timer(0), 655360us);
  EXPECT_EQ(rnr_timer(1), 10us);
  EXPECT_EQ(rnr_timer(12), 640us);
  EXPECT_EQ(rnr_timer(25), 61440us);
  EXPECT_EQ(rnr_timer(31), 491520us);
  // From code 4 on, each is twice the one two before it.
  for (std::uint8_t code = 6; code < 32; ++code) {
    EXPECT_EQ(rnr_timer(code), 2 * rnr_timer(static_cast<std::uint8_t>(code - 2))) << +code;
  }
}

TEST(WireMtu, CodesAndBytes) {
  const std::vector<std::uint32_t> bytes{0, 256, 512, 1024, 2048, 4096, 0, 0};
  for (std::size_t code = 0; code < bytes.size(); ++code)
    EXPECT_EQ(mtu_bytes(static_cast<unsigned>(code)), bytes[code]);
  for (std::uint8_t code = 1; code <= 5; ++code) EXPECT_EQ(mtu_code(bytes[code]), code);
  EXPECT_EQ(mtu_code(1000), 0);
  EXPECT_EQ(mtu_code(0), 0);
  EXPECT_EQ(packets_of(0, 256), 1U);
  EXPECT_EQ(packets_of(256, 256), 1U);
  EXPECT_EQ(packets_of(257, 256), 2U);
  EXPECT_EQ(packets_of(0xffffffff, 256), 1U << 24);
}

TEST(WireSyndrome, KindAndCode) {
  EXPECT_EQ(Syndrome().bits(), 0x1f);
  EXPECT_EQ(Syndrome::ack(5).bits(), 0x05);
  EXPECT_EQ(Syndrome::rnr_nak(12).bits(), 0x2c);
  EXPECT_EQ(Syndrome::nak(NakCode::psn_sequence_error).bits(), 0x60);
  EXPECT_EQ(Syndrome::nak(NakCode::invalid_request).bits(), 0x61);
  EXPECT_EQ(Syndrome::nak(NakCode::remote_access_error).bits(), 0x62);
  EXPECT_EQ(Syndrome::nak(NakCode::remote_operational_error).bits(), 0x63);
  EXPECT_EQ(Syndrome::nak(NakCode::remote_access_error).kind(), AckKind::nak);
  EXPECT_EQ(Syndrome::rnr_nak(12).code(), 12);
  EXPECT_EQ(Syndrome(0xff).kind(), AckKind::nak);
}

TEST(WireSyndrome, CreditsPromiseNoMoreThanThereIs) {
  EXPECT_EQ(kCredits[11], 48);
  EXPECT_EQ(kCredits[30], 32768);
  for (std::uint32_t receives = 0; receives < 70000; ++receives) {
    const std::uint8_t code = credit_code(receives);
    ASSERT_LT(code, Syndrome::kUnlimited);
    ASSERT_LE(kCredits[code], receives);
    ASSERT_TRUE(code == 30 || kCredits[code + 1U] > receives);
  }
}

RC_GTEST_PROP(WireInternetChecksum, PiecesMakeTheSameAsTheWhole, (std::vector<std::uint8_t> bytes, std::size_t cut)) {
  const auto whole = std::as_bytes(std::span(bytes));
  cut = bytes.empty() ? 0 : cut % bytes.size();
  InternetChecksum one;
  one.add(whole);
  InternetChecksum two;
  two.add(whole.first(cut));
  two.add(whole.subspan(cut));
  RC_ASSERT(one.value() == two.value());
  // And as RFC 1071 says it, word by word.
  std::uint32_t sum = 0;
  for (std::size_t at = 0; at < bytes.size(); at += 2) {
    sum += static_cast<std::uint32_t>(bytes[at] << 8) + (at + 1 < bytes.size() ? bytes[at + 1] : 0U);
    sum = (sum & 0xffff) + (sum >> 16);
  }
  RC_ASSERT(one.value() == static_cast<std::uint16_t>(~sum));
}

TEST(WireOpcodeTable, NumbersAreTransportAndOperation) {
  for (std::size_t number = 0; number < kOpcodes.size(); ++number) {
    const OpcodeInfo& row = kOpcodes[number];
    if (!row.known) continue;
    const std::size_t transport = number >> 5;
    EXPECT_EQ(transport, row.transport == Transport::rc   ? 0U
                         : row.transport == Transport::uc ? 1U
                         : row.transport == Transport::ud ? 3U
                                                          : 4U)
        << row.name;
    EXPECT_FALSE(row.name.empty());
    EXPECT_FALSE(row.source.empty()) << row.name;
    if (row.transport == Transport::uc) {
      const OpcodeInfo& rc = kOpcodes[number & 0x1f];
      EXPECT_EQ(row.headers, rc.headers) << "what UC has is as in RC: " << row.name;
      EXPECT_EQ(row.position, rc.position);
      EXPECT_EQ(row.takes_receive, rc.takes_receive);
      EXPECT_EQ(row.completes_receive, rc.completes_receive);
      EXPECT_EQ(row.answer, Answer::none);
    }
  }
}

TEST(WireOpcodeTable, HeaderBytes) {
  const auto bytes = [](Opcode opcode) { return +info(opcode).header_bytes; };
  EXPECT_EQ(bytes(Opcode::rc_send_only), 0);
  EXPECT_EQ(bytes(Opcode::rc_send_only_with_invalidate), 4);
  EXPECT_EQ(bytes(Opcode::rc_rdma_write_only_with_immediate), 20);
  EXPECT_EQ(bytes(Opcode::rc_compare_swap), 28);
  EXPECT_EQ(bytes(Opcode::rc_atomic_acknowledge), 12);
  EXPECT_EQ(bytes(Opcode::rc_flush), 20);
  EXPECT_EQ(bytes(Opcode::rc_rdma_read_response_middle), 0);
  EXPECT_EQ(bytes(Opcode::ud_send_only_with_immediate), 12);
  EXPECT_EQ(bytes(Opcode::cnp), 16);
}

TEST(WireOpcodeTable, ReceivesAndAnswers) {
  EXPECT_TRUE(info(Opcode::rc_send_first).takes_receive);
  EXPECT_FALSE(info(Opcode::rc_send_first).completes_receive);
  EXPECT_FALSE(info(Opcode::rc_send_last).takes_receive);
  EXPECT_TRUE(info(Opcode::rc_send_last).completes_receive);
  EXPECT_FALSE(info(Opcode::rc_rdma_write_only).takes_receive);
  EXPECT_TRUE(info(Opcode::rc_rdma_write_last_with_immediate).takes_receive);
  EXPECT_TRUE(info(Opcode::rc_rdma_write_last_with_immediate).completes_receive);
  EXPECT_EQ(info(Opcode::rc_rdma_read_request).answer, Answer::read_response);
  EXPECT_EQ(info(Opcode::rc_flush).answer, Answer::read_response);
  EXPECT_EQ(info(Opcode::rc_fetch_add).answer, Answer::atomic_acknowledge);
  EXPECT_EQ(info(Opcode::rc_rdma_write_first).answer, Answer::acknowledge);
  EXPECT_FALSE(info(Opcode::rc_acknowledge).request);
  EXPECT_FALSE(info(Opcode::cnp).request);
}

TEST(WireGrh, IsTheIpv6HeaderOrEndsWithTheIpv4Header) {
  Packet packet;
  packet.ip = {.traffic_class = 3, .hop_limit = 9, .identification = 77};
  packet.ip.source = mapped(1, 2, 3, 4);
  packet.ip.destination = mapped(5, 6, 7, 8);
  std::array<std::byte, kGrhBytes> grh;
  grh.fill(std::byte{0xee});
  write_grh(packet.ip, 40, grh);
  for (std::size_t index = 0; index < 20; ++index) EXPECT_EQ(grh[index], std::byte{0});
  EXPECT_EQ(load<std::uint32_t>(grh.data() + 20), 0x4503003cU);
  EXPECT_EQ(load<std::uint32_t>(grh.data() + 32), 0x01020304U);
  EXPECT_EQ(load<std::uint32_t>(grh.data() + 36), 0x05060708U);

  packet.ip.version = IpVersion::v6;
  packet.ip.flow_label = 0xabcde;
  write_grh(packet.ip, 40, grh);
  EXPECT_EQ(load<std::uint64_t>(grh.data()), 0x603abcde00281109U);
}

}  // namespace
}  // namespace verbena::engine::wire
