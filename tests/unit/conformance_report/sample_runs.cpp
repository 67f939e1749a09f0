// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "sample_runs.hpp"

#include <fnmatch.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>

namespace conform {
namespace {

std::vector<std::string> texts(const YAML::Node& node) {
  if (!node) return {};
  if (node.IsScalar()) return {node.as<std::string>()};
  return node.as<std::vector<std::string>>();
}

/// 6.12 as 6'012, enough to tell the kernels of the samples.
int kernel_number(const std::string& text) {
  int major = 0, minor = 0;
  std::sscanf(text.c_str(), "%d.%d", &major, &minor);
  return major * 1'000 + minor;
}

bool kernel_matches(const YAML::Node& match, const std::string& kernel) {
  if (!match || !match["kernel"]) return true;
  const auto range = match["kernel"].as<std::string>();
  const int here = kernel_number(kernel);
  if (range.starts_with(">=")) return here >= kernel_number(range.substr(2));
  if (range.starts_with("<")) return here < kernel_number(range.substr(1));
  return false;
}

/// A number from 0 to `below` that is the same for the same text in every run.
std::uint64_t draw(const std::string& text, std::uint64_t below) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return (hash >> 16) % below;
}

struct Tree {
  YAML::Node requirements;
  std::function<YAML::Node(const std::string&)> expectations;
};

void explain(Run& run, Column& column, const std::string& requirement, const YAML::Node& entry) {
  const auto id = entry["id"].as<std::string>();
  const auto says = entry["says"].as<std::string>();
  column.expectations.push_back(id);
  column.table = Table::expected;
  if (entry["kind"].as<std::string>() == "absent") {
    column.verdict = Verdict::absent;
    column.reason = says;
  } else {
    column.verdict = Verdict::deviates;
    Finding finding;
    finding.requirement = requirement;
    const YAML::Node seen = entry["seen"];
    finding.seen = from_word<Seen>(seen["result"].as<std::string>("refused")).value_or(Seen::refused);
    if (seen["errno"]) finding.error = texts(seen["errno"]).front();
    if (seen["status"]) finding.status = texts(seen["status"]).front();
    if (seen["state"]) finding.state = texts(seen["state"]).front();
    finding.text = says;
    column.findings.push_back(finding);
  }
  if (find_expectation(run, id) == nullptr) {
    run.expectations.push_back(
        {id, says, entry["reason"].as<std::string>(), texts(entry["source"]), entry["until"].as<std::string>()});
  }
}

Run sample(const Tree& tree, Substrate substrate, Identity device) {
  Run run;
  run.verbena = "0.1.0";
  run.begun = "2026-11-30T02:00:00Z";
  run.seed = 1;
  run.repeat = 5;
  run.command = {"-d", device.name, "--report", "report"};
  run.substrate = substrate;
  run.device = std::move(device);
  run.quirks_hash = "5f3a9c0de1b27764";
  run.layers_left_out = {"/etc/verbena/quirks.d: site.yaml:4:3: unknown key <b>"};
  run.blocked_budget = 12;
  const YAML::Node table = tree.expectations(run.device.driver);
  for (const YAML::Node& requirement : tree.requirements) {
    CaseResult result;
    result.id = requirement["id"].as<std::string>();
    result.says = requirement["says"].as<std::string>();
    result.area = requirement["area"].as<std::string>();
    result.covers = {result.id};
    result.impact = result.area == "data" || result.area == "error" ? "traffic"
                    : result.area == "scale"                        ? "exhausts"
                                                                    : "objects";
    const bool moves_data = result.area == "data" || result.area == "error" || result.area == "pair";
    if (substrate == Substrate::vendor_driver && moves_data) continue;
    const std::vector<std::string> setup = texts(requirement["setup"]);
    const std::vector<std::string> transports = texts(requirement["transport"]);
    const std::string family = run.device.transport == "iwarp" ? "iwarp" : "roce";
    for (const Side side : {Side::raw, Side::verbena}) {
      Column& column = result.column(side);
      column.verdict = Verdict::conforms;
      column.table = Table::expected;
      column.runs = run.repeat;
      column.ms = static_cast<double>(draw(result.id, 9'000)) / 100 + (side == Side::verbena ? 0.2 : 0);
      run.seconds += column.ms * run.repeat / 1'000;
      if (!transports.empty() && std::none_of(transports.begin(), transports.end(),
                                              [&](const std::string& one) { return one.starts_with(family); })) {
        column = {Verdict::absent,
                  Table::expected,
                  false,
                  0,
                  0,
                  std::nullopt,
                  "not on " + run.device.transport,
                  {},
                  {},
                  {},
                  {}};
        continue;
      }
      if (std::find(setup.begin(), setup.end(), "subnet_manager") != setup.end()) {
        column = {Verdict::blocked, Table::none, false, 0, 0, std::nullopt, "needs a subnet manager", {}, {}, {}, {}};
        continue;
      }
      if (std::find(setup.begin(), setup.end(), "much_memory") != setup.end()) {
        column = {Verdict::withheld,
                  Table::none,
                  false,
                  0,
                  0,
                  std::nullopt,
                  "needs more memory than the host can spare",
                  {},
                  {},
                  {},
                  {}};
        continue;
      }
      for (const YAML::Node& entry : table) {
        if (!kernel_matches(entry["match"], run.device.kernel)) continue;
        if (side == Side::verbena && entry["corrected_by"]) continue;
        const std::vector<std::string> of = texts(entry["requirement"]);
        if (std::any_of(of.begin(), of.end(),
                        [&](const std::string& glob) { return fnmatch(glob.c_str(), result.id.c_str(), 0) == 0; })) {
          explain(run, column, result.id, entry);
        }
      }
      const bool limit = result.id.find("limit") != result.id.npos || result.id.find("max") != result.id.npos;
      if (side == Side::verbena && column.verdict == Verdict::conforms && limit && draw(result.id, 3) == 0) {
        column.verdict = Verdict::degraded;
        column.adjustments = {{result.area == "cq" ? "cqe" : "max_send_wr", 65'536, 16'351, "reduced", "ring-of-pages",
                               "The ring of this driver ends at 16,351 work requests.",
                               "Linux 6.12 sw/rxe/rxe_param.h RXE_MAX_QP_WR"}};
      }
    }
    run.cases.push_back(std::move(result));
  }
  run.suite_cases = static_cast<std::uint32_t>(run.cases.size());
  run.suite_requirements = static_cast<std::uint32_t>(tree.requirements.size());
  return run;
}

void redden(Run& run, CaseResult& result, Side side, Verdict verdict, Table table, Finding finding) {
  Column& column = result.column(side);
  column = Column{};
  column.verdict = verdict;
  column.table = table;
  column.red = true;
  column.runs = run.repeat;
  column.ms = 41.5;
  finding.requirement = result.id;
  run.red = true;
  run.why_red.push_back(result.id + " (" + std::string(word(side)) +
                        "): " + std::string(table == Table::stale ? word(table) : word(verdict)) + ": " + finding.text);
  column.findings = {std::move(finding)};
}

CaseResult& one_of(Run& run, const std::string& area, std::size_t number) {
  const auto is_here = [&](const CaseResult& c) { return c.area == area && c.raw.verdict == Verdict::conforms; };
  auto at = std::find_if(run.cases.begin(), run.cases.end(), is_here);
  for (; number > 0; --number) at = std::find_if(at + 1, run.cases.end(), is_here);
  return *at;
}

/// One of everything that makes a run red.
void redden(Run& run) {
  redden(run, one_of(run, "state", 3), Side::raw, Verdict::violates, Table::missing,
         {"", Seen::refused, "ENOMEM", std::nullopt, std::nullopt, "Without IBV_QP_PORT: ENOMEM instead of EINVAL."});
  redden(run, one_of(run, "device", 4), Side::raw, Verdict::misdeclares, Table::missing,
         {"", Seen::refused, "EINVAL", std::nullopt, std::nullopt, "max_sge says 32, a queue pair takes 30."});
  redden(run, one_of(run, "srq", 2), Side::raw, Verdict::crash, Table::none,
         {"", Seen::crash, std::nullopt, std::nullopt, std::nullopt, "The process died of SIGSEGV."});
  redden(run, one_of(run, "event", 1), Side::verbena, Verdict::timeout, Table::none,
         {"", Seen::no_event, std::nullopt, std::nullopt, std::nullopt, "No event within 2,000 ms."});
  redden(run, one_of(run, "cq", 5), Side::raw, Verdict::conforms, Table::stale,
         {"", Seen::accepted, std::nullopt, std::nullopt, std::nullopt, "The entry rxe-cq-resize says refused."});
  Column& flaky = one_of(run, "data", 7).raw;
  flaky.verdict = Verdict::flaky;
  flaky.rate = "2 of 5";
  Column& never = one_of(run, "thread", 1).raw;
  never = Column{};
  never.reason = "the run ended before it";
  never.red = true;
  run.why_red.push_back("12 cases blocked, at most 2 may be");
}

}  // namespace

std::vector<std::pair<std::string, Run>> sample_runs(const std::string& source_tree) {
  const Tree tree{YAML::LoadFile(source_tree + "/conformance/requirements.yaml")["requirements"],
                  [&](const std::string& driver) {
                    const auto file = YAML::LoadFile(source_tree + "/conformance/expectations/" + driver + ".yaml");
                    return file["expectations"];
                  }};
  const auto soft = [](const char* name, const char* driver, const char* kernel, const char* transport) {
    return Identity{name, driver, "", "", kernel, "rdma-core 44", transport, "0200:00ff:fe00:0001", std::nullopt};
  };
  const Identity e810{"rocep1s0",     "irdma", "8086:1592",           "1.71",      "6.12.117",
                      "rdma-core 44", "roce2", "6805:caff:fec1:9d20", std::nullopt};
  const Identity hip09{"hns_0",        "hns",   "19e5:a222",           "",          "6.12.117",
                       "rdma-core 44", "roce2", "0e00:00ff:fe01:0009", std::nullopt};
  const Identity cx6{"mlx5_0",       "mlx5",  "15b3:101d",           "22.41.1000", "6.12.117",
                     "rdma-core 44", "roce2", "b8ce:f603:00a1:22f0", std::nullopt};
  std::vector<std::pair<std::string, Run>> runs;
  runs.emplace_back("rxe-6.1", sample(tree, Substrate::kernel_driver, soft("rxe0", "rxe", "6.1.170", "roce2")));
  runs.emplace_back("rxe-6.12", sample(tree, Substrate::kernel_driver, soft("rxe0", "rxe", "6.12.117", "roce2")));
  runs.emplace_back("siw-6.12", sample(tree, Substrate::kernel_driver, soft("siw0", "siw", "6.12.117", "iwarp")));
  runs.emplace_back("e810", sample(tree, Substrate::vendor_driver, e810));
  runs.emplace_back("hip09", sample(tree, Substrate::vendor_driver, hip09));
  runs.emplace_back("cx6dx", sample(tree, Substrate::hardware, cx6));

  Run red = sample(tree, Substrate::kernel_driver, soft("rxe0", "rxe", "6.12.117", "roce2"));
  redden(red);
  red.begun = "2026-11-30T02:20:00Z";
  runs.emplace_back("red", red);

  Run pair = sample(tree, Substrate::kernel_driver, soft("rxe0", "rxe", "6.12.117", "roce2"));
  pair.peer = soft("rxe1", "rxe", "6.1.170", "roce2");
  pair.path = Path::loopback;
  runs.emplace_back("pair", pair);

  Identity model = e810;
  model.model = "e810-roce";
  runs.emplace_back("model-e810", sample(tree, Substrate::emulated, model));

  // Everything that comes from outside tries to leave its place.
  Run hostile = red;
  const std::string attack = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&<!-- \x1b[31m \xff ]]>";
  hostile.device.name = hostile.device.firmware = hostile.device.library = attack;
  hostile.command = {attack};
  hostile.why_red.front() = attack;
  CaseResult& first = hostile.cases.front();
  first.says = first.impact = attack;
  first.raw.notes = first.verbena.notes = {attack};
  first.raw.reason = attack;
  first.raw.findings = {{attack, Seen::value, attack, attack, attack, attack}};
  first.verbena.adjustments = {{attack, 18446744073709551615U, 0, attack, attack, attack, attack}};
  first.raw.expectations = {attack};
  hostile.expectations.push_back({attack, attack, attack, {attack}, attack});
  runs.emplace_back("hostile", hostile);
  return runs;
}

}  // namespace conform
