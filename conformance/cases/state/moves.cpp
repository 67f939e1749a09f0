// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cases/state/moves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <stdexcept>
#include <thread>

namespace conform {

namespace {

using verbena::QpType;

constexpr int kAv = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kTimers = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;

constexpr Attribute kAttributes[] = {
    {"cur_state", IBV_QP_CUR_STATE},
    {"en_sqd_async_notify", IBV_QP_EN_SQD_ASYNC_NOTIFY},
    {"access_flags", IBV_QP_ACCESS_FLAGS},
    {"pkey_index", IBV_QP_PKEY_INDEX},
    {"port", IBV_QP_PORT},
    {"qkey", IBV_QP_QKEY},
    {"av", IBV_QP_AV},
    {"path_mtu", IBV_QP_PATH_MTU},
    {"timeout", IBV_QP_TIMEOUT},
    {"retry_cnt", IBV_QP_RETRY_CNT},
    {"rnr_retry", IBV_QP_RNR_RETRY},
    {"rq_psn", IBV_QP_RQ_PSN},
    {"max_qp_rd_atomic", IBV_QP_MAX_QP_RD_ATOMIC},
    {"alt_path", IBV_QP_ALT_PATH},
    {"min_rnr_timer", IBV_QP_MIN_RNR_TIMER},
    {"sq_psn", IBV_QP_SQ_PSN},
    {"max_dest_rd_atomic", IBV_QP_MAX_DEST_RD_ATOMIC},
    {"path_mig_state", IBV_QP_PATH_MIG_STATE},
    {"cap", IBV_QP_CAP},
    {"dest_qpn", IBV_QP_DEST_QPN},
};

/// What a connected type is given for its own rights, a UD one for its datagrams.
int identity(QpType type) {
  return type == QpType::ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
}

/// What a type takes beside IBV_QP_CUR_STATE wherever it goes to RTS, or stays there.
int running(QpType type) {
  switch (type) {
    case QpType::ud:
      return IBV_QP_QKEY;
    case QpType::uc:
      return IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
    case QpType::rc:
      break;
  }
  return IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_MIN_RNR_TIMER;
}

int drained(QpType type) {
  switch (type) {
    case QpType::ud:
      return IBV_QP_PKEY_INDEX | IBV_QP_QKEY;
    case QpType::uc:
      return IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE;
    case QpType::rc:
      break;
  }
  return IBV_QP_PORT | IBV_QP_AV | kTimers | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_ALT_PATH |
         IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_MIN_RNR_TIMER | IBV_QP_PATH_MIG_STATE;
}

Takes to_rtr_takes(QpType type) {
  if (type == QpType::ud) return {0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY};
  const int optional = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX;
  if (type == QpType::uc) return {kAv, optional};
  return {kAv | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, optional};
}

Takes to_rts_takes(QpType type) {
  const int optional = IBV_QP_CUR_STATE | running(type);
  if (type != QpType::rc) return {IBV_QP_SQ_PSN, optional};
  return {IBV_QP_SQ_PSN | kTimers | IBV_QP_MAX_QP_RD_ATOMIC, optional};
}

}  // namespace

std::optional<Takes> takes(QpType type, ibv_qp_state from, ibv_qp_state to) {
  if (to == IBV_QPS_RESET) return Takes{};
  if (to == IBV_QPS_ERR) return from == IBV_QPS_RESET ? std::nullopt : std::optional(Takes{});
  const int naming = IBV_QP_PKEY_INDEX | IBV_QP_PORT | identity(type);
  switch (from) {
    case IBV_QPS_RESET:
      if (to == IBV_QPS_INIT) return Takes{naming, 0};
      break;
    case IBV_QPS_INIT:
      if (to == IBV_QPS_INIT) return Takes{0, naming};
      if (to == IBV_QPS_RTR) return to_rtr_takes(type);
      break;
    case IBV_QPS_RTR:
      if (to == IBV_QPS_RTS) return to_rts_takes(type);
      break;
    case IBV_QPS_RTS:
      if (to == IBV_QPS_RTS) return Takes{0, IBV_QP_CUR_STATE | running(type)};
      if (to == IBV_QPS_SQD) return Takes{0, IBV_QP_EN_SQD_ASYNC_NOTIFY};
      break;
    case IBV_QPS_SQD:
      if (to == IBV_QPS_RTS) return Takes{0, IBV_QP_CUR_STATE | running(type)};
      if (to == IBV_QPS_SQD) return Takes{0, drained(type)};
      break;
    case IBV_QPS_SQE:
      if (to == IBV_QPS_RTS && type != QpType::rc) return Takes{0, IBV_QP_CUR_STATE | identity(type)};
      break;
    case IBV_QPS_ERR:
    case IBV_QPS_UNKNOWN:
      break;
  }
  return std::nullopt;
}

std::span<const Attribute> attributes() {
  return kAttributes;
}

int attribute_of(std::string_view name) {
  for (const Attribute& attribute : kAttributes) {
    if (attribute.name == name) return attribute.bit;
  }
  throw std::logic_error(fmt::format("the list names an attribute '{}' that there is not", name));
}

ibv_qp_state state_of(std::string_view name) {
  for (const ibv_qp_state state :
       {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_SQE, IBV_QPS_ERR}) {
    std::string word = state_name(state);
    std::transform(word.begin(), word.end(), word.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    if (word == name) return state;
  }
  throw std::logic_error(fmt::format("the list names a state '{}' that there is not", name));
}

std::string state_name(ibv_qp_state state) {
  return std::string(verbena::qp_state_name(state));
}

std::string move_words(verbena::QpType type, ibv_qp_state from, ibv_qp_state to) {
  return fmt::format("{} from {} to {}", verbena::name(type), state_name(from), state_name(to));
}

Move move_with(Loop& loop, const End& end, const End& peer, ibv_qp_state to, int bits, const Terms& terms) {
  const PathTo path = loop.path(end, peer);
  Move move;
  move.mask = IBV_QP_STATE | bits;
  ibv_qp_attr& attr = move.attr;
  attr.qp_state = to;
  attr.cur_qp_state = end.qp->state;
  attr.path_mtu = path.mtu;
  attr.path_mig_state = IBV_MIG_MIGRATED;
  attr.qkey = terms.qkey;
  attr.rq_psn = path.psn;
  attr.sq_psn = terms.psn;
  attr.dest_qp_num = path.qp_num;
  attr.qp_access_flags = terms.access;
  if (loop.shape().type != QpType::rc) {
    attr.qp_access_flags &= ~static_cast<unsigned>(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
  }
  attr.cap = end.cap;
  attr.ah_attr = path.address;
  attr.alt_ah_attr = path.address;
  attr.pkey_index = terms.pkey_index;
  attr.alt_pkey_index = terms.pkey_index;
  attr.max_rd_atomic = terms.max_rd_atomic;
  attr.max_dest_rd_atomic = terms.max_dest_rd_atomic;
  attr.min_rnr_timer = terms.min_rnr_timer;
  attr.port_num = end.port;
  attr.timeout = terms.timeout;
  attr.retry_cnt = terms.retry_cnt;
  attr.rnr_retry = terms.rnr_retry;
  attr.alt_port_num = end.port;
  attr.alt_timeout = terms.timeout;
  return move;
}

Move required_move(Loop& loop, const End& end, const End& peer, ibv_qp_state from, ibv_qp_state to,
                   const Terms& terms) {
  const std::optional<Takes> needed = takes(loop.shape().type, from, to);
  return move_with(loop, end, peer, to, needed ? needed->required : 0, terms);
}

std::optional<ibv_qp_state> state_now(Case& c, const End& end) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  if (!c.accepted(c.verbs().query_qp(end.qp.raw(), attr, IBV_QP_STATE, init), "ibv_query_qp of the state")) {
    return std::nullopt;
  }
  return attr.qp_state;
}

bool moves(Case& c, End& end, const Move& move, ibv_qp_state to, std::string_view what) {
  const ibv_qp_state from = end.qp->state;
  const int error = end.way->modify(end.qp.raw(), move.attr, move.mask);
  if (error == EOPNOTSUPP && c.through_verbena() && from != IBV_QPS_RESET && to == IBV_QPS_RESET &&
      c.contract().is(verbena::Behaviour::recycle_through_reset, verbena::Choice::no)) {
    c.in_state(end.qp.raw(), from, what);
    c.denied("recycle_through_reset", "the contract says that a queue pair is of no use after RESET, and refuses that");
  }
  if (!c.accepted(error, what)) return false;
  const bool seen = c.in_state(end.qp.raw(), to, what);
  return c.equal(state_name(end.qp->state), state_name(to), fmt::format("{}: qp->state", what)) && seen;
}

bool refuses(Case& c, End& end, const Move& move, ibv_qp_state stays, std::string_view what,
             std::initializer_list<int> errnos) {
  const int error = end.way->modify(end.qp.raw(), move.attr, move.mask);
  const std::optional<ibv_qp_state> now = state_now(c, end);
  if (!now) return false;
  if (error == 0) {
    Finding found;
    found.seen = Seen::accepted;
    found.state = state_name(*now);
    found.text = fmt::format("{} succeeded and was to be refused; the queue pair is in {}", what, *found.state);
    c.finding(std::move(found));
    return false;
  }
  const bool named = c.refused(error, what, errnos);
  if (*now == stays) return named;
  Finding found;
  found.seen = Seen::value;
  found.state = state_name(*now);
  found.text =
      fmt::format("{} was refused, and the queue pair is in {} instead of {}", what, *found.state, state_name(stays));
  c.finding(std::move(found));
  return false;
}

bool refuses_or_lowers(Case& c, End& end, const Move& move, ibv_qp_state stays, std::string_view what) {
  if (!c.through_verbena()) return refuses(c, end, move, stays, what);
  const std::size_t before = end.way->adjustments().size();
  const int error = end.way->modify(end.qp.raw(), move.attr, move.mask);
  return c.holds(error != 0 || end.way->adjustments().size() > before, Seen::accepted,
                 fmt::format("{} was taken, and nothing says that it was lowered", what));
}

void renew(Case& c, const Loop& loop, End& end) {
  end.qp = Object<ibv_qp>();
  QpShape shape;
  shape.type = loop.shape().type;
  shape.cap = loop.shape().cap;
  shape.send_cq = end.send_cq.raw();
  shape.recv_cq = end.recv_cq.raw();
  end.qp = c.made(end.way->qp(end.pd.raw(), shape, &end.cap), "ibv_create_qp");
}

bool drains(Case& c, const End& end) {
  const auto deadline = std::chrono::steady_clock::now() + c.ground().completion_within;
  for (;;) {
    ibv_qp_attr attr{};
    ibv_qp_init_attr init{};
    if (!c.accepted(c.verbs().query_qp(end.qp.raw(), attr, IBV_QP_STATE, init), "ibv_query_qp")) return false;
    if (attr.sq_draining == 0) return true;
    if (std::chrono::steady_clock::now() >= deadline) {
      return c.holds(false, Seen::value, "ibv_query_qp in SQD goes on saying sq_draining 1");
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

void climb(Case& c, Loop& loop, End& end, End& peer, ibv_qp_state state, const Terms& terms) {
  static constexpr ibv_qp_state kUp[] = {IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD};
  for (std::size_t step = 1; step < std::size(kUp) && end.qp->state != state; ++step) {
    if (end.qp->state != kUp[step - 1]) continue;
    const Move move = required_move(loop, end, peer, kUp[step - 1], kUp[step], terms);
    c.need(c.accepted(end.way->modify(end.qp.raw(), move.attr, move.mask),
                      fmt::format("ibv_modify_qp of {} from {} to {}", verbena::name(loop.shape().type),
                                  state_name(kUp[step - 1]), state_name(kUp[step]))));
  }
  if (state == IBV_QPS_SQD) c.need(drains(c, end));
}

void bring(Case& c, Loop& loop, End& end, End& peer, ibv_qp_state state, const Terms& terms) {
  if (end.qp->state != IBV_QPS_RESET) renew(c, loop, end);
  climb(c, loop, end, peer, state == IBV_QPS_ERR ? IBV_QPS_RTS : state, terms);
  if (state == IBV_QPS_ERR) change(c, end, IBV_QPS_ERR);
}

void change(Case& c, End& end, ibv_qp_state state) {
  const Move move = to(state);
  c.need(c.accepted(end.way->modify(end.qp.raw(), move.attr, move.mask),
                    fmt::format("ibv_modify_qp to {}", state_name(state))));
}

void bring_pair(Case& c, Loop& loop, End& one, End& other, const Terms& of_one, const Terms& of_other) {
  for (End* end : {&one, &other}) {
    const Terms& own = end == &one ? of_one : of_other;
    const Terms& others = end == &one ? of_other : of_one;
    End& peer = end == &one ? other : one;
    climb(c, loop, *end, peer, IBV_QPS_INIT, own);
    Move rtr = required_move(loop, *end, peer, IBV_QPS_INIT, IBV_QPS_RTR, own);
    rtr.attr.rq_psn = others.psn;
    c.need(c.accepted(end->way->modify(end->qp.raw(), rtr.attr, rtr.mask), "ibv_modify_qp to RTR"));
  }
  climb(c, loop, one, other, IBV_QPS_RTS, of_one);
  climb(c, loop, other, one, IBV_QPS_RTS, of_other);
}

void bring_both(Case& c, Loop& loop, const Terms& of_a, const Terms& of_b) {
  bring_pair(c, loop, loop.a(), loop.b(), of_a, of_b);
  if (loop.shape().type == QpType::ud) address(c, loop);
}

void address(Case& c, Loop& loop) {
  for (End* from : {&loop.a(), &loop.b()}) {
    End& to = from == &loop.a() ? loop.b() : loop.a();
    from->ah = c.made(from->way->ah(from->pd.raw(), loop.path(*from, to).address), "ibv_create_ah");
    from->peer_qp_num = to.qp->qp_num;
  }
}

bool carries(Case& c, Loop& loop, End& from, End& to, std::uint64_t wr_id, std::string_view what) {
  const std::size_t head = loop.shape().type == QpType::ud ? kGrhBytes : 0;
  constexpr std::size_t kCarried = 100;
  from.memory->fill(static_cast<std::uint32_t>(wr_id));
  to.memory->clear();
  if (!c.accepted(loop.receive(to, wr_id, 0, head + kCarried), fmt::format("{}: ibv_post_recv", what))) return false;
  if (!c.accepted(loop.send(from, wr_id, 0, kCarried), fmt::format("{}: ibv_post_send", what))) return false;
  const std::optional<ibv_wc> sent = next(c, from.send_cq.raw());
  if (!c.completed(sent, IBV_WC_SUCCESS, fmt::format("{}: the send", what))) return false;
  const std::optional<ibv_wc> received = next(c, to.recv_cq.raw());
  if (!c.completed(received, IBV_WC_SUCCESS, fmt::format("{}: the receive", what))) return false;
  return c.equal(sent->wr_id, wr_id, fmt::format("{}: wr_id of the send", what)) &&
         c.equal(received->wr_id, wr_id, fmt::format("{}: wr_id of the receive", what)) &&
         c.holds(std::memcmp(from.data(), to.data() + head, kCarried) == 0, Seen::data,
                 fmt::format("{}: other bytes arrived", what));
}

ibv_send_wr send_of(const Loop& loop, const End& from, ibv_sge& sge, std::uint64_t wr_id) {
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_SIGNALED;
  if (loop.shape().type == QpType::ud) {
    wr.wr.ud.ah = from.ah.raw();
    wr.wr.ud.remote_qpn = from.peer_qp_num;
    wr.wr.ud.remote_qkey = from.qkey;
  }
  return wr;
}

std::optional<ibv_wc> soon(Case& c, ibv_cq* cq) {
  const auto deadline =
      std::chrono::steady_clock::now() + std::min(std::chrono::milliseconds(1000), c.ground().completion_within);
  for (;;) {
    ibv_wc wc{};
    const int count = c.way().poll(cq, 1, &wc);
    if (count == 1) return wc;
    if (count < 0 || std::chrono::steady_clock::now() >= deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

bool completed_soon(Case& c, const std::optional<ibv_wc>& wc, ibv_wc_status status, std::string_view what) {
  if (wc) return c.completed(wc, status, what);
  return c.holds(false, Seen::no_completion, fmt::format("{} did not complete within a second", what));
}

LoopShape small(QpType type) {
  LoopShape shape;
  shape.type = type;
  shape.bytes = 4096;
  return shape;
}

}  // namespace conform
