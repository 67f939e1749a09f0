// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "verbena/timers.hpp"
#include "verbena/transition.hpp"

namespace verbena {
namespace {

std::string edge(const TransitionRequest& request) {
  return fmt::format("{} QP from {} to {}", name(request.type), qp_state_name(request.from), qp_state_name(request.to));
}

Provenance core_table() {
  return {.set_by = SetBy::declared,
          .reason = "the transition table of the specification as the kernel checks it",
          .source = "kernel drivers/infiniband/core/verbs.c, ib_modify_qp_is_ok"};
}

Failure refuse(ErrorKind kind, std::string field, Provenance by, std::string text) {
  return Failure(Error{.kind = kind, .field = std::move(field), .by = std::move(by), .text = std::move(text)});
}

Failure no_such_transition(const TransitionRequest& request) {
  std::string next;
  for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) {
    if (!find_transition(request.type, request.from, state)) continue;
    if (!next.empty()) next += ", ";
    next += qp_state_name(state);
  }
  return refuse(ErrorKind::invalid_request, "qp_state", core_table(),
                fmt::format("{}: there is no such transition; from {} it can go to {}.", edge(request),
                            qp_state_name(request.from), next.empty() ? "no other state" : next));
}

/// The port's transport, `unknown` where nobody says.
Transport transport_of(const Contract& contract, std::uint8_t port) noexcept {
  for (const PortId& candidate : contract.device().ports) {
    if (candidate.number == port) return candidate.transport;
  }
  return Transport::unknown;
}

/// What the contract says against this edge, whatever the attributes are.
std::optional<Error> forbidden(const TransitionRequest& request, const Contract& contract) {
  const auto blame = [&contract](ProvenanceIndex index) {
    return index < contract.provenances().size() ? contract.provenance(index) : Provenance{};
  };
  const auto make = [&](ErrorKind kind, ProvenanceIndex by, std::string text) {
    return Error{.kind = kind, .field = "qp_state", .by = blame(by), .text = std::move(text)};
  };

  const BehaviourState& driven = contract.behaviour(Behaviour::rts_driven_by);
  if (driven.choice == Choice::rdma_cm && request.type == QpType::rc &&
      (request.to == IBV_QPS_RTR || request.to == IBV_QPS_RTS || request.to == IBV_QPS_SQD)) {
    return make(ErrorKind::unsupported, driven.by,
                fmt::format("{}: on this device the connection manager moves a QP there; use connect(), which goes "
                            "over rdma_cm.",
                            edge(request)));
  }
  if (request.to == IBV_QPS_SQD && contract.feature(Feature::sqd).support == Support::absent) {
    return make(ErrorKind::unsupported, contract.feature(Feature::sqd).by,
                fmt::format("{}: this device has no SQD state; wait for the completions of what was posted instead.",
                            edge(request)));
  }
  const BehaviourState& recycle = contract.behaviour(Behaviour::recycle_through_reset);
  if (request.to == IBV_QPS_RESET && request.from != IBV_QPS_RESET && recycle.choice == Choice::no) {
    return make(ErrorKind::unsupported, recycle.by,
                fmt::format("{}: a QP of this device is of no use after RESET; destroy it and create a new one.",
                            edge(request)));
  }
  return std::nullopt;
}

/// Values against the contract: lowered or refused, as the policy says.
class ValueCheck {
public:
  ValueCheck(const TransitionRequest& request, const Contract& contract, TransitionPlan& plan)
      : request_(request), contract_(contract), plan_(plan) {}

