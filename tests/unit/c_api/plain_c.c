/* SPDX-License-Identifier: Apache-2.0 OR MIT */
/* Compiled as C11: what a C middleware writes. Each function returns 0, or the line that did not hold. */
#include <string.h>

#include "verbena/verbena.h"

#define HOLD(condition) \
  if (!(condition)) return __LINE__

static struct verbena_contract* model(const char* name) {
  struct verbena_options options = {.size = sizeof options, .tables = VERBENA_TABLES_BUILTIN};
  struct verbena_contract* contract = NULL;
  return verbena_contract_from_model(name, 1, &options, &contract, NULL) == VERBENA_OK ? contract : NULL;
}

static struct ibv_qp_init_attr inline_220(void) {
  struct ibv_qp_init_attr attr = {
      .cap = {.max_send_wr = 128, .max_recv_wr = 512, .max_send_sge = 1, .max_recv_sge = 1, .max_inline_data = 220},
      .qp_type = IBV_QPT_RC};
  return attr;
}

/* The text can be printed as it is: every line of it ends. */
static int ends_its_lines(const struct verbena_report* report) {
  const char* text = verbena_report_text(report);
  const size_t length = strlen(text);
  return length > 1 && text[length - 1] == '\n' && text[length - 2] != '\n';
}

/* F25, linux-rdma/perftest #139 */
int c_inline_220_is_fitted_to_101(void) {
  struct verbena_contract* contract = model("e810-roce");
  HOLD(contract != NULL);
  struct ibv_qp_init_attr attr = inline_220();
  struct verbena_report* report = NULL;
  HOLD(verbena_fit_qp(contract, &attr, NULL, &report) == VERBENA_OK);
  HOLD(attr.cap.max_inline_data == 101);
  HOLD(attr.cap.max_send_wr == 128);
  HOLD(verbena_report_adjustment_count(report) == 1);
  struct verbena_adjustment change = {.size = sizeof change};
  HOLD(verbena_report_adjustment(report, 0, &change) == VERBENA_OK);
  HOLD(strcmp(change.field, "max_inline_data") == 0);
  HOLD(change.asked == 220 && change.granted == 101);
  HOLD(strcmp(change.kind, "reduced") == 0 && strcmp(change.set_by, "rule") == 0);
  HOLD(change.rule[0] != '\0' && change.source[0] != '\0' && change.file[0] != '\0' && change.line > 0);
  HOLD(verbena_report_adjustment(report, 1, &change) == VERBENA_INVALID_REQUEST);
  HOLD(ends_its_lines(report));
  verbena_report_free(report);
  verbena_contract_free(contract);
  return 0;
}

int c_require_refuses_and_names_the_attribute(void) {
  struct verbena_contract* contract = model("e810-roce");
  HOLD(contract != NULL);
  struct ibv_qp_init_attr attr = inline_220();
  struct verbena_qp_options options = {.size = sizeof options, .policy = VERBENA_POLICY_REQUIRE};
  struct verbena_report* report = NULL;
  HOLD(verbena_fit_qp(contract, &attr, &options, &report) == VERBENA_LIMIT);
  HOLD(attr.cap.max_inline_data == 220); /* nothing changes on failure */
  struct verbena_error error = {.size = sizeof error};
  HOLD(verbena_report_error(report, &error) == VERBENA_OK);
  HOLD(error.status == VERBENA_LIMIT && strcmp(error.field, "max_inline_data") == 0);
  HOLD(error.has_asked && error.asked == 220 && error.has_allowed && error.allowed == 101);
  HOLD(ends_its_lines(report));
  verbena_report_free(report);
  verbena_contract_free(contract);
  return 0;
}

int c_a_floor_stands(void) {
  struct verbena_contract* contract = model("e810-roce");
  HOLD(contract != NULL);
  struct ibv_qp_init_attr attr = inline_220();
  struct ibv_qp_cap floors = attr.cap;
  floors.max_inline_data = 102;
  struct verbena_qp_options options = {.size = sizeof options, .at_least = &floors};
  HOLD(verbena_fit_qp(contract, &attr, &options, NULL) == VERBENA_LIMIT);
  floors.max_inline_data = 101;
  HOLD(verbena_fit_qp(contract, &attr, &options, NULL) == VERBENA_OK);
  verbena_contract_free(contract);
  return 0;
}

