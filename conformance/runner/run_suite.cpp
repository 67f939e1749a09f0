// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "runner/run_suite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <map>
#include <utility>

#include "runner/closing.hpp"
#include "runner/identity.hpp"
#include "runner/run_units.hpp"
#include "runner/sha256.hpp"
#include "verbena/emulated.hpp"
#include "verbena/version.h"

namespace conform {
namespace {

using Clock = std::chrono::steady_clock;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  const std::size_t length = std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return {text, length};
}

/// Collects what the units came to, judges a case when both of its columns are done, and writes it.
class Collector final : public Watch {
public:
  Collector(const std::vector<const ListedCase*>& selected, const SuiteOptions& options, const Closing& closing,
            ReportFolder* folder)
      : options_(options), closing_(closing), folder_(folder), all_(selected.size()) {
    for (const ListedCase* listed : selected) begin(*listed);
  }

  std::vector<Unit> units() const { return units_; }
  const std::optional<verbena::Error>& error() const noexcept { return error_; }

  bool started(const Unit& unit) override {
    running_.push_back(unit.listed->id);
    if (options_.progress) options_.progress(done_, all_, unit.listed->id);
    return keep(folder_ == nullptr ? verbena::Result<void>() : folder_->running(running_));
  }

  bool ended(const Unit& unit, Ended ended) override {
    running_.erase(std::find(running_.begin(), running_.end(), unit.listed->id));
    Pending& pending = pending_.at(unit.listed);
    pending.ended[static_cast<std::size_t>(unit.side)].push_back(std::move(ended));
    if (--pending.left > 0) return true;
    for (const Side side : {Side::raw, Side::verbena}) {
      const auto& runs = pending.ended[static_cast<std::size_t>(side)];
      if (runs.empty()) continue;
      pending.result.column(side) = judge_all(*unit.listed, side, runs, *closing_.contract, closing_.known);
    }
    return done(pending);
  }

  /// All of them in the order of the list; what did not run says so.
  std::vector<CaseResult> results() {
    std::vector<CaseResult> out;
    for (const ListedCase* listed : order_) out.push_back(std::move(pending_.at(listed).result));
    return out;
  }

private:
  struct Pending {
    CaseResult result;
    std::vector<Ended> ended[2];
    std::size_t left = 0;
  };

  void begin(const ListedCase& listed) {
    Pending pending;
    pending.result.id = listed.id;
    pending.result.says = listed.says;
    pending.result.area = listed.area;
    pending.result.covers = listed.covers;
    pending.result.impact = word(listed.impact);
    for (const Side side : {Side::raw, Side::verbena}) {
      Column& column = pending.result.column(side);
      if (const auto known = settled(listed, side, *closing_.contract, closing_.environment)) {
        column.verdict = known->verdict;
        column.table = known->table;
        column.reason = known->reason;
        deny(listed, column);
        continue;
      }
      pending.left += options_.repeat;
      for (unsigned run = 0; run < options_.repeat; ++run) units_.push_back({&listed, side});
    }
    const bool nothing_to_run = pending.left == 0;
    order_.push_back(&listed);
    Pending& kept = pending_[&listed] = std::move(pending);
    if (nothing_to_run) static_cast<void>(done(kept));
  }

  /// What must be native can't be absent.
  void deny(const ListedCase& listed, Column& column) const {
    if (column.verdict != Verdict::absent) return;
    for (const verbena::Feature feature : listed.conditions.needs) {
      if (!closing_.known.must_be_native.contains(feature) || closing_.contract->native(feature)) continue;
      column.verdict = Verdict::misdeclares;
      column.table = Table::missing;
      column.red = true;
      column.reason = fmt::format("{} must be native on this driver; {}", name(feature), column.reason);
      return;
    }
  }

  bool done(const Pending& pending) {
    ++done_;
    return keep(folder_ == nullptr ? verbena::Result<void>() : folder_->add(pending.result));
  }

  bool keep(verbena::Result<void> written) {
    if (!written && !error_) error_ = written.error();
    return !error_;
  }

