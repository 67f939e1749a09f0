// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <limits>
#include <set>
#include <thread>

#include "commands.hpp"
#include "conform_ground.hpp"
#include "conform_list.hpp"
#include "conform_peer.hpp"
#include "conform_print.hpp"
#include "emulated_nics.hpp"
#include "exit_code.hpp"
#include "number_options.hpp"
#include "report/file.hpp"
#include "runner/bundle.hpp"
#include "runner/huge_pages.hpp"
#include "runner/prove_quirks.hpp"
#include "runner/run_suite.hpp"

namespace cli {
namespace {

using conform::CaseList;
using conform::Substrate;

struct ConformOptions {
  std::vector<std::string> devices, nics;
  GroundOptions ground;
  std::string suite, report, substrate;
  conform::SuiteOptions run;
  bool list = false, json = false, prove_quirks = false;
  std::optional<std::string> serve;  ///< [ADDRESS][:PORT]
  std::string peer_run;
  unsigned jobs = 0;  ///< 0: as many as suit the device
  int workers = -1;
};

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

/// Why the options contradict each other or name nothing; empty when they are good.
std::string wrong_with(const ConformOptions& options, const CaseList& list) {
  std::set<std::string> names;
  for (const std::string& name : options.devices)
    if (!names.insert(name).second) return fmt::format("{} is named twice", name);
  if (options.serve && (!options.devices.empty() || !options.nics.empty() || !options.ground.peer.empty()))
    return "--serve has no run of its own: the host that names this one with --peer has the device under test";
  if (!options.ground.peer.empty() && !options.ground.other.empty())
    return "the other end is the peer's (--peer) or this host's (--other), not both";
  if (options.ground.peer.empty() && !options.ground.peer_device.empty()) return "--peer-device needs --peer HOST";
  if (options.run.official && !options.ground.peer.empty())
    return "--official runs on one host: what a bundle is verified by is all on it";
  if (options.devices.size() == 1 && options.devices.front() == options.ground.other)
    return fmt::format("{} is named as its own other end", options.ground.other);
  for (const std::string& glob : options.run.choice.globs)
    if (conform::select_cases(list, {.globs = {glob}}).empty())
      return fmt::format("no case is called '{}'; --list prints them", glob);
  if (!options.ground.faults.empty() && options.nics.empty())
    return "--fault is for emulated NICs (--nic): a device has those that it has";
  if (std::string wrong = wrong_faults(options.ground.faults); !wrong.empty()) return wrong;
  if (options.ground.loss && options.nics.empty())
    return "--loss is for emulated NICs (--nic): a device has the wire that it has";
  if (options.run.official && options.report.empty()) return "--official needs --report DIR for its bundle";
  if (options.run.official && (!options.run.choice.globs.empty() || options.run.choice.sample != 0 ||
                               options.run.shared || !options.suite.empty()))
    return "--official runs the whole list that is built in, with nothing held back";
  return {};
}

/// An official run is the same on every host.
void make_official(ConformOptions& options) {
  const conform::SuiteOptions plain;
  options.jobs = plain.jobs;
  options.run.seconds = plain.seconds;
  options.run.blocked_budget = plain.blocked_budget;
  options.run.repeat = conform::kOfficialRepeat;
  options.ground.seed = GroundOptions{}.seed;
}

int prove(const CaseList& list, const Opened& opened, const GroundOptions& ground,
          const conform::SuiteOptions& options) {
  const auto turn_off = [&](const std::string& rule) -> verbena::Result<conform::WithoutRule> {
    GroundOptions without = ground;
    without.without_rule = rule;
    auto bare = open_ground(without);
    if (!bare) return verbena::Failure(bare.error());
    return conform::WithoutRule{std::shared_ptr<const conform::Ground>(*bare, &(*bare)->ground), exec_workers(without)};
  };
  const auto proofs = conform::prove_quirks(list, opened.ground, options, turn_off);
  if (options.progress) clear_progress();
  if (!proofs) return fail(proofs.error());
  print_proofs(opened.ground.device->id(), options.substrate, *proofs);
  const bool found = std::any_of(proofs->begin(), proofs->end(), [](const conform::Proof& one) {
    return one.outcome == conform::ProofOutcome::not_enough || one.outcome == conform::ProofOutcome::wrong ||
           one.outcome == conform::ProofOutcome::unnecessary;
  });
  return found ? kFinding : kOk;
}

/// `nic`: the model of the emulated one that the device is; empty: it is this host's.
int run_on(const ConformOptions& options, const CaseList& list, const std::string& device, const std::string& nic) {
  GroundOptions ground = options.ground;
  ground.device = device;
  if (!nic.empty()) {
    ground.nics.push_back(nic);
    // The other end is a model too.
    if (!ground.other.empty()) {
      ground.nics.push_back(ground.other);
      ground.other = ground.other == nic ? device_name(ground.other) + "_1" : device_name(ground.other);
    }
  }
  ground.shared = options.run.shared;
  ground.peer_run = {list.version, list.hash(), 0};
  const auto opened = open_ground(ground);
  if (!opened && opened.error().kind == verbena::ErrorKind::unsupported) return fail(opened.error(), kNothingTested);
  if (!opened) return fail(opened.error());
  if ((*opened)->far) {
    ground.peer_run.token = (*opened)->far->welcome().token;
    ground.peer_device = (*opened)->ground.other->id().name;
  }
  conform::SuiteOptions suite = options.run;
  suite.command = own_arguments();
  suite.start_worker = exec_workers(ground);
  suite.substrate =
      nic.empty()
          ? conform::from_word<Substrate>(options.substrate).value_or(conform::substrate_of(*(*opened)->ground.device))
          : Substrate::emulated;
  // Each worker has a NIC of its own, and waits for the most part.
  suite.jobs = std::max(options.jobs, 1U);
  if (options.jobs == 0 && suite.substrate == Substrate::emulated && !options.run.official)
    suite.jobs = std::clamp(4 * std::thread::hardware_concurrency(), 4U, 64U);
  // Enough for the largest memory of a case; on hardware how memory is set aside is its operator's business.
  constexpr std::uint64_t kHugePages = 64;
  const conform::HugePages huge_pages(suite.substrate == Substrate::emulated ? kHugePages : 0);
  if (isatty(STDERR_FILENO) != 0) suite.progress = show_progress;
  if (options.prove_quirks) return prove(list, **opened, ground, suite);

  std::optional<conform::ReportFolder> folder;
  if (!options.report.empty()) {
    const bool several = options.devices.size() + options.nics.size() > 1;
    const std::string path = several ? options.report + "/" + device : options.report;
    auto made = conform::ReportFolder::open(path);
    if (!made) return fail(made.error());
    folder.emplace(*std::move(made));
  }
  const auto run = conform::run_suite(list, (*opened)->ground, suite, folder ? &*folder : nullptr);
  if (suite.progress) clear_progress();
  if (!run) {
    if (folder) complain(fmt::format("what was done before is in {}/cases.jsonl", folder->path()));
    return fail(run.error());
  }
  print_summary(*run, folder ? folder->path() : std::string());
  if (options.run.official) {
    if (const auto written = conform::write_bundle(folder->path(), list, (*opened)->ground, *run); !written)
      return fail(written.error());
  }
  return run->red ? kFinding : kOk;
}

int run(ConformOptions options) {
  options.ground.without_data = conform::from_word<Substrate>(options.substrate) == Substrate::vendor_driver;
  if (options.workers >= 0) {
    options.ground.device = options.devices.empty() ? std::string() : options.devices.front();
    options.ground.nics = options.nics;
    if (!options.nics.empty()) options.ground.device = device_name(options.nics.front());
    options.ground.shared = options.run.shared;
    options.ground.peer_run = peer_run_from(options.peer_run).value_or(PeerRun{});
    return be_spawner(options.ground, options.workers);
  }
  options.run.choice.seed = options.ground.seed;
  const verbena::Result<CaseList> list = read_case_list(options.suite);
  if (!list) return fail(list.error());
  if (const std::string wrong = wrong_with(options, *list); !wrong.empty()) return fail_usage(wrong);
  if (options.list) {
    print_list(conform::select_cases(*list, options.run.choice), options.json);
    return kOk;
  }
  if (options.serve) {
    if (options.json) return fail_usage("-j prints what --list does; --serve tells its doings line by line");
    return serve(*options.serve, *list);
  }
  if (options.devices.empty() && options.nics.empty())
    return fail_usage("name a device with -d, or a model with --nic; `verbena devices` lists both");
  if (options.json)
    return fail_usage("-j prints what --list does; what a run found is in run.json of its --report DIR");
  if (options.run.official) make_official(options);
  int worst = kOk;
  const auto count = [&worst](int code) {
    if (code != kOk && worst != kFinding) worst = code;
  };
  for (const std::string& device : options.devices) count(run_on(options, *list, device, {}));
  for (const std::string& nic : options.nics) count(run_on(options, *list, device_name(nic), nic));
  return worst;
}

}  // namespace

void add_conform(CLI::App& app, Run& run_later) {
  CLI::App* command = app.add_subcommand("conform", "Run the conformance suite on a device, raw and through Verbena");
  auto options = std::make_shared<ConformOptions>();
  add_names(*command, "-d,--device", options->devices, "A device by name; repeatable, comma list allowed");
  add_names(*command, "--nic", options->nics, "A model by name, on an emulated NIC");
  command
      ->add_option("--fault", options->ground.faults,
                   "Switch a fault on in each emulated NIC; repeatable. docs/models.md lists them")
      ->option_text("NAME[:KEY=VALUE...]")
      ->allow_extra_args(false);
  command
      ->add_option("--loss", options->ground.loss,
                   "Between emulated NICs packets go as bytes, and each is lost with this chance")
      ->check(fraction(0, 0.999));
  command->add_option("--other", options->ground.other, "A second device, for the other end of each connection");
  command
      ->add_option("--serve", options->serve,
                   "Have the other end of other hosts' runs, at [ADDRESS][:PORT] (127.0.0.1:18590), until Ctrl-C")
      ->option_text("[ADDRESS][:PORT]")
      ->expected(0, 1)
      ->default_str("");
  command->add_option("--peer", options->ground.peer,
                      "The other end of each connection is on HOST[:PORT], which serves");
  command->add_option("--peer-device", options->ground.peer_device, "The device there; left out: the only one");
  command->add_option("--peer-run", options->peer_run)->group("");
  command->add_option("-i,--port", options->ground.port, "Port, from 1")
      ->check(whole_number(1, 255))
      ->capture_default_str();
  command->add_option("--case", options->run.choice.globs, "Only cases whose id matches (* is any text); repeatable")
      ->allow_extra_args(false);
  command->add_option("--sample", options->run.choice.sample, "Only so many of those cases, drawn by --seed; 0: all")
      ->check(whole_number(0, 1000000))
      ->capture_default_str();
  command->add_flag("--list", options->list, "Print the cases and run none");
  command->add_flag("-j,--json", options->json, "With --list: one JSON document");
  command->add_option("--report", options->report, "Folder for run.json, cases.jsonl, junit.xml and index.html");
  command
      ->add_option("--jobs", options->jobs,
                   "Workers at a time; left out: 1, and on emulated NICs four times as many as there are processors")
      ->check(whole_number(1, 64));
  command->add_option("--timeout", options->run.seconds, "Seconds that a case may take")
      ->check(fraction(0.1, 3600))
      ->capture_default_str();
  command->add_option("--seed", options->ground.seed, "Seed of what a case chooses at random, and of --sample")
      ->check(whole_number(0, std::numeric_limits<std::uint64_t>::max()))
      ->capture_default_str();
  command->add_option("--repeat", options->run.repeat, "Runs of each case; one that differs is flaky")
      ->check(whole_number(1, 1000))
      ->capture_default_str();
  command->add_flag("--shared-ok", options->run.shared, "Others use the device: run nothing that could disturb them");
  command->add_option("--blocked-budget", options->run.blocked_budget, "Blocked cases that don't make the run red")
      ->check(whole_number(0, std::numeric_limits<std::uint32_t>::max()))
      ->capture_default_str();
  command->add_option("--substrate", options->substrate, "What stands below the device, where it can't be seen")
      ->check(CLI::IsMember({"hardware", "kernel-driver", "vendor-driver"}));
  command->add_flag("--official", options->run.official,
                    "Everything, three times, on fixed terms; leaves a bundle for `verbena report verify`");
  command->add_flag("--prove-quirks", options->prove_quirks,
                    "Run the proof of each rule that matches the device, without the rule and with it");
  command->add_option("--suite", options->suite, "Read the lists from a folder laid out like conformance/");
  command->add_option("--workers", options->workers)->group("");
  command->add_option("--without-rule", options->ground.without_rule)->group("");
  command->footer(
      "Example: verbena conform -d rxe0 --case 'cq.*' --report out\n"
      "         verbena conform --nic strict --fault flush_lost:one_in=4 --case 'error.flush.*'\n"
      "Between two hosts: verbena conform --serve 192.0.2.2    on the one, which asks nobody who he is\n"
      "                   verbena conform -d mlx5_0 --peer 192.0.2.2    on the other, which has the run");
  command->callback([options, &run_later] { run_later = [options] { return run(*options); }; });
}

}  // namespace cli
