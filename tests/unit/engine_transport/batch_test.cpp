// SPDX-License-Identifier: Apache-2.0 OR MIT
// Many packets at once: one acknowledgement for all of a queue pair, and nothing else is put off or forgotten.
#include <gtest/gtest.h>

#include <vector>

#include "engine/fabric/direct.hpp"
#include "engine/memory/window.hpp"
#include "engine_transport/rig.hpp"

namespace engine_test {
namespace {

/// A fabric of one process that keeps what comes until it is handed over, all at once or joined.
struct Kept {
  struct Post {
    transport::Train train;
    std::vector<std::byte> payload;
  };
  class Port final : public transport::Outlet {
  public:
    explicit Port(Kept& fabric) noexcept : fabric_(fabric) {}
    void connect(transport::Adapter& adapter) noexcept { adapter_ = &adapter; }
    void listen(const wire::Gid& /*gid*/) { fabric_.ports.push_back(this); }
    bool send(const transport::Train& train) noexcept override {
      Post post{train, std::vector<std::byte>(train.bytes)};
      const memory::Piece piece{post.payload.data(), post.payload.size()};
      memory::copy({&piece, 1}, 0, train.payload, 0, train.bytes);
      for (Port* const port : fabric_.ports) {
        if (port != this) port->came.push_back(post);
      }
      return true;
    }
    std::uint32_t most_packets(const transport::QueuePair& /*qp*/) const noexcept override { return fabric_.most; }
    std::uint32_t window() const noexcept override { return 1024; }
    /// Hands over what came; as one batch.
    std::size_t take() {
      std::vector<Post> now;
      now.swap(came);
      adapter_->begin_batch();
      for (const Post& post : now) hand_over(post);
      adapter_->end_batch();
      return now.size();
    }
    void hand_over(const Post& post) {
      transport::Train train = post.train;
      const memory::Piece piece{const_cast<std::byte*>(post.payload.data()), post.payload.size()};
      train.payload = train.bytes > 0 ? memory::Pieces(&piece, 1) : memory::Pieces{};
      adapter_->receive(train);
    }
    std::vector<Post> came;

  private:
    Kept& fabric_;
    transport::Adapter* adapter_ = nullptr;
  };

  std::vector<Port*> ports;
  std::uint32_t most = 1;
};

struct Batched {
  Batched() { connect(left, right); }
  Turned clock;
  Kept fabric;
  Nic<Kept> one{fabric, clock, 1};
  Nic<Kept> other{fabric, clock, 2};
  End<Kept> left{one, 0x11};
  End<Kept> right{other, 0x22};

