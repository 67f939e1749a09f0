// SPDX-License-Identifier: Apache-2.0 OR MIT
// Worked examples from the arithmetic of rdma-core providers/mlx5/verbs.c (sq_overhead, mlx5_calc_send_wqe,
// mlx5_calc_sq_size, mlx5_calc_rq_size), for 32768 blocks of 64 bytes.
#include <gmock/gmock.h>

#include <vector>

#include "formula_case.hpp"

namespace verbena::formulas {
namespace {

using ::testing::HasSubstr;

struct Example {
  QueueShape shape;
  std::uint64_t wqe_bytes;
  std::uint64_t deepest;
  std::uint64_t slots_for_128;
};

std::vector<Example> examples() {
  return {
      {shape(1, 0), 256, 8192, 128},
      {shape(4, 60), 256, 8192, 128},
      {shape(8, 64), 320, 6553, 204},
      {shape(16, 0), 448, 4681, 146},
      {shape(30, 0), 704, 2978, 186},
      {shape(1, 256), 512, 4096, 128},
      {shape(1, 512), 768, 2730, 170},
      {with_ops(shape(1, 0), kSendWriteRead), 64, 32768, 128},
      {with_ops(shape(2, 28), kSendWriteRead), 64, 32768, 128},
      {with_ops(shape(4, 60), kSendWriteRead), 128, 16384, 128},
      {with_ops(shape(4, 64), kSendWriteRead), 128, 16384, 128},
      {with_ops(shape(16, 0), kSendWriteRead), 320, 6553, 204},
      {with_ops(shape(30, 0), kSendWriteRead), 512, 4096, 128},
      {shape(1, 0, QpType::ud), 128, 16384, 128},
      {shape(4, 60, QpType::ud), 128, 16384, 128},
  };
}

TEST(Mlx5WqeBlocks, DepthIsTheRingDividedByTheWorkRequest) {
  const Formula formula("mlx5_wqe_blocks");
  for (const Example& example : examples()) {
    SCOPED_TRACE(formula.explain(Queue::send, example.shape, 128));
    EXPECT_EQ(formula.max_wr(Queue::send, example.shape), example.deepest);
    EXPECT_EQ(formula.ring_bytes(Queue::send, example.shape, 128) / example.wqe_bytes, example.slots_for_128);
  }
}

TEST(Mlx5WqeBlocks, AtomicsCostSixteenBytesMoreThanWrites) {
  // 48 bytes before one SGE fill a block exactly; a second SGE takes the next block.
  const Formula formula("mlx5_wqe_blocks");
  constexpr std::uint64_t kWithAtomics = kSendWriteRead | SendOps::kFetchAdd;
  EXPECT_EQ(formula.max_wr(Queue::send, with_ops(shape(1), kWithAtomics)), 32768U);
  EXPECT_EQ(formula.max_wr(Queue::send, with_ops(shape(2), kWithAtomics)), 16384U);
  EXPECT_EQ(formula.max_wr(Queue::send, with_ops(shape(1), kWithAtomics | SendOps::kLocalInv)), 8192U);
}

TEST(Mlx5WqeBlocks, TheLargestInlineIsWhatTheLargestWorkRequestHolds) {
  const Formula formula("mlx5_wqe_blocks");
  EXPECT_GT(formula.max_wr(Queue::send, shape(1, 828)), 0U);
  EXPECT_EQ(formula.max_wr(Queue::send, shape(1, 829)), 0U);
  EXPECT_GT(formula.max_wr(Queue::send, shape(1, 956, QpType::ud)), 0U);
  EXPECT_EQ(formula.max_wr(Queue::send, shape(1, 957, QpType::ud)), 0U);
  EXPECT_GT(formula.max_wr(Queue::send, shape(52)), 0U);
  EXPECT_EQ(formula.max_wr(Queue::send, shape(53)), 0U);
}

TEST(Mlx5WqeBlocks, AReceiveQueueIsBoundByItsCountAlone) {
  const Formula formula("mlx5_wqe_blocks");
  EXPECT_EQ(formula.max_wr(Queue::recv, shape(1)), 32768U);
  EXPECT_EQ(formula.max_wr(Queue::recv, shape(32)), 32768U);
  EXPECT_EQ(formula.max_wr(Queue::recv, shape(33)), 0U);
  EXPECT_EQ(formula.ring_bytes(Queue::recv, shape(3), 100), 128U * 64U);
  EXPECT_EQ(formula.ring_bytes(Queue::recv, shape(1), 1), 64U);
  EXPECT_EQ(formula.ring_bytes(Queue::recv, shape(1), 0), 0U);
}

TEST(Mlx5WqeBlocks, TheReasonShowsTheByteArithmetic) {
  // F03: show work request bytes and ring bytes, and what they give.
  const Formula formula("mlx5_wqe_blocks");
  const std::string reason = formula.explain(Queue::send, shape(4, 60), 32768);
  EXPECT_THAT(reason, HasSubstr("256"));
  EXPECT_THAT(reason, HasSubstr("2097152 / 256 = 8192"));
}

}  // namespace
}  // namespace verbena::formulas
