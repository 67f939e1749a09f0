// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "peer/far_memory.hpp"
#include "peer/mirror.hpp"
#include "peer/protocol.hpp"
#include "peer/socket.hpp"
#include "rig/memory.hpp"

namespace conform::peer {
namespace {

using ::testing::HasSubstr;
using Bytes = std::vector<std::uint8_t>;

RC_GTEST_PROP(PeerPacket, GivesBackWhatWasPutInItsOrder, (std::uint64_t a, const std::string& text, std::int16_t b)) {
  Packet packet;
  packet.put(a);
  packet.put_text(text);
  packet.put(b);
  RC_ASSERT(packet.get<std::uint64_t>() == a);
  RC_ASSERT(packet.text() == text);
  RC_ASSERT(packet.get<std::int16_t>() == b);
  RC_ASSERT(packet.good());
  RC_ASSERT(packet.left() == 0U);
}

RC_GTEST_PROP(PeerPacket, IsBadForGoodOnceItIsReadBeyondItsEnd, (const Bytes& bytes)) {
  Packet packet(bytes);
  for (std::size_t at = 0; at < bytes.size(); ++at) packet.get<std::uint8_t>();
  RC_ASSERT(packet.good());
  RC_ASSERT(packet.get<std::uint32_t>() == 0U);
  RC_ASSERT(!packet.good());
  RC_ASSERT(packet.text().empty());
}

TEST(PeerPacket, ATextThatClaimsMoreThanThereIsIsBad) {
  Packet packet;
  packet.put(~std::uint32_t{0});
  packet.put(std::uint32_t{7});
  EXPECT_EQ(packet.text(), "");
  EXPECT_FALSE(packet.good());
}

TEST(PeerHello, GoesThereAndBack) {
  Hello hello{.layout = layout_here(), .list_version = 4, .list_hash = 5, .seed = 6, .token = 7};
  hello.verbena = "1.2.3";
  hello.host = "here";
  hello.device = "rxe0";
  const auto read = hello_from(packet_of(hello));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->list_hash, 5U);
  EXPECT_EQ(read->token, 7U);
  EXPECT_EQ(read->device, "rxe0");
  EXPECT_EQ(mismatch(*read, 4, 5, "1.2.3"), "");
  EXPECT_FALSE(hello_from(Packet(Bytes{'G', 'E', 'T', ' ', '/', ' ', 'H', 'T', 'T', 'P'})));
}

TEST(PeerHello, AnotherListIsRefusedWithBothVersions) {
  const Hello hello{.layout = layout_here(), .list_version = 4, .list_hash = 0xa};
  EXPECT_THAT(mismatch(hello, 3, 0xb, ""), HasSubstr("version 3 (000000000000000b) and this end's version 4"));
  EXPECT_THAT(mismatch(hello, 4, 0xb, ""), HasSubstr("000000000000000a"));
}

TEST(PeerHello, AnotherProtocolOrLayoutIsRefusedByItsName) {
  Hello hello{.layout = layout_here()};
  hello.protocol = kProtocol + 1;
  const auto read = hello_from(packet_of(hello));
  ASSERT_TRUE(read);
  EXPECT_THAT(mismatch(*read, 0, 0, ""), HasSubstr("speaks protocol 1 and this end 2"));
  const Hello other{.layout = layout_here() + 1};
  EXPECT_THAT(mismatch(other, 0, 0, "0.9"), HasSubstr("verbs headers"));
}

TEST(PeerSocket, ReadsHostsAndPorts) {
  const auto is = [](std::string_view text, std::string_view host, std::uint16_t port) {
    const auto read = host_port(text, 18590);
    return read && read->host == host && read->port == port;
  };
  EXPECT_TRUE(is("", "", 18590));
  EXPECT_TRUE(is(":7", "", 7));
  EXPECT_TRUE(is("b", "b", 18590));
  EXPECT_TRUE(is("b:7", "b", 7));
  EXPECT_TRUE(is("[::1]:7", "::1", 7));
  EXPECT_TRUE(is("[::1]", "::1", 18590));
  EXPECT_TRUE(is("fe80::1", "fe80::1", 18590));
  for (const char* wrong : {"b:", "b:x", "b:70000", "[::1", "[]", "[::1]7"}) EXPECT_FALSE(host_port(wrong, 1)) << wrong;
}

TEST(PeerSocket, AFrameThatIsTooLongOrCutOffIsNone) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  Socket a(ends[0]), b(ends[1]);
  Packet packet;
  packet.put_text("seven bytes and more");
  ASSERT_TRUE(send_frame(a.fd(), packet, packet));
  const auto whole = receive_frame(b.fd(), 1000);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->bytes().size(), 2 * packet.bytes().size());
  ASSERT_TRUE(send_frame(a.fd(), packet));
  EXPECT_FALSE(receive_frame(b.fd(), 8));
  EXPECT_FALSE(receive_frame(a.fd(), 8, std::chrono::milliseconds(5)));  // nothing comes
  a.close();
  EXPECT_FALSE(receive_frame(b.fd(), 1000));
}

