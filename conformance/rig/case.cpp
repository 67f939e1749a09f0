// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "verbena/errno_family.hpp"

namespace conform {

namespace {

std::string errno_text(int error) {
  const std::string_view known = verbena::errno_name(error);
  return known == "?" ? std::to_string(error) : std::string(known);
}

std::string_view status_word(ibv_wc_status status) {
  switch (status) {
    case IBV_WC_SUCCESS:
      return "SUCCESS";
    case IBV_WC_LOC_LEN_ERR:
      return "LOC_LEN_ERR";
    case IBV_WC_LOC_QP_OP_ERR:
      return "LOC_QP_OP_ERR";
    case IBV_WC_LOC_EEC_OP_ERR:
      return "LOC_EEC_OP_ERR";
    case IBV_WC_LOC_PROT_ERR:
      return "LOC_PROT_ERR";
    case IBV_WC_WR_FLUSH_ERR:
      return "WR_FLUSH_ERR";
    case IBV_WC_MW_BIND_ERR:
      return "MW_BIND_ERR";
    case IBV_WC_BAD_RESP_ERR:
      return "BAD_RESP_ERR";
    case IBV_WC_LOC_ACCESS_ERR:
      return "LOC_ACCESS_ERR";
    case IBV_WC_REM_INV_REQ_ERR:
      return "REM_INV_REQ_ERR";
    case IBV_WC_REM_ACCESS_ERR:
      return "REM_ACCESS_ERR";
    case IBV_WC_REM_OP_ERR:
      return "REM_OP_ERR";
    case IBV_WC_RETRY_EXC_ERR:
      return "RETRY_EXC_ERR";
    case IBV_WC_RNR_RETRY_EXC_ERR:
      return "RNR_RETRY_EXC_ERR";
    case IBV_WC_LOC_RDD_VIOL_ERR:
      return "LOC_RDD_VIOL_ERR";
    case IBV_WC_REM_INV_RD_REQ_ERR:
      return "REM_INV_RD_REQ_ERR";
    case IBV_WC_REM_ABORT_ERR:
      return "REM_ABORT_ERR";
    case IBV_WC_INV_EECN_ERR:
      return "INV_EECN_ERR";
    case IBV_WC_INV_EEC_STATE_ERR:
      return "INV_EEC_STATE_ERR";
    case IBV_WC_FATAL_ERR:
      return "FATAL_ERR";
    case IBV_WC_RESP_TIMEOUT_ERR:
      return "RESP_TIMEOUT_ERR";
    case IBV_WC_GENERAL_ERR:
      return "GENERAL_ERR";
    case IBV_WC_TM_ERR:
      return "TM_ERR";
    case IBV_WC_TM_RNDV_INCOMPLETE:
      return "TM_RNDV_INCOMPLETE";
  }
  return "?";
}

std::string_view state_word(ibv_qp_state state) {
  switch (state) {
    case IBV_QPS_RESET:
      return "RESET";
    case IBV_QPS_INIT:
      return "INIT";
    case IBV_QPS_RTR:
      return "RTR";
    case IBV_QPS_RTS:
      return "RTS";
    case IBV_QPS_SQD:
      return "SQD";
    case IBV_QPS_SQE:
      return "SQE";
    case IBV_QPS_ERR:
      return "ERR";
    case IBV_QPS_UNKNOWN:
      break;
  }
  return "UNKNOWN";
}

}  // namespace

Case::Case(std::string id, std::map<std::string, std::string> row, std::vector<std::string> covers,
           const Ground& ground, std::unique_ptr<Way> way, std::unique_ptr<Way> other_way)
    : id_(std::move(id)),
      row_(std::move(row)),
      covers_(std::move(covers)),
      ground_(ground),
      way_(std::move(way)),
      other_way_(std::move(other_way)),
      random_(ground.seed ^ std::hash<std::string>{}(id_)) {
  const auto contract = ground.device->contract(ground.port);
  if (!contract) throw std::runtime_error(verbena::to_string(contract.error()));
  contract_ = *contract;
}

const std::string& Case::with(std::string_view key) const {
  const auto found = row_.find(std::string(key));
  if (found == row_.end()) throw std::logic_error(fmt::format("{}: the list gives no '{}'", id_, key));
  return found->second;
}

bool Case::has(std::string_view key) const {
  return row_.contains(std::string(key));
}

bool Case::native(verbena::Feature feature) const {
  return contract_->native(feature);
}

bool Case::there(verbena::Feature feature) const {
  const verbena::Support support = contract_->feature(feature).support;
  return support == verbena::Support::native || (support == verbena::Support::substituted && through_verbena());
}

std::vector<verbena::QpType> Case::qp_types() const {
  std::vector<verbena::QpType> types;
  const std::string named = has("qp_types") ? with("qp_types") : std::string("rc uc ud");
  for (const auto& [type, feature] :
       {std::pair(verbena::QpType::rc, verbena::Feature::rc), std::pair(verbena::QpType::uc, verbena::Feature::uc),
        std::pair(verbena::QpType::ud, verbena::Feature::ud)}) {
    // One of which nothing is known is asked for, as any feature is.
    const bool denied = contract_->feature(feature).support == verbena::Support::absent;
    if (named.find(verbena::name(type)) != std::string::npos && !denied) types.push_back(type);
  }
  return types;
}

std::uint32_t Case::within(verbena::Field field, std::uint32_t wish) const {
  const verbena::Domain& domain = contract_->domain(field);
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wish, domain.min, std::max(domain.min, domain.max)));
}

