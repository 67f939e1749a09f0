// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "qp/settle_transition.hpp"
#include "qp/transition_rows.hpp"

namespace verbena {
namespace {

std::string text_of(const Edge& edge) {
  return fmt::format("{} QP from {} to {}", name(edge.type), qp_state_name(edge.from), qp_state_name(edge.to));
}

Provenance core_table() {
  return {.set_by = SetBy::declared,
          .reason = "the transition table of the specification as the kernel checks it",
          .source = "kernel drivers/infiniband/core/verbs.c, ib_modify_qp_is_ok"};
}

Error refuse(ErrorKind kind, std::string field, Provenance by, std::string text) {
  return Error{.kind = kind, .field = std::move(field), .by = std::move(by), .text = std::move(text)};
}

[[gnu::cold, gnu::noinline]] std::optional<Error> no_such_transition(const Edge& edge) {
  std::string next;
  for (const ibv_qp_state state : {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR}) {
    if (!find_transition(edge.type, edge.from, state)) continue;
    if (!next.empty()) next += ", ";
    next += qp_state_name(state);
  }
  return refuse(ErrorKind::invalid_request, "qp_state", core_table(),
                fmt::format("{}: there is no such transition; from {} it can go to {}.", text_of(edge),
                            qp_state_name(edge.from), next.empty() ? "no other state" : next));
}

/// The port's transport, `unknown` where nobody says.
Transport transport_of(const Contract& contract, std::uint8_t port) noexcept {
  for (const PortId& candidate : contract.device().ports) {
    if (candidate.number == port) return candidate.transport;
  }
  return Transport::unknown;
}

/// What the contract has against an edge, whatever its attributes are.
enum class Objection : std::uint8_t { none, rdma_cm_drives, no_sqd, not_recyclable };

Objection objection(const Edge& edge, const Contract& contract) noexcept {
  if (edge.type == QpType::rc && (edge.to == IBV_QPS_RTR || edge.to == IBV_QPS_RTS || edge.to == IBV_QPS_SQD) &&
      contract.is(Behaviour::rts_driven_by, Choice::rdma_cm)) {
    return Objection::rdma_cm_drives;
  }
  if (edge.to == IBV_QPS_SQD && contract.feature(Feature::sqd).support == Support::absent) return Objection::no_sqd;
  if (edge.to == IBV_QPS_RESET && edge.from != IBV_QPS_RESET &&
      contract.is(Behaviour::recycle_through_reset, Choice::no)) {
    return Objection::not_recyclable;
  }
  return Objection::none;
}

[[gnu::cold, gnu::noinline]] std::optional<Error> objected(Objection why, const Edge& edge, const Contract& contract) {
  ProvenanceIndex by = contract.behaviour(Behaviour::rts_driven_by).by;
  std::string_view text =
      "on this device the connection manager moves a QP there; use connect(), which goes over rdma_cm.";
  if (why == Objection::no_sqd) {
    by = contract.feature(Feature::sqd).by;
    text = "this device has no SQD state; wait for the completions of what was posted instead.";
  } else if (why == Objection::not_recyclable) {
    by = contract.behaviour(Behaviour::recycle_through_reset).by;
    text = "a QP of this device is of no use after RESET; destroy it and create a new one.";
  }
  return refuse(ErrorKind::unsupported, "qp_state",
                by < contract.provenances().size() ? contract.provenance(by) : Provenance{},
                fmt::format("{}: {}", text_of(edge), text));
}

[[gnu::cold, gnu::noinline]] std::optional<Error> wrong_attributes(const Edge& edge, QpAttributes missing,
                                                                   QpAttributes too_much) {
  std::string text = text_of(edge) + ":";
  if (missing != 0) text += " missing " + attribute_names(missing) + ";";
  if (too_much != 0) text += " too much " + attribute_names(too_much) + " (not taken by this transition);";
  text.back() = '.';
  return refuse(ErrorKind::invalid_request, attribute_names(missing != 0 ? missing : too_much), core_table(),
                std::move(text));
}

/// Attributes whose values have limits: those of the side that receives, given on the way to RTR, and of the side that
/// sends, given on the way to RTS.
constexpr QpAttributes kReceiving =
    IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_PATH_MTU | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr QpAttributes kSending =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_SQ_PSN;

/// Values against the contract: moved within its limits or refused, as the policy says.
class ValueCheck {
public:
  ValueCheck(const Edge& edge, const Contract& contract, ibv_qp_attr& attr, QpAttributes mask,
             std::vector<Adjustment>& settled)
      : edge_(edge), contract_(contract), attr_(attr), mask_(mask), settled_(settled) {}

