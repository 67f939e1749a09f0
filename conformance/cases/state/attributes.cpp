// SPDX-License-Identifier: Apache-2.0 OR MIT
// Attributes that are set, and what a query tells of them.
#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "cases/bodies.hpp"
#include "cases/state/moves.hpp"

namespace conform {

namespace {

using verbena::QpType;

/// No value that a queue pair has by itself, so that each must have been set.
Terms unusual(Case& c) {
  Terms terms;
  terms.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
  terms.psn = 0x5a5a5;
  terms.qkey = 0x33445566;
  terms.max_rd_atomic = static_cast<std::uint8_t>(c.within(verbena::Field::max_rd_atomic, 3));
  terms.max_dest_rd_atomic = static_cast<std::uint8_t>(c.within(verbena::Field::max_dest_rd_atomic, 5));
  terms.min_rnr_timer = 9;
  terms.timeout = 11;
  terms.retry_cnt = 5;
  terms.rnr_retry = 4;
  return terms;
}

ibv_qp_attr query(Case& c, const End& end) {
  constexpr int kAll = IBV_QP_STATE | IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                       IBV_QP_QKEY | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                       IBV_QP_RNR_RETRY | IBV_QP_RQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER |
                       IBV_QP_SQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PATH_MIG_STATE | IBV_QP_CAP | IBV_QP_DEST_QPN;
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  c.need(c.accepted(end.way->query(end.qp.raw(), attr, kAll, init), "ibv_query_qp"));
  return attr;
}

constexpr unsigned kRemote = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;

void queried_back(Case& c) {
  for (const QpType type : c.qp_types()) {
    const Terms terms = unusual(c);
    LoopShape shape = small(type);
    shape.terms = terms;  // so that the path names the PSN too
    Loop loop(c, shape, false);
    End& end = loop.a();
    bring(c, loop, end, loop.b(), IBV_QPS_RTS, terms);
    const Move given = move_with(loop, end, loop.b(), IBV_QPS_RTS, 0, terms);
    const ibv_qp_attr now = query(c, end);
    const auto same = [&](auto is, auto must, std::string_view field) {
      c.equal(is, must, fmt::format("{} of {} by ibv_query_qp", field, verbena::name(type)));
    };
    const auto at_least = [&](unsigned is, unsigned must, std::string_view field) {
      c.holds(is >= must, Seen::value,
              fmt::format("{} of {} by ibv_query_qp is {} and was set to {}", field, verbena::name(type), is, must));
    };
    same(now.pkey_index, given.attr.pkey_index, "pkey_index");
    same(now.port_num, given.attr.port_num, "port_num");
    same(now.sq_psn, given.attr.sq_psn, "sq_psn");
    if (type == QpType::ud) {
      same(now.qkey, given.attr.qkey, "qkey");
      continue;
    }
    same(now.qp_access_flags & kRemote, given.attr.qp_access_flags & kRemote, "qp_access_flags");
    same(now.path_mtu, given.attr.path_mtu, "path_mtu");
    same(now.dest_qp_num, given.attr.dest_qp_num, "dest_qp_num");
    same(now.rq_psn, given.attr.rq_psn, "rq_psn");
    same(now.ah_attr.port_num, given.attr.ah_attr.port_num, "ah_attr.port_num");
    same(now.ah_attr.is_global, given.attr.ah_attr.is_global, "ah_attr.is_global");
    if (given.attr.ah_attr.is_global != 0) {
      same(now.ah_attr.grh.sgid_index, given.attr.ah_attr.grh.sgid_index, "ah_attr.grh.sgid_index");
      same(now.ah_attr.grh.hop_limit, given.attr.ah_attr.grh.hop_limit, "ah_attr.grh.hop_limit");
      c.holds(std::memcmp(now.ah_attr.grh.dgid.raw, given.attr.ah_attr.grh.dgid.raw, sizeof(ibv_gid)) == 0, Seen::value,
              fmt::format("ah_attr.grh.dgid of {} by ibv_query_qp is another", verbena::name(type)));
    } else {
      same(now.ah_attr.dlid, given.attr.ah_attr.dlid, "ah_attr.dlid");
    }
    if (type != QpType::rc) continue;
    at_least(now.max_rd_atomic, given.attr.max_rd_atomic, "max_rd_atomic");
    at_least(now.max_dest_rd_atomic, given.attr.max_dest_rd_atomic, "max_dest_rd_atomic");
    at_least(now.min_rnr_timer, given.attr.min_rnr_timer, "min_rnr_timer");
    at_least(now.timeout, given.attr.timeout, "timeout");
    same(now.retry_cnt, given.attr.retry_cnt, "retry_cnt");
    same(now.rnr_retry, given.attr.rnr_retry, "rnr_retry");
  }
}

/// In each state a move that names right attributes with other values, and one attribute that it does not take.
void refused_changes_none(Case& c) {
  for (const QpType type : c.qp_types()) {
    const Terms others = unusual(c);
    const int identity = type == QpType::ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
    Loop loop(c, small(type), false);
    for (const auto& [state, bits] : {std::pair(IBV_QPS_INIT, identity | IBV_QP_PKEY_INDEX | IBV_QP_TIMEOUT),
                                      std::pair(IBV_QPS_RTR, identity | IBV_QP_SQ_PSN | IBV_QP_DEST_QPN),
                                      std::pair(IBV_QPS_RTS, identity | IBV_QP_SQ_PSN | IBV_QP_RETRY_CNT)}) {
      End& end = loop.a();
      bring(c, loop, end, loop.b(), state);
      const ibv_qp_attr before = query(c, end);
      const ibv_qp_state target = state == IBV_QPS_RTR ? IBV_QPS_RTS : state;
      Move move = move_with(loop, end, loop.b(), target, bits, others);
      move.attr.dest_qp_num = end.qp->qp_num;
      const std::string what =
          fmt::format("{} in {} with one attribute too many", verbena::name(type), state_name(state));
      if (!refuses(c, end, move, state, what)) continue;
      const ibv_qp_attr after = query(c, end);
      const auto same = [&](auto is, auto must, std::string_view field) {
        c.equal(is, must, fmt::format("{}: {} afterwards", what, field));
      };
      same(after.pkey_index, before.pkey_index, "pkey_index");
      same(after.qkey, before.qkey, "qkey");
      same(after.qp_access_flags, before.qp_access_flags, "qp_access_flags");
      same(after.timeout, before.timeout, "timeout");
      same(after.retry_cnt, before.retry_cnt, "retry_cnt");
      same(after.sq_psn, before.sq_psn, "sq_psn");
      if (state != IBV_QPS_INIT) same(after.dest_qp_num, before.dest_qp_num, "dest_qp_num");
    }
  }
}

void cur_state_where(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    for (const auto& [from, to] : {std::pair(IBV_QPS_RESET, IBV_QPS_INIT), std::pair(IBV_QPS_INIT, IBV_QPS_INIT),
                                   std::pair(IBV_QPS_INIT, IBV_QPS_RTR), std::pair(IBV_QPS_ERR, IBV_QPS_RESET)}) {
      bring(c, loop, loop.a(), loop.b(), from);
      const int bits = takes(type, from, to)->required | IBV_QP_CUR_STATE;
      refuses(c, loop.a(), move_with(loop, loop.a(), loop.b(), to, bits), from,
              fmt::format("{} from {} to {} with cur_state", verbena::name(type), state_name(from), state_name(to)),
              {EINVAL});
    }
  }
}

/// A move that would be right in the state that is claimed and is wrong in the one that holds.
void cur_state_must_match(Case& c) {
  Loop loop(c, small(QpType::rc), false);
  bring(c, loop, loop.a(), loop.b(), IBV_QPS_RTR);
  Move move = move_with(loop, loop.a(), loop.b(), IBV_QPS_RTS, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS);
  move.attr.cur_qp_state = IBV_QPS_RTS;
  refuses(c, loop.a(), move, IBV_QPS_RTR, "rc in RTR to RTS with cur_qp_state RTS");

  Loop running(c, small(QpType::rc), false);
  bring(c, running, running.a(), running.b(), IBV_QPS_RTS);
  Move back = required_move(running, running.a(), running.b(), IBV_QPS_RTR, IBV_QPS_RTS);
  back.mask |= IBV_QP_CUR_STATE;
  back.attr.cur_qp_state = IBV_QPS_RTR;
  refuses(c, running.a(), back, IBV_QPS_RTS, "rc in RTS to RTS with cur_qp_state RTR");
}

void unknown_state_refused(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    bring(c, loop, loop.a(), loop.b(), IBV_QPS_RTR);
    refuses(c, loop.a(), to(IBV_QPS_UNKNOWN), IBV_QPS_RTR,
            fmt::format("{} to a state beyond IBV_QPS_ERR", verbena::name(type)), {EINVAL});
    Move move = required_move(loop, loop.a(), loop.b(), IBV_QPS_RTR, IBV_QPS_RTS);
    move.mask |= IBV_QP_CUR_STATE;
    move.attr.cur_qp_state = IBV_QPS_UNKNOWN;
    refuses(c, loop.a(), move, IBV_QPS_RTR, fmt::format("{} with cur_qp_state beyond IBV_QPS_ERR", verbena::name(type)),
            {EINVAL});
  }
}

