// SPDX-License-Identifier: Apache-2.0 OR MIT
// What arrives where nothing is lost: every opcode, at every size that a path MTU makes special.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <tuple>

#include "engine/fabric/direct.hpp"
#include "engine_transport/rig.hpp"

namespace engine_test {
namespace {

using Fabric = fabric::Direct;

struct Kind {
  const char* name;
  ibv_qp_type type;
  ibv_wr_opcode opcode;
};

const Kind kKinds[] = {
    {"RcSend", IBV_QPT_RC, IBV_WR_SEND},
    {"RcSendWithImm", IBV_QPT_RC, IBV_WR_SEND_WITH_IMM},
    {"RcWrite", IBV_QPT_RC, IBV_WR_RDMA_WRITE},
    {"RcWriteWithImm", IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM},
    {"RcRead", IBV_QPT_RC, IBV_WR_RDMA_READ},
    {"UcSend", IBV_QPT_UC, IBV_WR_SEND},
    {"UcSendWithImm", IBV_QPT_UC, IBV_WR_SEND_WITH_IMM},
    {"UcWrite", IBV_QPT_UC, IBV_WR_RDMA_WRITE},
    {"UcWriteWithImm", IBV_QPT_UC, IBV_WR_RDMA_WRITE_WITH_IMM},
};

class Carries : public ::testing::TestWithParam<std::tuple<Kind, std::uint32_t>> {
protected:
  Turned clock;
  Fabric wire;
  Nic<Fabric> a{wire, clock, 1};
  Nic<Fabric> b{wire, clock, 2};
};

TEST_P(Carries, EveryByteOnceAndNoneBeside) {
  const auto& [kind, bytes] = GetParam();
  constexpr std::size_t kHalf = 1 << 15;
  constexpr std::byte kUntouched{0xee};
  End<Fabric> from(a, 17, {.type = kind.type});
  End<Fabric> to(b, 18, {.type = kind.type});
  connect(from, to);
  std::fill(to.memory.begin(), to.memory.end(), kUntouched);
  std::fill(from.memory.begin(), from.memory.end(), kUntouched);
  const bool read = kind.opcode == IBV_WR_RDMA_READ;
  End<Fabric>& source = read ? to : from;
  End<Fabric>& target = read ? from : to;
  for (std::uint32_t at = 0; at < bytes; ++at) source.memory[at] = static_cast<std::byte>(at * 37 + 1);

  const std::uint32_t third = bytes / 3;
  ASSERT_EQ(to.receive(7, {to.sge(kHalf, third), to.sge(kHalf + third, bytes - third)}), transport::PostFault::none);
  ibv_send_wr wr = rdma(kind.opcode, 9, to.address(read ? 0 : kHalf), to.region->key);
  wr.imm_data = 0x01020304;
  const std::size_t mine = read ? kHalf : 0;
  ASSERT_EQ(from.send(wr, {from.sge(mine, third), from.sge(mine + third, 0), from.sge(mine + third, bytes - third)}),
            transport::PostFault::none);

  const auto sent = from.poll();
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->status, IBV_WC_SUCCESS);
  EXPECT_EQ(sent->wr_id, 9U);
  EXPECT_EQ(sent->qp_num, 17U);
  EXPECT_FALSE(from.poll());
  for (std::uint32_t at = 0; at < bytes; ++at) ASSERT_EQ(target.memory[kHalf + at], source.memory[at]) << at;
  EXPECT_EQ(target.memory[kHalf + bytes], kUntouched);
  EXPECT_EQ(target.memory[kHalf - 1], kUntouched);

