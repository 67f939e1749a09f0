// SPDX-License-Identifier: Apache-2.0 OR MIT
// What is refused, by whom, and how both ends learn of it.
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "engine/fabric/direct.hpp"
#include "engine/memory/window.hpp"
#include "engine_transport/rig.hpp"

namespace engine_test {
namespace {

using Fabric = fabric::Direct;

struct Pair {
  explicit Pair(const Shape& shape = {}, const Path& path = {}) : from(a, 17, shape), to(b, 18, shape) {
    connect(from, to, path);
  }
  Turned clock;
  Fabric wire;
  Nic<Fabric> a{wire, clock, 1};
  Nic<Fabric> b{wire, clock, 2};
  End<Fabric> from;
  End<Fabric> to;
};

struct Refusal {
  const char* name;
  std::function<void(Pair&)> does;
  ibv_wc_status sender;
  std::optional<ibv_wc_status> receiver;  ///< of its oldest receive
  std::optional<ibv_event_type> event;    ///< at the responder
};

ibv_send_wr write_to(Pair& pair, std::size_t offset) {
  return rdma(IBV_WR_RDMA_WRITE, 1, pair.to.address(offset), pair.to.region->key);
}

ibv_send_wr add_to(Pair& pair, std::size_t offset) {
  ibv_send_wr wr = work(IBV_WR_ATOMIC_FETCH_AND_ADD, 1);
  wr.wr.atomic.remote_addr = pair.to.address(offset);
  wr.wr.atomic.rkey = pair.to.region->key;
  return wr;
}

const Refusal kRefusals[] = {
    {"UnknownLkey",
     [](Pair& pair) {
       ibv_sge sge = pair.from.sge(0, 8);
       sge.lkey ^= 1;
       pair.from.send(work(IBV_WR_SEND, 1), {sge});
     },
     IBV_WC_LOC_PROT_ERR,
     {},
     {}},
    {"LkeyOfAnotherDomain",
     [](Pair& pair) {
       pair.from.region->domain = 2;
       pair.from.send(work(IBV_WR_SEND, 1), {pair.from.sge(0, 8)});
     },
     IBV_WC_LOC_PROT_ERR,
     {},
     {}},
    {"LocalBounds",
     [](Pair& pair) { pair.from.send(work(IBV_WR_SEND, 1), {pair.from.sge((1 << 16) - 7, 8)}); },
     IBV_WC_LOC_PROT_ERR,
     {},
     {}},
    {"ReadIntoMemoryThatIsNotWritten",
     [](Pair& pair) {
       pair.from.region->access = 0;
       pair.from.send(rdma(IBV_WR_RDMA_READ, 1, pair.to.address(0), pair.to.region->key), {pair.from.sge(0, 8)});
     },
     IBV_WC_LOC_PROT_ERR,
     {},
     {}},
    {"UnknownRkey",
     [](Pair& pair) {
       ibv_send_wr wr = write_to(pair, 0);
       wr.wr.rdma.rkey ^= 1;
       pair.from.send(wr, {pair.from.sge(0, 8)});
     },
     IBV_WC_REM_ACCESS_ERR,
     {},
     IBV_EVENT_QP_ACCESS_ERR},
    {"RkeyOfAnotherDomain",
     [](Pair& pair) {
       pair.to.region->domain = 2;
       pair.from.send(write_to(pair, 0), {pair.from.sge(0, 8)});
     },
     IBV_WC_REM_ACCESS_ERR,
     {},
     IBV_EVENT_QP_ACCESS_ERR},
    {"RemoteBounds",
     [](Pair& pair) { pair.from.send(write_to(pair, (1 << 16) - 7), {pair.from.sge(0, 8)}); },
     IBV_WC_REM_ACCESS_ERR,
     {},
     IBV_EVENT_QP_ACCESS_ERR},
    {"AddressThatWraps",
     [](Pair& pair) {
       ibv_send_wr wr = write_to(pair, 0);
       wr.wr.rdma.remote_addr = ~std::uint64_t{0} - 3;
       pair.from.send(wr, {pair.from.sge(0, 8)});
     },
     IBV_WC_REM_ACCESS_ERR,
     {},
     IBV_EVENT_QP_ACCESS_ERR},
    {"RegionWithoutRemoteWrite",
     [](Pair& pair) {
       pair.to.region->access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
       pair.from.send(write_to(pair, 0), {pair.from.sge(0, 8)});
     },
     IBV_WC_REM_ACCESS_ERR,
     {},
     IBV_EVENT_QP_ACCESS_ERR},
    {"QueuePairWithoutRemoteWrite",
     [](Pair& pair) {
       pair.to.qp.attr.qp_access_flags = IBV_ACCESS_REMOTE_READ;
       pair.from.send(write_to(pair, 0), {pair.from.sge(0, 8)});
     },
     IBV_WC_REM_INV_REQ_ERR,
     {},
     IBV_EVENT_QP_REQ_ERR},
    {"QueuePairWithoutRemoteRead",
     [](Pair& pair) {
       pair.to.qp.attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
       pair.from.send(rdma(IBV_WR_RDMA_READ, 1, pair.to.address(0), pair.to.region->key), {pair.from.sge(0, 8)});
     },
     IBV_WC_REM_INV_REQ_ERR,
     {},
     IBV_EVENT_QP_REQ_ERR},
    {"ReadsThatNobodyRemembers",
     [](Pair& pair) {
       pair.to.qp.attr.max_dest_rd_atomic = 0;
       pair.from.send(rdma(IBV_WR_RDMA_READ, 1, pair.to.address(0), pair.to.region->key), {pair.from.sge(0, 8)});
     },
     IBV_WC_REM_INV_REQ_ERR,
     {},
     IBV_EVENT_QP_REQ_ERR},
    {"AtomicAside",
     [](Pair& pair) { pair.from.send(add_to(pair, 4), {pair.from.sge(0, 8)}); },
     IBV_WC_REM_INV_REQ_ERR,
     {},
     IBV_EVENT_QP_REQ_ERR},
    {"AtomicWithoutAccess",
     [](Pair& pair) {
       pair.to.region->access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
       pair.from.send(add_to(pair, 8), {pair.from.sge(0, 8)});
     },
     IBV_WC_REM_ACCESS_ERR,
     {},
     IBV_EVENT_QP_ACCESS_ERR},
    {"ReceiveTooSmall",
     [](Pair& pair) {
       pair.to.receive(5, {pair.to.sge(0, 7)});
       pair.from.send(work(IBV_WR_SEND, 1), {pair.from.sge(0, 8)});
     },
     IBV_WC_REM_INV_REQ_ERR, IBV_WC_LOC_LEN_ERR, IBV_EVENT_QP_REQ_ERR},
    {"ReceiveIntoNobodysMemory",
     [](Pair& pair) {
       ibv_sge sge = pair.to.sge(0, 8);
       sge.lkey ^= 1;
       pair.to.receive(5, {sge});
       pair.from.send(work(IBV_WR_SEND, 1), {pair.from.sge(0, 8)});
     },
     IBV_WC_REM_OP_ERR, IBV_WC_LOC_PROT_ERR, IBV_EVENT_QP_FATAL},
    {"InvalidatesWhatIsNoWindow",
     [](Pair& pair) {
       pair.to.receive(5, {pair.to.sge(0, 8)});
       ibv_send_wr wr = work(IBV_WR_SEND_WITH_INV, 1);
       wr.invalidate_rkey = pair.to.region->key;
       pair.from.send(wr, {pair.from.sge(0, 8)});
     },
     IBV_WC_REM_OP_ERR, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR},
    {"NoReceiveForTooLong",
     [](Pair& pair) {
       pair.from.qp.requester.rnr_left = pair.from.qp.attr.rnr_retry = 2;
       pair.from.send(work(IBV_WR_SEND, 1), {pair.from.sge(0, 8)});
       for (int time = 0; time < 3; ++time) pair.a.adapter.expire(pair.clock.time += std::chrono::seconds(1));
     },
     IBV_WC_RNR_RETRY_EXC_ERR,
     {},
     {}},
    // Whom it answers is not who asks: its acknowledgements reach nobody.
    {"AnswersGoToAnotherNumber",
     [](Pair& pair) {
       pair.to.qp.attr.dest_qp_num = 99;
       pair.from.send(write_to(pair, 0), {pair.from.sge(0, 8)});
       for (int time = 0; time < 8; ++time) pair.a.adapter.expire(pair.clock.time += std::chrono::seconds(1));
     },
     IBV_WC_RETRY_EXC_ERR,
     {},
     {}},
    {"AnswersGoToAnotherAddress",
     [](Pair& pair) {
       pair.to.qp.route.ip.destination[15] ^= std::byte{0x80};
       pair.from.send(write_to(pair, 0), {pair.from.sge(0, 8)});
       for (int time = 0; time < 8; ++time) pair.a.adapter.expire(pair.clock.time += std::chrono::seconds(1));
     },
     IBV_WC_RETRY_EXC_ERR,
     {},
     {}},
    {"NobodyThere",
     [](Pair& pair) {
       pair.b.adapter.remove(pair.to.qp);
       pair.from.send(work(IBV_WR_SEND, 1), {pair.from.sge(0, 8)});
       for (int time = 0; time < 8; ++time) pair.a.adapter.expire(pair.clock.time += std::chrono::seconds(1));
       pair.b.adapter.add(pair.to.qp);
     },
     IBV_WC_RETRY_EXC_ERR,
     {},
     {}},
};

class Refused : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refused, AtBothEnds) {
  Pair pair;
  GetParam().does(pair);
  // One more behind it, which must be flushed.
  pair.from.send(work(IBV_WR_SEND, 2), {pair.from.sge(0, 8)});
  const auto failed = pair.from.poll();
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->wr_id, 1U);
  EXPECT_EQ(failed->status, GetParam().sender);
  EXPECT_EQ(pair.from.qp.state, IBV_QPS_ERR);
  const auto flushed = pair.from.poll();
  ASSERT_TRUE(flushed);
  EXPECT_EQ(flushed->wr_id, 2U);
  EXPECT_EQ(flushed->status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_FALSE(pair.from.poll());
  if (GetParam().receiver) {
    const auto received = pair.to.poll();
    ASSERT_TRUE(received);
    EXPECT_EQ(received->wr_id, 5U);
    EXPECT_EQ(received->status, *GetParam().receiver);
  }
  EXPECT_FALSE(pair.to.poll());
  if (GetParam().event) {
    EXPECT_TRUE(pair.b.told.has(*GetParam().event));
    EXPECT_EQ(pair.to.qp.state, IBV_QPS_ERR);
  } else {
    EXPECT_EQ(pair.to.qp.state, IBV_QPS_RTS);
  }
}

INSTANTIATE_TEST_SUITE_P(Each, Refused, ::testing::ValuesIn(kRefusals),
                         [](const auto& one) { return std::string(one.param.name); });

TEST(ErrorState, FlushesEachOnceUnsignalledOnesToo) {
  Pair pair({.signal_all = false}, {.rnr_retry = 7});
  pair.from.send(work(IBV_WR_SEND, 1, 0), {pair.from.sge(0, 8)});
  pair.from.send(work(IBV_WR_SEND, 2, 0), {pair.from.sge(0, 8)});
  pair.from.receive(3, {pair.from.sge(0, 8)});
  pair.a.adapter.enter(pair.from.qp, IBV_QPS_ERR);
  pair.from.receive(4, {pair.from.sge(0, 8)});
  pair.from.send(work(IBV_WR_SEND, 5, 0), {pair.from.sge(0, 8)});
  for (const std::uint64_t wr_id : {1U, 2U, 3U, 4U, 5U}) {
    const auto wc = pair.from.poll();
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->wr_id, wr_id);
    EXPECT_EQ(wc->status, IBV_WC_WR_FLUSH_ERR);
  }
  EXPECT_FALSE(pair.from.poll());
}