int c_a_cq_tells_granted_and_passed(void) {
  struct verbena_contract* contract = model("hip09");
  HOLD(contract != NULL);
  uint32_t cqe = 64;
  struct verbena_report* report = NULL;
  HOLD(verbena_fit_cq(contract, &cqe, NULL, &report) == VERBENA_OK);
  HOLD(cqe == 65);
  struct verbena_field field = {.size = sizeof field};
  HOLD(verbena_report_find_field(report, "cqe", &field) == VERBENA_OK);
  HOLD(field.asked == 64 && field.granted == 64 && field.passed == 65);
  HOLD(verbena_report_adjustment_count(report) == 0 && verbena_report_text(report)[0] == '\0');
  HOLD(verbena_report_find_field(report, "cqes", &field) == VERBENA_INVALID_REQUEST);
  verbena_report_free(report);
  verbena_contract_free(contract);
  return 0;
}

int c_an_srq_is_fitted(void) {
  struct verbena_contract* contract = model("rxe-6.12");
  HOLD(contract != NULL);
  struct ibv_srq_init_attr attr = {.attr = {.max_wr = 64, .max_sge = 40}};
  HOLD(verbena_fit_srq(contract, &attr, NULL, NULL) == VERBENA_OK);
  HOLD(attr.attr.max_wr == 64 && attr.attr.max_sge == 27);
  attr.attr = (struct ibv_srq_attr){.max_wr = 2000000, .max_sge = 1, .srq_limit = 1500000};
  struct verbena_report* report = NULL;
  HOLD(verbena_fit_srq(contract, &attr, NULL, &report) == VERBENA_OK);
  HOLD(attr.attr.srq_limit == attr.attr.max_wr && attr.attr.max_wr < 1500000);
  struct verbena_field field = {.size = sizeof field};
  HOLD(verbena_report_find_field(report, "srq_limit", &field) == VERBENA_OK && field.asked == 1500000);
  HOLD(verbena_report_adjustment_count(report) == 2);
  verbena_report_free(report);
  struct verbena_srq_options options = {.size = sizeof options, .policy = VERBENA_POLICY_REQUIRE};
  attr.attr = (struct ibv_srq_attr){.max_wr = 64, .max_sge = 1, .srq_limit = 65};
  HOLD(verbena_fit_srq(contract, &attr, &options, NULL) == VERBENA_INVALID_REQUEST);
  verbena_contract_free(contract);
  return 0;
}

int c_the_extended_form_reads_the_declared_operations(void) {
  struct verbena_contract* contract = model("connectx5");
  HOLD(contract != NULL);
  struct ibv_qp_init_attr_ex attr = {
      .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = 32768, .max_recv_wr = 64, .max_send_sge = 4, .max_recv_sge = 1, .max_inline_data = 60}};
  struct ibv_qp_init_attr_ex declared = attr;
  HOLD(verbena_fit_qp_ex(contract, &attr, NULL, NULL) == VERBENA_OK);
  HOLD(attr.cap.max_send_wr == 8192);
  declared.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  declared.send_ops_flags = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ;
  HOLD(verbena_fit_qp_ex(contract, &declared, NULL, NULL) == VERBENA_OK);
  HOLD(declared.cap.max_send_wr == 16384);

  /* What is declared counts; an operation beside it that the driver is not told of cannot be posted. */
  struct verbena_qp_options options = {.size = sizeof options, .send_ops = IBV_QP_EX_WITH_SEND};
  HOLD(verbena_fit_qp_ex(contract, &declared, &options, NULL) == VERBENA_OK);
  HOLD(declared.cap.max_send_wr == 16384);
  options.send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD;
  struct verbena_report* report = NULL;
  HOLD(verbena_fit_qp_ex(contract, &declared, &options, &report) == VERBENA_INVALID_REQUEST);
  struct verbena_error error = {.size = sizeof error};
  HOLD(verbena_report_error(report, &error) == VERBENA_OK && strcmp(error.field, "send_ops") == 0);
  verbena_report_free(report);

  /* ibv_create_qp declares nothing, so what will be posted makes no queue deeper. */
  struct ibv_qp_init_attr plain = {
      .qp_type = IBV_QPT_RC,
      .cap = {.max_send_wr = 32768, .max_recv_wr = 64, .max_send_sge = 4, .max_recv_sge = 1, .max_inline_data = 60}};
  options.send_ops = IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ;
  HOLD(verbena_fit_qp(contract, &plain, &options, NULL) == VERBENA_OK);
  HOLD(plain.cap.max_send_wr == 8192);
  verbena_contract_free(contract);
  return 0;
}