void init_to_init(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    bring(c, loop, loop.a(), loop.b(), IBV_QPS_INIT);
    const int bits = takes(type, IBV_QPS_INIT, IBV_QPS_INIT)->optional;
    Terms terms = unusual(c);
    for (int round = 0; round < 2; ++round) {
      terms.qkey += static_cast<std::uint32_t>(round);
      if (round == 1) terms.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
      const Move move = move_with(loop, loop.a(), loop.b(), IBV_QPS_INIT, bits, terms);
      const std::string what = fmt::format("{} from INIT to INIT", verbena::name(type));
      if (!moves(c, loop.a(), move, IBV_QPS_INIT, what)) return;
      const ibv_qp_attr now = query(c, loop.a());
      c.equal(now.port_num, move.attr.port_num, fmt::format("{}: port_num", what));
      c.equal(now.pkey_index, move.attr.pkey_index, fmt::format("{}: pkey_index", what));
      if (type == QpType::ud) {
        c.equal(now.qkey, terms.qkey, fmt::format("{}: qkey", what));
      } else {
        c.equal(now.qp_access_flags & kRemote, move.attr.qp_access_flags & kRemote,
                fmt::format("{}: qp_access_flags", what));
      }
    }
  }
}

void rts_to_rts_rnr_timer(Case& c) {
  Loop loop(c, small(QpType::rc), false);
  bring(c, loop, loop.a(), loop.b(), IBV_QPS_RTS);
  for (const std::uint8_t code : {std::uint8_t{20}, std::uint8_t{3}, std::uint8_t{31}}) {
    Terms terms;
    terms.min_rnr_timer = code;
    const Move move = move_with(loop, loop.a(), loop.b(), IBV_QPS_RTS, IBV_QP_MIN_RNR_TIMER, terms);
    if (!moves(c, loop.a(), move, IBV_QPS_RTS, "rc in RTS with min_rnr_timer")) return;
    c.equal(query(c, loop.a()).min_rnr_timer, code, "min_rnr_timer by ibv_query_qp");
  }
}