TEST(SendQueue, SlotIsFreeWhenItsCompletionIsPolled) {
  Pair pair({.depth = 2, .signal_all = false});
  for (int slot = 0; slot < 4; ++slot) pair.to.receive(1, {pair.to.sge(0, 8)});
  EXPECT_EQ(pair.from.send(work(IBV_WR_SEND, 1, 0), {}), transport::PostFault::none);
  EXPECT_EQ(pair.from.send(work(IBV_WR_SEND, 2), {}), transport::PostFault::none);
  EXPECT_EQ(pair.from.send(work(IBV_WR_SEND, 3), {}), transport::PostFault::full);
  ASSERT_TRUE(pair.from.poll());
  EXPECT_EQ(pair.from.send(work(IBV_WR_SEND, 3), {}), transport::PostFault::none);
  EXPECT_EQ(pair.from.send(work(IBV_WR_SEND, 4), {}), transport::PostFault::none) << "the unsignalled one's too";
}

TEST(CompletionQueue, OverflowFailsItAndWhoUsesIt) {
  Pair pair({.cqe = 2});
  for (int each = 0; each < 3; ++each) pair.from.send(write_to(pair, 0), {pair.from.sge(0, 8)});
  EXPECT_EQ(pair.a.told.overflows, 1);
  EXPECT_EQ(pair.from.qp.state, IBV_QPS_ERR);
  EXPECT_TRUE(pair.from.poll());
  EXPECT_TRUE(pair.from.poll());
  EXPECT_FALSE(pair.from.poll());
}

