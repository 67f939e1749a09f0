// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "through_verbena.hpp"

#include <cstdio>
#include <fstream>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "verbena/qp.hpp"
#include "verbena/srq.hpp"

namespace mlx5dv_paths {
namespace {

using namespace verbena;

/// Files of libmlx5 in this process: one, the provider itself.
std::set<std::string> copies_of_libmlx5() {
  std::set<std::string> paths;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (const auto at = line.find('/'); at != std::string::npos && line.find("libmlx5", at) != std::string::npos)
      paths.insert(line.substr(at));
  return paths;
}

QpRequest request_of(QpType type, std::uint32_t send_wr, std::uint32_t sges, std::uint32_t inline_data) {
  QpRequest request;
  request.type = type;
  request.max_send_wr = {send_wr};
  request.max_recv_wr = {64};
  request.max_send_sge = {sges};
  request.max_inline_data = {inline_data};
  return request;
}

std::string numbers(const QpGrant& grant) {
  std::string text;
  for (const FieldGrant& field : grant.fields)
    text += fmt::format(" {}={}/{}/{}/{}", name(field.field), field.asked, field.granted, field.passed,
                        field.returned.value_or(0));
  return text;
}

class Trial {
public:
  Trial(const Device& device, const Expected& expected, Checks& checks)
      : device_(device), name_(device.id().name), expected_(expected), checks_(checks) {}
  void log(const std::vector<LogRecord>& log);
  void caps();
  void contract();
  void queue_pairs();

private:
  void queue_pair(const char* what, QpRequest request, const QpQueues& queues, const Pd& pd);
  void plain(const char* what, const QpRequest& request, const QpQueues& queues, const Pd& pd);
  void in_place(const char* what, const QpRequest& request, const QpQueues& queues, const Pd& pd);
  /// MLX5_QP_FLAG_SCATTER_CQE of the creation that the kernel saw last; empty where it saw none.
  std::optional<bool> scatters() const;