void query_follows(Case& c) {
  for (const QpType type : c.qp_types()) {
    Loop loop(c, small(type), false);
    End& end = loop.a();
    c.equal(state_name(end.qp->state), std::string("RESET"), "qp->state of a new queue pair");
    c.in_state(end.qp.raw(), IBV_QPS_RESET, "a new queue pair");
    ibv_qp_state from = IBV_QPS_RESET;
    for (const ibv_qp_state to : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR, IBV_QPS_RESET, IBV_QPS_INIT}) {
      const std::string what = fmt::format("{} from {} to {}", verbena::name(type), state_name(from), state_name(to));
      c.need(moves(c, end, required_move(loop, end, loop.b(), from, to), to, what));
      ibv_qp_attr attr{};
      ibv_qp_init_attr init{};
      c.need(c.accepted(end.way->query(end.qp.raw(), attr, IBV_QP_STATE | IBV_QP_CUR_STATE, init), "ibv_query_qp"));
      c.equal(state_name(attr.qp_state), state_name(to), fmt::format("{}: qp_state", what));
      from = to;
    }
  }
}

}  // namespace

Bodies state_attributes_bodies() {
  static constexpr Body kBodies[] = {
      {"state.attributes.queried_back", queried_back},
      {"state.attributes.refused_changes_none", refused_changes_none},
      {"state.attributes.cur_state_where", cur_state_where},
      {"state.attributes.cur_state_must_match", cur_state_must_match},
      {"state.attributes.unknown_state_refused", unknown_state_refused},
      {"state.same.init_to_init", init_to_init},
      {"state.same.rts_to_rts_rnr_timer", rts_to_rts_rnr_timer},
      {"state.query.follows", query_follows},
  };
  return kBodies;
}

}  // namespace conform