TEST(CompletionQueue, TellsOnceWhenItIsArmed) {
  Pair pair;
  const auto writes = [&pair] { pair.from.send(write_to(pair, 0), {pair.from.sge(0, 8)}); };
  writes();
  EXPECT_EQ(pair.a.told.completions, 0);
  pair.from.cq.arm(queues::CompletionQueue::Arm::any);
  writes();
  writes();
  EXPECT_EQ(pair.a.told.completions, 1);

  for (int each = 0; each < 2; ++each) pair.to.receive(1, {pair.to.sge(0, 8)});
  pair.to.cq.arm(queues::CompletionQueue::Arm::solicited);
  pair.from.send(work(IBV_WR_SEND, 1), {});
  EXPECT_EQ(pair.b.told.completions, 0);
  pair.from.send(work(IBV_WR_SEND, 1, IBV_SEND_SIGNALED | IBV_SEND_SOLICITED), {});
  EXPECT_EQ(pair.b.told.completions, 1);
}

TEST(SharedReceiveQueue, TellsOnceBelowItsLimit) {
  queues::SharedReceiveQueue shared{.queue = queues::ReceiveQueue(8, 1), .limit = 2};
  Pair pair({.shared = &shared});
  for (int each = 0; each < 3; ++each) pair.to.receive(1, {pair.to.sge(0, 8)});
  pair.from.send(work(IBV_WR_SEND, 1), {});
  EXPECT_TRUE(pair.b.told.of_shared.empty());
  pair.from.send(work(IBV_WR_SEND, 1), {});
  pair.from.send(work(IBV_WR_SEND, 1), {});
  EXPECT_EQ(pair.b.told.of_shared, std::vector{IBV_EVENT_SRQ_LIMIT_REACHED});
  pair.b.adapter.enter(pair.to.qp, IBV_QPS_ERR);
  EXPECT_TRUE(pair.b.told.has(IBV_EVENT_QP_LAST_WQE_REACHED));
}

