// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "cases/bodies.hpp"
#include "commands.hpp"
#include "conform_print.hpp"
#include "exit_code.hpp"
#include "report/file.hpp"
#include "runner/run_suite.hpp"
#include "runner/worker.hpp"
#include "verbena/verbs.hpp"

namespace cli {
namespace {

using conform::CaseList;
using conform::Ground;
using conform::Substrate;

struct ConformOptions {
  std::vector<std::string> devices, nics;
  std::string other;
  unsigned port = 1;
  std::string suite, report, substrate;
  conform::SuiteOptions run;
  std::uint64_t seed = 1;
  bool list = false, json = false;
  int worker = -1;
};

/// The library over this host's own verbs, and the devices of one run, opened.
struct Opened {
  std::optional<verbena::Library> library;
  Ground ground;
};

verbena::Result<std::unique_ptr<Opened>> open(const ConformOptions& options, const std::string& device) {
  auto opened = std::make_unique<Opened>();
  auto settings = verbena::load_settings();
  if (!settings) return verbena::Failure(settings.error());
  opened->ground.verbs = verbena::real_verbs();
  verbena::LibraryOptions library;
  library.verbs = opened->ground.verbs;
  library.settings = *std::move(settings);
  auto made = verbena::Library::create(std::move(library));
  if (!made) return verbena::Failure(made.error());
  opened->library.emplace(*std::move(made));
  Ground& ground = opened->ground;
  ground.library = &*opened->library;
  ground.port = ground.other_port = static_cast<std::uint8_t>(options.port);
  ground.seed = options.seed;
  ground.alone = !options.run.shared;
  auto first = opened->library->open(device);
  if (!first) return verbena::Failure(first.error());
  ground.device = *std::move(first);
  if (!options.other.empty()) {
    auto second = opened->library->open(options.other);
    if (!second) return verbena::Failure(second.error());
    ground.other = *std::move(second);
  }
  return opened;
}

int be_worker(const ConformOptions& options) {
  // What a driver prints must not stand between the lines of the report.
  dup2(STDERR_FILENO, STDOUT_FILENO);
  const auto opened = open(options, options.devices.front());
  if (!opened) return conform::refuse_to_work(options.worker, verbena::to_string(opened.error()));
  const std::vector<conform::Body> bodies = conform::all_bodies();
  return conform::work(options.worker, options.worker, (*opened)->ground, bodies);
}

/// This program again, as a worker of one run.
conform::BecomeWorker exec_worker(const ConformOptions& options, const std::string& device) {
  std::vector<std::string> words = {"verbena", "conform",
                                    "-d",      device,
                                    "-i",      fmt::format("{}", options.port),
                                    "--seed",  fmt::format("{}", options.seed)};
  if (!options.other.empty()) words.insert(words.end(), {"--other", options.other});
  if (options.run.shared) words.emplace_back("--shared-ok");
  return [words](int channel) mutable {
    fcntl(channel, F_SETFD, 0);
    words.insert(words.end(), {"--worker", fmt::format("{}", channel)});
    std::vector<char*> argv;
    for (std::string& one : words) argv.push_back(one.data());
    argv.push_back(nullptr);
    execv("/proc/self/exe", argv.data());
    return 127;
  };
}

/// The arguments behind `verbena conform`, for the report.
std::vector<std::string> own_arguments() {
  std::vector<std::string> words;
  const auto text = conform::read_file("/proc/self/cmdline");
  for (std::size_t at = 0; text && at < text->size(); at += words.back().size() + 1)
    words.emplace_back(text->c_str() + at);
  const auto verb = std::find(words.begin(), words.end(), "conform");
  words.erase(words.begin(), verb == words.end() ? words.end() : verb + 1);
  return words;
}

/// The list, or nothing after its faults were printed.
std::optional<CaseList> read(const std::string& folder) {
  std::vector<verbena::TableText> texts;
  if (folder.empty()) {
    texts = conform::built_in_texts();
  } else {
    auto read = conform::folder_texts(folder);
    if (!read) {
      complain(to_string(read.error()));
      return std::nullopt;
    }
    texts = *std::move(read);
  }
  conform::LoadedList loaded = conform::read_list(texts);
  for (const verbena::Finding& finding : loaded.findings) complain(to_string(finding));
  if (!loaded.findings.empty()) return std::nullopt;
  return std::move(loaded.list);
}

/// Why the options contradict each other or name nothing; empty when they are good.
std::string wrong_with(const ConformOptions& options, const CaseList& list) {
  std::set<std::string> names;
  for (const std::string& name : options.devices)
    if (!names.insert(name).second) return fmt::format("{} is named twice", name);
  if (options.devices.size() == 1 && options.devices.front() == options.other)
    return fmt::format("{} is named as its own other end", options.other);
  for (const std::string& glob : options.run.globs)
    if (conform::select_cases(list, {glob}).empty())
      return fmt::format("no case is called '{}'; --list prints them", glob);
  return {};
}

int run_on(const ConformOptions& options, const CaseList& list, const std::string& device) {
  auto opened = open(options, device);
  if (!opened) return fail(opened.error());
  conform::SuiteOptions suite = options.run;
  suite.command = own_arguments();
  suite.become = exec_worker(options, device);
  const auto substrate = conform::from_word<Substrate>(options.substrate);
  suite.substrate = substrate.value_or(conform::substrate_of((*opened)->ground.device->id()));
  if (isatty(STDERR_FILENO) != 0) suite.progress = show_progress;

  std::optional<conform::ReportFolder> folder;
  if (!options.report.empty()) {
    const std::string path = options.devices.size() > 1 ? options.report + "/" + device : options.report;
    auto made = conform::ReportFolder::open(path);
    if (!made) return fail(made.error());
    folder.emplace(*std::move(made));
  }
  const auto run = conform::run_suite(list, (*opened)->ground, suite, folder ? &*folder : nullptr);
  if (suite.progress) clear_progress();
  if (!run) {
    complain(to_string(run.error()));
    if (folder) complain(fmt::format("what was done before is in {}/cases.jsonl", folder->path()));
    return exit_code(run.error());
  }
  print_summary(*run, folder ? folder->path() : std::string());
  return run->red ? kFinding : kOk;
}

int run(const ConformOptions& options) {
  if (options.worker >= 0) return be_worker(options);
  const std::optional<CaseList> list = read(options.suite);
  if (!list) return kFinding;
  if (const std::string wrong = wrong_with(options, *list); !wrong.empty()) {
    complain(wrong);
    return kUsage;
  }
  if (options.list) {
    print_list(conform::select_cases(*list, options.run.globs), options.json);
    return kOk;
  }
  if (!options.nics.empty()) {
    complain("this build has no emulated NIC to run the suite on; --nic waits for one, -d takes a device");
    return kNothingTested;
  }
  if (options.devices.empty()) {
    complain("name a device with -d; `verbena devices` lists them");
    return kUsage;
  }
  int worst = kOk;
  for (const std::string& device : options.devices) {
    const int code = run_on(options, *list, device);
    if (code != kOk && worst != kFinding) worst = code;
  }
  return worst;
}

}  // namespace

void add_conform(CLI::App& app, Run& run_later) {
  CLI::App* command = app.add_subcommand("conform", "Run the conformance suite on a device, raw and through Verbena");
  auto options = std::make_shared<ConformOptions>();
  command->add_option("-d,--device", options->devices, "A device by name; repeatable, comma list allowed")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--nic", options->nics, "A model by name, on an emulated NIC")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_option("--other", options->other, "A second device, for the other end of each connection");
  command->add_option("-i,--port", options->port, "Port, from 1")->check(CLI::Range(1U, 255U))->capture_default_str();
  command->add_option("--case", options->run.globs, "Only cases whose id matches (* is any text); repeatable")
      ->allow_extra_args(false);
  command->add_flag("--list", options->list, "Print the cases and run none");
  command->add_flag("-j,--json", options->json, "With --list: one JSON document");
  command->add_option("--report", options->report, "Folder for run.json, cases.jsonl, junit.xml and index.html");
  command->add_option("--jobs", options->run.jobs, "Workers at a time")
      ->check(CLI::Range(1U, 64U))
      ->capture_default_str();
  command->add_option("--timeout", options->run.seconds, "Seconds that a case may take")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_option("--seed", options->seed, "Seed of what a case chooses at random")->capture_default_str();
  command->add_option("--repeat", options->run.repeat, "Runs of each case; one that differs is flaky")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  command->add_flag("--shared-ok", options->run.shared, "Others use the device: run nothing that could disturb them");
  command->add_option("--blocked-budget", options->run.blocked_budget, "Blocked cases that don't make the run red")
      ->capture_default_str();
  command->add_option("--substrate", options->substrate, "What stands below the device, where it can't be seen")
      ->check(CLI::IsMember({"hardware", "kernel-driver", "vendor-driver"}));
  command->add_option("--suite", options->suite, "Read the lists from a folder laid out like conformance/");
  command->add_option("--worker", options->worker)->group("");
  command->footer("Example: verbena conform -d rxe0 --case 'cq.*' --report out");
  command->callback([options, &run_later] { run_later = [options] { return run(*options); }; });
}

}  // namespace cli
