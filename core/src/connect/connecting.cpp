// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iterator>
#include <utility>

#include "connect/cm_end.hpp"
#include "objects/refusal.hpp"
#include "qp/qp_state.hpp"
#include "verbena/connect.hpp"
#include "verbena/verbs.hpp"

namespace verbena {

using std::chrono::milliseconds;

struct Connecting::State {
  Qp qp;  ///< a second handle of the same queue pair, for as long as this goes on
  QpFacts own;
  QpFacts peer;
  Agreement agreement;
  std::uint64_t deadline_ns = 0;
  TransitionNotes notes;
  bool done = false;

  Qp::State& state() const noexcept { return *qp.state_block(); }
  milliseconds left() const {
    const std::uint64_t now = state().verbs().monotonic_ns();
    return milliseconds(now < deadline_ns ? static_cast<std::int64_t>((deadline_ns - now + 999'999) / 1'000'000) : 0);
  }
  Result<void> take(Result<TransitionNotes> moved);
  Result<void> by_caller();
  Result<bool> by_cm();
  Failure timed_out() const;
};

Result<void> Connecting::State::take(Result<TransitionNotes> moved) {
  if (!moved) return Failure(std::move(moved.error()));
  std::move(moved->begin(), moved->end(), std::back_inserter(notes));
  return {};
}

Result<void> Connecting::State::by_caller() {
  RtrWish rtr{.dest_qp_num = peer.qp_num,
              .rq_psn = peer.psn,
              .path_mtu = agreement.mtu,
              .max_dest_rd_atomic = agreement.max_dest_rd_atomic,
              .min_rnr_timer = own.timers.min_rnr_timer};
  if (own.transport == Transport::infiniband) {
    rtr.address.dlid = peer.lid;
  } else {
    constexpr std::uint8_t kHops = 64;  // as the kernel's own default for IP
    rtr.address.is_global = 1;
    rtr.address.grh.sgid_index = static_cast<std::uint8_t>(state().gid_index);
    rtr.address.grh.hop_limit = kHops;
    std::copy(peer.gid.begin(), peer.gid.end(), rtr.address.grh.dgid.raw);
  }
  if (auto moved = take(qp.to_rtr(rtr)); !moved) return moved;
  return take(qp.to_rts({.sq_psn = own.psn, .max_rd_atomic = agreement.max_rd_atomic, .timers = own.timers}));
}

Failure Connecting::State::timed_out() const {
  return Failure(Error{
      .kind = ErrorKind::timeout,
      .by = {.set_by = SetBy::request, .reason = "the caller's deadline"},
      .text = fmt::format("The deadline passed; QP {:#x} still waits for {}.", own.qp_num, state().cm->waits_for())});
}

Result<bool> Connecting::State::by_cm() {
  Result<bool> connected = state().cm->progress(left());
  if (!connected) return connected;
  if (*connected) {
    state().state = IBV_QPS_RTS;
    return true;
  }
  if (left() <= milliseconds(0)) return timed_out();
  return false;
}

Connecting::Connecting(std::unique_ptr<State> state) noexcept : state_(std::move(state)) {}
Connecting::Connecting(Connecting&&) noexcept = default;
Connecting& Connecting::operator=(Connecting&&) noexcept = default;
Connecting::~Connecting() = default;

const TransitionNotes& Connecting::notes() const noexcept {
  return state_->notes;
}

int Connecting::descriptor() const noexcept {
  return state_->own.over_rdma_cm && !state_->done ? state_->state().cm->descriptor() : -1;
}

Result<bool> Connecting::progress() {
  State& state = *state_;
  if (state.done) return true;
  if (state.state().device().gone()) return gone(state.state().device());
  if (state.own.over_rdma_cm) {
    Result<bool> connected = state.by_cm();
    if (connected) state.done = *connected;
    return connected;
  }
  if (auto moved = state.by_caller(); !moved) return Failure(std::move(moved.error()));
  state.done = true;
  return true;
}

Result<Connecting> start_connect(Qp& qp, const QpFacts& peer, milliseconds within) {
  Result<QpFacts> own = qp.facts();
  if (!own) return Failure(std::move(own.error()));
  Result<Agreement> agreement = agree(*own, peer);
  if (!agreement) return Failure(std::move(agreement.error()));
  if (qp.state() != IBV_QPS_INIT) {
    return Failure(Error{.kind = ErrorKind::invalid_request,
                         .field = "qp_state",
                         .by = {.set_by = SetBy::request},
                         .text = fmt::format("QP {:#x} is in {}; it is connected from INIT, once.", qp.qp_num(),
                                             qp_state_name(qp.state()))});
  }
  Qp::State& shared = *qp.state_block();
  const auto wait = static_cast<std::uint64_t>(std::max<std::int64_t>(within.count(), 0));
  auto state = std::make_unique<Connecting::State>(
      Connecting::State{.qp = Qp(qp.state_block()),
                        .own = *own,
                        .peer = peer,
                        .agreement = *agreement,
                        .deadline_ns = shared.verbs().monotonic_ns() + wait * 1'000'000,
                        .notes = {}});
  if (own->over_rdma_cm) shared.cm->begin(*own, peer, *agreement);
  return Connecting(std::move(state));
}

namespace {

/// Waits a little for either; a peer that is driven by another thread or process needs no more than its own channel.
void wait_for(Verbs& verbs, const Connecting& connecting, milliseconds at_most) {
  if (connecting.descriptor() < 0) return;
  verbs.wait_readable(connecting.descriptor(), static_cast<int>(std::max<std::int64_t>(at_most.count(), 1)));
}

}  // namespace

Result<TransitionNotes> connect(Qp& qp, const QpFacts& peer, milliseconds within) {
  Result<Connecting> connecting = start_connect(qp, peer, within);
  if (!connecting) return Failure(std::move(connecting.error()));
  Verbs& verbs = qp.state_block()->verbs();
  // Waking up now and then keeps the deadline even where an event is lost.
  constexpr milliseconds kSlice{100};
  for (;;) {
    const Result<bool> connected = connecting->progress();
    if (!connected) return Failure(connected.error());
    if (*connected) return connecting->notes();
    wait_for(verbs, *connecting, std::min(kSlice, within));
  }
}

Result<TransitionNotes> connect_pair(Qp& one, Qp& other, milliseconds within) {
  const Result<QpFacts> facts_of_one = one.facts();
  if (!facts_of_one) return Failure(facts_of_one.error());
  const Result<QpFacts> facts_of_other = other.facts();
  if (!facts_of_other) return Failure(facts_of_other.error());
  Result<Connecting> first = start_connect(one, *facts_of_other, within);
  if (!first) return Failure(std::move(first.error()));
  Result<Connecting> second = start_connect(other, *facts_of_one, within);
  if (!second) return Failure(std::move(second.error()));
  Verbs& verbs = one.state_block()->verbs();
  for (;;) {
    const Result<bool> one_done = first->progress();
    if (!one_done) return Failure(one_done.error());
    const Result<bool> other_done = second->progress();
    if (!other_done) return Failure(other_done.error());
    if (*one_done && *other_done) break;
    wait_for(verbs, *one_done ? *second : *first, milliseconds(1));
    if (!*one_done && !*other_done) wait_for(verbs, *second, milliseconds(1));
  }
  TransitionNotes notes = first->notes();
  notes.insert(notes.end(), second->notes().begin(), second->notes().end());
  return notes;
}

}  // namespace verbena
