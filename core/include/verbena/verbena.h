/* SPDX-License-Identifier: Apache-2.0 OR MIT */
#ifndef VERBENA_VERBENA_H
#define VERBENA_VERBENA_H

/* Verbena for C: what can really be asked of a device, and a request fitted into it in place. For programs that own
 * their contexts and create their own objects: nothing here creates one.
 *
 *   struct verbena_report* report = NULL;
 *   struct verbena_contract* contract = NULL;
 *   if (verbena_contract_from_context(context, 1, NULL, &contract, &report)) ...verbena_report_text(report)...
 *   verbena_report_free(report);
 *   if (verbena_fit_qp(contract, &attr, NULL, &report)) ...
 *   qp = ibv_create_qp(pd, &attr);
 *
 * Errors. A function that returns int returns VERBENA_OK or one of enum verbena_status, never an errno. Where it takes
 * a `struct verbena_report**`, that may be NULL; else *report is set, on success and on failure, to a report that the
 * caller frees, or to NULL when there was no memory for one. Nothing that is handed in is changed on failure. No
 * exception leaves.
 * Ownership. What a function hands out through `**` belongs to the caller, who gives it to the matching _free; _free
 * of NULL does nothing. Strings belong to the handle they were read from and live as long. Handles don't need each
 * other: a contract outlives the library handle, a report the contract. A context that was passed in stays the
 * caller's, and is not used after the call returns.
 * Threads. All state is in handles. A `const` handle may be read from any number of threads at once; a handle may not
 * be freed while another thread uses it. The environment is read in verbena_library_create and
 * verbena_contract_from_... without a library, and nowhere else.
 * Structs. The caller writes sizeof the struct into `size` (VERBENA_INIT does) and zeroes the rest. A smaller,
 * older struct is read with zeroes behind it; a larger one is refused if what this library does not know is not zero.
 * Structs that are filled in are filled up to `size`; what a larger one has beyond what this library knows stays as it
 * is. */

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#include "verbena/version.h"

#define VERBENA_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/** What a call came to; for code to branch on. */
enum verbena_status {
  VERBENA_OK = 0,
  VERBENA_INVALID_REQUEST = 1, /**< the request contradicts itself, or names something unknown */
  VERBENA_LIMIT = 2,           /**< a number cannot be met, and the policy or a floor forbids less */
  VERBENA_UNSUPPORTED = 3,     /**< the device has no such feature */
  VERBENA_NO_MEMORY = 4,       /**< out of memory or of lockable memory */
  VERBENA_PERMISSION = 5,      /**< the process lacks a right */
  VERBENA_NO_DEVICE = 6,       /**< no such device or model */
  VERBENA_DEVICE_GONE = 7,     /**< the device was removed */
  VERBENA_REFUSED = 8,         /**< the device refused what it should take */
  VERBENA_TIMEOUT = 9,         /**< a deadline passed */
  VERBENA_BAD_TABLE = 10,      /**< a quirk table, model or setting cannot be used */
  VERBENA_IO = 11,             /**< a file could not be read */
  VERBENA_INTERNAL = 12        /**< a fault of this library: please report it */
};

/** The enumerator's meaning in a word, `limit`; `unknown` for a number that is none. Static storage. */
VERBENA_API const char* verbena_status_name(int status);

struct verbena_library;  /**< tables, read once */
struct verbena_contract; /**< what can be asked of one device and port */
struct verbena_report;   /**< what one call changed, or why it failed */

/** Which tables are in force. */
enum verbena_tables {
  VERBENA_TABLES_HOST = 0,   /**< built in, installed, /etc, /run, VERBENA_QUIRKS; and the settings of the site */
  VERBENA_TABLES_BUILTIN = 1 /**< built in only: nothing of the host and no environment variable is read */
};

enum verbena_beyond_declared {
  VERBENA_BEYOND_AS_SITE = 0, /**< as the site's setting fit.beyond_declared says */
  VERBENA_BEYOND_ALLOW = 1,   /**< a grant may exceed what the device declares, where a rule proves that more works */
  VERBENA_BEYOND_FORBID = 2
};

/** Levels as passed to the log callback. */
enum verbena_log_level { VERBENA_LOG_ERROR = 0, VERBENA_LOG_WARN = 1, VERBENA_LOG_INFO = 2, VERBENA_LOG_DEBUG = 3 };

/** How to read tables; NULL in its place means all zero. */
struct verbena_options {
  size_t size;
  int tables;          /**< enum verbena_tables */
  int strict;          /**< not 0: a table that cannot be used is VERBENA_BAD_TABLE, not a layer left out */
  int beyond_declared; /**< enum verbena_beyond_declared */
  int reserved;        /**< 0 */
  const char* const* layers; /**< table files or directories of them, laid over `tables` in this order */
  size_t layer_count;
  /** Called on the calling thread; must not call back into this library. NULL: silence. */
  void (*log)(void* user, int level, const char* device, const char* text);
  void* log_user;
  const struct verbena_library* library; /**< tables that were read already: the fields above are not looked at */
};