  /// Nothing is to be moved within its limits or refused: what nearly every transition comes to, told without a branch
  /// into words.
  bool all_fit() const noexcept {
    return (!sends(kReceiving) || receiving_fits()) && (!sends(kSending) || sending_fits());
  }

  std::optional<Error> run() {
    std::optional<Error> error;
    if (sends(IBV_QP_AV | IBV_QP_ALT_PATH)) error = address();
    if (!error && sends(IBV_QP_PATH_MTU)) error = path_mtu();
    if (error) return error;
    if (breaks(error, IBV_QP_TIMEOUT, Field::timeout, attr_.timeout, 31) ||
        breaks(error, IBV_QP_RETRY_CNT, Field::retry_cnt, attr_.retry_cnt, 7) ||
        breaks(error, IBV_QP_RNR_RETRY, Field::rnr_retry, attr_.rnr_retry, 7) ||
        breaks(error, IBV_QP_MIN_RNR_TIMER, Field::min_rnr_timer, attr_.min_rnr_timer, 31) ||
        breaks(error, IBV_QP_MAX_QP_RD_ATOMIC, Field::max_rd_atomic, attr_.max_rd_atomic, 255) ||
        breaks(error, IBV_QP_MAX_DEST_RD_ATOMIC, Field::max_dest_rd_atomic, attr_.max_dest_rd_atomic, 255)) {
      return error;
    }
    if (sends(IBV_QP_RQ_PSN) && attr_.rq_psn > kLargestPsn) return packet_number("rq_psn", attr_.rq_psn);
    if (sends(IBV_QP_SQ_PSN) && attr_.sq_psn > kLargestPsn) return packet_number("sq_psn", attr_.sq_psn);
    return error;
  }

private:
  bool sends(QpAttributes bit) const noexcept { return (mask_ & bit) != 0; }

  static constexpr std::uint32_t kLargestPsn = 0xffffff;  // the kernel would mask the rest, with a warning

  Error packet_number(std::string_view field, std::uint32_t value) const {
    return Error{.kind = ErrorKind::invalid_request,
                 .field = std::string(field),
                 .asked = value,
                 .allowed = kLargestPsn,
                 .by = core_table(),
                 .text = fmt::format("{}: a packet number has 24 bits.", text_of(edge_))};
  }

  // Source: kernel drivers/infiniband/core/uverbs_cmd.c modify_qp, core/verbs.c _ib_modify_qp, rdma_check_ah_attr.
  std::optional<Error> address() const {
    const bool roce = transport_of(contract_, edge_.port) == Transport::roce_v2;
    const auto wrong = [this](std::string field, std::string text) {
      return Error{.kind = ErrorKind::invalid_request,
                   .field = std::move(field),
                   .by = {.set_by = SetBy::declared,
                          .reason = "checked by the kernel's verbs layer",
                          .source = "kernel drivers/infiniband/core/uverbs_cmd.c modify_qp, core/verbs.c "
                                    "_ib_modify_qp"},
                   .text = fmt::format("{}: {}", text_of(edge_), text)};
    };
    if (sends(IBV_QP_AV) && attr_.ah_attr.port_num != edge_.port) {
      Error error = wrong("ah_attr.port_num", "the address vector must name the port that the QP was given in INIT.");
      error.asked = attr_.ah_attr.port_num;
      error.allowed = edge_.port;
      return error;
    }
    if (sends(IBV_QP_AV) && roce && attr_.ah_attr.is_global == 0) {
      return wrong("ah_attr.is_global", "RoCE addresses by GID: set is_global, and the source GID index in grh.");
    }
    if (sends(IBV_QP_ALT_PATH) && roce) {
      return wrong("alt_ah_attr", "path migration exists on InfiniBand only, not on RoCE.");
    }
    return std::nullopt;
  }

  std::optional<Error> path_mtu() {
    const std::uint32_t bytes = transitions::bytes_of(attr_.path_mtu);
    const Domain& domain = contract_.domain(Field::path_mtu_bytes);
    if (bytes == 0) {
      return Error{.kind = ErrorKind::invalid_request,
                   .field = "path_mtu",
                   .asked = static_cast<std::uint64_t>(attr_.path_mtu),
                   .by = core_table(),
                   .text = fmt::format("{}: path_mtu is none of IBV_MTU_256 to IBV_MTU_4096.", text_of(edge_))};
    }
    if (bytes >= domain.min && bytes <= domain.max) return std::nullopt;
    const bool small = bytes < domain.min;
    const std::optional<ibv_mtu> other = small ? mtu_from(domain.min) : mtu_within(domain.max);
    const bool takes =
        other && transitions::bytes_of(*other) >= domain.min && transitions::bytes_of(*other) <= domain.max;
    if (edge_.policy == Policy::require || !takes) {
      return outside("path_mtu_bytes", bytes, domain,
                     small ? "this device takes no smaller packet." : "the port takes no larger packet.");
    }
    settled("path_mtu_bytes", bytes, transitions::bytes_of(*other), domain);
    attr_.path_mtu = *other;
    return std::nullopt;
  }

