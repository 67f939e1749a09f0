// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <string>
#include <string_view>

#include "run.hpp"
#include "verbena/result.hpp"

namespace conform {

/// The schema of a run's JSON that this build writes and reads: conformance/schema/results.schema.json.
inline constexpr int kResultsSchema = 1;

/// One JSON document, indented, with a newline at its end. Bytes that are no UTF-8 become U+FFFD.
std::string run_to_json(const Run& run);

/// One line without its newline, as cases.jsonl holds it while the run goes on.
std::string case_to_json_line(const CaseResult& result);

/// The run of a JSON document. Fails with `bad_table` on what is no JSON, on another schema's number, and on a key that
/// is missing or holds something else than it should, with the key's path (`cases[3].raw.verdict`) as the field. Keys
/// that this build does not know are skipped. `name` is the document's in the error.
verbena::Result<Run> run_from_json(std::string_view text, const std::string& name);

/// One line of cases.jsonl.
verbena::Result<CaseResult> case_from_json_line(std::string_view line, const std::string& name);

/// Reads and parses the file. Fails with `io` when it cannot be read.
verbena::Result<Run> load_run(const std::string& file);

}  // namespace conform