/** Reads tables and settings once, for programs that make many contracts. Here and in each contract's report a line of
 * the text names each layer that is left out, and why. */
VERBENA_API int verbena_library_create(const struct verbena_options* options, struct verbena_library** library,
                                       struct verbena_report** report);
VERBENA_API void verbena_library_free(struct verbena_library* library);

/** Probes the device behind an open context, which only asks and creates nothing, and gives the contract of `port`
 * (from 1). */
VERBENA_API int verbena_contract_from_context(struct ibv_context* context, uint8_t port,
                                              const struct verbena_options* options, struct verbena_contract** contract,
                                              struct verbena_report** report);

/** The contract of a model: `e810-roce`, `connectx5@kernel-6.12`, or a path to a model file. Needs no device. */
VERBENA_API int verbena_contract_from_model(const char* name, uint8_t port, const struct verbena_options* options,
                                            struct verbena_contract** contract, struct verbena_report** report);
VERBENA_API void verbena_contract_free(struct verbena_contract* contract);

/** The device in one line, for logs. */
VERBENA_API const char* verbena_contract_device(const struct verbena_contract* contract);
/** The hash of the rules in force. */
VERBENA_API uint64_t verbena_contract_quirks_hash(const struct verbena_contract* contract);

/** What may be done when a wish cannot be met. */
enum verbena_policy {
  VERBENA_POLICY_DEFAULT = 0, /**< prefer for numbers, require for substitutes */
  VERBENA_POLICY_REQUIRE = 1, /**< a shortfall is VERBENA_LIMIT */
  VERBENA_POLICY_PREFER = 2,  /**< adapt and report */
  VERBENA_POLICY_ALLOW = 3    /**< adapt, in the report only */
};

/** What a QP request says beyond ibv_qp_init_attr; NULL in its place means all zero. */
struct verbena_qp_options {
  size_t size;
  uint64_t send_ops;                 /**< IBV_QP_EX_WITH_* that will be posted; 0: whatever the type allows */
  const struct ibv_qp_cap* at_least; /**< floors; NULL: an eighth of the wish for depths, 1 SGE, 0 inline bytes */
  int policy;                        /**< enum verbena_policy, for numbers */
  int substitutes;                   /**< enum verbena_policy, for ways round a missing feature */
};

/** Fits attr->cap into the contract: afterwards it holds what must be passed to ibv_create_qp. What the caller can
 * count on (which may be less than is passed) is in the report. Types RC, UC and UD; attr->qp_type changes only where
 * options->substitutes lets an RC queue pair stand in, which the report then tells. ibv_create_qp tells the driver no
 * operations, so options->send_ops is checked against the device and makes no queue deeper. */
VERBENA_API int verbena_fit_qp(const struct verbena_contract* contract, struct ibv_qp_init_attr* attr,
                               const struct verbena_qp_options* options, struct verbena_report** report);

/** The same for ibv_create_qp_ex. attr->send_ops_flags, where comp_mask names it, is what the driver makes room for and
 * what is fitted; options->send_ops beside it may name fewer operations, but VERBENA_INVALID_REQUEST one that it lacks.
 * Without it as for verbena_fit_qp. VERBENA_UNSUPPORTED when the device takes no such flags. */
VERBENA_API int verbena_fit_qp_ex(const struct verbena_contract* contract, struct ibv_qp_init_attr_ex* attr,
                                  const struct verbena_qp_options* options, struct verbena_report** report);

struct verbena_cq_options {
  size_t size;
  uint32_t at_least; /**< floor; 0: an eighth of the wish */
  int policy; /**< enum verbena_policy */
};

/** Fits the depth of a completion queue: afterwards *cqe is what must be passed to ibv_create_cq. That is no wish any
 * more: where a device keeps entries to itself, fitting it once more asks for more (64, then 65, then 66 on hns). */
VERBENA_API int verbena_fit_cq(const struct verbena_contract* contract, uint32_t* cqe,
                               const struct verbena_cq_options* options, struct verbena_report** report);

struct verbena_srq_options {
  size_t size;
  const struct ibv_srq_attr* at_least; /**< floors of max_wr and max_sge; NULL: as for a QP */
  int policy; /**< enum verbena_policy */
};

/** Fits attr->attr: afterwards it holds what must be passed to ibv_create_srq. An srq_limit above the depth that is
 * granted is lowered, or VERBENA_LIMIT under VERBENA_POLICY_REQUIRE; above the depth that was asked for it is
 * VERBENA_INVALID_REQUEST. */
