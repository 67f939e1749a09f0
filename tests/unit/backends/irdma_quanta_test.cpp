// SPDX-License-Identifier: Apache-2.0 OR MIT
// Worked examples from the arithmetic of kernel drivers/infiniband/hw/irdma/uk.c (irdma_get_wqe_shift,
// irdma_get_sqdepth, irdma_get_rqdepth) and rdma-core providers/irdma/uverbs.c irdma_ucreate_qp.
#include <gmock/gmock.h>

#include <vector>

#include "formula_case.hpp"

namespace verbena::formulas {
namespace {

using ::testing::HasSubstr;

/// What the provider reports after it rounded the ring.
std::uint64_t returned(const Formula& formula, Queue queue, const QueueShape& shape, std::uint64_t wr,
                       std::uint64_t quanta) {
  const std::uint64_t ring = formula.ring_bytes(queue, shape, wr) / 32;
  return (ring - (queue == Queue::send ? 258 : 1)) / quanta;
}

struct Row {
  std::uint32_t from_sge, to_sge;
  std::uint64_t quanta, deepest;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> asked_returned;
};

TEST(IrdmaQuanta, SendQueuesOfE810HoldWhatTheDriverCountsOut) {
  const Formula formula("irdma_quanta");
  const std::vector<Row> rows{
      {1, 2, 2, 16255, {{1, 127}, {16, 127}, {64, 127}, {128, 383}, {256, 383}, {512, 895}}},
      {3, 6, 4, 8127, {{1, 63}, {16, 63}, {64, 191}, {128, 191}, {256, 447}, {512, 959}}},
      {7, 13, 8, 4063, {{1, 31}, {16, 31}, {64, 95}, {128, 223}, {256, 479}, {512, 991}}},
  };
  for (const Row& row : rows) {
    for (const std::uint32_t sge : {row.from_sge, row.to_sge}) {
      SCOPED_TRACE(formula.explain(Queue::send, shape(sge), 1));
      EXPECT_EQ(formula.max_wr(Queue::send, shape(sge)), row.deepest);
      for (const auto& [asked, expected] : row.asked_returned) {
        EXPECT_EQ(returned(formula, Queue::send, shape(sge), asked, row.quanta), expected) << "asked " << asked;
      }
    }
  }
}

TEST(IrdmaQuanta, ReceiveQueuesOfE810CountNoImmediateData) {
  const Formula formula("irdma_quanta");
  const std::vector<Row> rows{
      {1, 1, 1, 32767, {{1, 7}, {16, 31}, {64, 127}, {128, 255}, {256, 511}}},
      {2, 3, 2, 16383, {{1, 7}, {16, 31}, {64, 127}, {128, 255}, {256, 511}}},
      {4, 7, 4, 8191, {{1, 7}, {16, 31}, {64, 127}, {128, 255}, {256, 511}}},
      {8, 13, 8, 4095, {{1, 7}, {16, 31}, {64, 127}, {128, 255}, {256, 511}}},
  };
  for (const Row& row : rows) {
    for (const std::uint32_t sge : {row.from_sge, row.to_sge}) {
      SCOPED_TRACE(formula.explain(Queue::recv, shape(sge), 1));
      EXPECT_EQ(formula.max_wr(Queue::recv, shape(sge)), row.deepest);
      for (const auto& [asked, expected] : row.asked_returned) {
        EXPECT_EQ(returned(formula, Queue::recv, shape(sge), asked, row.quanta), expected) << "asked " << asked;
      }
    }
  }
}

TEST(IrdmaQuanta, InlineBytesForceALargerClass) {
  const Formula formula("irdma_quanta");
  EXPECT_EQ(formula.max_wr(Queue::send, shape(1, 39)), 16255U);
  EXPECT_EQ(formula.max_wr(Queue::send, shape(1, 40)), 8127U);
  EXPECT_EQ(formula.max_wr(Queue::send, shape(1, 101)), 8127U);
  EXPECT_EQ(formula.max_wr(Queue::send, shape(1, 102)), 4063U);
  EXPECT_EQ(formula.max_wr(Queue::send, shape(0, 8)), 32510U);
}

TEST(IrdmaQuanta, X722CountsInItsOwnClasses) {
  const Formula formula("irdma_quanta",
                        {{"ring", 2048}, {"recv_ring", 16384}, {"imm_sge", 0}, {"min_ring", 4}, {"generation", 1}});
  EXPECT_EQ(formula.max_wr(Queue::send, shape(1, 16)), 1790U);
  EXPECT_EQ(formula.max_wr(Queue::send, shape(3, 48)), 895U);  // the max_qp_wr that the driver reports
  EXPECT_EQ(formula.max_wr(Queue::send, shape(1, 17)), 895U);
  EXPECT_EQ(formula.max_wr(Queue::recv, shape(1)), 4095U);
  EXPECT_EQ(formula.max_wr(Queue::recv, shape(3)), 4095U);
}

TEST(IrdmaQuanta, TheReasonShowsTheHiddenQuanta) {
  const Formula formula("irdma_quanta");
  const std::string reason = formula.explain(Queue::send, shape(13, 101), 4096);
  EXPECT_THAT(reason, HasSubstr("258"));
  EXPECT_THAT(reason, HasSubstr("/ 8 = 4063"));
}

}  // namespace
}  // namespace verbena::formulas
