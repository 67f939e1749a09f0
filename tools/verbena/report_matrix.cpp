// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <filesystem>

#include "exit_code.hpp"
#include "report.hpp"
#include "report/html.hpp"
#include "say.hpp"

namespace cli {
namespace {

struct MatrixWords {
  std::vector<std::string> runs;
  std::string output;
};

/// rxe.html becomes rxe.models.html.
std::string models_file(const std::string& file) {
  const std::filesystem::path path(file);
  return (path.parent_path() / (path.stem().string() + ".models" + path.extension().string())).string();
}

int matrix(const MatrixWords& words) {
  std::vector<conform::Run> runs;
  for (const std::string& file : words.runs) {
    verbena::Result<conform::Run> one = read_run(file);
    if (!one) return fail(one.error(), kUsage);
    runs.push_back(*std::move(one));
  }
  const std::string models = models_file(words.output);
  const auto name = [](const std::string& file) { return std::filesystem::path(file).filename().string(); };
  const conform::MatrixPages pages = conform::runs_to_matrix(runs, name(words.output), name(models));
  if (!pages.devices) return write_report(words.output, pages.models.value_or(""));
  if (pages.models && words.output == "-") {
    return fail_usage("runs on emulated NICs need a page of their own: name a file with -o");
  }
  const int wrote = write_report(words.output, *pages.devices);
  if (wrote != kOk || !pages.models) return wrote;
  const int wrote_models = write_report(models, *pages.models);
  if (wrote_models == kOk) say("runs on emulated NICs are on a page of their own: {}\n", models);
  return wrote_models;
}

}  // namespace

void add_report_matrix(CLI::App& report, Run& run) {
  CLI::App* command =
      report.add_subcommand("matrix", "Lay runs side by side on one HTML page: models down, areas across");
  auto words = std::make_shared<MatrixWords>();
  command->add_option("RUN", words->runs, "Runs: JSON files, or folders that hold a run.json")->required();
  command
      ->add_option("-o,--output", words->output,
                   "The page to write; runs on emulated NICs go to NAME.models.html beside it")
      ->required();
  command->footer("Example: verbena report matrix conformance/results/*.json -o matrix.html");
  command->callback([words, &run] { run = [words] { return matrix(*words); }; });
}

}  // namespace cli