  void write(std::uint64_t wr_id, std::uint32_t bytes, std::uint32_t at = 0) {
    ASSERT_EQ(left.send(rdma(IBV_WR_RDMA_WRITE, wr_id, right.address(at), right.region->key), {left.sge(at, bytes)}),
              transport::PostFault::none);
  }
  std::size_t acknowledgements() const {
    std::size_t count = 0;
    for (const Kept::Post& post : one.port.came) {
      if (post.train.head.bth.opcode == wire::Opcode::rc_acknowledge) ++count;
    }
    return count;
  }
};

TEST(Batch, IsAcknowledgedOnceForAllOfAQueuePair) {
  Batched pair;
  for (std::uint64_t number = 0; number < 20; ++number) pair.write(number, 3000);
  EXPECT_EQ(pair.other.port.take(), 60U);
  ASSERT_EQ(pair.one.port.came.size(), 1U);
  EXPECT_EQ(pair.one.port.came[0].train.head.aeth.msn, 20U);
  pair.one.port.take();
  for (std::uint64_t number = 0; number < 20; ++number) {
    const auto wc = pair.left.poll();
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->wr_id, number);
    EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
  }
  EXPECT_EQ(pair.one.adapter.dropped().stray_answer, 0U);
}

TEST(Batch, OfSeveralQueuePairsIsAcknowledgedOnceForEach) {
  Batched pair;
  End<Kept> second_left(pair.one, 0x13);
  End<Kept> second_right(pair.other, 0x24);
  connect(second_left, second_right);
  for (std::uint64_t number = 0; number < 5; ++number) {
    pair.write(number, 10);
    ASSERT_EQ(second_left.send(rdma(IBV_WR_RDMA_WRITE, number, second_right.address(0), second_right.region->key),
                               {second_left.sge(0, 10)}),
              transport::PostFault::none);
  }
  pair.other.port.take();
  EXPECT_EQ(pair.acknowledgements(), 2U);
}

TEST(Batch, WithoutOneEachIsAcknowledgedAtOnce) {
  Batched pair;
  for (std::uint64_t number = 0; number < 5; ++number) pair.write(number, 10);
  for (const Kept::Post& post : pair.other.port.came) pair.other.port.hand_over(post);
  EXPECT_EQ(pair.acknowledgements(), 5U);
}

TEST(Batch, AnAnswerStandsForTheAcknowledgementOfWhatCameBefore) {
  Batched pair;
  pair.write(1, 10);
  ASSERT_EQ(pair.left.send(rdma(IBV_WR_RDMA_READ, 2, pair.right.address(0), pair.right.region->key),
                           {pair.left.sge(100, 10)}),
            transport::PostFault::none);
  pair.other.port.take();
  EXPECT_EQ(pair.acknowledgements(), 0U);
  EXPECT_EQ(pair.one.port.came.size(), 1U);
  pair.one.port.take();
  EXPECT_EQ(pair.left.poll()->wr_id, 1U);
  EXPECT_EQ(pair.left.poll()->wr_id, 2U);
  pair.write(3, 10);
  pair.other.port.take();
  EXPECT_EQ(pair.acknowledgements(), 1U);
}

/// What goes before it may be sent again, from memory that it takes away.
TEST(Batch, ALocalInvalidateWaitsForTheAcknowledgementOfWhatCameBefore) {
  Batched pair;
  memory::Region& window = *pair.one.keys.add();
  window.kind = memory::Region::Kind::window_type_2;
  window.domain = kDomain;
  window.valid = false;
  const memory::Bind bind{.window = window.key,
                          .rkey = window.key + 1,
                          .lkey = pair.left.region->key,
                          .address = pair.left.address(0),
                          .length = 64,
                          .access = IBV_ACCESS_REMOTE_WRITE,
                          .queue_pair = 0x11,
                          .domain = kDomain};
  ASSERT_EQ(memory::bind(pair.one.keys, bind), memory::BindFault::none);
  pair.write(1, 10);
  ibv_send_wr invalidate = work(IBV_WR_LOCAL_INV, 2);
  invalidate.invalidate_rkey = bind.rkey;
  ASSERT_EQ(pair.left.send(invalidate, {}), transport::PostFault::none);
  pair.write(3, 10);
  EXPECT_TRUE(window.valid);
  EXPECT_EQ(pair.other.port.take(), 1U);
  EXPECT_TRUE(window.valid);
  pair.one.port.take();
  EXPECT_FALSE(window.valid);
  EXPECT_EQ(pair.left.poll()->wr_id, 1U);
  EXPECT_EQ(pair.left.poll()->wr_id, 2U);
  EXPECT_EQ(pair.other.port.take(), 1U);
  pair.one.port.take();
  EXPECT_EQ(pair.left.poll()->wr_id, 3U);
}

TEST(Batch, AnUnreadyReceiverIsToldAtOnceAndTheWritesBeforeItAreKnown) {
  Batched pair;
  pair.write(1, 10);
  ASSERT_EQ(pair.left.send(work(IBV_WR_SEND, 2), {pair.left.sge(0, 10)}), transport::PostFault::none);
  pair.other.port.take();
  ASSERT_EQ(pair.one.port.came.size(), 1U);
  EXPECT_EQ(pair.one.port.came[0].train.head.aeth.syndrome.kind(), wire::AckKind::rnr_nak);
  pair.one.port.take();
  EXPECT_EQ(pair.left.poll()->wr_id, 1U);
  EXPECT_FALSE(pair.left.poll());
}

TEST(Batch, WhatWasTakenIsAcknowledgedBeforeTheQueuePairIsGone) {
  for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_ERR}) {
    Batched pair;
    pair.write(1, 10);
    pair.other.adapter.begin_batch();
    pair.other.port.hand_over(pair.other.port.came.at(0));
    EXPECT_TRUE(pair.other.adapter.owes());
    pair.other.adapter.enter(pair.right.qp, state);
    EXPECT_FALSE(pair.other.adapter.owes());
    EXPECT_EQ(pair.acknowledgements(), 1U);
    pair.other.adapter.end_batch();
    EXPECT_EQ(pair.acknowledgements(), 1U);
  }
  Batched pair;
  {
    End<Kept> short_lived(pair.other, 0x26);
    End<Kept> writer(pair.one, 0x16);
    connect(short_lived, writer);
    ASSERT_EQ(
        writer.send(rdma(IBV_WR_RDMA_WRITE, 1, short_lived.address(0), short_lived.region->key), {writer.sge(0, 10)}),
        transport::PostFault::none);
    pair.other.adapter.begin_batch();
    pair.other.port.hand_over(pair.other.port.came.at(0));
  }
  EXPECT_EQ(pair.acknowledgements(), 1U);
  pair.other.adapter.end_batch();
  EXPECT_EQ(pair.acknowledgements(), 1U);
}