  const bool completes = kind.opcode != IBV_WR_RDMA_WRITE && kind.opcode != IBV_WR_RDMA_READ;
  const auto received = to.poll();
  ASSERT_EQ(received.has_value(), completes);
  if (!completes) return;
  EXPECT_EQ(received->wr_id, 7U);
  EXPECT_EQ(received->byte_len, bytes);
  const bool with_imm = kind.opcode == IBV_WR_SEND_WITH_IMM || kind.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
  EXPECT_EQ(received->opcode, kind.opcode == IBV_WR_RDMA_WRITE_WITH_IMM ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
  EXPECT_EQ((received->wc_flags & IBV_WC_WITH_IMM) != 0, with_imm);
  if (with_imm) {
    EXPECT_EQ(received->imm_data, 0x01020304U);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Carries,
                         ::testing::Combine(::testing::ValuesIn(kKinds),
                                            ::testing::Values(0U, 1U, 1023U, 1024U, 1025U, 2048U, 30'001U)),
                         [](const ::testing::TestParamInfo<std::tuple<Kind, std::uint32_t>>& one) {
                           return std::string(std::get<0>(one.param).name) + "Of" +
                                  std::to_string(std::get<1>(one.param));
                         });

class Datagram : public ::testing::TestWithParam<std::uint32_t> {};

TEST_P(Datagram, ComesBehindTheHeaderThatSaysWhoSentIt) {
  const std::uint32_t bytes = GetParam();
  Turned clock;
  Fabric wire;
  Nic<Fabric> a(wire, clock, 1);
  Nic<Fabric> b(wire, clock, 2);
  End<Fabric> from(a, 17, {.type = IBV_QPT_UD});
  End<Fabric> to(b, 18, {.type = IBV_QPT_UD});
  connect(from, to, {.mtu = IBV_MTU_4096});
  for (std::uint32_t at = 0; at < bytes; ++at) from.memory[at] = static_cast<std::byte>(at * 37 + 1);
  ASSERT_EQ(to.receive(7, {to.sge(0, 30), to.sge(30, 10 + bytes)}), transport::PostFault::none);
  ibv_send_wr wr = work(IBV_WR_SEND_WITH_IMM, 9);
  wr.imm_data = 5;
  wr.wr.ud.remote_qpn = 18;
  wr.wr.ud.remote_qkey = 0x11;
  queues::Address address;
  address.ip.source = a.gid;
  address.ip.destination = b.gid;
  address.ip.traffic_class = 0x20;
  ASSERT_EQ(from.send(wr, {from.sge(0, bytes)}, &address), transport::PostFault::none);
  ASSERT_TRUE(from.poll());
  const auto received = to.poll();
  ASSERT_TRUE(received);
  EXPECT_EQ(received->byte_len, bytes + 40);
  EXPECT_EQ(received->src_qp, 17U);
  EXPECT_NE(received->wc_flags & IBV_WC_GRH, 0U);
  EXPECT_EQ(received->imm_data, 5U);
  EXPECT_EQ(to.memory[20], std::byte{0x45});
  EXPECT_EQ(to.memory[21], std::byte{0x20});
  EXPECT_EQ(to.memory[35], std::byte{1}) << "the last byte of 10.0.0.1";
  for (std::uint32_t at = 0; at < bytes; ++at) ASSERT_EQ(to.memory[40 + at], from.memory[at]);
}

INSTANTIATE_TEST_SUITE_P(Each, Datagram, ::testing::Values(0U, 1U, 1024U, wire::kLargestMtu));

TEST(Datagrams, OfAGroupReachEachThatIsOfIt) {
  Turned clock;
  Fabric wire;
  Nic<Fabric> a(wire, clock, 1);
  Nic<Fabric> b(wire, clock, 2);
  End<Fabric> from(a, 17, {.type = IBV_QPT_UD});
  End<Fabric> one(b, 18, {.type = IBV_QPT_UD});
  End<Fabric> two(b, 19, {.type = IBV_QPT_UD});
  End<Fabric> other(a, 20, {.type = IBV_QPT_UD});
  End<Fabric> stranger(b, 21, {.type = IBV_QPT_UD});
  const wire::Gid group = wire::mapped(239, 1, 2, 3);
  for (End<Fabric>* const end : {&one, &two, &other, &stranger}) {
    aim(*end, from, {}, 0);
    end->receive(1, {end->sge(0, 100)});
  }
  aim(from, one, {}, 0);
  EXPECT_TRUE(b.adapter.attach(one.qp, group));
  EXPECT_TRUE(b.adapter.attach(two.qp, group));
  EXPECT_TRUE(a.adapter.attach(other.qp, group));
  EXPECT_FALSE(a.adapter.attach(other.qp, group));
  ibv_send_wr wr = work(IBV_WR_SEND, 9);
  wr.wr.ud.remote_qpn = 0xffffff;
  wr.wr.ud.remote_qkey = 0x11;
  queues::Address address;
  address.ip.source = a.gid;
  address.ip.destination = group;
  from.send(wr, {from.sge(0, 10)}, &address);
  EXPECT_TRUE(one.poll());
  EXPECT_TRUE(two.poll());
  EXPECT_TRUE(other.poll());
  EXPECT_FALSE(stranger.poll());
  EXPECT_TRUE(b.adapter.detach(one.qp, group));
  EXPECT_FALSE(b.adapter.detach(one.qp, group));
}

TEST(Atomics, ChangeTheWordOnceAndBringWhatItHeld) {
  Turned clock;
  Fabric wire;
  Nic<Fabric> a(wire, clock, 1);
  Nic<Fabric> b(wire, clock, 2);
  End<Fabric> from(a, 17);
  End<Fabric> to(b, 18);
  connect(from, to);
  const auto word = [](const End<Fabric>& end, std::size_t at) {
    std::uint64_t value = 0;
    std::memcpy(&value, end.memory.data() + at, sizeof value);
    return value;
  };
  ibv_send_wr wr = work(IBV_WR_ATOMIC_FETCH_AND_ADD, 1);
  wr.wr.atomic.remote_addr = to.address(64);
  wr.wr.atomic.rkey = to.region->key;
  wr.wr.atomic.compare_add = 41;
  from.send(wr, {from.sge(0, 8)});
  wr.wr.atomic.compare_add = 1;
  from.send(wr, {from.sge(8, 8)});
  EXPECT_EQ(word(from, 0), 0U);
  EXPECT_EQ(word(from, 8), 41U);
  EXPECT_EQ(word(to, 64), 42U);
  wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  wr.wr.atomic.compare_add = 42;
  wr.wr.atomic.swap = 7;
  from.send(wr, {from.sge(16, 8)});
  from.send(wr, {from.sge(24, 8)});
  EXPECT_EQ(word(from, 16), 42U);
  EXPECT_EQ(word(from, 24), 7U) << "what was there, though nothing was swapped";
  EXPECT_EQ(word(to, 64), 7U);
}

TEST(Inline, IsReadWhenItIsPosted) {
  Turned clock;
  Fabric wire;
  Nic<Fabric> a(wire, clock, 1);
  Nic<Fabric> b(wire, clock, 2);
  End<Fabric> from(a, 17);
  End<Fabric> to(b, 18);
  connect(from, to, {.rnr_retry = 7});
  std::array<char, 5> stack{'h', 'e', 'l', 'l', 'o'};
  from.send(work(IBV_WR_SEND, 1, IBV_SEND_SIGNALED | IBV_SEND_INLINE),
            {{reinterpret_cast<std::uintptr_t>(stack.data()), 5, 0xdead}});
  stack.fill('x');
  EXPECT_FALSE(from.poll()) << "no receive yet";
  to.receive(1, {to.sge(0, 10)});
  clock.time += std::chrono::seconds(1);
  a.adapter.expire(clock.time);
  ASSERT_TRUE(from.poll());
  EXPECT_EQ(std::memcmp(to.memory.data(), "hello", 5), 0);
}

}  // namespace
}  // namespace engine_test
