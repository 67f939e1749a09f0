// SPDX-License-Identifier: Apache-2.0 OR MIT
// Each move that there is, each that there is not, and attributes where they do not belong.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "cases/bodies.hpp"
#include "cases/state/moves.hpp"

namespace conform {

namespace {

using verbena::Feature;
using verbena::QpType;

/// What the target takes from where it is commonly entered, so that a refusal is one of the move and not of the mask.
Move complete(Loop& loop, ibv_qp_state to) {
  ibv_qp_state from = IBV_QPS_RTS;
  if (to == IBV_QPS_INIT) from = IBV_QPS_RESET;
  if (to == IBV_QPS_RTR) from = IBV_QPS_INIT;
  if (to == IBV_QPS_RTS) from = IBV_QPS_RTR;
  return required_move(loop, loop.a(), loop.b(), from, to);
}

void refused_move(Case& c, Loop& loop, ibv_qp_state from, ibv_qp_state to) {
  const QpType type = loop.shape().type;
  bring(c, loop, loop.a(), loop.b(), from);
  const Move full = complete(loop, to);
  refuses(c, loop.a(), full, from, move_words(type, from, to), {EINVAL});
  if (full.mask == IBV_QP_STATE) return;
  refuses(c, loop.a(), conform::to(to), from, fmt::format("{} with IBV_QP_STATE alone", move_words(type, from, to)),
          {EINVAL});
}

template <ibv_qp_state from, ibv_qp_state... targets>
void refused_from(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    for (const ibv_qp_state target : {targets...}) refused_move(c, loop, from, target);
  }
}

void allowed_move(Case& c, QpType type, ibv_qp_state from, ibv_qp_state to) {
  Loop loop(c, small(type), false);
  bring(c, loop, loop.a(), loop.b(), from);
  moves(c, loop.a(), required_move(loop, loop.a(), loop.b(), from, to), to, move_words(type, from, to));
}

template <ibv_qp_state from, ibv_qp_state to>
void alone(Case& c) {
  for (const QpType type : c.qp_types()) allowed_move(c, type, from, to);
}

/// One row: one cell of the table.
void move(Case& c) {
  const ibv_qp_state from = state_of(c.with("from"));
  const ibv_qp_state to = state_of(c.with("to"));
  for (const QpType type : c.qp_types()) {
    if (takes(type, from, to)) {
      allowed_move(c, type, from, to);
    } else {
      Loop loop(c, small(type), false);
      refused_move(c, loop, from, to);
    }
  }
}

void err_from_err(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    bring(c, loop, loop.a(), loop.b(), IBV_QPS_ERR);
    for (int round = 0; round < 2; ++round) {
      moves(c, loop.a(), to(IBV_QPS_ERR), IBV_QPS_ERR, move_words(type, IBV_QPS_ERR, IBV_QPS_ERR));
    }
    const Move reset = to(IBV_QPS_RESET);
    moves(c, loop.a(), reset, IBV_QPS_RESET, move_words(type, IBV_QPS_ERR, IBV_QPS_RESET));
  }
}

void reset_from_reset(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    moves(c, loop.a(), to(IBV_QPS_RESET), IBV_QPS_RESET, move_words(type, IBV_QPS_RESET, IBV_QPS_RESET));
    moves(c, loop.a(), required_move(loop, loop.a(), loop.b(), IBV_QPS_RESET, IBV_QPS_INIT), IBV_QPS_INIT,
          fmt::format("{} after a move from RESET to RESET", move_words(type, IBV_QPS_RESET, IBV_QPS_INIT)));
  }
}

/// Attributes that the move does not take, one at a time. IBV_QP_CAP has a requirement of its own, and IBV_QP_PORT
/// beside IBV_QP_AV is added by the kernel itself.
void superfluous_on(Case& c, Loop& loop, ibv_qp_state from, ibv_qp_state to) {
  const QpType type = loop.shape().type;
  const std::optional<Takes> table = takes(type, from, to);
  bring(c, loop, loop.a(), loop.b(), from);
  for (const Attribute& attribute : attributes()) {
    if (((table->required | table->optional) & attribute.bit) != 0 || attribute.bit == IBV_QP_CAP) continue;
    const Move move = move_with(loop, loop.a(), loop.b(), to, table->required | attribute.bit);
    if (refuses(c, loop.a(), move, from, fmt::format("{} with {}", move_words(type, from, to), attribute.name),
                {EINVAL})) {
      continue;
    }
    bring(c, loop, loop.a(), loop.b(), from);
  }
  if (to != from || to == IBV_QPS_RTS) {
    moves(c, loop.a(), required_move(loop, loop.a(), loop.b(), from, to), to,
          fmt::format("{} without any of them", move_words(type, from, to)));
  }
}

constexpr ibv_qp_state kStates[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR};

