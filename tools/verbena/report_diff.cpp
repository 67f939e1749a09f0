// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "exit_code.hpp"
#include "report.hpp"
#include "report/diff.hpp"

namespace cli {
namespace {

struct ReportDiffWords {
  std::string a, b;
  bool json = false;
};

int compare_runs(const ReportDiffWords& words) {
  const verbena::Result<conform::Run> a = read_run(words.a);
  const verbena::Result<conform::Run> b = read_run(words.b);
  if (!a && !b) complain(to_string(b.error()));
  if (!a || !b) return fail(a ? b.error() : a.error(), kUsage);
  const conform::RunDiff diff = conform::diff_runs(*a, *b);
  const int wrote = write_report(
      "-", words.json ? conform::diff_to_json(diff, words.a, words.b) : conform::diff_to_text(diff, words.a, words.b));
  if (wrote != kOk) return wrote;
  return diff.same() ? kOk : kFinding;
}

}  // namespace

void add_report_diff(CLI::App& report, Run& run) {
  CLI::App* command = report.add_subcommand("diff", "Show which results differ between two runs; exit 1 if one does");
  auto words = std::make_shared<ReportDiffWords>();
  command->add_option("A", words->a, "A run's JSON file, or the folder that holds its run.json")->required();
  command->add_option("B", words->b, "The same")->required();
  command->add_flag("-j,--json", words->json, "Print one JSON document");
  command->footer(
      "Another firmware, kernel or table is shown and is no difference by itself.\n"
      "Exit codes: 0 same results; 1 a result differs; 2 a run cannot be read\n"
      "Example: verbena report diff before/run.json after/run.json");
  command->callback([words, &run] { run = [words] { return compare_runs(*words); }; });
}

}  // namespace cli
