// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "verbena/qp.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "connect/cm_end.hpp"
#include "objects/refusal.hpp"
#include "qp/qp_state.hpp"
#include "verbena/verbs.hpp"

namespace verbena {

Qp::State::State() = default;

Qp::State::~State() {
  if (raw == nullptr) {
    return;
  }
  // The connection manager holds a reference to its queue pair until the connection is closed.
  if (cm) cm->disconnect();
  if (owned) device().destroyed("ibv_destroy_qp", verbs().destroy_qp(raw));
  cm.reset();
}

Qp::Qp(std::shared_ptr<State> state) noexcept : state_(std::move(state)), raw_(state_->raw) {}

const QpGrant& Qp::grant() const noexcept {
  return state_->grant;
}
QpType Qp::type() const noexcept {
  return state_->type;
}
std::uint8_t Qp::port() const noexcept {
  return state_->port;
}
const Contract& Qp::contract() const noexcept {
  return *state_->contract;
}
ibv_qp_state Qp::state() const noexcept {
  return state_->state;
}
bool Qp::recyclable() const noexcept {
  return state_->contract->is(Behaviour::recycle_through_reset, Choice::yes);
}
std::uint16_t Qp::generation() const noexcept {
  return state_->generation;
}
Device Qp::device() const noexcept {
  return Device(state_->pd->device);
}

WorstStall Qp::worst_stall() const {
  return verbena::worst_stall(static_cast<AckTimeoutCode>(state_->timeout), state_->retry_cnt, *state_->contract);
}

Result<TransitionNotes> Qp::to_init(const InitWish& wish) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.pkey_index = wish.pkey_index;
  attr.port_num = state_->port;
  QpAttributes given = IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  if (state_->type == QpType::ud) {
    attr.qkey = wish.qkey;
    given |= IBV_QP_QKEY;
  } else {
    attr.qp_access_flags = wish.access.value_or(state_->default_access());
    given |= IBV_QP_ACCESS_FLAGS;
  }
  return state_->move(attr, given, Policy::prefer);
}

Result<TransitionNotes> Qp::to_rtr(const RtrWish& wish) {
  State& qp = *state_;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  if (qp.type == QpType::ud) return qp.move(attr, 0, wish.policy);

  QpAttributes given = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  attr.ah_attr = wish.address;
  if (attr.ah_attr.port_num == 0) attr.ah_attr.port_num = qp.port;
  attr.dest_qp_num = wish.dest_qp_num;
  attr.rq_psn = wish.rq_psn;
  const std::optional<ibv_mtu> mtu = mtu_within(wish.path_mtu);
  if (!mtu || mtu_bytes(*mtu) != wish.path_mtu) {
    return Failure(Error{.kind = ErrorKind::invalid_request,
                         .field = "path_mtu",
                         .asked = wish.path_mtu,
                         .by = {.set_by = SetBy::request},
                         .text = "A path MTU is 256, 512, 1024, 2048 or 4096 bytes."});
  }
  attr.path_mtu = *mtu;
  if (qp.type != QpType::rc) return qp.move(attr, given, wish.policy);

  given |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  const Result<RnrTimerCode> timer = rnr_timer_code(wish.min_rnr_timer);
  if (!timer) return Failure(timer.error());
  attr.min_rnr_timer = static_cast<std::uint8_t>(*timer);
  attr.max_dest_rd_atomic = wish.max_dest_rd_atomic;
  return qp.move(attr, given, wish.policy, wish.at_least_dest_rd_atomic);
}

Result<TransitionNotes> Qp::to_rts(const RtsWish& wish) {
  State& qp = *state_;
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = wish.sq_psn;
  QpAttributes given = IBV_QP_SQ_PSN;
  if (qp.type == QpType::rc) {
    const Result<AckTimeoutCode> timeout = ack_timeout_code(wish.timers.ack_timeout);
    if (!timeout) return Failure(timeout.error());
    attr.timeout = static_cast<std::uint8_t>(*timeout);
    attr.retry_cnt = wish.timers.retry_cnt;
    attr.rnr_retry = wish.timers.rnr_retry;
    attr.max_rd_atomic = wish.max_rd_atomic;
    given |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  }
  return qp.move(attr, given, wish.policy);
}

Result<TransitionNotes> Qp::to_sqd(bool notify_when_drained) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  const QpAttributes given = notify_when_drained ? QpAttributes{IBV_QP_EN_SQD_ASYNC_NOTIFY} : 0;
  return state_->move(attr, given, Policy::prefer);
}

Result<TransitionNotes> Qp::to_err() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_ERR;
  return state_->move(attr, 0, Policy::prefer);
}

Result<TransitionNotes> Qp::to_reset() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RESET;
  return state_->move(attr, 0, Policy::prefer);
}

Result<TransitionNotes> Qp::modify(const ibv_qp_attr& attr, QpAttributes mask, Policy policy) {
  ibv_qp_attr sent = attr;
  if ((mask & IBV_QP_STATE) == 0) sent.qp_state = state_->state;
  return state_->move(sent, mask, policy);
}

Result<QpNow> Qp::query() {
  State& qp = *state_;
  if (qp.device().gone()) return gone(qp.device());
  QpNow now;
  const int all = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                  IBV_QP_QKEY | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                  IBV_QP_RQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER | IBV_QP_SQ_PSN |
                  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_CAP | IBV_QP_DEST_QPN;
  if (const int error = qp.verbs().query_qp(qp.raw, now.attr, all, now.init); error != 0) {
    return Failure(refusal(qp.device(), {.verb = "ibv_query_qp", .object = "queue pair", .creates = false},
                           {.made = false, .error = error}));
  }
  qp.state = now.attr.qp_state;
  return now;
}

ibv_qp* Qp::release() noexcept {
  if (!state_) return nullptr;
  state_->cm.reset();
  state_->owned = false;
  ibv_qp* raw = raw_.take();
  state_.reset();
  return raw;
}

}  // namespace verbena