TEST(Drained, SaysSoOnceWhatWasBegunIsDone) {
  Pair pair;
  pair.from.qp.attr.en_sqd_async_notify = 1;
  pair.from.send(work(IBV_WR_SEND, 1), {});  // no receive: it rests
  pair.a.adapter.enter(pair.from.qp, IBV_QPS_SQD);
  pair.from.send(work(IBV_WR_SEND, 2), {});
  EXPECT_FALSE(pair.a.told.has(IBV_EVENT_SQ_DRAINED));
  pair.to.receive(1, {});
  pair.to.receive(2, {});
  pair.a.adapter.expire(pair.clock.time += std::chrono::seconds(1));
  EXPECT_TRUE(pair.a.told.has(IBV_EVENT_SQ_DRAINED));
  EXPECT_EQ(pair.from.poll()->wr_id, 1U);
  EXPECT_FALSE(pair.from.poll()) << "what was posted in SQD waits";
  pair.a.adapter.enter(pair.from.qp, IBV_QPS_RTS);
  EXPECT_EQ(pair.from.poll()->wr_id, 2U);
}

TEST(Window, LetsInWhatItCoversUntilItIsInvalidated) {
  Pair pair;
  memory::Region& window = *pair.b.keys.add();
  window.kind = memory::Region::Kind::window_type_2;
  window.domain = kDomain;
  window.valid = false;
  const std::uint32_t rkey = window.key + 1;
  const memory::Bind bind{.window = window.key,
                          .rkey = rkey,
                          .lkey = pair.to.region->key,
                          .address = pair.to.address(64),
                          .length = 64,
                          .access = IBV_ACCESS_REMOTE_WRITE,
                          .queue_pair = 18,
                          .domain = kDomain};
  ASSERT_EQ(memory::bind(pair.b.keys, bind), memory::BindFault::none);
  EXPECT_EQ(memory::bind(pair.b.keys, bind), memory::BindFault::bound);
  pair.from.send(rdma(IBV_WR_RDMA_WRITE, 1, pair.to.address(64), rkey), {pair.from.sge(0, 64)});
  EXPECT_EQ(pair.from.poll()->status, IBV_WC_SUCCESS);

  pair.to.receive(5, {});
  ibv_send_wr wr = work(IBV_WR_SEND_WITH_INV, 2);
  wr.invalidate_rkey = rkey;
  pair.from.send(wr, {});
  EXPECT_EQ(pair.from.poll()->status, IBV_WC_SUCCESS);
  const auto received = pair.to.poll();
  EXPECT_EQ(received->invalidated_rkey, rkey);
  EXPECT_NE(received->wc_flags & IBV_WC_WITH_INV, 0U);
  EXPECT_EQ(pair.to.region->windows, 0U);
  pair.from.send(rdma(IBV_WR_RDMA_WRITE, 3, pair.to.address(64), rkey), {pair.from.sge(0, 64)});
  EXPECT_EQ(pair.from.poll()->status, IBV_WC_REM_ACCESS_ERR);
}

