// SPDX-License-Identifier: Apache-2.0 OR MIT
// Raw packet and XRC queue pairs. Neither Verbena's queue pairs nor its table of verbs have these types
// (ibv_open_xrcd), so both columns ask libibverbs.
#include <fcntl.h>
#include <fmt/format.h>

#include <cerrno>

#include "cases/bodies.hpp"
#include "cases/state/moves.hpp"

namespace conform {

namespace {

using verbena::QpType;

/// Attributes of a move that is made on the bare handle.
int modify(Case& c, ibv_qp* qp, Move move) {
  return c.verbs().modify_qp(qp, move.attr, move.mask);
}

bool taken(Case& c, ibv_qp* qp, const Move& move, ibv_qp_state state, std::string_view what) {
  return c.accepted(modify(c, qp, move), what) && c.in_state(qp, state, what);
}

struct RawPacket {
  explicit RawPacket(Case& c) : case_(c), pd(c.made(c.way().pd(), "ibv_alloc_pd")) {
    cq = c.made(c.way().cq({.cqe = 16}), "ibv_create_cq");
    renew();
  }
  void renew() {
    qp = Object<ibv_qp>();
    ibv_qp_init_attr init{};
    init.send_cq = cq.raw();
    init.recv_cq = cq.raw();
    init.cap = {4, 4, 1, 1, 0};
    init.qp_type = IBV_QPT_RAW_PACKET;
    const verbena::Made<ibv_qp> made = case_.verbs().create_qp(pd.raw(), init);
    case_.need(case_.accepted(made ? 0 : made.error, "ibv_create_qp of a raw packet queue pair"));
    verbena::Verbs* verbs = &case_.verbs();
    qp = Object<ibv_qp>(made.handle, [verbs, handle = made.handle] { return verbs->destroy_qp(handle); });
  }
  Move init(std::uint8_t port) const {
    Move move = to(IBV_QPS_INIT);
    move.attr.port_num = port;
    move.mask |= IBV_QP_PORT;
    return move;
  }

  Case& case_;
  Object<ibv_pd> pd;
  Object<ibv_cq> cq;
  Object<ibv_qp> qp;
};

void raw_packet_init(Case& c) {
  const RawPacket raw(c);
  taken(c, raw.qp.raw(), raw.init(c.port()), IBV_QPS_INIT, "a raw packet queue pair from RESET to INIT");
}

void raw_packet_needs_port(Case& c) {
  const RawPacket raw(c);
  c.refused(modify(c, raw.qp.raw(), to(IBV_QPS_INIT)), "a raw packet queue pair to INIT without port", {EINVAL});
  c.in_state(raw.qp.raw(), IBV_QPS_RESET, "a raw packet queue pair after a move that was refused");
  taken(c, raw.qp.raw(), raw.init(c.port()), IBV_QPS_INIT, "a raw packet queue pair from RESET to INIT");
}

void raw_packet_rtr(Case& c) {
  const RawPacket raw(c);
  c.need(taken(c, raw.qp.raw(), raw.init(c.port()), IBV_QPS_INIT, "a raw packet queue pair from RESET to INIT"));
  taken(c, raw.qp.raw(), to(IBV_QPS_RTR), IBV_QPS_RTR, "a raw packet queue pair from INIT to RTR");
}

void raw_packet_rts(Case& c) {
  const RawPacket raw(c);
  c.need(taken(c, raw.qp.raw(), raw.init(c.port()), IBV_QPS_INIT, "a raw packet queue pair from RESET to INIT"));
  c.need(taken(c, raw.qp.raw(), to(IBV_QPS_RTR), IBV_QPS_RTR, "a raw packet queue pair from INIT to RTR"));
  taken(c, raw.qp.raw(), to(IBV_QPS_RTS), IBV_QPS_RTS, "a raw packet queue pair from RTR to RTS");
}

/// An XRC initiator or target that stands in INIT, and what a Loop of RC gives for it: a domain, a queue, a path.
struct Xrc {
  Xrc(Case& c, bool initiator) : loop(c, small(QpType::rc), false) {
    ibv_xrcd_init_attr domain{};
    domain.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
    domain.fd = -1;
    domain.oflags = O_CREAT;
    errno = 0;
    ibv_xrcd* opened = ibv_open_xrcd(c.context(), &domain);
    c.need(c.accepted(opened != nullptr ? 0 : (errno != 0 ? errno : EINVAL), "ibv_open_xrcd"));
    xrcd = Object<ibv_xrcd>(opened, [opened] { return ibv_close_xrcd(opened); });
    ibv_qp_init_attr_ex init{};
    if (initiator) {
      init.qp_type = IBV_QPT_XRC_SEND;
      init.send_cq = loop.a().send_cq.raw();
      init.cap = {4, 0, 1, 0, 0};
      init.pd = loop.a().pd.raw();
      init.comp_mask = IBV_QP_INIT_ATTR_PD;
    } else {
      init.qp_type = IBV_QPT_XRC_RECV;
      init.xrcd = opened;
      init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    }
    const verbena::Made<ibv_qp> made = c.verbs().create_qp_ex(c.context(), init);
    c.need(c.accepted(made ? 0 : made.error, "ibv_create_qp_ex of an XRC queue pair"));
    verbena::Verbs* verbs = &c.verbs();
    qp = Object<ibv_qp>(made.handle, [verbs, handle = made.handle] { return verbs->destroy_qp(handle); });
    c.need(taken(c, qp.raw(), to_init(QpType::rc, c.port()), IBV_QPS_INIT, "an XRC queue pair from RESET to INIT"));
  }
  Move with(ibv_qp_state state, int bits) {
    Move move = move_with(loop, loop.a(), loop.b(), state, bits);
    move.attr.cur_qp_state = qp->state;
    return move;
  }