  const SuiteOptions& options_;
  const Closing& closing_;
  ReportFolder* folder_;
  std::size_t all_;
  std::size_t done_ = 0;
  std::vector<const ListedCase*> order_;
  std::map<const ListedCase*, Pending> pending_;
  std::vector<Unit> units_;
  std::vector<std::string> running_;
  std::optional<verbena::Error> error_;
};

Path path_of(const Ground& ground) {
  if (!ground.other) return Path::none;
  // Whether a wire lies between two NICs of one host is not known here.
  return ground.far && !ground.far->same_host ? Path::wire : Path::loopback;
}

/// Each case has a place of its own in the draw, which no other case moves.
std::vector<const ListedCase*> draw(const std::vector<const ListedCase*>& cases, std::size_t count,
                                    std::uint64_t seed) {
  std::vector<std::pair<std::string, std::size_t>> places;
  for (std::size_t at = 0; at < cases.size(); ++at)
    places.emplace_back(sha256(fmt::format("{} {}", seed, cases[at]->id)), at);
  std::sort(places.begin(), places.end());
  places.resize(std::min(count, places.size()));
  std::sort(places.begin(), places.end(), [](const auto& one, const auto& next) { return one.second < next.second; });
  std::vector<const ListedCase*> drawn;
  drawn.reserve(places.size());
  for (const auto& place : places) drawn.push_back(cases[place.second]);
  return drawn;
}

}  // namespace

std::vector<const ListedCase*> select_cases(const CaseList& list, const CaseChoice& choice) {
  std::vector<const ListedCase*> selected;
  for (const ListedCase& one : list.cases) {
    const bool wanted =
        choice.globs.empty() || std::any_of(choice.globs.begin(), choice.globs.end(),
                                            [&](const std::string& glob) { return glob_matches(glob, one.id); });
    if (wanted) selected.push_back(&one);
  }
  return choice.sample == 0 ? selected : draw(selected, choice.sample, choice.seed);
}

Substrate substrate_of(const verbena::Device& opened) {
  const verbena::DeviceId& device = opened.id();
  if (!device.model.empty() || verbena::emulated_by_run(opened.raw())) return Substrate::emulated;
  return device.pci_vendor ? Substrate::hardware : Substrate::kernel_driver;
}

verbena::Result<Run> run_suite(const CaseList& list, const Ground& ground, const SuiteOptions& options,
                               ReportFolder* folder) {
  const auto contract = ground.device->contract(ground.port);
  if (!contract) return verbena::Failure(contract.error());
  const verbena::DeviceId& id = ground.device->id();
  auto known = known_of(list, id, ground.port, options.substrate);
  if (!known) return verbena::Failure(known.error());
  std::shared_ptr<const verbena::Contract> beside;
  if (ground.other) {
    auto found = ground.other->contract(ground.other_port);
    if (!found) return verbena::Failure(found.error());
    beside = *std::move(found);
    const auto others = known_of(list, ground.other->id(), ground.other_port, options.substrate);
    if (!others) return verbena::Failure(others.error());
    add_others(*known, *others, *beside);
  }

  Closing closing;
  closing.list = &list;
  closing.selected = select_cases(list, options.choice);
  closing.contract = contract->get();
  closing.known = *std::move(known);
  closing.environment = environment_here(ground, options.substrate, options.shared);
  if (ground.far) over_a_peer(closing.environment);
  closing.environment.other = std::move(beside);

  Run run;
  run.suite_version = list.version;
  run.suite_cases = static_cast<std::uint32_t>(list.cases.size());
  run.suite_requirements = static_cast<std::uint32_t>(list.requirements.size());
  run.verbena = verbena_version();
  run.begun = utc_now();
  run.seed = ground.seed;
  run.repeat = options.repeat;
  run.official = options.official;
  run.command = options.command;
  run.substrate = options.substrate;
  run.device = identity_of(id, ground.port);
  if (ground.other) run.peer = identity_of(ground.other->id(), ground.other_port);
  run.path = path_of(ground);
  run.quirks_hash = fmt::format("{:016x}", contract->get()->quirks_hash());
  for (const verbena::LayerLeftOut& one : verbena::layers_left_out(*ground.library->quirks()))
    run.layers_left_out.push_back(one.path + ": " + one.why);
  run.blocked_budget = options.blocked_budget;

  const auto begun = Clock::now();
  Collector collector(closing.selected, options, closing, folder);
  WorkerPlan plan;
  plan.start_worker = options.start_worker;
  plan.jobs = options.jobs;
  plan.devices_apart = verbena::emulated_host(*ground.verbs) != nullptr;
  plan.seconds = options.seconds;
  if (ground.far) {
    plan.lost = ground.far->lost;
    plan.deadlines = 3;  // each call at the far end is a question over the network
  }
  closing.stopped = run_units(collector.units(), plan, collector);
  if (collector.error()) return verbena::Failure(*collector.error());
  run.seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  run.cases = collector.results();
  close_run(run, closing);
  if (folder != nullptr) {
    if (const auto written = folder->finish(run); !written) return verbena::Failure(written.error());
  }
  return run;
}

}  // namespace conform
