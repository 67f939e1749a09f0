// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "objects/refusal.hpp"
#include "qp/qp_state.hpp"
#include "qp/settle_transition.hpp"
#include "verbena/errno_family.hpp"
#include "verbena/transition.hpp"
#include "verbena/verbs.hpp"

namespace verbena {

/// What the device says to a transition that the contract takes: both states, the one believed and the one it is in.
Error Qp::State::modify_refused(const ibv_qp_attr& attr, QpAttributes sent, int errno_value) {
  CountersState::add(device().counters.transitions_refused);
  if (device().look_at(errno_value)) return device().gone_error();
  Error error{.kind = errno_family(errno_value) == ErrnoFamily::permission ? ErrorKind::permission : ErrorKind::refused,
              .field = "qp_state",
              .by = {.set_by = SetBy::probed, .reason = "the device refused ibv_modify_qp"},
              .errno_value = errno_value};
  ibv_qp_attr now{};
  ibv_qp_init_attr init{};
  const int query_error = verbs().query_qp(raw, now, IBV_QP_STATE, init);
  error.text =
      fmt::format("{} QP {:#x} from {} to {} was refused with {}; sent were {}; ", name(type), raw->qp_num,
                  qp_state_name(state), qp_state_name(attr.qp_state), errno_name(errno_value), attribute_names(sent));
  if (query_error != 0) {
    error.text += fmt::format("the state it is in cannot be asked for ({}).", errno_name(query_error));
  } else if (now.qp_state != state) {
    error.text += fmt::format("it is in {}, not in {} as believed.", qp_state_name(now.qp_state), qp_state_name(state));
    state = now.qp_state;
  } else {
    error.text += fmt::format("it is still in {}.", qp_state_name(state));
  }
  device().log(LogLevel::error, error.text);
  return error;
}

Provenance Qp::State::budget_provenance() const {
  const ProvenanceIndex by = contract->behaviour(Behaviour::rd_atomic_budget).by;
  Provenance provenance = by < contract->provenances().size() ? contract->provenance(by) : Provenance{};
  if (provenance.reason.empty()) provenance.reason = "all queue pairs of this device share its responder resources";
  return provenance;
}

/// Fewer responder resources are left than the least that was asked for: who holds them.
Error Qp::State::budget_spent(std::uint8_t wanted) const {
  const LedgerSnapshot ledger = device().ledger.snapshot();
  Error error{.kind = ErrorKind::limit,
              .field = "max_dest_rd_atomic",
              .asked = wanted,
              .by = budget_provenance(),
              .text = to_string(ledger) + ". Give the queue pairs that hold them less, or ask for 0 here."};
  const std::uint64_t total = ledger.responder_total.value_or(0);
  error.allowed = total > ledger.responder_used ? total - ledger.responder_used : 0;
  return error;
}

Result<std::uint8_t> Qp::State::reserve_responder(std::uint8_t wanted, std::uint8_t at_least) {
  const std::optional<std::uint32_t> reserved =
      device().ledger.reserve_responder(ledger_line, raw->qp_num, wanted, std::min(at_least, wanted));
  if (!reserved) return Failure(budget_spent(wanted));
  return static_cast<std::uint8_t>(*reserved);
}

std::uint32_t Qp::State::default_access() const noexcept {
  std::uint32_t access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  if (type != QpType::rc) return access;
  access |= IBV_ACCESS_REMOTE_READ;
  if (contract->native(Feature::compare_swap) || contract->native(Feature::fetch_add)) {
    access |= IBV_ACCESS_REMOTE_ATOMIC;
  }
  return access;
}

Result<void> Qp::State::send_as_told(ibv_qp_attr& attr, int mask) {
  if (device().gone()) return gone(device());
  if (const int error = verbs().modify_qp(raw, attr, mask); error != 0) {
    return Failure(modify_refused(attr, static_cast<QpAttributes>(mask), error));
  }
  CountersState::add(device().counters.transitions);
  if ((mask & IBV_QP_STATE) != 0) state = attr.qp_state;
  return {};
}

void Qp::State::log_settled(const TransitionNotes& settled) const {
  for (const Adjustment& adjustment : settled) device().log(LogLevel::warn, to_string(adjustment));
}

Result<TransitionNotes> Qp::State::move(ibv_qp_attr& attr, QpAttributes mask, Policy policy,
                                        std::uint8_t at_least_dest) {
  // The one thing that is returned, so that it is made where it goes.
  Result<TransitionNotes> moved(TransitionNotes{});
  Device::State& on = device();
  if (on.gone()) {
    moved = gone(on);
    return moved;
  }
  const Edge edge{
      .type = type, .from = state, .to = attr.qp_state, .port = port, .min_rnr_timer = min_rnr_timer, .policy = policy};
  if (auto error = settle_transition(edge, *contract, attr, mask, *moved)) {
    CountersState::add(on.counters.transitions_refused);
    moved = Failure(std::move(*error));
    return moved;
  }
  if (mask == 0) return moved;
  const auto sent = [sends = mask](QpAttributes bit) { return (sends & bit) != 0; };

  // The ledger comes before the device: the second queue pair of an ionic would get a bare EINVAL (Mooncake #3977).
  if (sent(IBV_QP_MAX_DEST_RD_ATOMIC)) {
    const std::uint8_t wanted = attr.max_dest_rd_atomic;
    Result<std::uint8_t> reserved = reserve_responder(wanted, policy == Policy::require ? wanted : at_least_dest);
    if (!reserved) {
      CountersState::add(on.counters.transitions_refused);
      moved = Failure(std::move(reserved.error()));
      return moved;
    }
    if (*reserved < wanted) {
      moved->push_back({.field = "max_dest_rd_atomic",
                        .asked = wanted,
                        .granted = *reserved,
                        .kind = AdjustmentKind::reduced,
                        .by = budget_provenance()});
      attr.max_dest_rd_atomic = *reserved;
    }
  }
  if (const int error = on.verbs().modify_qp(raw, attr, static_cast<int>(mask)); error != 0) {
    if (sent(IBV_QP_MAX_DEST_RD_ATOMIC) && !facts) on.ledger.release_responder(ledger_line);
    moved = Failure(modify_refused(attr, mask, error));
    return moved;
  }
  CountersState::add(on.counters.transitions);
  if (sent(IBV_QP_MIN_RNR_TIMER)) min_rnr_timer = attr.min_rnr_timer;
  if (sent(IBV_QP_TIMEOUT)) timeout = attr.timeout;
  if (sent(IBV_QP_RETRY_CNT)) retry_cnt = attr.retry_cnt;
  if (sent(IBV_QP_PORT)) port = attr.port_num;
  state = attr.qp_state;
  if (state == IBV_QPS_RESET) {
    ++generation;
    facts.reset();
    on.ledger.release_responder(ledger_line);
  }
  if (!moved->empty() && policy != Policy::allow) log_settled(*moved);
  return moved;
}

}  // namespace verbena