int c_a_contract_answers_questions(void) {
  struct verbena_contract* contract = model("e810-iwarp");
  HOLD(contract != NULL);
  HOLD(verbena_support_of(contract, "ud") == VERBENA_SUPPORT_ABSENT);
  HOLD(verbena_support_of(contract, "udd") == VERBENA_SUPPORT_NO_SUCH_NAME);
  HOLD(strcmp(verbena_behaviour_of(contract, "rts_driven_by"), "rdma_cm") == 0);
  HOLD(verbena_behaviour_of(contract, "rts") == NULL);
  struct verbena_limit limit = {.size = sizeof limit};
  HOLD(verbena_limit_of(contract, "qp", "max_inline_data", &limit) == VERBENA_OK);
  HOLD(limit.known && limit.max == 101 && strcmp(limit.max_set_by, "rule") == 0);
  HOLD(verbena_limit_of(contract, "qp", "cqe", &limit) == VERBENA_INVALID_REQUEST);
  HOLD(verbena_contract_device(contract)[0] != '\0' && verbena_contract_quirks_hash(contract) != 0);
  verbena_contract_free(contract);
  return 0;
}

/* What a program built against an older or a newer header hands in. */
int c_structs_of_other_versions(void) {
  struct verbena_contract* contract = model("e810-roce");
  HOLD(contract != NULL);
  uint32_t cqe = 64;
  struct {
    struct verbena_cq_options known;
    uint64_t later;
  } newer;
  memset(&newer, 0, sizeof newer);
  newer.known.size = sizeof newer;
  HOLD(verbena_fit_cq(contract, &cqe, &newer.known, NULL) == VERBENA_OK);
  newer.later = 1;
  struct verbena_report* report = NULL;
  HOLD(verbena_fit_cq(contract, &cqe, &newer.known, &report) == VERBENA_INVALID_REQUEST);
  HOLD(strstr(verbena_report_text(report), "does not know") != NULL);
  struct verbena_error short_error;
  memset(&short_error, 0x5a, sizeof short_error);
  short_error.size = offsetof(struct verbena_error, field);
  HOLD(verbena_report_error(report, &short_error) == VERBENA_OK);
  HOLD(short_error.status == VERBENA_INVALID_REQUEST && short_error.line == 0x5a5a5a5a);
  verbena_report_free(report);
  struct verbena_cq_options older = {.size = offsetof(struct verbena_cq_options, policy), .at_least = 64, .policy = 99};
  HOLD(verbena_fit_cq(contract, &cqe, &older, NULL) == VERBENA_OK);
  older.size = 0;
  HOLD(verbena_fit_cq(contract, &cqe, &older, NULL) == VERBENA_INVALID_REQUEST);
  verbena_contract_free(contract);
  return 0;
}

int c_nothing_useful_is_handed_in(void) {
  struct verbena_report* report = NULL;
  struct verbena_contract* contract = NULL;
  uint32_t cqe = 1;
  HOLD(verbena_contract_from_context(NULL, 1, NULL, &contract, &report) == VERBENA_INVALID_REQUEST);
  verbena_report_free(report);
  HOLD(verbena_contract_from_model("no-such-nic", 1, NULL, &contract, &report) != VERBENA_OK);
  HOLD(contract == NULL && verbena_report_text(report)[0] != '\0');
  verbena_report_free(report);
  HOLD(verbena_contract_from_model("e810-roce", 9, NULL, &contract, NULL) == VERBENA_INVALID_REQUEST);
  HOLD(verbena_contract_from_model("e810-roce", 1, NULL, NULL, NULL) == VERBENA_INVALID_REQUEST);
  struct verbena_options later = {.size = sizeof later, .reserved = 1};
  HOLD(verbena_contract_from_model("e810-roce", 1, &later, &contract, NULL) == VERBENA_INVALID_REQUEST);
  contract = model("e810-roce");
  struct ibv_qp_init_attr attr = inline_220();
  struct verbena_qp_options no_opcode = {.size = sizeof no_opcode, .send_ops = 1ULL << 40};
  HOLD(verbena_fit_qp(contract, &attr, &no_opcode, NULL) == VERBENA_INVALID_REQUEST);
  verbena_contract_free(contract);
  HOLD(verbena_fit_cq(NULL, &cqe, NULL, NULL) == VERBENA_INVALID_REQUEST);
  HOLD(verbena_fit_qp(NULL, NULL, NULL, NULL) == VERBENA_INVALID_REQUEST);
  HOLD(verbena_report_adjustment_count(NULL) == 0 && verbena_report_text(NULL)[0] == '\0');
  verbena_report_free(NULL);
  verbena_contract_free(NULL);
  verbena_library_free(NULL);
  return 0;
}