  /// Asks first whether a value holds at all: what is in order costs no Error.
  std::optional<Error> run() {
    constexpr QpAttributes kChecked =
        IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
        IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_RQ_PSN | IBV_QP_SQ_PSN;
    if (!sends(kChecked)) return std::nullopt;
    if (sends(IBV_QP_AV | IBV_QP_ALT_PATH)) {
      if (auto error = address()) return error;
    }
    if (sends(IBV_QP_PATH_MTU)) {
      if (auto error = path_mtu()) return error;
    }
    ibv_qp_attr& attr = plan_.attr;
    if (!holds(IBV_QP_TIMEOUT, Field::timeout, attr.timeout, 31)) {
      if (auto error = bring_within(Field::timeout, attr.timeout, 31)) return error;
    }
    if (!holds(IBV_QP_RETRY_CNT, Field::retry_cnt, attr.retry_cnt, 7)) {
      if (auto error = bring_within(Field::retry_cnt, attr.retry_cnt, 7)) return error;
    }
    if (!holds(IBV_QP_RNR_RETRY, Field::rnr_retry, attr.rnr_retry, 7)) {
      if (auto error = bring_within(Field::rnr_retry, attr.rnr_retry, 7)) return error;
    }
    if (!holds(IBV_QP_MIN_RNR_TIMER, Field::min_rnr_timer, attr.min_rnr_timer, 31)) {
      if (auto error = bring_within(Field::min_rnr_timer, attr.min_rnr_timer, 31)) return error;
    }
    if (!holds(IBV_QP_MAX_QP_RD_ATOMIC, Field::max_rd_atomic, attr.max_rd_atomic, 255)) {
      if (auto error = bring_within(Field::max_rd_atomic, attr.max_rd_atomic, 255)) return error;
    }
    if (!holds(IBV_QP_MAX_DEST_RD_ATOMIC, Field::max_dest_rd_atomic, attr.max_dest_rd_atomic, 255)) {
      if (auto error = bring_within(Field::max_dest_rd_atomic, attr.max_dest_rd_atomic, 255)) return error;
    }
    if (sends(IBV_QP_RQ_PSN) && attr.rq_psn > kLargestPsn) return packet_number("rq_psn", attr.rq_psn);
    if (sends(IBV_QP_SQ_PSN) && attr.sq_psn > kLargestPsn) return packet_number("sq_psn", attr.sq_psn);
    return std::nullopt;
  }

private:
  bool sends(QpAttributes bit) const noexcept { return (plan_.mask & bit) != 0; }

  bool holds(QpAttributes bit, Field field, std::uint64_t value, std::uint64_t format_max) const noexcept {
    if (!sends(bit)) return true;
    const Domain& domain = contract_.domain(field);
    return value <= format_max && (!domain.known || value <= domain.max);
  }

  static constexpr std::uint32_t kLargestPsn = 0xffffff;  // 24 bits; the kernel would mask the rest with a warning

  Error packet_number(std::string_view field, std::uint32_t value) const {
    return Error{.kind = ErrorKind::invalid_request,
                 .field = std::string(field),
                 .asked = value,
                 .allowed = kLargestPsn,
                 .by = core_table(),
                 .text = fmt::format("{}: a packet number has 24 bits.", edge(request_))};
  }

  // Source: kernel drivers/infiniband/core/uverbs_cmd.c modify_qp, core/verbs.c _ib_modify_qp, rdma_check_ah_attr.
  std::optional<Error> address() const {
    const bool roce = transport_of(contract_, request_.port) == Transport::roce_v2;
    const auto wrong = [this](std::string field, std::string text) {
      return Error{.kind = ErrorKind::invalid_request,
                   .field = std::move(field),
                   .by = {.set_by = SetBy::declared,
                          .reason = "checked by the kernel's verbs layer",
                          .source = "kernel drivers/infiniband/core/uverbs_cmd.c modify_qp, core/verbs.c "
                                    "_ib_modify_qp"},
                   .text = fmt::format("{}: {}", edge(request_), text)};
    };
    if (sends(IBV_QP_AV) && plan_.attr.ah_attr.port_num != request_.port) {
      Error error = wrong("ah_attr.port_num", "the address vector must name the port that the QP was given in INIT.");
      error.asked = plan_.attr.ah_attr.port_num;
      error.allowed = request_.port;
      return error;
    }
    if (sends(IBV_QP_AV) && roce && plan_.attr.ah_attr.is_global == 0) {
      return wrong("ah_attr.is_global", "RoCE addresses by GID: set is_global, and the source GID index in grh.");
    }
    if (sends(IBV_QP_ALT_PATH) && roce) {
      return wrong("alt_ah_attr", "path migration exists on InfiniBand only, not on RoCE.");
    }
    return std::nullopt;
  }