void superfluous_refused(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    for (const ibv_qp_state from : kStates) {
      if (from == IBV_QPS_SQD && !c.native(Feature::sqd)) continue;
      for (const ibv_qp_state to : kStates) {
        if (to == IBV_QPS_SQD && !c.native(Feature::sqd)) continue;
        if (takes(type, from, to)) superfluous_on(c, loop, from, to);
      }
    }
  }
}

void superfluous_row(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    superfluous_on(c, loop, state_of(c.with("from")), state_of(c.with("to")));
  }
}

/// Without IBV_QP_STATE the state stays, and what may be given is what the row from it to itself takes; where there is
/// no such row, nothing.
void superfluous_without_state(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    for (const auto& [state, bit, name] :
         {std::tuple(IBV_QPS_INIT, IBV_QP_RQ_PSN, "rq_psn"), std::tuple(IBV_QPS_INIT, IBV_QP_TIMEOUT, "timeout"),
          std::tuple(IBV_QPS_RTR, IBV_QP_SQ_PSN, "sq_psn"), std::tuple(IBV_QPS_RTS, IBV_QP_PORT, "port"),
          std::tuple(IBV_QPS_RTS, IBV_QP_SQ_PSN, "sq_psn"), std::tuple(IBV_QPS_ERR, IBV_QP_PKEY_INDEX, "pkey_index")}) {
      bring(c, loop, loop.a(), loop.b(), state);
      Move move = move_with(loop, loop.a(), loop.b(), state, bit);
      move.mask &= ~IBV_QP_STATE;
      refuses(c, loop.a(), move, state,
              fmt::format("{} of {} in {}, without IBV_QP_STATE", name, verbena::name(type), state_name(state)),
              {EINVAL});
    }
  }
}

void cap_refused_without_flag(Case& c) {
  ibv_device_attr device{};
  c.need(c.accepted(c.verbs().query_device(c.context(), device), "ibv_query_device"));
  if ((device.device_cap_flags & IBV_DEVICE_RESIZE_MAX_WR) != 0) {
    c.note("the device says IBV_DEVICE_RESIZE_MAX_WR");
    return;
  }
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    for (const auto& [from, to] : {std::pair(IBV_QPS_RESET, IBV_QPS_INIT), std::pair(IBV_QPS_INIT, IBV_QPS_INIT),
                                   std::pair(IBV_QPS_INIT, IBV_QPS_RTR), std::pair(IBV_QPS_RTR, IBV_QPS_RTS),
                                   std::pair(IBV_QPS_RTS, IBV_QPS_RTS), std::pair(IBV_QPS_RTS, IBV_QPS_ERR)}) {
      bring(c, loop, loop.a(), loop.b(), from);
      const int bits = takes(type, from, to)->required | IBV_QP_CAP;
      refuses(c, loop.a(), move_with(loop, loop.a(), loop.b(), to, bits), from,
              fmt::format("{} with cap", move_words(type, from, to)));
    }
  }
}

}  // namespace

Bodies state_moves_refused_bodies() {
  static constexpr Body kBodies[] = {
      {"state.refused.from_reset",
       refused_from<IBV_QPS_RESET, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR>},
      {"state.refused.from_init", refused_from<IBV_QPS_INIT, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE>},
      {"state.refused.from_rtr", refused_from<IBV_QPS_RTR, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_SQD, IBV_QPS_SQE>},
      {"state.refused.from_rts", refused_from<IBV_QPS_RTS, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_SQE>},
      {"state.refused.from_sqd", refused_from<IBV_QPS_SQD, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_SQE>},
      {"state.refused.from_err",
       refused_from<IBV_QPS_ERR, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE>},
      {"state.err.from_init", alone<IBV_QPS_INIT, IBV_QPS_ERR>},
      {"state.err.from_rtr", alone<IBV_QPS_RTR, IBV_QPS_ERR>},
      {"state.err.from_rts", alone<IBV_QPS_RTS, IBV_QPS_ERR>},
      {"state.err.from_err", err_from_err},
      {"state.reset.from_init", alone<IBV_QPS_INIT, IBV_QPS_RESET>},
      {"state.reset.from_rtr", alone<IBV_QPS_RTR, IBV_QPS_RESET>},
      {"state.reset.from_rts", alone<IBV_QPS_RTS, IBV_QPS_RESET>},
      {"state.reset.from_err", alone<IBV_QPS_ERR, IBV_QPS_RESET>},
      {"state.reset.from_reset", reset_from_reset},
      {"state.attributes.superfluous_refused", superfluous_refused},
      {"state.attributes.superfluous_without_state", superfluous_without_state},
      {"state.attributes.cap_refused_without_flag", cap_refused_without_flag},
      {"state.move", move},
      {"state.superfluous", superfluous_row},
  };
  return kBodies;
}

}  // namespace conform