RC_GTEST_PROP(PeerChanges, MakeTheCopyAndSendNoByteThatStayed, ()) {
  const auto last = *rc::gen::container<Bytes>(600, rc::gen::inRange<std::uint8_t>(0, 3));
  const auto now = *rc::gen::container<Bytes>(600, rc::gen::inRange<std::uint8_t>(0, 3));
  Bytes copy = last;
  Packet packet;
  {
    Changes changes(packet);
    changes.add(0, now.data(), copy.data(), now.size());
  }
  RC_ASSERT(copy == now);
  Bytes made = last;
  const auto runs = packet.get<std::uint32_t>();
  for (std::uint32_t run = 0; run < runs; ++run) {
    const auto at = packet.get<std::uint64_t>();
    const auto length = packet.get<std::uint32_t>();
    const std::uint8_t* bytes = packet.take(length);
    RC_ASSERT(bytes != nullptr);
    for (std::uint32_t step = 0; step < length; ++step) {
      RC_ASSERT(last[at + step] != bytes[step]);
      made[at + step] = bytes[step];
    }
  }
  RC_ASSERT(made == now);
  RC_ASSERT(packet.left() == 0U);
}

TEST(PeerMirror, SaysWhatThisProcessWroteAndTakesWhatTheOtherDid) {
  const Memory memory(3 * kGrain, 1U << 16);
  Mirror mirror;
  ASSERT_TRUE(mirror.hold(memory.address(), memory.size()));
  Packet first;
  EXPECT_FALSE(mirror.changes(first));
  memory.data()[kGrain + 5] = 9;
  Packet second;
  ASSERT_TRUE(mirror.changes(second));
  EXPECT_EQ(second.get<std::uint32_t>(), 1U);
  EXPECT_EQ(second.get<std::uint64_t>(), memory.address() + kGrain + 5);
  EXPECT_EQ(second.get<std::uint32_t>(), 1U);
  // A run over the edge of two pieces; and one beside what is held, which is nobody's.
  Packet third;
  third.put(std::uint32_t{2});
  third.put(memory.address() + kGrain - 2);
  third.put(std::uint32_t{4});
  third.put_bytes("abcd", 4);
  third.put(memory.address() + (std::uint64_t{1} << 40));
  third.put(std::uint32_t{1});
  third.put_bytes("x", 1);
  ASSERT_TRUE(mirror.apply(third));
  EXPECT_EQ(std::memcmp(memory.data() + kGrain - 2, "abcd", 4), 0);
  Packet fourth;
  EXPECT_FALSE(mirror.changes(fourth));
}

TEST(PeerMirror, HoldsNothingThatThisProcessCannotRead) {
  const Memory memory(kGrain, 1U << 16);
  Mirror mirror;
  EXPECT_FALSE(mirror.hold(memory.address(), memory.size() + (1U << 16)));  // the page behind it is nobody's
  EXPECT_FALSE(mirror.hold(0, 1));
  EXPECT_FALSE(mirror.hold(memory.address(), 0));
  EXPECT_FALSE(mirror.hold(~std::uint64_t{0} - 1, 4));
  EXPECT_TRUE(mirror.empty());
}

TEST(PeerFarMemory, IsWhereItWasAskedForAndSaysWhatChanged) {
  std::uint64_t address = 0;
  {
    const Memory was(2 * kGrain, 1U << 16);
    address = was.address();
  }
  FarMemory far(1U << 12);
  ASSERT_EQ(far.hold(address, 2 * kGrain), 0);
  Packet in;
  in.put(std::uint32_t{1});
  in.put(address + 3);
  in.put(std::uint32_t{2});
  in.put_bytes("ab", 2);
  ASSERT_TRUE(far.apply(in));
  auto* bytes = reinterpret_cast<std::uint8_t*>(address);
  EXPECT_EQ(bytes[4], 'b');
  bytes[kGrain] = 7;
  Packet out;
  far.changes(out);
  EXPECT_EQ(out.get<std::uint32_t>(), 1U);
  EXPECT_EQ(out.get<std::uint64_t>(), address + kGrain);
  far.drop(address, 2 * kGrain);
  Packet late;
  late.put(std::uint32_t{1});
  late.put(address);
  late.put(std::uint32_t{1});
  late.put_bytes("x", 1);
  EXPECT_FALSE(far.apply(late));
}

TEST(PeerFarMemory, NeverTakesTheAddressesOfSomethingElse) {
  const Memory mine(kGrain, 1U << 16);
  mine.data()[0] = 5;
  FarMemory far(1U << 12);
  EXPECT_EQ(far.hold(mine.address(), kGrain), EEXIST);
  EXPECT_EQ(mine.data()[0], 5);
  Packet out;
  far.changes(out);
  EXPECT_EQ(out.get<std::uint32_t>(), 0U);
}

}  // namespace
}  // namespace conform::peer