  /// The smallest MTU of at least that many bytes.
  static std::optional<ibv_mtu> mtu_from(std::uint64_t bytes) noexcept {
    for (const ibv_mtu mtu : {IBV_MTU_256, IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096}) {
      if (transitions::bytes_of(mtu) >= bytes) return mtu;
    }
    return std::nullopt;
  }

  bool receiving_fits() const noexcept {
    if (sends(IBV_QP_AV | IBV_QP_ALT_PATH)) {
      if (sends(IBV_QP_ALT_PATH) || attr_.ah_attr.port_num != edge_.port || attr_.ah_attr.is_global == 0) return false;
    }
    if (sends(IBV_QP_PATH_MTU)) {
      const std::uint32_t mtu = transitions::bytes_of(attr_.path_mtu);
      const Domain& domain = contract_.domain(Field::path_mtu_bytes);
      if (mtu == 0 || mtu < domain.min || mtu > domain.max) return false;
    }
    return fits(IBV_QP_MIN_RNR_TIMER, Field::min_rnr_timer, attr_.min_rnr_timer, 31) &&
           fits(IBV_QP_MAX_DEST_RD_ATOMIC, Field::max_dest_rd_atomic, attr_.max_dest_rd_atomic, 255) &&
           (!sends(IBV_QP_RQ_PSN) || attr_.rq_psn <= kLargestPsn);
  }

  bool sending_fits() const noexcept {
    if ((mask_ & kSending) == kSending) {  // what RTR to RTS of RC gives, asked without a look at each bit
      return at_most(Field::timeout, attr_.timeout, 31) && at_most(Field::retry_cnt, attr_.retry_cnt, 7) &&
             at_most(Field::rnr_retry, attr_.rnr_retry, 7) && at_most(Field::max_rd_atomic, attr_.max_rd_atomic, 255) &&
             no_least_sending() && attr_.sq_psn <= kLargestPsn;
    }
    return fits(IBV_QP_TIMEOUT, Field::timeout, attr_.timeout, 31) &&
           fits(IBV_QP_RETRY_CNT, Field::retry_cnt, attr_.retry_cnt, 7) &&
           fits(IBV_QP_RNR_RETRY, Field::rnr_retry, attr_.rnr_retry, 7) &&
           fits(IBV_QP_MAX_QP_RD_ATOMIC, Field::max_rd_atomic, attr_.max_rd_atomic, 255) &&
           (!sends(IBV_QP_SQ_PSN) || attr_.sq_psn <= kLargestPsn);
  }

  /// An unknown bound is kUnbounded.
  bool at_most(Field field, std::uint8_t value, std::uint8_t format_max) const noexcept {
    return value <= format_max && value <= contract_.domain(field).max;
  }

  /// The least value is 0 unless a rule says otherwise; asked at once of what RTR to RTS of RC gives, run() does the
  /// rest.
  bool no_least_sending() const noexcept {
    return (contract_.domain(Field::timeout).min | contract_.domain(Field::retry_cnt).min |
            contract_.domain(Field::rnr_retry).min | contract_.domain(Field::max_rd_atomic).min) == 0;
  }

  bool within(Field field, std::uint8_t value, std::uint8_t format_max) const noexcept {
    return at_most(field, value, format_max) && (value >= contract_.domain(field).min || means_longest(field, value));
  }

  /// Code 0 of a timer is no short time: no timer at all, and 655 ms for a receiver that isn't ready.
  static constexpr bool means_longest(Field field, std::uint8_t value) noexcept {
    return value == 0 && (field == Field::timeout || field == Field::min_rnr_timer);
  }

  bool fits(QpAttributes bit, Field field, std::uint8_t value, std::uint8_t format_max) const noexcept {
    return !sends(bit) || within(field, value, format_max);
  }

  /// True, with the error, when the value cannot be sent; moves it there where the policy lets it.
  bool breaks(std::optional<Error>& error, QpAttributes bit, Field field, std::uint8_t& value,
              std::uint8_t format_max) {
    if (fits(bit, field, value, format_max)) return false;
    error = settle(field, value, format_max);
    return error.has_value();
  }

