// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <gmock/gmock.h>

#include "formula_case.hpp"

namespace verbena::formulas {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

TEST(RxeSharedBytes, SgesAndInlineBytesShareFiveHundredAndTwelve) {
  // Kernel sw/rxe/rxe_param.h RXE_MAX_WQE_SIZE; rxe_qp.c rxe_init_sq.
  const Formula formula("rxe_shared_bytes");
  EXPECT_EQ(formula.max_wr(Queue::send, shape(32, 512)), 1048576U);
  EXPECT_EQ(formula.max_wr(Queue::send, shape(33, 0)), 0U);
  EXPECT_EQ(formula.max_wr(Queue::send, shape(1, 513)), 0U);
  EXPECT_EQ(formula.max_wr(Queue::recv, shape(32)), 1048576U);
}

TEST(RxeSharedBytes, RingMemoryIsSlotsOfAPowerOfTwo) {
  // Kernel sw/rxe/rxe_queue.c rxe_queue_init; in C rxe_send_wqe has 208 bytes and rxe_recv_wqe 40.
  const Formula formula("rxe_shared_bytes");
  const auto slots_only = [](std::uint64_t bytes) { return bytes - bytes % 4096; };
  EXPECT_EQ(slots_only(formula.ring_bytes(Queue::send, shape(1), 1023)), 1024U * 256U);
  EXPECT_EQ(slots_only(formula.ring_bytes(Queue::send, shape(32), 1023)), 1024U * 1024U);
  EXPECT_EQ(slots_only(formula.ring_bytes(Queue::send, shape(1, 512), 1024)), 2048U * 1024U);
  EXPECT_EQ(slots_only(formula.ring_bytes(Queue::recv, shape(1), 1023)), 1024U * 64U);
}

TEST(HnsExtendedSge, DepthsAreRingsOfAPowerOfTwoFromSixtyFour) {
  // rdma-core providers/hns/hns_roce_u_verbs.c hns_roce_set_qp_params, set_ext_sge_param.
  const Formula hip08("hns_extended_sge", {{"floor", 64}, {"reserved_recv_sge", 1}, {"inline_in_extended", 0}});
  EXPECT_EQ(hip08.ring_bytes(Queue::send, shape(2), 1), 64U * 64U);
  EXPECT_EQ(hip08.ring_bytes(Queue::send, shape(2), 65), 128U * 64U);
  EXPECT_EQ(hip08.ring_bytes(Queue::recv, shape(1), 100), 128U * 32U);  // 1 SGE and 1 kept make 2
  EXPECT_EQ(hip08.ring_bytes(Queue::recv, shape(2), 100), 128U * 64U);
  // Two SGEs lie in the work request; the others take at least 256 entries of 16 bytes together.
  EXPECT_EQ(hip08.ring_bytes(Queue::send, shape(3), 64), 64U * 64U + 256U * 16U);
  EXPECT_EQ(hip08.ring_bytes(Queue::send, shape(10), 1024), 1024U * 64U + 8192U * 16U);
}

TEST(HnsExtendedSge, InlineBytesOfHip09LieWithTheExtendedSges) {
  const Formula hip09("hns_extended_sge", {{"floor", 64}, {"inline_in_extended", 1}, {"inline_in_wqe", 32}});
  EXPECT_EQ(hip09.ring_bytes(Queue::send, shape(1, 32), 1024), 1024U * 64U);
  EXPECT_GT(hip09.ring_bytes(Queue::send, shape(1, 1024), 1024), 1024U * 64U + 65535U * 16U);

  const Formula old_library("hns_extended_sge", {{"inline_by_sges", 1}});
  EXPECT_GT(old_library.max_wr(Queue::send, shape(1, 32)), 0U);
  EXPECT_EQ(old_library.max_wr(Queue::send, shape(1, 33)), 0U);
  EXPECT_EQ(old_library.max_wr(Queue::send, shape(64, 33)), 0U) << "whatever the SGEs are";
}

TEST(WqeUnits, CountsWhatTheTableSays) {
  // bnxt_re in variable mode: 65536 slots of 16 bytes, two for the header (bnxt_re/verbs.c bnxt_re_calc_wqe_sz).
  const Formula bnxt("wqe_units",
                     {{"ring", 65536}, {"unit", 16}, {"header", 32}, {"per_sge", 16}, {"inline_header", 32}});
  EXPECT_EQ(bnxt.max_wr(Queue::send, shape(1)), 21845U);
  EXPECT_EQ(bnxt.max_wr(Queue::send, shape(13)), 4369U);
  EXPECT_EQ(bnxt.max_wr(Queue::send, shape(1, 96)), 8192U);
  EXPECT_GE(bnxt.max_wr(Queue::recv, shape(13)), 0xffffffffU) << "a ring left out is no limit";
  // efa: a receive takes a place for each SGE (efa/verbs.c efa_calc_rq_max_depth).
  const Formula efa("wqe_units", {{"recv_ring", 32768}, {"unit", 16}, {"recv_header", 0}, {"per_sge", 16}});
  EXPECT_EQ(efa.max_wr(Queue::recv, shape(1)), 32768U);
  EXPECT_EQ(efa.max_wr(Queue::recv, shape(4)), 8192U);
}

TEST(WqeUnits, KeepsHiddenUnitsAndBoundsOneWorkRequest) {
  const Formula formula(
      "wqe_units", {{"ring", 1024}, {"unit", 64}, {"header", 16}, {"per_sge", 16}, {"hidden", 24}, {"max_units", 4}});
  EXPECT_EQ(formula.max_wr(Queue::send, shape(3)), 1000U);
  EXPECT_EQ(formula.max_wr(Queue::send, shape(4)), 500U);
  EXPECT_EQ(formula.max_wr(Queue::send, shape(16)), 0U);
}

TEST(WqeUnits, SaysWhatIsRoundedDownAndWhatNothingBounds) {
  const Formula rounds("wqe_units", {{"ring", 4096}, {"unit", 16}, {"header", 32}, {"power_of_two", 1}});
  EXPECT_EQ(rounds.max_wr(Queue::send, shape(1)), 1024U);
  EXPECT_THAT(rounds.explain(Queue::send, shape(1), 4000),
              AllOf(HasSubstr("(4096 - 0) / 3 = 1365 WQEs"), HasSubstr("rounded down to a power of two 1024 (asked")));
  EXPECT_THAT(rounds.explain(Queue::recv, shape(1), 4000), HasSubstr("no ring bounds how many"));
}

TEST(Registry, EveryDriverHasABackendAndEveryFormulaAName) {
  const BackendRegistry registry = BackendRegistry::builtin();
  for (const std::string_view driver : {"mlx5", "irdma", "hns", "rxe", "siw", "bnxt_re", "never_heard_of"}) {
    EXPECT_NE(registry.for_driver(driver), nullptr) << driver;
  }
  EXPECT_NE(registry.for_driver("mlx5"), registry.for_driver("siw"));
  EXPECT_EQ(registry.for_driver("siw"), registry.for_driver("never_heard_of"));
  EXPECT_EQ(registry.formula("no_such_formula"), nullptr);
}

}  // namespace
}  // namespace verbena::formulas