  Loop loop;
  Object<ibv_xrcd> xrcd;
  Object<ibv_qp> qp;
};

constexpr int kPath = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kServing = kPath | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;

void initiator_to_rtr(Case& c) {
  Xrc xrc(c, true);
  taken(c, xrc.qp.raw(), xrc.with(IBV_QPS_RTR, kPath), IBV_QPS_RTR, "an XRC initiator from INIT to RTR");
}

void initiator_to_rts(Case& c) {
  Xrc xrc(c, true);
  c.need(taken(c, xrc.qp.raw(), xrc.with(IBV_QPS_RTR, kPath), IBV_QPS_RTR, "an XRC initiator from INIT to RTR"));
  constexpr int kBits = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;
  taken(c, xrc.qp.raw(), xrc.with(IBV_QPS_RTS, kBits), IBV_QPS_RTS, "an XRC initiator from RTR to RTS");
}

void target_to_rtr(Case& c) {
  Xrc xrc(c, false);
  taken(c, xrc.qp.raw(), xrc.with(IBV_QPS_RTR, kServing), IBV_QPS_RTR, "an XRC target from INIT to RTR");
}

void target_to_rts(Case& c) {
  Xrc xrc(c, false);
  c.need(taken(c, xrc.qp.raw(), xrc.with(IBV_QPS_RTR, kServing), IBV_QPS_RTR, "an XRC target from INIT to RTR"));
  taken(c, xrc.qp.raw(), xrc.with(IBV_QPS_RTS, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN), IBV_QPS_RTS,
        "an XRC target from RTR to RTS");
}

}  // namespace

Bodies state_further_types_bodies() {
  static constexpr Body kBodies[] = {
      {"state.init.raw_packet_takes_required", raw_packet_init},
      {"state.init.raw_packet_needs_each", raw_packet_needs_port},
      {"state.rtr.raw_packet_takes_required", raw_packet_rtr},
      {"state.rts.raw_packet_takes_required", raw_packet_rts},
      {"state.xrc.initiator_to_rtr", initiator_to_rtr},
      {"state.xrc.initiator_to_rts", initiator_to_rts},
      {"state.xrc.target_to_rtr", target_to_rtr},
      {"state.xrc.target_to_rts", target_to_rts},
  };
  return kBodies;
}

}  // namespace conform
