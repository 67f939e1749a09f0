// SPDX-License-Identifier: Apache-2.0 OR MIT
// What arrives between two members, one after the other in one thread: every opcode, at every size that a ring or a
// path MTU makes special, with payload that is fetched and with payload that is copied.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <tuple>

#include "engine/transport/work_opcode.hpp"
#include "engine_shared/rig.hpp"

namespace engine_test {
namespace {

struct Kind {
  const char* name;
  ibv_qp_type type;
  ibv_wr_opcode opcode;
};

const Kind kKinds[] = {
    {"RcSend", IBV_QPT_RC, IBV_WR_SEND},
    {"RcSendWithImm", IBV_QPT_RC, IBV_WR_SEND_WITH_IMM},
    {"RcSendWithInv", IBV_QPT_RC, IBV_WR_SEND_WITH_INV},
    {"RcWrite", IBV_QPT_RC, IBV_WR_RDMA_WRITE},
    {"RcWriteWithImm", IBV_QPT_RC, IBV_WR_RDMA_WRITE_WITH_IMM},
    {"RcRead", IBV_QPT_RC, IBV_WR_RDMA_READ},
    {"UcSend", IBV_QPT_UC, IBV_WR_SEND},
    {"UcSendWithImm", IBV_QPT_UC, IBV_WR_SEND_WITH_IMM},
    {"UcWrite", IBV_QPT_UC, IBV_WR_RDMA_WRITE},
    {"UcWriteWithImm", IBV_QPT_UC, IBV_WR_RDMA_WRITE_WITH_IMM},
};

constexpr std::size_t kHalf = (1 << 20) + 4096;

class SharedCarries : public ::testing::TestWithParam<std::tuple<Kind, std::uint32_t, bool>> {
protected:
  std::string name = fresh_name();
  Turned clock;
  Member a{options(name, std::get<2>(GetParam())), 1, clock};
  Member b{options(name, std::get<2>(GetParam())), 2, clock};
};

TEST_P(SharedCarries, EveryByteOnceAndNoneBeside) {
  const auto& [kind, bytes, pulls] = GetParam();
  constexpr std::byte kUntouched{0xee};
  End<Shared> from(*a.nic, a.number(17), {.type = kind.type}, kHalf * 2);
  End<Shared> to(*b.nic, b.number(17), {.type = kind.type}, kHalf * 2);
  connect(from, to);
  const bool read = kind.opcode == IBV_WR_RDMA_READ;
  End<Shared>& source = read ? to : from;
  End<Shared>& target = read ? from : to;
  // The first message makes the ring, and no one knows yet who may read whose memory: so it is done twice.
  for (std::uint64_t round = 0; round < 2; ++round) {
    std::fill(target.memory.begin(), target.memory.end(), kUntouched);
    for (std::uint32_t at = 0; at < bytes; ++at)
      source.memory[at] = static_cast<std::byte>(at * 37 + (at >> 9) + round);
    const std::uint32_t third = bytes / 3;
    ASSERT_EQ(to.receive(7, {to.sge(kHalf, third), to.sge(kHalf + third, bytes - third)}), transport::PostFault::none);
    ibv_send_wr wr = rdma(kind.opcode, 9, to.address(read ? 0 : kHalf), to.region->key);
    memory::Region* invalidated = nullptr;
    if (kind.opcode == IBV_WR_SEND_WITH_INV) {
      invalidated = &b.nic->region(to.memory.data(), 8);
      invalidated->kind = memory::Region::Kind::window_type_2;
      invalidated->queue_pair = to.qp.number;
      wr.invalidate_rkey = invalidated->key;
    } else {
      wr.imm_data = 0x01020304;
    }
    const std::size_t mine = read ? kHalf : 0;
    ASSERT_EQ(from.send(wr, {from.sge(mine, third), from.sge(mine + third, 0), from.sge(mine + third, bytes - third)}),
              transport::PostFault::none);
    settle(a, b);
    const auto sent = from.poll();
    ASSERT_TRUE(sent);
    EXPECT_EQ(sent->status, IBV_WC_SUCCESS);
    for (std::uint32_t at = 0; at < bytes; ++at) ASSERT_EQ(target.memory[kHalf + at], source.memory[at]) << at;
    EXPECT_EQ(target.memory[kHalf + bytes], kUntouched);
    EXPECT_EQ(target.memory[kHalf - 1], kUntouched);
    const auto received = to.poll();
    ASSERT_EQ(received.has_value(), kind.opcode != IBV_WR_RDMA_WRITE && !read);
    if (!received) {
      to.qp.receive_queue.works.clear();
      continue;
    }
    EXPECT_EQ(received->byte_len, bytes);
    if (invalidated != nullptr) {
      EXPECT_FALSE(invalidated->valid);
    }
  }
  const bool fetched = pulls && kind.type == IBV_QPT_RC && bytes >= 1 << 17;
  EXPECT_EQ(a.fabric->counts().lent + b.fabric->counts().lent > 0, fetched);
  EXPECT_EQ(a.fabric->counts().lost + b.fabric->counts().lost, 0U);
}

INSTANTIATE_TEST_SUITE_P(Each, SharedCarries,
                         ::testing::Combine(::testing::ValuesIn(kKinds),
                                            ::testing::Values(0U, 1U, 8U, 16U, 17U, 1023U, 1024U, 1025U, 8192U,
                                                              (1U << 17) + 3, 1U << 20),
                                            ::testing::Bool()),
                         [](const ::testing::TestParamInfo<std::tuple<Kind, std::uint32_t, bool>>& one) {
                           return std::string(std::get<0>(one.param).name) + "Of" +
                                  std::to_string(std::get<1>(one.param)) +
                                  (std::get<2>(one.param) ? "Fetched" : "Copied");
                         });

struct SharedPair : ::testing::Test {
  std::string name = fresh_name();
  Turned clock;
  Member a{options(name), 1, clock};
  Member b{options(name), 2, clock};
};

std::uint64_t word(const End<Shared>& end, std::size_t at) {
  std::uint64_t value = 0;
  std::memcpy(&value, end.memory.data() + at, sizeof value);
  return value;
}

TEST_F(SharedPair, DoesAtomicsOnce) {
  End<Shared> from(*a.nic, a.number(17));
  End<Shared> to(*b.nic, b.number(18));
  connect(from, to);
  ibv_send_wr wr = work(IBV_WR_ATOMIC_FETCH_AND_ADD, 1);
  wr.wr.atomic.remote_addr = to.address(64);
  wr.wr.atomic.rkey = to.region->key;
  wr.wr.atomic.compare_add = 41;
  from.send(wr, {from.sge(0, 8)});
  wr.wr.atomic.compare_add = 1;
  from.send(wr, {from.sge(8, 8)});
  wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
  wr.wr.atomic.compare_add = 42;
  wr.wr.atomic.swap = 7;
  from.send(wr, {from.sge(16, 8)});
  settle(a, b);
  EXPECT_EQ(word(from, 8), 41U);
  EXPECT_EQ(word(from, 16), 42U);
  EXPECT_EQ(word(to, 64), 7U);
}

TEST_F(SharedPair, WritesAtomicallyAndFlushes) {
  End<Shared> from(*a.nic, a.number(17));
  End<Shared> to(*b.nic, b.number(18));
  memory::Region& flushed = b.nic->region(
      to.memory.data(), 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | transport::kAccessFlushGlobal);
  connect(from, to, {.access = IBV_ACCESS_REMOTE_WRITE | transport::kAccessFlushGlobal});
  from.memory[0] = std::byte{5};
  from.send(rdma(IBV_WR_ATOMIC_WRITE, 1, to.address(64), flushed.key), {from.sge(0, 8)});
  settle(a, b);
  const auto written = from.poll();
  ASSERT_TRUE(written);
  EXPECT_EQ(written->status, IBV_WC_SUCCESS);
  EXPECT_EQ(to.memory[64], std::byte{5});
}

TEST_F(SharedPair, BringsDatagramsWithTheirHeader) {
  End<Shared> from(*a.nic, a.number(17), {.type = IBV_QPT_UD});
  End<Shared> to(*b.nic, b.number(18), {.type = IBV_QPT_UD});
  connect(from, to, {.mtu = IBV_MTU_4096});
  queues::Address address;
  address.ip.source = a.nic->gid;
  address.ip.destination = b.nic->gid;
  address.ip.traffic_class = 0x20;
  for (const std::uint32_t bytes : {0U, 1U, 1024U, wire::kLargestMtu}) {
    for (std::uint32_t at = 0; at < bytes; ++at) from.memory[at] = static_cast<std::byte>(at * 37 + bytes);
    ASSERT_EQ(to.receive(7, {to.sge(0, 40 + bytes)}), transport::PostFault::none);
    ibv_send_wr wr = work(IBV_WR_SEND, 9);
    wr.wr.ud.remote_qpn = to.qp.number;
    wr.wr.ud.remote_qkey = 0x11;
    from.send(wr, {from.sge(0, bytes)}, &address);
    settle(a, b);
    const auto received = to.poll();
    ASSERT_TRUE(received) << bytes;
    EXPECT_EQ(received->byte_len, bytes + 40);
    EXPECT_EQ(received->src_qp, from.qp.number);
    EXPECT_EQ(to.memory[21], std::byte{0x20});
    EXPECT_EQ(to.memory[35], std::byte{1}) << "the last byte of 10.0.0.1";
    for (std::uint32_t at = 0; at < bytes; ++at) ASSERT_EQ(to.memory[40 + at], from.memory[at]);
  }
}

TEST_F(SharedPair, BringsAGroupsDatagramsToEachMember) {
  Member c(options(name), 3, clock);
  End<Shared> from(*a.nic, a.number(17), {.type = IBV_QPT_UD});
  End<Shared> same(*a.nic, a.number(18), {.type = IBV_QPT_UD});
  End<Shared> one(*b.nic, b.number(18), {.type = IBV_QPT_UD});
  End<Shared> other(*c.nic, c.number(18), {.type = IBV_QPT_UD});
  const wire::Gid group = wire::mapped(239, 1, 2, 3);
  for (End<Shared>* const end : {&same, &one, &other}) {
    aim(*end, from, {}, 0);
    end->receive(1, {end->sge(0, 100)});
    EXPECT_TRUE(end->nic.adapter.attach(end->qp, group));
  }
  aim(from, one, {}, 0);
  ibv_send_wr wr = work(IBV_WR_SEND, 9);
  wr.wr.ud.remote_qpn = 0xffffff;
  wr.wr.ud.remote_qkey = 0x11;
  queues::Address address;
  address.ip.source = a.nic->gid;
  address.ip.destination = group;
  from.send(wr, {from.sge(0, 10)}, &address);
  settle(a, b, c);
  EXPECT_TRUE(same.poll());
  EXPECT_TRUE(one.poll());
  EXPECT_TRUE(other.poll());
}

TEST_F(SharedPair, FindsTheQueuePairWhereMembersHaveTheSameAddress) {
  Member c(options(name), 2, clock);  // b's address
  End<Shared> from(*a.nic, a.number(17));
  End<Shared> one(*b.nic, b.number(17));
  End<Shared> other(*c.nic, c.number(17));
  EXPECT_NE(one.qp.number, other.qp.number);
  connect(from, other);
  other.receive(1, {other.sge(0, 100)});
  from.send(work(IBV_WR_SEND, 1), {from.sge(0, 10)});
  settle(a, b, c);
  EXPECT_TRUE(other.poll());
  EXPECT_TRUE(from.poll());
  EXPECT_EQ(b.nic->adapter.dropped().no_queue_pair, 0U) << "it never saw it";
}

TEST_F(SharedPair, BringsWhatIsForQueuePair1ToEachThatHasTheAddress) {
  Member c(options(name), 2, clock);  // b's address
  End<Shared> from(*a.nic, 1, {.type = IBV_QPT_UD});
  End<Shared> one(*b.nic, 1, {.type = IBV_QPT_UD});
  End<Shared> other(*c.nic, 1, {.type = IBV_QPT_UD});
  connect(from, one);
  aim(other, from, {}, 0);
  for (End<Shared>* const end : {&one, &other}) end->receive(1, {end->sge(0, 100)});
  ibv_send_wr wr = work(IBV_WR_SEND, 9);
  wr.wr.ud.remote_qpn = 1;
  wr.wr.ud.remote_qkey = 0x11;
  queues::Address address;
  address.ip.source = a.nic->gid;
  address.ip.destination = b.nic->gid;
  from.send(wr, {from.sge(0, 10)}, &address);
  settle(a, b, c);
  EXPECT_TRUE(one.poll());
  EXPECT_TRUE(other.poll());
}

TEST_F(SharedPair, ReachesQueuePairsOfItsOwnProcessToo) {
  End<Shared> from(*a.nic, a.number(17));
  End<Shared> to(*a.nic, a.number(18));
  connect(from, to);
  to.receive(1, {to.sge(0, 100)});
  from.send(work(IBV_WR_SEND, 1), {from.sge(0, 10)});
  EXPECT_TRUE(from.poll());
  EXPECT_TRUE(to.poll());
}

TEST_F(SharedPair, LosesWhatIsForNobody) {
  End<Shared> from(*a.nic, a.number(17));
  End<Shared> to(*b.nic, b.number(18));
  connect(from, to, {.retry_cnt = 1});
  from.qp.route.ip.destination = wire::mapped(10, 9, 9, 9);
  from.send(work(IBV_WR_SEND, 1), {from.sge(0, 10)});
  for (int round = 0; round < 3; ++round) {
    clock.time += std::chrono::seconds(1);
    a.nic->adapter.expire(clock.time);
  }
  const auto sent = from.poll();
  ASSERT_TRUE(sent);
  EXPECT_EQ(sent->status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(a.fabric->counts().lost, 2U);
}

}  // namespace
}  // namespace engine_test