TEST(Uc, DropsWhatItCannotTake) {
  Pair pair({.type = IBV_QPT_UC});
  pair.from.send(work(IBV_WR_SEND, 1), {pair.from.sge(0, 8)});
  EXPECT_EQ(pair.from.poll()->status, IBV_WC_SUCCESS) << "nobody says that nobody waited";
  EXPECT_EQ(pair.b.adapter.dropped().no_receive, 1U);
  ibv_send_wr wr = write_to(pair, 0);
  wr.wr.rdma.rkey ^= 1;
  pair.from.send(wr, {pair.from.sge(0, 8)});
  EXPECT_EQ(pair.b.adapter.dropped().refused, 1U);
  EXPECT_EQ(pair.to.qp.state, IBV_QPS_RTS);
  pair.to.receive(5, {pair.to.sge(0, 8)});
  pair.from.send(work(IBV_WR_SEND, 2), {pair.from.sge(0, 8)});
  EXPECT_EQ(pair.to.poll()->status, IBV_WC_SUCCESS);
}

TEST(Datagrams, ThatFitNowhereAreNobodysFault) {
  Pair pair({.type = IBV_QPT_UD});
  queues::Address address;
  address.ip.source = pair.a.gid;
  address.ip.destination = pair.b.gid;
  const auto sends = [&](std::uint64_t wr_id, std::uint32_t bytes) {
    ibv_send_wr wr = work(IBV_WR_SEND, wr_id);
    wr.wr.ud.remote_qpn = 18;
    wr.wr.ud.remote_qkey = 0x11;
    pair.from.send(wr, {pair.from.sge(0, bytes)}, &address);
    EXPECT_EQ(pair.from.poll()->status, IBV_WC_SUCCESS);
  };
  pair.to.receive(5, {pair.to.sge(0, 140)});
  sends(1, 1025);  // longer than a packet
  EXPECT_FALSE(pair.to.poll());
  sends(2, 101);  // longer than the receive, with the 40 bytes before it
  EXPECT_FALSE(pair.to.poll());
  EXPECT_EQ(pair.b.adapter.dropped().too_long, 1U);
  sends(3, 100);
  EXPECT_EQ(pair.to.poll()->status, IBV_WC_SUCCESS);
}

