// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include "report/run.hpp"

namespace conform {

inline Identity rxe(const char* kernel) {
  return {"rxe0", "rxe", "", "", kernel, "rdma-core 44", "roce2", "0200:00ff:fe00:0001", std::nullopt};
}

/// Three cases that between them fill every key.
inline Run small_run() {
  Run run;
  run.suite_version = 3;
  run.suite_cases = 3;
  run.suite_requirements = 638;
  run.verbena = "0.1.0";
  run.begun = "2026-11-30T02:00:00Z";
  run.seconds = 1.25;
  run.seed = 18446744073709551615U;
  run.repeat = 5;
  run.command = {"-d", "rxe0"};
  run.substrate = Substrate::kernel_driver;
  run.device = rxe("6.12.117");
  run.quirks_hash = "00ff00ff00ff00ff";
  run.blocked_budget = 2;

  CaseResult plain;
  plain.id = "cq.create.depth_at_limit";
  plain.says = "A completion queue of max_cqe entries is made.";
  plain.area = "cq";
  plain.covers = {"cq.create.depth_at_limit"};
  plain.impact = "objects";
  plain.raw.verdict = Verdict::conforms;
  plain.raw.table = Table::expected;
  plain.raw.ms = 12.5;
  plain.raw.runs = 5;
  plain.verbena = plain.raw;
  plain.verbena.verdict = Verdict::degraded;
  plain.verbena.adjustments = {{"cqe", 18446744073709551615U, 32767, "reduced", "rxe-cqe", "The ring ends there.",
                                "Linux 6.12 sw/rxe/rxe_param.h"}};

  CaseResult known;
  known.id = "error.local.bad_lkey_send";
  known.says = "A send with a key that gives no right completes with LOC_PROT_ERR.";
  known.area = "error";
  known.covers = {"error.local.bad_lkey_send", "mr.dereg.lkey_dies"};
  known.impact = "traffic";
  known.raw.verdict = Verdict::deviates;
  known.raw.table = Table::expected;
  known.raw.runs = 5;
  known.raw.findings = {{"error.local.bad_lkey_send", Seen::completion, std::nullopt, "WR_FLUSH_ERR", "ERR",
                         "The send completed with WR_FLUSH_ERR instead of LOC_PROT_ERR."}};
  known.raw.expectations = {"rxe-local-error"};
  known.raw.notes = {"the cause is not named"};
  known.verbena.verdict = Verdict::flaky;
  known.verbena.table = Table::expected;
  known.verbena.runs = 5;
  known.verbena.rate = "2 of 5";

  CaseResult wrong;
  wrong.id = "state.init.rc_needs_each";
  wrong.says = "RESET to INIT of an RC queue pair without one of its attributes fails with EINVAL.";
  wrong.area = "state";
  wrong.covers = {"state.init.rc_needs_each"};
  wrong.impact = "objects";
  wrong.raw.verdict = Verdict::violates;
  wrong.raw.table = Table::missing;
  wrong.raw.red = true;
  wrong.raw.runs = 5;
  wrong.raw.findings = {{"state.init.rc_needs_each", Seen::refused, "ENOMEM", std::nullopt, std::nullopt,
                         "Without IBV_QP_PORT: ENOMEM instead of EINVAL."}};
  wrong.verbena.verdict = Verdict::blocked;
  wrong.verbena.reason = "no second host";

  run.cases = {plain, known, wrong};
  run.expectations = {{"rxe-local-error",
                       "A send that fails locally completes with IBV_WC_WR_FLUSH_ERR.",
                       "The requester moves the queue pair to ERR first.",
                       {"Linux 6.12 sw/rxe/rxe_req.c rxe_requester"},
                       "open"}};
  run.red = true;
  run.why_red = {"state.init.rc_needs_each (raw): violates: Without IBV_QP_PORT: ENOMEM instead of EINVAL."};
  return run;
}

}  // namespace conform
