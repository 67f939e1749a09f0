// SPDX-License-Identifier: Apache-2.0 OR MIT
// What each move needs, and what it takes beside that.
#include <fmt/format.h>

#include <cerrno>

#include "cases/bodies.hpp"
#include "cases/state/moves.hpp"

namespace conform {

namespace {

using verbena::QpType;

ibv_qp_state before(ibv_qp_state to) {
  if (to == IBV_QPS_INIT) return IBV_QPS_RESET;
  return to == IBV_QPS_RTR ? IBV_QPS_INIT : IBV_QPS_RTR;
}

template <QpType type, ibv_qp_state state>
void takes_required(Case& c) {
  const ibv_qp_state from = before(state);
  Loop loop(c, small(type), false);
  bring(c, loop, loop.a(), loop.b(), from);
  moves(c, loop.a(), required_move(loop, loop.a(), loop.b(), from, state), state, move_words(type, from, state));
}

/// That the move fails for the attribute that is missing and for nothing else is shown by making it after all.
void without(Case& c, Loop& loop, ibv_qp_state from, ibv_qp_state to, const Attribute& attribute) {
  const QpType type = loop.shape().type;
  bring(c, loop, loop.a(), loop.b(), from);
  Move move = required_move(loop, loop.a(), loop.b(), from, to);
  move.mask &= ~attribute.bit;
  const bool refused = refuses(c, loop.a(), move, from,
                               fmt::format("{} without {}", move_words(type, from, to), attribute.name), {EINVAL});
  move.mask |= attribute.bit;
  if (refused) moves(c, loop.a(), move, to, fmt::format("{} after one that was refused", move_words(type, from, to)));
}

template <QpType type, ibv_qp_state state>
void needs_each(Case& c) {
  const ibv_qp_state from = before(state);
  const int required = takes(type, from, state)->required;
  Loop loop(c, small(type), false);
  for (const Attribute& attribute : attributes()) {
    if ((required & attribute.bit) != 0) without(c, loop, from, state, attribute);
  }
}

/// One row: one attribute.
void missing(Case& c) {
  const ibv_qp_state to = state_of(c.with("to"));
  const int bit = attribute_of(c.with("attribute"));
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    without(c, loop, before(to), to, {c.with("attribute"), bit});
  }
}

/// Another value than `value` was set with, so that a query tells which one holds.
Terms other_terms() {
  Terms terms;
  terms.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  terms.qkey = 0x22222222;
  terms.min_rnr_timer = 5;
  return terms;
}

void holds_value(Case& c, const ibv_qp_attr& attr, int bit, const Terms& terms, std::string_view what) {
  const auto same = [&](auto is, auto must, std::string_view field) {
    c.equal(is, must, fmt::format("{}: {} of ibv_query_qp", what, field));
  };
  constexpr unsigned kOverTheWire = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  if ((bit & IBV_QP_ACCESS_FLAGS) != 0)
    same(attr.qp_access_flags & kOverTheWire, terms.access & kOverTheWire, "qp_access_flags");
  if ((bit & IBV_QP_QKEY) != 0) same(attr.qkey, terms.qkey, "qkey");
  if ((bit & IBV_QP_PKEY_INDEX) != 0) same(attr.pkey_index, terms.pkey_index, "pkey_index");
  if ((bit & IBV_QP_MIN_RNR_TIMER) != 0) same(attr.min_rnr_timer, terms.min_rnr_timer, "min_rnr_timer");
}

/// The move with these beside what it needs; their values then hold.
void with_optional(Case& c, Loop& loop, ibv_qp_state from, ibv_qp_state to, int bits, std::string_view named) {
  const QpType type = loop.shape().type;
  const Terms terms = other_terms();
  bring(c, loop, loop.a(), loop.b(), from);
  const std::optional<Takes> table = takes(type, from, to);
  const std::string what = fmt::format("{} with {}", move_words(type, from, to), named);
  if (!moves(c, loop.a(), move_with(loop, loop.a(), loop.b(), to, table->required | bits, terms), to, what)) return;
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  c.need(c.accepted(loop.a().way->query(loop.a().qp.raw(), attr, bits | IBV_QP_STATE, init), "ibv_query_qp"));
  holds_value(c, attr, bits, terms, what);
}

void each_and_all(Case& c, QpType type, ibv_qp_state from, ibv_qp_state to, std::initializer_list<Attribute> list) {
  Loop loop(c, small(type), false);
  int all = 0;
  for (const Attribute& attribute : list) {
    with_optional(c, loop, from, to, attribute.bit, attribute.name);
    all |= attribute.bit;
  }
  with_optional(c, loop, from, to, all, "all that it takes");
}

constexpr Attribute kAccess{"access_flags", IBV_QP_ACCESS_FLAGS};
constexpr Attribute kPkey{"pkey_index", IBV_QP_PKEY_INDEX};
constexpr Attribute kQkey{"qkey", IBV_QP_QKEY};
constexpr Attribute kCurrent{"cur_state", IBV_QP_CUR_STATE};

void rtr_optional_connected(Case& c) {
  for (const QpType type : c.qp_types()) each_and_all(c, type, IBV_QPS_INIT, IBV_QPS_RTR, {kAccess, kPkey});
}

void rtr_optional_ud(Case& c) {
  each_and_all(c, QpType::ud, IBV_QPS_INIT, IBV_QPS_RTR, {kPkey, kQkey});
}

void rts_optional_connected(Case& c) {
  for (const QpType type : c.qp_types()) each_and_all(c, type, IBV_QPS_RTR, IBV_QPS_RTS, {kCurrent, kAccess});
}

void rts_optional_rc(Case& c) {
  Loop loop(c, small(QpType::rc), false);
  with_optional(c, loop, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_MIN_RNR_TIMER, "min_rnr_timer");
}

void rts_optional_ud(Case& c) {
  each_and_all(c, QpType::ud, IBV_QPS_RTR, IBV_QPS_RTS, {kCurrent, kQkey});
}

/// One row: one attribute that one move takes.
void optional(Case& c) {
  const int bit = attribute_of(c.with("attribute"));
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    with_optional(c, loop, state_of(c.with("from")), state_of(c.with("to")), bit, c.with("attribute"));
  }
}

}  // namespace