  const Device& device_;
  std::string name_;
  const Expected& expected_;
  Checks& checks_;
  std::string plain_numbers_;
};

void Trial::log(const std::vector<LogRecord>& log) {
  std::string remark;
  for (const LogRecord& record : log)
    if (record.device == name_ && record.text.find("mlx5dv") != std::string::npos) remark = record.text;
  const auto says = [&](const char* text) { return remark.find(text) != std::string::npos; };
  checks_.that(expected_.library ? says("mlx5dv_create_qp is there") : says("mlx5dv is not used"),
               name_ + ": the log says: " + remark);
  checks_.that(expected_.devx != says("max_qp_wr") && expected_.library != says("no in_place_data"),
               name_ + ": what was lost is in the log");
  const auto copies = copies_of_libmlx5();
  checks_.that(copies.size() == 1, fmt::format("{}: {} file of libmlx5 is loaded", name_, copies.size()));
}

void Trial::caps() {
  const auto is = [&](Cap cap, bool known, std::uint64_t value) {
    const auto found = device_.caps()[cap];
    checks_.that(known ? found == value : !found.has_value(),
                 fmt::format("{}: cap {} is {}", name_, name(cap), found ? fmt::to_string(*found) : "unknown"));
  };
  is(Cap::vendor_create_qp, expected_.library, 1);
  is(Cap::cqe_comp_max_num, expected_.library, 64);
  is(Cap::max_dynamic_bfregs, expected_.library, 0);
  is(Cap::num_lag_ports, false, 0);
  is(Cap::max_send_wqebb, expected_.devx, 32768);
  is(Cap::max_sq_desc_bytes, expected_.devx, 1024);
  is(Cap::max_rq_desc_bytes, expected_.devx, 512);
}

void Trial::contract() {
  const auto contract = device_.contract(1);
  if (!checks_.that(contract.has_value(), name_ + ": it has a contract")) return;
  const FeatureState& placed = (*contract)->feature(Feature::in_place_data);
  const std::string& rule = (*contract)->provenance(placed.by).rule;
  checks_.that(expected_.library ? placed.support == Support::native && rule == "mlx5-small-data-in-place"
                                 : placed.support == Support::absent && rule == "mlx5-small-data-in-completion",
               fmt::format("{}: in_place_data is {} by {}", name_, name(placed.support), rule));
  std::string rules;
  for (const Joint& joint : (*contract)->joints()) rules += " " + (*contract)->provenance(joint.by).rule;
  bool queried = false;
  for (const RuleTrace& one : (*contract)->trace())
    if (one.id == "mlx5-sq-blocks-queried") queried = one.applied;
  checks_.that(queried == expected_.devx, fmt::format("{}: the send ring's size is known by{}; {}", name_, rules,
                                                      queried ? "it was asked for" : "it was not asked for"));
}

std::optional<bool> Trial::scatters() const {
  const std::string line = checks_.record().newest("create_qp");
  const auto at = line.find("driver flags 0x");
  if (at == std::string::npos) return std::nullopt;
  return (std::stoul(line.substr(at + 15), nullptr, 16) & 0x2U) != 0;
}

void Trial::plain(const char* what, const QpRequest& request, const QpQueues& queues, const Pd& pd) {
  checks_.record().empty();
  const auto qp = Qp::create(pd, request, queues);
  if (!checks_.that(qp.has_value(),
                    fmt::format("{}: {} is made{}", name_, what, qp ? "" : ": " + to_string(qp.error()))))
    return;
  plain_numbers_ = numbers(qp->grant());
  // The same in every mode, which the caller of this program compares.
  std::printf("grant: %s: %s:%s\n", name_.c_str(), what, plain_numbers_.c_str());
  checks_.that(scatters() == true,
               fmt::format("{}: for {} the library asks to leave small messages in completions", name_, what));
}

void Trial::in_place(const char* what, const QpRequest& request, const QpQueues& queues, const Pd& pd) {
  checks_.record().empty();
  const auto qp = Qp::create(pd, request, queues);
  if (!expected_.library) {
    checks_.that(!qp && qp.error().kind == ErrorKind::unsupported && qp.error().field == "in_place_data" &&
                     qp.error().by.rule == "mlx5-small-data-in-completion" &&
                     checks_.record().newest("create_qp").empty(),
                 fmt::format("{}: {} in place is refused before the device is asked: {}", name_, what,
                             qp ? "it was made" : to_string(qp.error())));
    return;
  }
  if (!checks_.that(qp.has_value(),
                    fmt::format("{}: {} in place is made{}", name_, what, qp ? "" : ": " + to_string(qp.error()))))
    return;
  checks_.that(request.type == QpType::ud || scatters() == false,
               fmt::format("{}: for {} in place it does not ask", name_, what));
  checks_.that(numbers(qp->grant()) == plain_numbers_,
               fmt::format("{}: {} in place is granted the same:{}", name_, what, numbers(qp->grant())));
}

void Trial::queue_pair(const char* what, QpRequest request, const QpQueues& queues, const Pd& pd) {
  plain_numbers_.clear();
  plain(what, request, queues, pd);
  request.in_place = true;
  in_place(what, request, queues, pd);
}

void Trial::queue_pairs() {
  const auto pd = Pd::alloc(device_);
  CqRequest completions;
  completions.cqe = {256};
  const auto cq = Cq::create(device_, completions);
  if (!checks_.that(pd.has_value() && cq.has_value(), name_ + ": PD and CQ are made")) return;
  SrqRequest receives;
  receives.max_wr = {64};
  const auto srq = Srq::create(*pd, receives);
  if (!checks_.that(srq.has_value(), name_ + ": an SRQ is made")) return;

  const QpQueues own{.send_cq = &*cq}, shared{.send_cq = &*cq, .srq = &*srq};
  queue_pair("RC", request_of(QpType::rc, 32768, 4, 60), own, *pd);
  QpRequest named = request_of(QpType::rc, 32768, 4, 60);
  named.ops.bits = SendOps::kSend | SendOps::kRdmaWrite | SendOps::kRdmaRead;
  queue_pair("RC with its operations named", named, own, *pd);
  QpRequest signalled = request_of(QpType::rc, 64, 1, 0);
  signalled.sq_sig_all = true;
  queue_pair("RC that signals all", signalled, own, *pd);
  queue_pair("RC on an SRQ", request_of(QpType::rc, 64, 1, 0), shared, *pd);
  queue_pair("UC", request_of(QpType::uc, 1000, 2, 200), own, *pd);
  queue_pair("UD", request_of(QpType::ud, 1000, 2, 200), own, *pd);
}

}  // namespace

void try_through_verbena(const Library& library, const std::vector<LogRecord>& log, const std::string& device,
                         const Expected& expected, Checks& checks) {
  const auto open = library.open(device);
  if (!checks.that(open.has_value(), device + " is opened by Verbena")) return;
  Trial trial(*open, expected, checks);
  trial.log(log);
  trial.caps();
  trial.contract();
  trial.queue_pairs();
}

}  // namespace mlx5dv_paths
