// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>

#include "objects/ladder.hpp"
#include "objects/refusal.hpp"
#include "qp/qp_state.hpp"
#include "verbena/fit.hpp"
#include "verbena/verbs.hpp"

namespace verbena {
namespace {

constexpr std::size_t kFields = std::tuple_size_v<decltype(QpGrant::fields)>;
constexpr std::array kIsReceive{false, true, false, true, false};

[[gnu::cold]] Error invalid_request(std::string field, std::string text) {
  return Error{.kind = ErrorKind::invalid_request,
               .field = std::move(field),
               .by = {.set_by = SetBy::request},
               .text = std::move(text)};
}

const Wish& wish_of(const QpRequest& request, std::size_t field) noexcept {
  const std::array wishes{&request.max_send_wr, &request.max_recv_wr, &request.max_send_sge, &request.max_recv_sge,
                          &request.max_inline_data};
  return *wishes[field];
}

Competitor competitor_of(std::size_t field) noexcept {
  if (field == 4) return Competitor::inline_data;
  return field < 2 ? Competitor::depth : Competitor::sges;
}

/// The rungs of a queue pair, in the order in which the request lets its numbers give way; without an allocation.
struct Rungs {
  std::array<Rung, kFields> all{};
  std::size_t count = 0;
  std::span<Rung> used() noexcept { return std::span(all).first(count); }
};

Rungs rungs_of(QpGrant& grant, const QpRequest& request) {
  Rungs rungs;
  for (std::size_t group = 0; group < request.give_way.size(); ++group) {
    for (std::size_t field = 0; field < kFields; ++field) {
      if (competitor_of(field) != request.give_way[group] || (request.srq && kIsReceive[field])) continue;
      FieldGrant& number = grant.fields[field];
      rungs.all[rungs.count++] = {.field = &number,
                                  .floor = floor_of(number.field, wish_of(request, field), request.policy),
                                  .how = field == 4 ? StepDown::to_floor : StepDown::by_half,
                                  .group = static_cast<std::uint8_t>(group)};
    }
  }
  return rungs;
}

/// Takes in what the provider wrote back; true when that is less than was granted.
bool take_in(QpGrant& grant, const ibv_qp_cap& cap, bool srq, const Contract& contract) {
  const std::array returned{cap.max_send_wr, cap.max_recv_wr, cap.max_send_sge, cap.max_recv_sge, cap.max_inline_data};
  bool less = false;
  for (std::size_t field = 0; field < kFields; ++field) {
    if (srq && kIsReceive[field]) continue;
    FieldGrant& number = grant.fields[field];
    const std::uint32_t granted = number.granted;
    read_back(number, returned[field], contract, grant);
    less |= number.granted < granted;
  }
  return less;
}

std::uint64_t work_requests(const QpGrant& grant) noexcept {
  return std::uint64_t{grant.max_send_wr().granted} + grant.max_recv_wr().granted;
}

/// The device refused what was fitted: steps down within the floors. An error when it takes nothing that they allow.
[[gnu::cold]] std::optional<Error> step_down(Device::State& device, QpGrant& grant, const QpRequest& request,
                                             const Contract& contract, const TryResult& first, TryRef attempt) {
  Rungs ordered = rungs_of(grant, request);
  const std::span<Rung> rungs = ordered.used();
  std::array<std::uint32_t, kFields> before{};
  for (std::size_t i = 0; i < rungs.size(); ++i) before[i] = rungs[i].field->granted;
  const LadderOutcome outcome =
      climb_down_from(first, rungs, contract, device.library->settings.values.ladder_tries, attempt);
  if (!outcome.last.made) {
    CountersState::add(device.counters.ladder_steps, outcome.steps.size() - 1);
    return refusal(device, {.verb = "ibv_create_qp", .object = "queue pair", .need_bytes = ring_bytes(grant, contract)},
                   outcome.last, outcome.steps);
  }
  note_ladder(grant, rungs, std::span(before).first(rungs.size()), outcome);
  return std::nullopt;
}

/// The provider took the numbers and then wrote back fewer than the request can do with.
[[gnu::cold]] std::optional<Error> too_few(const Device::State& device, QpGrant& grant, const QpRequest& request) {
  Rungs ordered = rungs_of(grant, request);
  for (const Rung& rung : ordered.used()) {
    const FieldGrant& number = *rung.field;
    if (number.granted >= rung.floor) continue;
    return Error{.kind = ErrorKind::limit,
                 .field = std::string(name(number.field)),
                 .asked = number.asked,
                 .allowed = number.granted,
                 .by = {.set_by = SetBy::probed, .reason = "read back after creation"},
                 .text = fmt::format("{} accepted {} and wrote back {}: fewer than the {} that the request needs.",
                                     device.name(), number.passed, number.returned.value_or(0), rung.floor)};
  }
  return std::nullopt;
}

[[gnu::cold]] Failure over_budget(const Device::State& device, std::uint64_t asked) {
  const LedgerSnapshot ledger = device.ledger.snapshot();
  Error error{.kind = ErrorKind::limit,
              .field = "total_wr",
              .asked = asked,
              .by = {.set_by = SetBy::rule, .reason = "all queue pairs of this device share a budget of work requests"},
              .text = to_string(ledger) + ". Ask for shallower queues, or for fewer queue pairs."};
  if (ledger.work_request_total) error.allowed = *ledger.work_request_total - ledger.work_requests_used;
  return Failure(std::move(error));
}

}  // namespace

Result<Qp> Qp::create(const Pd& pd, const QpRequest& request, const QpQueues& queues, std::uint8_t port,
                      void* qp_context) {
  Device::State& device = *pd.state()->device;
  if (device.gone()) return gone(device);
  if (queues.send_cq == nullptr) return Failure(invalid_request("send_cq", "A queue pair needs a completion queue."));
  const Cq& recv_cq = queues.recv_cq != nullptr ? *queues.recv_cq : *queues.send_cq;
  if (queues.send_cq->raw()->context != device.context || recv_cq.raw()->context != device.context) {
    return Failure(
        invalid_request("send_cq", "The completion queue belongs to another device than the protection domain."));
  }
  if (queues.srq != nullptr && queues.srq->raw()->context != device.context) {
    return Failure(
        invalid_request("srq", "The shared receive queue belongs to another device than the protection domain."));
  }

  auto state = std::make_shared<State>();
  state->contract = device.contract(port);
  if (!state->contract)
    return Failure(invalid_request("port_num", fmt::format("{} has no port {}.", device.name(), port)));
  const Contract& contract = *state->contract;

  QpRequest wanted = request;
  wanted.srq = queues.srq != nullptr;
  Result<QpFit> fitted = fit(wanted, contract);
  if (!fitted) return unfit(device, std::move(fitted.error()));
  QpGrant& grant = fitted->grant;
  if (!device.ledger.reserve_work_requests(state->ledger_line, 0, work_requests(grant))) {
    CountersState::add(device.counters.refused);
    return over_budget(device, work_requests(grant));
  }

  const QpCreate what{.context = device.context,
                      .pd = pd.raw(),
                      .send_cq = queues.send_cq->raw(),
                      .recv_cq = recv_cq.raw(),
                      .srq = queues.srq != nullptr ? queues.srq->raw() : nullptr,
                      .qp_context = qp_context,
                      .sq_sig_all = request.sq_sig_all};
  ibv_qp_cap cap{};
  ibv_qp* raw = nullptr;
  auto attempt = [&] {
    int errno_value = 0;
    raw = device.backend.create_qp(device.verbs(), what, *fitted, cap, errno_value);
    return TryResult{.made = raw != nullptr, .error = errno_value, .errno_missing = raw == nullptr && errno_value == 0};
  };
  if (const TryResult first = attempt(); !first.made) {
    if (auto error = step_down(device, grant, wanted, contract, first, attempt)) return Failure(std::move(*error));
  }
  const bool written_back = !contract.is(Behaviour::caps_written_back, Choice::no);
  if (written_back && take_in(grant, cap, wanted.srq, contract)) {
    if (auto error = too_few(device, grant, wanted)) {
      device.destroyed("ibv_destroy_qp", device.verbs().destroy_qp(raw));
      CountersState::add(device.counters.refused);
      return Failure(std::move(*error));
    }
  }
  device.ledger.reserve_work_requests(state->ledger_line, raw->qp_num, work_requests(grant));
  made_it(device, "queue pair", grant, request.policy);

  state->pd = pd.state();
  state->send_cq = queues.send_cq->state();
  state->recv_cq = recv_cq.state();
  if (queues.srq != nullptr) state->srq = queues.srq->state();
  state->raw = raw;
  state->type = grant.type;  // another than asked for where one stands in
  state->port = port;
  state->generation = device.next_generation();
  state->grant = std::move(grant);
  return Qp(std::move(state));
}

Result<Qp> Qp::adopt(const Pd& pd, ibv_qp* qp, Ownership ownership) {
  Device::State& device = *pd.state()->device;
  if (device.gone()) return gone(device);
  if (qp == nullptr) return Failure(invalid_request("qp", "There is no queue pair to adopt: the handle is null."));
  if (qp->context != device.context) {
    return Failure(
        invalid_request("qp", "The queue pair was made on another context; adopt that one as a device first."));
  }
  auto state = std::make_shared<State>();
  switch (qp->qp_type) {
    case IBV_QPT_RC:
      state->type = QpType::rc;
      break;
    case IBV_QPT_UC:
      state->type = QpType::uc;
      break;
    case IBV_QPT_UD:
      state->type = QpType::ud;
      break;
    default:
      return Failure(Error{.kind = ErrorKind::unsupported,
                           .field = "qp_type",
                           .asked = static_cast<std::uint64_t>(qp->qp_type),
                           .by = {.set_by = SetBy::request},
                           .text = "Only RC, UC and UD queue pairs are adopted; use the raw handle for others."});
  }
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  const int mask = IBV_QP_STATE | IBV_QP_CAP | IBV_QP_PORT | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_MIN_RNR_TIMER;
  if (const int error = device.verbs().query_qp(qp, attr, mask, init); error != 0) {
    return Failure(refusal(device, {.verb = "ibv_query_qp", .object = "queue pair", .creates = false},
                           {.made = false, .error = error}));
  }
  // Before INIT there is no port yet; most providers then tell 0.
  const std::uint8_t port = attr.qp_state != IBV_QPS_RESET && attr.port_num != 0 ? attr.port_num : std::uint8_t{1};
  state->contract = device.contract(port);
  if (!state->contract)
    return Failure(invalid_request("port_num", fmt::format("{} has no port {}.", device.name(), port)));
  QpGrant& grant = state->grant;
  grant.type = state->type;
  grant.quirks_hash = state->contract->quirks_hash();
  const std::array told{attr.cap.max_send_wr, attr.cap.max_recv_wr, attr.cap.max_send_sge, attr.cap.max_recv_sge,
                        attr.cap.max_inline_data};
  for (std::size_t field = 0; field < kFields; ++field) {
    FieldGrant& number = grant.fields[field];
    number.asked = number.granted = number.passed = told[field];
    number.returned = told[field];
  }
  state->pd = pd.state();
  state->raw = qp;
  state->owned = ownership == Ownership::taken;
  state->port = port;
  state->state = attr.qp_state;
  state->generation = device.next_generation();
  if (attr.qp_state == IBV_QPS_RTR || attr.qp_state == IBV_QPS_RTS) state->min_rnr_timer = attr.min_rnr_timer;
  if (attr.qp_state == IBV_QPS_RTS) {
    state->timeout = attr.timeout;
    state->retry_cnt = attr.retry_cnt;
  }
  device.ledger.reserve_work_requests(state->ledger_line, qp->qp_num, work_requests(grant));
  return Qp(std::move(state));
}

}  // namespace verbena
