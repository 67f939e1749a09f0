// SPDX-License-Identifier: Apache-2.0 OR MIT
// Each way to depart from the specification, beside what is right.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>
#include <vector>

#include "engine/fabric/direct.hpp"
#include "engine_transport/rig.hpp"

namespace engine_test {
namespace {

using namespace std::chrono_literals;
using transport::Conduct;

/// Two connected ends, of which `from`'s NIC departs as it is told.
struct Departing {
  explicit Departing(const Conduct& conduct = {}, const Shape& shape = {}) : from(a, 17, shape), to(b, 18, shape) {
    a.adapter.conduct(conduct);
    connect(from, to);
  }
  Turned clock;
  fabric::Direct wire;
  Nic<fabric::Direct> a{wire, clock, 1};
  Nic<fabric::Direct> b{wire, clock, 2};
  End<fabric::Direct> from;
  End<fabric::Direct> to;
};

TEST(Conduct, OfACompletionIsWhatItSays) {
  ibv_wc wc{};
  wc.status = IBV_WC_RETRY_EXC_ERR;
  Conduct{}.dress(wc);
  EXPECT_EQ(wc.status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(wc.vendor_err, 0U);
  Conduct{.errors_as = IBV_WC_FATAL_ERR, .vendor_code = 0x80, .vendor_code_counts = true}.dress(wc);
  EXPECT_EQ(wc.status, IBV_WC_FATAL_ERR);
  EXPECT_EQ(wc.vendor_err, 0x80U + IBV_WC_FATAL_ERR);
  wc.status = IBV_WC_WR_FLUSH_ERR;
  Conduct{.errors_as = IBV_WC_FATAL_ERR}.dress(wc);
  EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
}

TEST(Conduct, OfAFenceIsWhichBytesAreSent) {
  for (const bool orders : {true, false}) {
    Departing pair({.fence_orders = orders});
    std::memset(pair.to.memory.data(), 7, 8);
    pair.to.receive(1, {pair.to.sge(64, 8)});
    // Both are posted before the first is sent.
    ibv_sge sge = pair.from.sge(0, 8);
    ibv_send_wr read = rdma(IBV_WR_RDMA_READ, 2, pair.to.address(0), pair.to.region->key);
    ibv_send_wr fenced = work(IBV_WR_SEND, 3, IBV_SEND_SIGNALED | IBV_SEND_FENCE);
    for (ibv_send_wr* wr : {&read, &fenced}) {
      wr->sg_list = &sge;
      wr->num_sge = 1;
      ASSERT_EQ(transport::post_send(pair.from.qp, *wr, nullptr), transport::PostFault::none);
    }
    pair.a.adapter.progress(pair.from.qp);
    EXPECT_EQ(pair.to.memory[64], std::byte{orders ? std::uint8_t{7} : std::uint8_t{0}}) << orders;
  }
}

TEST(Conduct, OfPayloadIsWhenItsEndIsSeen) {
  Departing pair;
  pair.b.adapter.conduct({.payload_late = 100us});
  std::fill_n(pair.from.memory.begin(), 128, std::byte{5});
  pair.to.receive(1, {pair.to.sge(0, 128)});
  pair.from.send(work(IBV_WR_SEND, 2), {pair.from.sge(0, 128)});
  ASSERT_EQ(pair.to.poll()->status, IBV_WC_SUCCESS);
  EXPECT_EQ(pair.to.memory[63], std::byte{5});
  EXPECT_EQ(pair.to.memory[64], std::byte{0});
  EXPECT_EQ(pair.b.adapter.next(), pair.clock.time + 100us);
  pair.b.adapter.expire(pair.clock.time += 100us);
  EXPECT_EQ(pair.to.memory[127], std::byte{5});
}

TEST(Conduct, OfPayloadForgetsMemoryThatGoes) {
  Departing pair;
  pair.b.adapter.conduct({.payload_late = 100us});
  std::fill_n(pair.from.memory.begin(), 64, std::byte{5});
  pair.to.receive(1, {pair.to.sge(0, 64)});
  pair.from.send(work(IBV_WR_SEND, 2), {pair.from.sge(0, 64)});
  pair.b.adapter.withdraw(memory::Piece{pair.to.memory.data(), pair.to.memory.size()});
  pair.b.adapter.expire(pair.clock.time += 1s);
  EXPECT_EQ(pair.to.memory[0], std::byte{0});
}

TEST(Conduct, OfFlushesIsHowManyComplete) {
  for (const std::uint32_t one_in : {0U, 2U, 4U}) {
    Departing pair({.flush_lost_one_in = one_in});
    for (std::uint64_t id = 0; id < 8; ++id) pair.from.receive(id, {});
    pair.a.adapter.enter(pair.from.qp, IBV_QPS_ERR);
    std::uint32_t completed = 0;
    while (pair.from.poll()) ++completed;
    EXPECT_EQ(completed, one_in == 0 ? 8U : 8 - 8 / one_in);
  }
}

TEST(Conduct, OfARetryIsWhenItComes) {
  struct Row {
    Conduct conduct;
    std::vector<transport::Time> waits;
  };
  const Row rows[] = {
      {{}, {67108864ns, 67108864ns}},
      {{.retry_after = 2ms}, {2ms, 2ms, 2ms}},
      {{.retry_after = 2ms, .retry_doubles = true}, {2ms, 4ms, 8ms}},
      {{.timer_grain = 4ms}, {68ms, 68ms}},
  };
  for (const Row& row : rows) {
    Departing pair(row.conduct);
    pair.b.adapter.remove(pair.to.qp);
    pair.from.send(work(IBV_WR_SEND, 1), {});
    for (const transport::Time wait : row.waits) {
      ASSERT_EQ(pair.a.adapter.next(), pair.clock.time + wait);
      pair.a.adapter.expire(pair.clock.time += wait);
    }
    pair.b.adapter.add(pair.to.qp);
  }
}

TEST(Conduct, OfAnErrorOfItsOwnIsStatusAndState) {
  struct Row {
    Conduct conduct;
    ibv_wc_status status;
    ibv_qp_state state;
  };
  for (const Row& row :
       {Row{{}, IBV_WC_LOC_PROT_ERR, IBV_QPS_SQE}, Row{{.has_sqe = false}, IBV_WC_LOC_PROT_ERR, IBV_QPS_ERR},
        Row{{.local_errors_flushed = true}, IBV_WC_WR_FLUSH_ERR, IBV_QPS_SQE},
        Row{{.sges_carried = 0}, IBV_WC_LOC_QP_OP_ERR, IBV_QPS_SQE}}) {
    Departing pair(row.conduct, {.type = IBV_QPT_UC});
    ibv_sge wrong = pair.from.sge(0, 8);
    wrong.lkey ^= 1;
    pair.from.send(work(IBV_WR_SEND, 1), {wrong});
    EXPECT_EQ(pair.from.poll()->status, row.status);
    EXPECT_EQ(pair.from.qp.state, row.state);
  }
}

TEST(Conduct, OfAnAtomicIsTheOrderOfItsBytes) {
  for (const bool reversed : {false, true}) {
    Departing pair({.atomic_results_reversed = reversed});
    const std::uint64_t before = 0x0102030405060708;
    std::memcpy(pair.to.memory.data(), &before, sizeof before);
    ibv_send_wr wr = work(IBV_WR_ATOMIC_FETCH_AND_ADD, 1);
    wr.wr.atomic.remote_addr = pair.to.address(0);
    wr.wr.atomic.rkey = pair.to.region->key;
    wr.wr.atomic.compare_add = 1;
    pair.from.send(wr, {pair.from.sge(0, 8)});
    std::uint64_t result = 0;
    std::memcpy(&result, pair.from.memory.data(), sizeof result);
    EXPECT_EQ(result, reversed ? 0x0807060504030201U : before);
  }
}

TEST(Conduct, OfInlineDataIsWhatIsCarried) {
  struct Row {
    Conduct conduct;
    std::uint32_t bytes;
    std::uint8_t last;
  };
  for (const Row& row : {Row{{}, 16, 9}, Row{{.inline_first_alone = true}, 8, 9}, Row{{.inline_carried = 4}, 16, 0}}) {
    Departing pair(row.conduct);
    std::fill_n(pair.from.memory.begin(), 16, std::byte{9});
    pair.to.receive(1, {pair.to.sge(0, 64)});
    pair.from.send(work(IBV_WR_SEND, 2, IBV_SEND_SIGNALED | IBV_SEND_INLINE),
                   {pair.from.sge(0, 8), pair.from.sge(8, 8)});
    const auto wc = pair.to.poll();
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->byte_len, row.bytes);
    EXPECT_EQ(pair.to.memory[row.bytes - 1], std::byte{row.last});
  }
}

TEST(Conduct, OfADeviceThatStopsIsNothingMore) {
  Departing pair({.stops_after = 2});
  for (std::uint64_t id = 0; id < 3; ++id) {
    pair.to.receive(id, {});
    pair.from.send(work(IBV_WR_SEND, id), {});
  }
  EXPECT_TRUE(pair.a.adapter.stopped());
  EXPECT_TRUE(pair.from.poll());
  EXPECT_TRUE(pair.from.poll());
  EXPECT_FALSE(pair.from.poll());
}

}  // namespace
}  // namespace engine_test