int c_one_library_serves_many_contracts(void) {
  struct verbena_options options = {.size = sizeof options, .tables = VERBENA_TABLES_BUILTIN};
  options.beyond_declared = VERBENA_BEYOND_FORBID;
  struct verbena_library* library = NULL;
  HOLD(verbena_library_create(&options, &library, NULL) == VERBENA_OK);
  struct verbena_options with = {.size = sizeof with, .library = library};
  struct verbena_contract* contract = NULL;
  HOLD(verbena_contract_from_model("e810-roce", 1, &with, &contract, NULL) == VERBENA_OK);
  verbena_library_free(library); /* a contract outlives it */
  struct ibv_qp_init_attr attr = inline_220();
  attr.cap.max_send_wr = 16000;
  attr.cap.max_inline_data = 0;
  attr.cap.max_send_sge = 2;
  HOLD(verbena_fit_qp(contract, &attr, NULL, NULL) == VERBENA_OK);
  HOLD(attr.cap.max_send_wr == 4063); /* the site forbids more than the device declares */
  verbena_contract_free(contract);
  return 0;
}

int c_a_table_that_cannot_be_used_is_an_error_when_strict(void) {
  const char* layers[] = {"/no/such/table.yaml"};
  struct verbena_options options = {
      .size = sizeof options, .tables = VERBENA_TABLES_BUILTIN, .strict = 1, .layers = layers, .layer_count = 1};
  struct verbena_library* library = NULL;
  struct verbena_report* report = NULL;
  HOLD(verbena_library_create(&options, &library, &report) != VERBENA_OK);
  HOLD(library == NULL && strstr(verbena_report_text(report), "/no/such/table.yaml") != NULL);
  verbena_report_free(report);

  /* Not strict: it is left out, and whoever has no log is told all the same. */
  options.strict = 0;
  HOLD(verbena_library_create(&options, &library, &report) == VERBENA_OK);
  HOLD(strstr(verbena_report_text(report), "/no/such/table.yaml is left out") != NULL);
  verbena_report_free(report);
  struct verbena_contract* contract = NULL;
  struct verbena_options once = {.size = sizeof once, .library = library};
  HOLD(verbena_contract_from_model("e810-roce", 1, &once, &contract, &report) == VERBENA_OK);
  HOLD(strstr(verbena_report_text(report), "/no/such/table.yaml is left out") != NULL);
  verbena_report_free(report);
  verbena_contract_free(contract);
  verbena_library_free(library);
  return 0;
}

int c_what_stands_in_is_what_is_created(const char* table) {
  const char* layers[] = {table};
  struct verbena_options options = {
      .size = sizeof options, .tables = VERBENA_TABLES_BUILTIN, .strict = 1, .layers = layers, .layer_count = 1};
  struct verbena_contract* contract = NULL;
  HOLD(verbena_contract_from_model("e810-roce", 1, &options, &contract, NULL) == VERBENA_OK);
  HOLD(verbena_support_of(contract, "uc") == VERBENA_SUPPORT_SUBSTITUTED);
  struct ibv_qp_init_attr attr = inline_220();
  attr.qp_type = IBV_QPT_UC;
  HOLD(verbena_fit_qp(contract, &attr, NULL, NULL) == VERBENA_UNSUPPORTED && attr.qp_type == IBV_QPT_UC);
  struct verbena_qp_options allowed = {.size = sizeof allowed, .substitutes = VERBENA_POLICY_PREFER};
  HOLD(verbena_fit_qp(contract, &attr, &allowed, NULL) == VERBENA_OK && attr.qp_type == IBV_QPT_RC);
  struct verbena_report* report = NULL;
  struct verbena_qp_options wrong = {.size = sizeof wrong, .substitutes = -1};
  HOLD(verbena_fit_qp(contract, &attr, &wrong, &report) == VERBENA_INVALID_REQUEST);
  HOLD(strstr(verbena_report_text(report), "-1 is not a value") != NULL);
  verbena_report_free(report);
  verbena_contract_free(contract);
  return 0;
}