VERBENA_API int verbena_fit_srq(const struct verbena_contract* contract, struct ibv_srq_init_attr* attr,
                                const struct verbena_srq_options* options, struct verbena_report** report);

/** The numbers of one field; names are verbs' own: `max_send_wr`, `cqe`. */
struct verbena_field {
  size_t size;
  const char* name;
  uint64_t asked;
  uint64_t granted; /**< what the caller can count on */
  uint64_t passed; /**< what goes to create; above `granted` where the driver keeps slots for itself */
};

/** One change, and why. Strings are empty, never NULL. */
struct verbena_adjustment {
  size_t size;
  const char* field;
  uint64_t asked;
  uint64_t granted;
  const char* kind; /**< `reduced`, `raised`, `substituted`, `beyond_declared` */
  const char* set_by; /**< `declared`, `probed`, `rule`, `formula`, `site`, `request`, `build` */
  const char* rule; /**< id, empty when no rule is behind it */
  const char* reason;
  const char* source; /**< where the fact is established */
  const char* file; /**< the table, `builtin:irdma.yaml`; empty without a rule */
  int line; /**< from 1; 0 without a file */
};

/** Why a call failed. Strings are empty, never NULL. */
struct verbena_error {
  size_t size;
  int status; /**< enum verbena_status */
  const char* field; /**< the attribute at fault, empty when none is */
  int has_asked; /**< not 0: `asked` holds a number */
  int has_allowed;
  uint64_t asked;
  uint64_t allowed; /**< the nearest value that would have been accepted */
  const char* set_by;
  const char* rule;
  const char* reason;
  const char* source;
  const char* file;
  int line;
  int errno_value; /**< as the driver gave it, positive; 0 when there is none */
  const char* text;
};

#define VERBENA_INIT(variable) ((variable).size = sizeof(variable))

VERBENA_API size_t verbena_report_field_count(const struct verbena_report* report);
/** The i-th field's numbers; VERBENA_INVALID_REQUEST when there is none. */
VERBENA_API int verbena_report_field(const struct verbena_report* report, size_t i, struct verbena_field* field);
/** The named field's numbers; VERBENA_INVALID_REQUEST when the report has none of that name. */
VERBENA_API int verbena_report_find_field(const struct verbena_report* report, const char* name,
                                          struct verbena_field* field);

/** 0 when everything was granted as asked. */
VERBENA_API size_t verbena_report_adjustment_count(const struct verbena_report* report);
VERBENA_API int verbena_report_adjustment(const struct verbena_report* report, size_t i,
                                          struct verbena_adjustment* adjustment);

/** The error behind a failure; VERBENA_INVALID_REQUEST, and nothing written, when the call succeeded. */
VERBENA_API int verbena_report_error(const struct verbena_report* report, struct verbena_error* error);

/** All of it as text, one line an adjustment or error, each with its newline; empty when nothing was changed. Never
 * NULL. */
VERBENA_API const char* verbena_report_text(const struct verbena_report* report);
VERBENA_API void verbena_report_free(struct verbena_report* report);

/** How a device comes by a feature. */
enum verbena_support {
  VERBENA_SUPPORT_NO_SUCH_NAME = -1,
  VERBENA_SUPPORT_UNKNOWN = 0,
  VERBENA_SUPPORT_NATIVE = 1,
  VERBENA_SUPPORT_SUBSTITUTED = 2,
  VERBENA_SUPPORT_ABSENT = 3
};

/** enum verbena_support of a feature: `srq`, `fetch_add`, `rdma_write_with_imm`. */
VERBENA_API int verbena_support_of(const struct verbena_contract* contract, const char* feature);

/** The word that a behaviour flag holds: `rdma_cm` for `rts_driven_by`; NULL when there is no flag of that name. */
VERBENA_API const char* verbena_behaviour_of(const struct verbena_contract* contract, const char* flag);

/** What can be asked of one number. */
struct verbena_limit {
  size_t size;
  uint64_t min; /**< smallest number that may be passed */
  uint64_t max; /**< largest; meaningful when `known` */
  uint64_t grant; /**< largest that can be granted, by this number's own bounds; rings may allow less */
  int known; /**< 0: nobody gives an upper bound */
  int has_declared; /**< not 0: `declared` holds what the device says of itself */
  uint64_t declared;
  const char* max_set_by;
  const char* max_rule;
  const char* max_reason;
  const char* max_source;
};

/** Fills the limit of a field on an object: ("qp", "max_send_wr"), ("cq", "cqe"), ("srq", "max_wr").
 * VERBENA_INVALID_REQUEST when there is no such field. */
VERBENA_API int verbena_limit_of(const struct verbena_contract* contract, const char* object, const char* field,
                                 struct verbena_limit* limit);

#ifdef __cplusplus
}
#endif

#endif