  std::optional<Error> settle(Field field, std::uint8_t& value, std::uint8_t format_max) {
    if (value > format_max) {
      return Error{
          .kind = ErrorKind::invalid_request,
          .field = std::string(name(field)),
          .asked = value,
          .allowed = format_max,
          .by = core_table(),
          .text = fmt::format("{}: {} goes up to {} in the packet format.", text_of(edge_), name(field), format_max)};
    }
    const Domain& domain = contract_.domain(field);
    const bool small = value < domain.min;
    const std::uint64_t nearest = small ? domain.min : domain.max;
    const bool takes = nearest >= domain.min && nearest <= std::min<std::uint64_t>(domain.max, format_max);
    if (edge_.policy == Policy::require || !takes) {
      return outside(std::string(name(field)), value, domain,
                     small ? "this device takes no less." : "this device takes no more.");
    }
    settled(std::string(name(field)), value, nearest, domain);
    value = static_cast<std::uint8_t>(nearest);
    return std::nullopt;
  }

  Provenance blame(std::uint64_t asked, const Domain& domain) const {
    const ProvenanceIndex by = asked < domain.min ? domain.min_by : domain.max_by;
    return by < contract_.provenances().size() ? contract_.provenance(by) : Provenance{};
  }

  Error outside(std::string field, std::uint64_t asked, const Domain& domain, std::string_view why) const {
    return Error{.kind = ErrorKind::limit,
                 .field = std::move(field),
                 .asked = asked,
                 .allowed = asked < domain.min ? domain.min : domain.max,
                 .by = blame(asked, domain),
                 .text = fmt::format("{}: {}", text_of(edge_), why)};
  }

  void settled(std::string field, std::uint64_t asked, std::uint64_t granted, const Domain& domain) {
    settled_.push_back(Adjustment{.field = std::move(field),
                                  .asked = asked,
                                  .granted = granted,
                                  .kind = granted > asked ? AdjustmentKind::raised : AdjustmentKind::reduced,
                                  .by = blame(asked, domain)});
  }

  const Edge& edge_;
  const Contract& contract_;
  ibv_qp_attr& attr_;
  QpAttributes mask_;
  std::vector<Adjustment>& settled_;
};

[[gnu::cold, gnu::noinline]] std::optional<Error> settle_values(const Edge& edge, const Contract& contract,
                                                                ibv_qp_attr& attr, QpAttributes mask,
                                                                std::vector<Adjustment>& settled) {
  return ValueCheck(edge, contract, attr, mask, settled).run();
}

}  // namespace

std::optional<Error> settle_transition(const Edge& edge, const Contract& contract, ibv_qp_attr& attr,
                                       QpAttributes& mask, std::vector<Adjustment>& settled) {
  const transitions::Masks* const takes = transitions::masks_of(edge.type, edge.from, edge.to);
  if (takes == nullptr) return no_such_transition(edge);
  if (const Objection why = objection(edge, contract); why != Objection::none) return objected(why, edge, contract);

  const QpAttributes given = mask & ~static_cast<QpAttributes>(IBV_QP_STATE);
  const QpAttributes missing = takes->required & ~given;
  const QpAttributes too_much = given & ~(takes->required | takes->optional);
  if ((missing | too_much) != 0) return wrong_attributes(edge, missing, too_much);

  if (edge.from == IBV_QPS_RESET && edge.to == IBV_QPS_RESET) {
    // E810 refuses INIT after it (kernel drivers/infiniband/hw/irdma/verbs.c, irdma_modify_qp_roce), and nobody gains.
    mask = 0;
    return std::nullopt;
  }
  QpAttributes sent = given | IBV_QP_STATE;
  if (edge.from == IBV_QPS_RTR && edge.to == IBV_QPS_RTS && edge.type == QpType::rc &&
      contract.is(Behaviour::rtr_to_rts_also_needs, Choice::min_rnr_timer)) {
    if ((sent & IBV_QP_MIN_RNR_TIMER) == 0) attr.min_rnr_timer = edge.min_rnr_timer;
    sent |= IBV_QP_MIN_RNR_TIMER;
  }
  mask = sent;
  if (ValueCheck(edge, contract, attr, sent, settled).all_fit()) return std::nullopt;
  return settle_values(edge, contract, attr, sent, settled);
}

Result<TransitionPlan> plan_transition(const TransitionRequest& request, const Contract& contract) {
  Result<TransitionPlan> result(tl::in_place);
  TransitionPlan& plan = *result;
  plan.attr = request.attr;
  plan.attr.qp_state = request.to;
  plan.mask = request.given;
  const Edge edge{.type = request.type,
                  .from = request.from,
                  .to = request.to,
                  .port = request.port,
                  .min_rnr_timer = request.min_rnr_timer,
                  .policy = request.policy};
  if (auto error = settle_transition(edge, contract, plan.attr, plan.mask, plan.adjustments)) {
    return Failure(std::move(*error));
  }
  plan.issue = plan.mask != 0;
  return result;
}

}  // namespace verbena
