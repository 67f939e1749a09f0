// SPDX-License-Identifier: Apache-2.0 OR MIT
// The promises of verbena.h; what is tested is written in C, in plain_c.c.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "verbena/verbena.h"

extern "C" {
int c_inline_220_is_fitted_to_101(void);
int c_require_refuses_and_names_the_attribute(void);
int c_a_floor_stands(void);
int c_a_cq_tells_granted_and_passed(void);
int c_an_srq_is_fitted(void);
int c_the_extended_form_reads_the_declared_operations(void);
int c_a_contract_answers_questions(void);
int c_structs_of_other_versions(void);
int c_nothing_useful_is_handed_in(void);
int c_what_stands_in_is_what_is_created(const char* table);
int c_one_library_serves_many_contracts(void);
int c_a_table_that_cannot_be_used_is_an_error_when_strict(void);
}

namespace {

/// Names the line of plain_c.c that did not hold.
void holds(int line) {
  EXPECT_EQ(line, 0) << "plain_c.c:" << line;
}

TEST(CInterface, F25Inline220IsFittedTo101) {
  holds(c_inline_220_is_fitted_to_101());
}
TEST(CInterface, RequireRefusesAndNamesTheAttribute) {
  holds(c_require_refuses_and_names_the_attribute());
}
TEST(CInterface, AFloorStands) {
  holds(c_a_floor_stands());
}
TEST(CInterface, ACqTellsGrantedAndPassed) {
  holds(c_a_cq_tells_granted_and_passed());
}
TEST(CInterface, AnSrqIsFitted) {
  holds(c_an_srq_is_fitted());
}
TEST(CInterface, TheExtendedFormReadsTheDeclaredOperations) {
  holds(c_the_extended_form_reads_the_declared_operations());
}
TEST(CInterface, AContractAnswersQuestions) {
  holds(c_a_contract_answers_questions());
}
TEST(CInterface, StructsOfOtherVersionsAreReadAsFarAsTheyGo) {
  holds(c_structs_of_other_versions());
}
TEST(CInterface, NothingUsefulIsRefusedNotFollowed) {
  holds(c_nothing_useful_is_handed_in());
}
TEST(CInterface, AnRcQueuePairThatStandsInIsWhatIsCreated) {
  const std::string table = testing::TempDir() + "verbena_uc_substitute.yaml";
  std::ofstream(table) << "schema: 1\ndriver: irdma\nrules:\n"
                          "  - {id: stand-in, on: qp, feature: {uc: substitute}, replaces: irdma-no-uc-xrc-raw,\n"
                          "     because: b, source: s, evidence: measured, severity: correctness, until: open,\n"
                          "     proof: qp.create.inline_at_limit}\n";
  holds(c_what_stands_in_is_what_is_created(table.c_str()));
  std::remove(table.c_str());
}
TEST(CInterface, OneLibraryServesManyContractsAndMayGoFirst) {
  holds(c_one_library_serves_many_contracts());
}
TEST(CInterface, AnUnusableTableIsAnErrorWhenStrict) {
  holds(c_a_table_that_cannot_be_used_is_an_error_when_strict());
}

TEST(CInterface, EveryStatusHasAName) {
  for (int status = VERBENA_OK; status <= VERBENA_INTERNAL; ++status) {
    EXPECT_NE(std::string(verbena_status_name(status)), "unknown") << status;
  }
  EXPECT_EQ(std::string(verbena_status_name(-1)), "unknown");
  EXPECT_EQ(std::string(verbena_status_name(VERBENA_INTERNAL + 1)), "unknown");
}

TEST(CInterface, ManyThreadsReadOneContract) {
  verbena_options options{};
  VERBENA_INIT(options);
  options.tables = VERBENA_TABLES_BUILTIN;
  verbena_contract* contract = nullptr;
  ASSERT_EQ(verbena_contract_from_model("e810-roce", 1, &options, &contract, nullptr), VERBENA_OK);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([contract] {
      for (int i = 0; i < 200; ++i) {
        ibv_qp_init_attr attr{};
        attr.qp_type = IBV_QPT_RC;
        attr.cap.max_send_wr = attr.cap.max_recv_wr = attr.cap.max_send_sge = attr.cap.max_recv_sge = 1;
        attr.cap.max_inline_data = 220;
        EXPECT_EQ(verbena_fit_qp(contract, &attr, nullptr, nullptr), VERBENA_OK);
        EXPECT_EQ(attr.cap.max_inline_data, 101U);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  verbena_contract_free(contract);
}

}  // namespace