  std::optional<Error> path_mtu() {
    const std::uint32_t bytes = mtu_bytes(plan_.attr.path_mtu);
    const Domain& domain = contract_.domain(Field::path_mtu_bytes);
    if (bytes == 0) {
      return Error{.kind = ErrorKind::invalid_request,
                   .field = "path_mtu",
                   .asked = static_cast<std::uint64_t>(plan_.attr.path_mtu),
                   .by = core_table(),
                   .text = fmt::format("{}: path_mtu is none of IBV_MTU_256 to IBV_MTU_4096.", edge(request_))};
    }
    if (!domain.known || bytes <= domain.max) return std::nullopt;
    const std::optional<ibv_mtu> lower = mtu_within(domain.max);
    if (request_.policy == Policy::require || !lower) {
      return over("path_mtu_bytes", bytes, domain, "the port takes no larger packet.");
    }
    lowered("path_mtu_bytes", bytes, mtu_bytes(*lower), domain);
    plan_.attr.path_mtu = *lower;
    return std::nullopt;
  }

  /// For a value that does not hold.
  std::optional<Error> bring_within(Field field, std::uint8_t& value, std::uint64_t format_max) {
    if (value > format_max) {
      return Error{
          .kind = ErrorKind::invalid_request,
          .field = std::string(name(field)),
          .asked = value,
          .allowed = format_max,
          .by = core_table(),
          .text = fmt::format("{}: {} goes up to {} in the packet format.", edge(request_), name(field), format_max)};
    }
    const Domain& domain = contract_.domain(field);
    if (request_.policy == Policy::require) {
      return over(std::string(name(field)), value, domain, "this device takes no more.");
    }
    lowered(std::string(name(field)), value, domain.max, domain);
    value = static_cast<std::uint8_t>(domain.max);
    return std::nullopt;
  }

  Provenance blame(const Domain& domain) const {
    return domain.max_by < contract_.provenances().size() ? contract_.provenance(domain.max_by) : Provenance{};
  }

  Error over(std::string field, std::uint64_t asked, const Domain& domain, std::string_view why) const {
    return Error{.kind = ErrorKind::limit,
                 .field = std::move(field),
                 .asked = asked,
                 .allowed = domain.max,
                 .by = blame(domain),
                 .text = fmt::format("{}: {}", edge(request_), why)};
  }

  void lowered(std::string field, std::uint64_t asked, std::uint64_t granted, const Domain& domain) {
    plan_.adjustments.push_back(Adjustment{.field = std::move(field),
                                           .asked = asked,
                                           .granted = granted,
                                           .kind = AdjustmentKind::reduced,
                                           .by = blame(domain)});
  }

  const TransitionRequest& request_;
  const Contract& contract_;
  TransitionPlan& plan_;
};

}  // namespace

Result<TransitionPlan> plan_transition(const TransitionRequest& request, const Contract& contract) {
  const std::optional<TransitionRow> row = find_transition(request.type, request.from, request.to);
  if (!row) return no_such_transition(request);
  if (auto error = forbidden(request, contract)) return Failure(std::move(*error));

  const QpAttributes given = request.given & ~static_cast<QpAttributes>(IBV_QP_STATE);
  const QpAttributes missing = row->required & ~given;
  const QpAttributes too_much = given & ~(row->required | row->optional);
  if (missing != 0 || too_much != 0) {
    std::string text = edge(request) + ":";
    if (missing != 0) text += " missing " + attribute_names(missing) + ";";
    if (too_much != 0) text += " too much " + attribute_names(too_much) + " (not taken by this transition);";
    text.back() = '.';
    return refuse(ErrorKind::invalid_request, attribute_names(missing != 0 ? missing : too_much), core_table(),
                  std::move(text));
  }

  TransitionPlan plan;
  plan.attr = request.attr;
  plan.attr.qp_state = request.to;
  if (request.from == IBV_QPS_RESET && request.to == IBV_QPS_RESET) {
    // E810 refuses INIT after it (kernel drivers/infiniband/hw/irdma/verbs.c, irdma_modify_qp_roce), and nobody gains.
    plan.issue = false;
    plan.mask = 0;
    return plan;
  }
  plan.mask = given | IBV_QP_STATE;
  if (request.from == IBV_QPS_RTR && request.to == IBV_QPS_RTS && request.type == QpType::rc &&
      contract.is(Behaviour::rtr_to_rts_also_needs, Choice::min_rnr_timer) && (plan.mask & IBV_QP_MIN_RNR_TIMER) == 0) {
    plan.mask |= IBV_QP_MIN_RNR_TIMER;
    plan.attr.min_rnr_timer = request.min_rnr_timer;
  }
  if (auto error = ValueCheck(request, contract, plan).run()) return Failure(std::move(*error));
  return plan;
}

}  // namespace verbena
