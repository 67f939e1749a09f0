// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "report.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <filesystem>

#include "exit_code.hpp"
#include "report/file.hpp"
#include "report/html.hpp"
#include "report/junit.hpp"
#include "report/run_json.hpp"
#include "report/summary.hpp"
#include "report_verify.hpp"

namespace cli {
namespace {

struct OneRunWords {
  std::string run, output;
};

/// A subcommand that makes one file from one run.
void add_one_run(CLI::App& report, Run& run, const char* name, const char* what, const char* example,
                 std::string (*make)(const conform::Run&)) {
  CLI::App* command = report.add_subcommand(name, what);
  auto words = std::make_shared<OneRunWords>();
  command->add_option("RUN", words->run, "A run's JSON file, or the folder that holds its run.json")->required();
  command->add_option("-o,--output", words->output, "The file to write; - is standard output")->required();
  command->footer(example);
  command->callback([words, make, &run] {
    run = [words, make] {
      const verbena::Result<conform::Run> one = read_run(words->run);
      return one ? write_report(words->output, make(*one)) : fail(one.error(), kUsage);
    };
  });
}

}  // namespace

verbena::Result<conform::Run> read_run(const std::string& file_or_folder) {
  std::error_code ignored;
  const bool folder = std::filesystem::is_directory(file_or_folder, ignored);
  return conform::load_run(folder ? file_or_folder + "/run.json" : file_or_folder);
}

std::size_t screen_columns() noexcept {
  winsize size{};
  if (isatty(STDOUT_FILENO) == 0) return 0;
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 40 ? size.ws_col : 80;
}

int write_report(const std::string& file, const std::string& text) {
  if (file == "-") {
    // main() sees to what cannot be written.
    static_cast<void>(std::fwrite(text.data(), 1, text.size(), stdout));
    return kOk;
  }
  const verbena::Result<void> wrote = conform::write_file(file, text);
  if (wrote) return kOk;
  return fail(wrote.error(), kFinding);
}

void add_report_show(CLI::App& report, Run& run) {
  CLI::App* command = report.add_subcommand("show", "Print a run on one screen");
  auto file = std::make_shared<std::string>();
  command->add_option("RUN", *file, "A run's JSON file, or the folder that holds its run.json")->required();
  command->footer("Example: verbena report show report/run.json");
  command->callback([file, &run] {
    run = [file] {
      const verbena::Result<conform::Run> one = read_run(*file);
      return one ? write_report("-", conform::run_to_summary(*one, screen_columns())) : fail(one.error(), kUsage);
    };
  });
}

void add_report_html(CLI::App& report, Run& run) {
  add_one_run(report, run, "html", "Write a run as one HTML page that needs nothing beside it",
              "Example: verbena report html report/run.json -o rxe.html", conform::run_to_html);
}

void add_report_junit(CLI::App& report, Run& run) {
  add_one_run(report, run, "junit", "Write a run as JUnit XML",
              "Example: verbena report junit report/run.json -o rxe.xml", conform::run_to_junit);
}

void add_report(CLI::App& app, Run& run) {
  CLI::App* report = app.add_subcommand("report", "Show, compare and lay side by side what conformance runs said");
  report->require_subcommand(1);
  report->footer("Example: verbena report diff before/run.json after/run.json");
  add_report_show(*report, run);
  add_report_html(*report, run);
  add_report_junit(*report, run);
  add_report_matrix(*report, run);
  add_report_diff(*report, run);
#ifdef VERBENA_CONFORMANCE
  add_report_verify(*report, run);
#endif
}

}  // namespace cli