TEST(EarlySends, AreRefusedAndStayWhereTheModelKeepsThem) {
  Pair pair;
  pair.a.adapter.enter(pair.from.qp, IBV_QPS_RESET);
  EXPECT_EQ(pair.from.send(work(IBV_WR_SEND, 1), {}), transport::PostFault::state);
  EXPECT_TRUE(pair.from.qp.send_queue.idle());
  pair.a.adapter.conduct({.keeps_early_sends = true});
  EXPECT_EQ(pair.from.send(work(IBV_WR_SEND, 2), {}), transport::PostFault::state);
  pair.b.adapter.enter(pair.to.qp, IBV_QPS_RESET);
  connect(pair.from, pair.to);
  pair.to.receive(5, {});
  pair.to.receive(6, {});
  EXPECT_FALSE(pair.from.poll());
  pair.from.send(work(IBV_WR_SEND, 3), {});
  EXPECT_EQ(pair.from.poll()->wr_id, 2U);
  EXPECT_EQ(pair.from.poll()->wr_id, 3U);
}

TEST(Retries, OfSevenEndUnlessTheModelHasThemGoOn) {
  for (const bool for_ever : {false, true}) {
    Pair pair;
    pair.a.adapter.conduct({.retries_for_ever = for_ever});
    pair.b.adapter.remove(pair.to.qp);
    pair.from.send(work(IBV_WR_SEND, 1), {});
    for (int time = 0; time < 100; ++time) pair.a.adapter.expire(pair.clock.time += std::chrono::seconds(1));
    EXPECT_EQ(pair.from.poll().has_value(), !for_ever);
    pair.b.adapter.add(pair.to.qp);
  }
}

TEST(SendError, StopsTheSendsOfUcAndUdAndNotTheirReceives) {
  Pair pair({.type = IBV_QPT_UC});
  ibv_sge wrong = pair.from.sge(0, 8);
  wrong.lkey ^= 1;
  pair.from.send(work(IBV_WR_SEND, 1), {wrong});
  EXPECT_EQ(pair.from.poll()->status, IBV_WC_LOC_PROT_ERR);
  EXPECT_EQ(pair.from.qp.state, IBV_QPS_SQE);
  pair.from.send(work(IBV_WR_SEND, 2), {pair.from.sge(0, 8)});
  EXPECT_EQ(pair.from.poll()->status, IBV_WC_WR_FLUSH_ERR);
  pair.from.receive(5, {pair.from.sge(0, 8)});
  pair.to.send(work(IBV_WR_SEND, 3), {pair.to.sge(0, 8)});
  EXPECT_EQ(pair.from.poll()->status, IBV_WC_SUCCESS);
  pair.a.adapter.enter(pair.from.qp, IBV_QPS_RTS);
  pair.to.receive(6, {pair.to.sge(0, 8)});
  pair.from.send(work(IBV_WR_SEND, 4), {pair.from.sge(0, 8)});
  EXPECT_EQ(pair.from.poll()->status, IBV_WC_SUCCESS);
}

TEST(Fence, WaitsForTheReadsBeforeIt) {
  Pair pair({}, {.rd_atomic = 1});
  // The other end is deaf for now, so that the read stays under way.
  pair.b.adapter.remove(pair.to.qp);
  pair.from.send(rdma(IBV_WR_RDMA_READ, 1, pair.to.address(0), pair.to.region->key), {pair.from.sge(0, 8)});
  ibv_send_wr wr = write_to(pair, 0);
  wr.send_flags |= IBV_SEND_FENCE;
  pair.from.send(wr, {pair.from.sge(0, 8)});
  EXPECT_EQ(pair.from.qp.send_queue.next, 1U);
  pair.b.adapter.add(pair.to.qp);
  pair.a.adapter.expire(pair.clock.time += std::chrono::seconds(1));
  EXPECT_EQ(pair.from.poll()->opcode, IBV_WC_RDMA_READ);
  EXPECT_EQ(pair.from.poll()->opcode, IBV_WC_RDMA_WRITE);
}

}  // namespace
}  // namespace engine_test