bool Case::accepted(int error, std::string_view what) {
  if (error == 0) return true;
  Finding found;
  found.seen = Seen::refused;
  found.error = errno_text(error);
  found.text = fmt::format("{} failed with {} and was to succeed", what, errno_text(error));
  finding(std::move(found));
  return false;
}

bool Case::refused(int error, std::string_view what, std::initializer_list<int> errnos) {
  Finding found;
  if (error == 0) {
    found.seen = Seen::accepted;
    found.text = fmt::format("{} succeeded and was to be refused", what);
  } else if (errnos.size() == 0 || std::find(errnos.begin(), errnos.end(), error) != errnos.end() ||
             through_verbena()) {
    return true;  // Verbena's own refusals come before the driver's, and say more than an errno.
  } else {
    std::string wanted;
    for (const int one : errnos) wanted += (wanted.empty() ? "" : " or ") + errno_text(one);
    found.seen = Seen::refused;
    found.error = errno_text(error);
    found.text = fmt::format("{} failed with {} and was to fail with {}", what, errno_text(error), wanted);
  }
  finding(std::move(found));
  return false;
}

void Case::value(std::string_view what, const std::string& is, const std::string& must) {
  Finding found;
  found.seen = Seen::value;
  found.text = fmt::format("{} is {} and was to be {}", what, is, must);
  finding(std::move(found));
}

bool Case::holds(bool condition, Seen seen, std::string_view what) {
  if (condition) return true;
  Finding found;
  found.seen = seen;
  found.text = std::string(what);
  finding(std::move(found));
  return false;
}

bool Case::completed(const std::optional<ibv_wc>& wc, ibv_wc_status status, std::string_view what) {
  if (wc && wc->status == status) return true;
  Finding found;
  if (!wc) {
    found.seen = Seen::no_completion;
    found.text = fmt::format("{} did not complete within {} ms and was to complete with {}", what,
                             ground_.completion_within.count(), status_word(status));
  } else {
    found.seen = Seen::completion;
    found.status = status_word(wc->status);
    found.text = fmt::format("{} completed with {} (wr_id {}, vendor_err 0x{:x}) and was to complete with {}", what,
                             status_word(wc->status), wc->wr_id, wc->vendor_err, status_word(status));
  }
  finding(std::move(found));
  return false;
}

bool Case::in_state(ibv_qp* qp, ibv_qp_state state, std::string_view what) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  if (!accepted(verbs().query_qp(qp, attr, IBV_QP_STATE, init), "ibv_query_qp of the state")) return false;
  if (attr.qp_state == state) return true;
  Finding found;
  found.seen = Seen::value;
  found.state = state_word(attr.qp_state);
  found.text = fmt::format("{}: the queue pair is in {} and was to be in {}", what, state_word(attr.qp_state),
                           state_word(state));
  finding(std::move(found));
  return false;
}

void Case::finding(Finding finding) {
  if (finding.requirement.empty()) finding.requirement = about_;
  findings_.push_back(std::move(finding));
}

void Case::about(std::string requirement) {
  about_ = std::move(requirement);
}

void Case::note(std::string text) {
  notes_.push_back(std::move(text));
}

void Case::blocked(std::string word, std::string text) const {
  throw Stop{Stop::Why::blocked, std::move(word), std::move(text)};
}

void Case::absent(std::string text) const {
  throw Stop{Stop::Why::absent, {}, std::move(text)};
}

void Case::denied(std::string word, std::string text) const {
  throw Stop{Stop::Why::absent, std::move(word), std::move(text)};
}

void Case::needs_grant(verbena::Field field, std::uint64_t value) const {
  const verbena::Domain& domain = contract().domain(field);
  if (!domain.known || domain.largest_grant() >= value) return;
  denied(std::string(verbena::name(field)), "the contract grants " + std::string(verbena::name(field)) + " up to " +
                                                std::to_string(domain.largest_grant()) + ", and this takes " +
                                                std::to_string(value));
}

void Case::needs_queue_pairs() const {
  if (qp_types().empty()) denied("rc", "the contract has no queue pair of a type of verbs' own");
}

void Case::needs_data() const {
  if (!ground_.carries_data)
    throw Stop{Stop::Why::elsewhere, "data", "no fault before the first completion, which a device shell never gives"};
}

void Case::needs_libibverbs() const {
  if (!ground_.made_by_libibverbs)
    throw Stop{Stop::Why::elsewhere, "libibverbs", "the context of an emulated NIC isn't libibverbs' own"};
}

void Case::need(bool held) const {
  if (!held) throw Stop{Stop::Why::broken, {}, {}};
}

}  // namespace conform
