// SPDX-License-Identifier: Apache-2.0 OR MIT
// Reports of code that worked on one NIC and failed on another, on the models and tables that ship: caps that lie, that
// are coupled, or that count in another unit. Each test names the report and its public source; those that need a
// device to be made are in refusals_test.cpp.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>

#include "unit/shipped_nics.hpp"

namespace verbena {
namespace {

using requests::cq;
using requests::rc;
using shipped::about;
using shipped::contract;
using shipped::model;
using ::testing::AllOf;
using ::testing::HasSubstr;

// F01 (linux-rdma 104b0bf9c, 5f3795ef3: bnxt_re adds an entry of its own): the declared depth is one too many, on the
// kernels that have the fault and on no other.
TEST(FieldReport, F01TheDeclaredDepthOfBnxtIsOneTooMany) {
  Model nic = model("bnxt-thor@kernel-6.1");
  nic.caps.set(Cap::max_qp_wr, 4351);
  const Contract faulty = contract(nic);
  const auto fitted = fit(rc(4351, 4351, 1, 1, 0), faulty);
  ASSERT_TRUE(fitted) << to_string(fitted.error());
  EXPECT_EQ(fitted->grant.max_send_wr().granted, 4350U);
  EXPECT_EQ(fitted->grant.max_send_wr().passed, 4350U);
  EXPECT_EQ(fitted->grant.max_recv_wr().granted, 4350U);
  const Adjustment change = about(fitted->grant, "max_send_wr");
  EXPECT_EQ(change.by.rule, "bnxt-depth-one-less");
  EXPECT_EQ(faulty.domain(Field::max_send_wr).declared, 4351U) << "what the device says stays visible";

  Model fixed = model("bnxt-thor");
  fixed.caps.set(Cap::max_qp_wr, 4351);
  const auto all = fit(rc(4351, 4351, 1, 1, 0), contract(fixed));
  ASSERT_TRUE(all);
  EXPECT_EQ(all->grant.max_send_wr().granted, 4351U);
}

// F03 (linux-rdma 4073561b2: mlx5's max_qp_wr counts blocks of 64 bytes): depth is worked out from type, SGEs, inline
// bytes and opcodes, and the arithmetic is shown.
TEST(FieldReport, F03ConnectXCountsBlocksAndShowsTheArithmetic) {
  const Contract nic = contract("connectx5");
  ASSERT_EQ(nic.domain(Field::max_send_wr).declared, 32768U);
  const auto deep = fit(rc(32768, 64, 4, 1, 60), nic);
  ASSERT_TRUE(deep) << to_string(deep.error());
  EXPECT_EQ(deep->grant.max_send_wr().granted, 8192U);
  EXPECT_THAT(about(deep->grant, "max_send_wr").by.reason, AllOf(HasSubstr("2097152 / 256"), HasSubstr("byte")));

  // The same ring, shared otherwise: who wants depth more than inline bytes and SGEs says so.
  QpRequest depth_first = rc(32768, 64, 4, 1, 60);
  depth_first.ops = *parse_send_ops("send+write+read");
  depth_first.give_way = {Competitor::inline_data, Competitor::sges, Competitor::depth};
  const auto traded = fit(depth_first, nic);
  ASSERT_TRUE(traded) << to_string(traded.error());
  EXPECT_GT(traded->grant.max_send_wr().granted, 16384U);
  EXPECT_LT(traded->grant.max_send_sge().granted, 4U);
}

// F03's kind: every driver's declared depth counts something of its own, and none is granted as it stands with all
// SGEs and inline bytes on top.
TEST(FieldReport, F03TheWholeTupleOfCapsIsNeverGrantedWhereARingIsShared) {
  for (const char* name : {"connectx5", "e810-roce", "hip09", "rxe-6.12"}) {
    SCOPED_TRACE(name);
    const Contract nic = contract(name);
    const auto most = [&](Field field) {
      return static_cast<std::uint32_t>(std::min<std::uint64_t>(nic.domain(field).max, 1U << 30));
    };
    const auto fitted = fit(rc(most(Field::max_send_wr), most(Field::max_recv_wr), most(Field::max_send_sge),
                               most(Field::max_recv_sge), most(Field::max_inline_data)),
                            nic);
    ASSERT_TRUE(fitted) << to_string(fitted.error());
    EXPECT_FALSE(nic.joints().empty());
    for (const FieldGrant& field : fitted->grant.fields) EXPECT_LE(field.granted, field.asked);
    for (const Adjustment& entry : fitted->grant.adjustments) {
      EXPECT_FALSE(entry.by.reason.empty()) << entry.field;
      EXPECT_FALSE(entry.by.source.empty()) << entry.field;
    }
  }
}

// F05 (linux-rdma 19bcdc2ae: bnxt_re declares 13 SGEs, its structure held 6, and the host crashed): no policy lifts it.
TEST(FieldReport, F05SgesThatCrashTheHostAreLiftedByNoPolicy) {
  const Contract nic = contract("bnxt-p7@kernel-6.1");
  ASSERT_EQ(nic.domain(Field::max_send_sge).declared, 13U);
  for (const Policy policy : {Policy::prefer, Policy::allow}) {
    QpRequest request = rc(64, 64, 13, 1, 0);
    request.policy = policy;
    const auto fitted = fit(request, nic);
    ASSERT_TRUE(fitted) << to_string(fitted.error());
    EXPECT_EQ(fitted->grant.max_send_sge().granted, 6U) << name(policy);
    EXPECT_LE(fitted->grant.max_send_sge().passed, 6U) << name(policy);
    EXPECT_EQ(about(fitted->grant, "max_send_sge").by.severity, Severity::safety);
    EXPECT_EQ(about(fitted->grant, "max_send_sge").by.rule, "bnxt-p7-sge-crash");
  }
  QpRequest strict = rc(64, 64, 13, 1, 0);
  strict.policy = Policy::require;
  const auto refused = fit(strict, nic);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().field, "max_send_sge");
  EXPECT_EQ(refused.error().allowed, 6U);
  EXPECT_EQ(fit(strict, contract("bnxt-p7"))->grant.max_send_sge().granted, 13U) << "the fixed kernel keeps its 13";
}

// F05's kind: nothing that a safety rule forbids can be asked for, on any NIC.
TEST(FieldReport, F05NoSafetyBoundIsEverPassed) {
  unsigned bounds = 0;
  for (const std::string& base : builtin_models()) {
    std::vector<std::string> names{base};
    for (const std::string& variant : model(base).variants)
      names.push_back(std::string(base).append("@").append(variant));
    for (const std::string& name : names) {
      const Contract nic = contract(name);
      for (const Field field :
           {Field::max_send_wr, Field::max_recv_wr, Field::max_send_sge, Field::max_recv_sge, Field::max_inline_data}) {
        const Domain& domain = nic.domain(field);
        if (nic.provenance(domain.max_by).severity != Severity::safety ||
            nic.provenance(domain.max_by).set_by != SetBy::rule)
          continue;
        ++bounds;
        QpRequest request = rc(1, 1, 1, 1, 0);
        request.policy = Policy::allow;
        Wish* const wishes[] = {&request.max_send_wr, &request.max_recv_wr, &request.max_send_sge,
                                &request.max_recv_sge, &request.max_inline_data};
        wishes[static_cast<std::size_t>(field)]->want = static_cast<std::uint32_t>(domain.max) + 1;
        if (nic.feature(Feature::rc).support == Support::absent) {
          if (nic.feature(Feature::ud).support == Support::absent) continue;  // no queue pair at all
          request.type = QpType::ud;
        }
        const auto fitted = fit(request, nic);
        ASSERT_TRUE(fitted) << name << ": " << to_string(fitted.error());
        EXPECT_LE(fitted->grant.fields[static_cast<std::size_t>(field)].passed, domain.max) << name;
      }
    }
  }
  EXPECT_GE(bounds, 1U) << "at least the SGEs of bnxt-p7 on an old kernel";
}

// F07 (kvcache-ai/Mooncake #3977): on ionic the 16 responder resources are the whole device's. What comes of that for
// queue pairs is in refusals_test.cpp.
TEST(FieldReport, F07IonicsReadResourcesAreABudgetOfTheDevice) {
  const Contract nic = contract("ionic");
  EXPECT_TRUE(nic.is(Behaviour::rd_atomic_budget, Choice::shared));
  EXPECT_EQ(nic.provenance(nic.behaviour(Behaviour::rd_atomic_budget).by).rule, "ionic-read-atomic-budget");
  EXPECT_EQ(nic.domain(Field::max_res_rd_atom).max, 16U);
  EXPECT_EQ(nic.domain(Field::max_dest_rd_atomic).max, 16U);
  EXPECT_FALSE(contract("connectx5").is(Behaviour::rd_atomic_budget, Choice::shared)) << "there it is one per QP";
}

// F13 (ROCm/rocm-systems #9335, ofiwg/libfabric #10692): the depth came from a formula, and nobody looked at max_cqe,
// which need not be near a power of two.
TEST(FieldReport, F13ACompletionQueueByFormulaIsClampedToTheDevice) {
  const auto ionic = fit(cq(98304), contract("ionic"));
  ASSERT_TRUE(ionic) << to_string(ionic.error());
  EXPECT_EQ(ionic->cqe.granted, 65435U);
  EXPECT_EQ(about(*ionic, "cqe").asked, 98304U);
  const auto rxe = fit(cq(65536), contract("rxe-6.12"));
  ASSERT_TRUE(rxe) << to_string(rxe.error());
  EXPECT_EQ(rxe->cqe.granted, 32767U);
  CqRequest needs_all = cq(98304);
  needs_all.policy = Policy::require;
  const auto refused = fit(needs_all, contract("ionic"));
  ASSERT_FALSE(refused) << "a connection that was left null crashed much later";
  EXPECT_EQ(refused.error().field, "cqe");
  EXPECT_EQ(refused.error().allowed, 65435U);
}

// F13's kind: no rounding that a driver wants carries what is passed beyond its own limit, on any NIC at any bound.
TEST(FieldReport, F13NoRoundingCrossesMaxCqe) {
  for (const std::string& name : builtin_models()) {
    SCOPED_TRACE(name);
    const Contract nic = contract(name);
    if (shipped::makes_none(nic)) continue;
    const Domain& domain = nic.domain(Field::cqe);
    for (const std::uint64_t asked : {domain.max - 1, domain.max, domain.max + 1, domain.largest_grant()}) {
      if (asked > 0x7fffffff) continue;
      const auto fitted = fit(cq(static_cast<std::uint32_t>(asked)), nic);
      ASSERT_TRUE(fitted) << to_string(fitted.error());
      EXPECT_LE(fitted->cqe.passed, domain.max);
      EXPECT_LE(fitted->cqe.granted, asked);
      EXPECT_GE(fitted->cqe.passed, fitted->cqe.granted);
    }
  }
}

// F13 again: completions must fit what was granted. Every slot of every queue counts, so a CQ that was clamped shows.
TEST(FieldReport, F13TheNeedOfManyQueuePairsIsCountedBeforeTheyAreMade) {
  const Contract nic = contract("ionic");
  const auto one = fit(rc(256, 512, 1, 1, 0), nic);
  ASSERT_TRUE(one);
  const std::vector<QpGrant> few(85, one->grant);
  const std::vector<QpGrant> many(86, one->grant);
  EXPECT_EQ(cq_entries_needed(few, few), 85U * 768U);
  EXPECT_LE(cq_entries_needed(few, few), nic.domain(Field::cqe).max);
  EXPECT_GT(cq_entries_needed(many, many), nic.domain(Field::cqe).max);
}

// F25 (linux-rdma/perftest #139, ggml-org/llama.cpp #22111): 220 and 256 inline bytes were 'Unable to create QP'. The
// answer is 101 and not 0, and it names the attribute and the rule.
TEST(FieldReport, F25AnE810Has101InlineBytesAndNotNone) {
  for (const char* name : {"e810-roce", "e810-iwarp"}) {
    for (const std::uint32_t asked : {220U, 256U}) {
      const auto fitted = fit(rc(128, 512, 1, 1, asked), contract(name));
      ASSERT_TRUE(fitted) << to_string(fitted.error());
      EXPECT_EQ(fitted->grant.max_inline_data().granted, 101U);
      EXPECT_EQ(fitted->grant.max_inline_data().passed, 101U);
      ASSERT_EQ(fitted->grant.adjustments.size(), 1U) << "nothing else gives way";
      const Adjustment change = about(fitted->grant, "max_inline_data");
      EXPECT_EQ(change.asked, asked);
      EXPECT_FALSE(change.by.rule.empty());
      EXPECT_FALSE(change.by.source.empty());
      EXPECT_THAT(to_string(change), AllOf(HasSubstr("max_inline_data"), HasSubstr("101"), HasSubstr("irdma.yaml:")));
    }
  }
}

// F25's kind (F29, linux-rdma/perftest #110: qedr has 128 over iWARP, and tools asked for 236): whatever is asked, each
// NIC grants no more than it has and never fails for inline bytes alone.
TEST(FieldReport, F25InlineBytesAloneNeverFailARequest) {
  for (const std::string& name : builtin_models()) {
    SCOPED_TRACE(name);
    const Contract nic = contract(name);
    if (shipped::makes_none(nic)) continue;
    QpRequest request = rc(16, 16, 1, 1, 4000);
    if (nic.feature(Feature::rc).support == Support::absent) request.type = QpType::ud;
    const auto fitted = fit(request, nic);
    ASSERT_TRUE(fitted) << to_string(fitted.error());
    EXPECT_LE(fitted->grant.max_inline_data().granted, nic.domain(Field::max_inline_data).max);
    EXPECT_EQ(fitted->grant.max_send_wr().granted, 16U);
  }
  EXPECT_EQ(fit(rc(16, 16, 1, 1, 236), contract("qedr-iwarp"))->grant.max_inline_data().granted, 128U);
}

// F31 (linux-rdma 79bc1cc37): hns keeps inline bytes in the places of SGEs, so that the two are one limit.
TEST(FieldReport, F31OnKunpengInlineBytesAndSgesShareTheirPlaces) {
  const Contract nic = contract("hip09@rdma-core-55");
  const auto largest = fit(rc(64, 64, 2, 1, 1024), nic);
  ASSERT_TRUE(largest) << to_string(largest.error());
  EXPECT_EQ(largest->grant.max_inline_data().granted, 1024U);
  EXPECT_EQ(largest->grant.max_send_sge().granted, 2U) << "the places that inline bytes take are no SGEs of the caller";
  const auto both = fit(rc(64, 64, 64, 1, 1024), nic);
  ASSERT_TRUE(both) << to_string(both.error());
  EXPECT_EQ(both->grant.max_send_sge().granted, 64U);
  EXPECT_EQ(both->grant.max_inline_data().granted, 1024U) << "the larger of the two is what counts, not their sum";

  // Libraries before rdma-core 46 grant as much, and refuse it when it is posted.
  const auto old_library = fit(rc(64, 64, 2, 1, 1024), contract("hip09"));
  ASSERT_TRUE(old_library) << to_string(old_library.error());
  EXPECT_EQ(old_library->grant.max_inline_data().granted, 32U);
  ASSERT_EQ(old_library->grant.adjustments.size(), 1U);
  EXPECT_EQ(old_library->grant.adjustments[0].by.rule, "hns-hip09-inline-library");
}

}  // namespace
}  // namespace verbena
