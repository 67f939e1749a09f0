// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>

#include "commands.hpp"
#include "exit_code.hpp"
#include "explain_steps.hpp"
#include "number_options.hpp"
#include "ping_operations.hpp"
#include "say.hpp"
#include "verbena/connect.hpp"

namespace cli {
namespace {

struct PingWords {
  unsigned bytes = 8192;
  unsigned deadline_ms = 20000;
};

/// What is learnt from one pair of devices.
struct Report {
  std::vector<Explained> grants;
  std::vector<std::string> notes;
  std::vector<Operation> operations;
};

void take_grant(Report& report, const End& end, const verbena::QpGrant& grant) {
  Explained object = begin(end.request());
  finish(object, grant);
  object.title = end.name() + ": " + object.title;
  report.grants.push_back(std::move(object));
}

/// Two ends of one type, connected. The error names the step that failed.
struct Pair {
  std::unique_ptr<End> one, other;
};
verbena::Result<Pair> connected(const Options& options, const PingWords& words, const Target& a, const Target& b,
                                verbena::QpType type, std::size_t bytes, Report& report,
                                verbena::SendOps ops = verbena::SendOps::all()) {
  verbena::Result<std::unique_ptr<End>> one = End::make(a, type, bytes, ops);
  if (!one) return verbena::Failure(one.error());
  take_grant(report, **one, (*one)->qp().grant());
  verbena::Result<std::unique_ptr<End>> other = End::make(b, type, bytes, ops);
  if (!other) return verbena::Failure(other.error());
  take_grant(report, **other, (*other)->qp().grant());
  verbena::ConnectWish wish;
  wish.gid_index = options.gid_index;
  for (End* end : {one->get(), other->get()}) {
    const verbena::Result<verbena::QpFacts> facts = end->qp().facts(wish);
    if (!facts) return verbena::Failure(facts.error());
    report.notes.push_back(end->name() + ": " + to_string(*facts));
  }
  const verbena::Result<verbena::TransitionNotes> notes =
      verbena::connect_pair((*one)->qp(), (*other)->qp(), std::chrono::milliseconds(words.deadline_ms));
  if (!notes) return verbena::Failure(notes.error());
  for (const verbena::Adjustment& adjustment : *notes) report.notes.push_back(to_string(adjustment));
  return Pair{*std::move(one), *std::move(other)};
}

void ping_connected(const Options& options, const PingWords& words, const Target& a, const Target& b, Report& report) {
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(words.deadline_ms);
  const verbena::Result<Pair> pair = connected(options, words, a, b, verbena::QpType::rc, words.bytes, report);
  if (!pair) {
    report.operations.push_back({"connect RC", a.name, b.name, 0, true, to_string(pair.error())});
    return;
  }
  report.operations.push_back({"connect RC", a.name, b.name, 0, true, {}});
  for (auto [from, to] : {std::pair{pair->one.get(), pair->other.get()}, {pair->other.get(), pair->one.get()}}) {
    std::vector<Operation> done = ping_rc(*from, *to, words.bytes, deadline);
    std::move(done.begin(), done.end(), std::back_inserter(report.operations));
  }
}

/// On queue pairs of its own, since it takes a work request builder.
void ping_atomic_writes(const Options& options, const PingWords& words, const Target& a, const Target& b,
                        Report& report) {
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(words.deadline_ms);
  for (const Target* target : {&a, &b}) {
    if (target->contract->native(verbena::Feature::atomic_write)) continue;
    const verbena::FeatureState& state = target->contract->feature(verbena::Feature::atomic_write);
    report.operations.push_back({"ATOMIC_WRITE", a.name, b.name, 0, false,
                                 fmt::format("atomic_write is {} on {}", name(state.support), target->name)});
    return;
  }
  using verbena::SendOps;
  const verbena::Result<Pair> pair = connected(options, words, a, b, verbena::QpType::rc, words.bytes, report,
                                               SendOps{SendOps::kAtomicWrite | SendOps::kRdmaRead});
  if (!pair) {
    report.operations.push_back({"ATOMIC_WRITE", a.name, b.name, 0, true, to_string(pair.error())});
    return;
  }
  report.operations.push_back(ping_atomic_write(*pair->one, *pair->other, deadline));
  report.operations.push_back(ping_atomic_write(*pair->other, *pair->one, deadline));
}

void ping_datagrams(const Options& options, const PingWords& words, const Target& a, const Target& b, Report& report) {
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(words.deadline_ms);
  for (const Target* target : {&a, &b}) {
    if (!target->contract->native(verbena::Feature::ud)) {
      const verbena::FeatureState& ud = target->contract->feature(verbena::Feature::ud);
      const std::string& rule = target->contract->provenance(ud.by).rule;
      report.operations.push_back(
          {"UD SEND", a.name, b.name, 0, false,
           fmt::format("ud is {} on {}{}", name(ud.support), target->name, rule.empty() ? "" : " by rule " + rule)});
      return;
    }
  }
  constexpr std::size_t kLeastMtu = 256;
  const verbena::Result<Pair> pair =
      connected(options, words, a, b, verbena::QpType::ud, std::min<std::size_t>(words.bytes, kLeastMtu), report);
  if (!pair) {
    report.operations.push_back({"UD", a.name, b.name, 0, true, to_string(pair.error())});
    return;
  }
  const std::size_t bytes = std::min<std::size_t>(words.bytes, kLeastMtu);
  report.operations.push_back(ping_ud(*pair->one, *pair->other, bytes, options.gid_index, deadline));
  report.operations.push_back(ping_ud(*pair->other, *pair->one, bytes, options.gid_index, deadline));
}

void print_text(const Report& report) {
  for (const Explained& grant : report.grants) say("{}", to_text(grant));
  for (const std::string& note : report.notes) say("{}\n", note);
  for (const Operation& operation : report.operations) {
    say("{:<7} {:<14} {} -> {}{}{}\n",
        !operation.tried     ? "absent"
        : operation.failed() ? "FAILED"
                             : "ok",
        operation.name, operation.from, operation.to,
        operation.bytes == 0 ? "" : fmt::format(", {} bytes", operation.bytes),
        operation.detail.empty() ? "" : ": " + operation.detail);
  }
}

Json report_json(const Report& report) {
  Json out;
  out["schema"] = kSchema;
  out["grants"] = Json::array();
  for (const Explained& grant : report.grants) out["grants"].push_back(to_json(grant));
  out["notes"] = report.notes;
  out["operations"] = Json::array();
  for (const Operation& operation : report.operations) {
    Json row;
    row["operation"] = operation.name;
    row["from"] = operation.from;
    row["to"] = operation.to;
    row["bytes"] = operation.bytes;
    row["verdict"] = !operation.tried ? "absent" : operation.failed() ? "failed" : "ok";
    row["detail"] = operation.detail;
    out["operations"].push_back(std::move(row));
  }
  return out;
}

int ping(const Options& options, const PingWords& words, const std::vector<Target>& targets) {
  const Target& a = targets.front();
  const Target& b = targets.size() > 1 ? targets[1] : a;
  Report report;
  ping_connected(options, words, a, b, report);
  ping_atomic_writes(options, words, a, b, report);
  ping_datagrams(options, words, a, b, report);
  if (options.json) {
    print(report_json(report));
  } else {
    print_text(report);
  }
  const bool failed = std::any_of(report.operations.begin(), report.operations.end(),
                                  [](const Operation& operation) { return operation.failed(); });
  return failed ? kFinding : kOk;
}

}  // namespace

void add_ping(CLI::App& app, Run& run) {
  CLI::App* command = app.add_subcommand(
      "ping", "Connect queue pairs on one or two devices of this host and move checked bytes by every operation");
  auto options = add_target_options(*command);
  auto words = std::make_shared<PingWords>();
  command->add_option("-x,--gid-index", options->gid_index, "GID index on both ends; without it a fitting one is found")
      ->check(whole_number(0, 255));
  command->add_option("-s,--size", words->bytes, "Bytes that each operation moves")
      ->check(whole_number(8, 1U << 30))
      ->capture_default_str();
  command->add_option("--deadline-ms", words->deadline_ms, "What connecting and all operations may take, each")
      ->check(whole_number(1, 3600000))
      ->capture_default_str();
  command->footer(
      "Example: verbena ping -d rxe0 -d rxe1\n         verbena ping --nic connectx5,e810-roce\nWithout a device: the "
      "first two that can be opened.");
  command->callback([options, words, &run] {
    run = [options, words] {
      const std::size_t named = options->devices.size() + options->positional.size();
      if (named > 0 && !options->nics.empty()) {
        return fail_usage("no wire leads from a device of this host to an emulated NIC: name devices, or --nic");
      }
      if (named + options->nics.size() > 2) {
        return fail_usage("ping takes one or two devices");
      }
      options->live = true;
      return with_targets(*options, [&](const Session&, std::vector<Target>& targets) {
        if (targets.size() > 2) targets.resize(2);
        return ping(*options, *words, targets);
      });
    };
  });
}

}  // namespace cli