TEST(Batch, ATrainOfWhichAPartIsKnownIsTakenFromThereOn) {
  Batched pair;
  pair.fabric.most = 64;
  for (std::size_t at = 0; at < 20'000; ++at) pair.left.memory[at] = static_cast<std::byte>(at * 7 + (at >> 8));
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_SEND_WITH_IMM}) {
    std::fill(pair.right.memory.begin(), pair.right.memory.end(), std::byte{});
    ASSERT_EQ(pair.right.receive(7, {pair.right.sge(0, 20'000)}), transport::PostFault::none);
    ibv_send_wr wr = rdma(opcode, 1, pair.right.address(0), pair.right.region->key);
    wr.imm_data = 99;
    ASSERT_EQ(pair.left.send(wr, {pair.left.sge(0, 20'000)}), transport::PostFault::none);
    ASSERT_EQ(pair.other.port.came.size(), 1U);
    const Kept::Post whole = pair.other.port.came[0];
    ASSERT_EQ(whole.train.packets, 20U);
    // Its first five come alone, and then all of it once more.
    Kept::Post begin = whole;
    begin.train.packets = 5;
    begin.train.last_opcode = transport::middle_of(whole.train.head.bth.opcode);
    begin.train.bytes = 5ULL * 1024;
    begin.train.head.bth.ack_request = false;
    begin.payload.resize(begin.train.bytes);
    pair.other.port.came = {begin, whole};
    pair.other.port.take();
    EXPECT_EQ(pair.acknowledgements(), 1U);
    pair.one.port.take();
    EXPECT_EQ(pair.left.poll()->status, IBV_WC_SUCCESS);
    const auto wc = pair.right.poll();
    ASSERT_TRUE(wc);
    EXPECT_EQ(wc->status, IBV_WC_SUCCESS);
    EXPECT_EQ(wc->byte_len, 20'000U);
    EXPECT_EQ(wc->imm_data, 99U);
    EXPECT_FALSE(pair.right.poll());
    EXPECT_TRUE(std::equal(pair.left.memory.begin(), pair.left.memory.begin() + 20'000, pair.right.memory.begin()));
    // All of it known: acknowledged again, and done once.
    pair.other.port.came = {whole};
    pair.other.port.take();
    EXPECT_EQ(pair.acknowledgements(), 1U);
    EXPECT_FALSE(pair.right.poll());
    pair.one.port.take();
  }
}

}  // namespace
}  // namespace engine_test