Bodies state_attributes_taken_bodies() {
  static constexpr Body kBodies[] = {
      {"state.init.rc_takes_required", takes_required<QpType::rc, IBV_QPS_INIT>},
      {"state.init.uc_takes_required", takes_required<QpType::uc, IBV_QPS_INIT>},
      {"state.init.ud_takes_required", takes_required<QpType::ud, IBV_QPS_INIT>},
      {"state.rtr.rc_takes_required", takes_required<QpType::rc, IBV_QPS_RTR>},
      {"state.rtr.uc_takes_required", takes_required<QpType::uc, IBV_QPS_RTR>},
      {"state.rtr.ud_takes_required", takes_required<QpType::ud, IBV_QPS_RTR>},
      {"state.rts.rc_takes_required", takes_required<QpType::rc, IBV_QPS_RTS>},
      {"state.rts.uc_takes_required", takes_required<QpType::uc, IBV_QPS_RTS>},
      {"state.rts.ud_takes_required", takes_required<QpType::ud, IBV_QPS_RTS>},
      {"state.init.rc_needs_each", needs_each<QpType::rc, IBV_QPS_INIT>},
      {"state.init.uc_needs_each", needs_each<QpType::uc, IBV_QPS_INIT>},
      {"state.init.ud_needs_each", needs_each<QpType::ud, IBV_QPS_INIT>},
      {"state.rtr.rc_needs_each", needs_each<QpType::rc, IBV_QPS_RTR>},
      {"state.rtr.uc_needs_each", needs_each<QpType::uc, IBV_QPS_RTR>},
      {"state.rts.rc_needs_each", needs_each<QpType::rc, IBV_QPS_RTS>},
      {"state.rts.uc_needs_each", needs_each<QpType::uc, IBV_QPS_RTS>},
      {"state.rts.ud_needs_each", needs_each<QpType::ud, IBV_QPS_RTS>},
      {"state.rtr.optional_connected", rtr_optional_connected},
      {"state.rtr.optional_ud", rtr_optional_ud},
      {"state.rts.optional_connected", rts_optional_connected},
      {"state.rts.optional_rc", rts_optional_rc},
      {"state.rts.optional_ud", rts_optional_ud},
      {"state.missing", missing},
      {"state.optional", optional},
  };
  return kBodies;
}

}  // namespace conform
