// SPDX-License-Identifier: Apache-2.0 OR MIT
// Queue pairs: made as the model makes them, moved as the kernel's table lets them.
#include <algorithm>
#include <bit>
#include <cerrno>

#include "engine/wire/mtu.hpp"
#include "nic/attribute_table.hpp"
#include "verbs/emulated_verbs.hpp"
#include "verbs/made.hpp"
#include "verbs/offloaded_moves.hpp"

namespace verbena::emulator {

namespace {

std::optional<QpType> type_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_RC:
      return QpType::rc;
    case IBV_QPT_UC:
      return QpType::uc;
    case IBV_QPT_UD:
      return QpType::ud;
    default:
      return std::nullopt;
  }
}

std::uint32_t written_back(const std::optional<std::int64_t>& told, std::uint32_t asked) {
  return told ? static_cast<std::uint32_t>(*told) : asked;
}

/// What creation writes back, or why it refuses.
Created created_qp(const Profile& profile, QpType type, SendOps ops, const ibv_qp_cap& cap) {
  Created created;
  created.taken =
      cap.max_send_wr <= profile.figure(Cap::max_qp_wr) && cap.max_recv_wr <= profile.figure(Cap::max_qp_wr) &&
      cap.max_send_sge <= profile.figure(Cap::max_sge) && cap.max_recv_sge <= profile.figure(Cap::max_sge) &&
      cap.max_inline_data <= profile.figure(Cap::max_inline_data);
  if (const Creation* const creation = profile.creation(); creation != nullptr) {
    const Created told = creation->qp(type, ops, cap);
    if (told.known) created = told;
  }
  return created;
}

/// What can be built for a queue pair of this type (ibv_create_qp_ex(3), send_ops_flags).
std::uint64_t operations_of(ibv_qp_type type) {
  constexpr std::uint64_t kSends = SendOps::kSend | SendOps::kSendWithImm;
  constexpr std::uint64_t kWrites = SendOps::kRdmaWrite | SendOps::kRdmaWriteWithImm;
  constexpr std::uint64_t kWindows = SendOps::kLocalInv | SendOps::kBindMw;
  switch (type) {
    case IBV_QPT_UD:
      return kSends;
    case IBV_QPT_UC:
      return kSends | kWrites | kWindows | SendOps::kSendWithInv;
    default:
      return kSends | kWrites | kWindows | SendOps::kSendWithInv | SendOps::kRdmaRead | SendOps::kCompareSwap |
             SendOps::kFetchAdd | SendOps::kFlush | SendOps::kAtomicWrite;
  }
}

std::uint8_t rounded(const Profile& profile, std::uint8_t depth) {
  if (profile.does(Behaviour::rd_atomic_rounding) != Choice::power_of_two || depth == 0) return depth;
  return static_cast<std::uint8_t>(std::min(std::bit_ceil(static_cast<unsigned>(depth)), 255U));
}

}  // namespace

Made<ibv_qp> EmulatedVerbs::made_qp(ibv_pd* plain_pd, ibv_qp_init_attr& attr, std::uint64_t send_ops, bool builder) {
  const std::scoped_lock lock(host_->mutex);
  if (plain_pd == nullptr) return refused<ibv_qp>(EINVAL);
  Pd& pd = of<Pd>(plain_pd).real();
  Nic& nic = nic_of(plain_pd->context);
  const Profile& profile = nic.profile();
  const auto type = type_of(attr.qp_type);
  if (!type) return refused<ibv_qp>(attr.qp_type == IBV_QPT_RAW_PACKET ? EPERM : EOPNOTSUPP);
  if (attr.send_cq == nullptr || attr.recv_cq == nullptr) return refused<ibv_qp>(EINVAL);
  // UC takes its receives from its own queue (ibv_create_qp(3), srq).
  if (attr.srq != nullptr && attr.qp_type == IBV_QPT_UC) return refused<ibv_qp>(EINVAL);
  ibv_qp_cap asked = attr.cap;
  if (attr.srq != nullptr) asked.max_recv_wr = asked.max_recv_sge = 0;
  const Created created = created_qp(profile, *type, SendOps{send_ops}, asked);
  if (!created.taken) return refused_so<ibv_qp>(created.error);
  if (nic.counts.queue_pairs >= profile.figure(Cap::max_qp)) return refused<ibv_qp>(ENOMEM);
  const std::uint32_t number = nic.take_qp_number();
  if (number == 0) return refused<ibv_qp>(ENOMEM);

  ibv_qp_cap cap = attr.cap;
  cap.max_send_wr = written_back(created.send_wr, asked.max_send_wr);
  cap.max_send_sge = written_back(created.send_sge, asked.max_send_sge);
  cap.max_inline_data = written_back(created.inline_data, asked.max_inline_data);
  cap.max_recv_wr = written_back(created.recv_wr, asked.max_recv_wr);
  cap.max_recv_sge = written_back(created.recv_sge, asked.max_recv_sge);
  auto qp = std::make_unique<Qp>(
      engine::queues::SendQueue(cap.max_send_wr, cap.max_send_sge, cap.max_inline_data, attr.qp_type == IBV_QPT_UD),
      engine::queues::ReceiveQueue(attr.srq != nullptr ? 0 : cap.max_recv_wr, cap.max_recv_sge));
  qp->cap = cap;
  qp->pd = &pd;
  qp->send_cq = &of<Cq>(reinterpret_cast<ibv_cq_ex*>(attr.send_cq));
  qp->recv_cq = &of<Cq>(reinterpret_cast<ibv_cq_ex*>(attr.recv_cq));
  qp->srq = attr.srq != nullptr ? &of<Srq>(attr.srq) : nullptr;
  engine::transport::QueuePair& engine_qp = qp->qp;
  engine_qp.number = number;
  engine_qp.type = attr.qp_type;
  engine_qp.domain = pd.domain;
  engine_qp.signal_all = attr.sq_sig_all != 0;
  engine_qp.keeps_early_sends = profile.does(Behaviour::post_send_before_rts) == Choice::kept_in_ring;
  engine_qp.retries_for_ever = profile.does(Behaviour::retry_cnt_seven) == Choice::infinite;
  engine_qp.send_cq = &qp->send_cq->queue;
  engine_qp.receive_cq = &qp->recv_cq->queue;
  engine_qp.shared = qp->srq != nullptr ? &qp->srq->queue : nullptr;
  engine_qp.user = qp.get();
  ibv_qp& plain = qp->base.qp_base;
  plain.context = plain_pd->context;
  plain.qp_context = attr.qp_context;
  plain.pd = plain_pd;
  plain.send_cq = attr.send_cq;
  plain.recv_cq = attr.recv_cq;
  plain.srq = attr.srq;
  plain.handle = number;
  plain.qp_num = number;
  plain.state = IBV_QPS_RESET;
  plain.qp_type = attr.qp_type;
  pthread_mutex_init(&plain.mutex, nullptr);
  pthread_cond_init(&plain.cond, nullptr);
  if (builder) {
    qp->comp_mask = Qp::kHasBuilder;
    qp->building = std::make_unique<Building>();
    fill_builder(qp->base);
  }
  nic.adapter().add(engine_qp);
  ++nic.counts.queue_pairs;
  ++pd.users;
  ++qp->send_cq->users;
  ++qp->recv_cq->users;
  if (qp->srq != nullptr) ++qp->srq->users;
  attr.cap = cap;
  return {qp.release()->plain()};
}

Made<ibv_qp> EmulatedVerbs::create_qp(ibv_pd* pd, ibv_qp_init_attr& attr) {
  return made_qp(pd, attr, 0, false);
}

Made<ibv_qp> EmulatedVerbs::create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex& attr) {
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_PD) == 0) return refused<ibv_qp>(EINVAL);
  const bool builder = (attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if (builder && !nic_of(context).profile().has(Feature::create_qp_ex)) return refused<ibv_qp>(EOPNOTSUPP);
  constexpr std::uint32_t kTaken = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  if ((attr.comp_mask & ~kTaken) != 0) return refused<ibv_qp>(EOPNOTSUPP);
  const Profile& profile = nic_of(context).profile();
  std::uint64_t operations = operations_of(attr.qp_type);
  // Libraries of devices that have these not have nothing to build them with.
  if (!profile.has(Feature::atomic_write)) operations &= ~std::uint64_t{SendOps::kAtomicWrite};
  if (!profile.has(Feature::flush)) operations &= ~std::uint64_t{SendOps::kFlush};
  if (builder && (attr.send_ops_flags & ~operations) != 0) return refused<ibv_qp>(EOPNOTSUPP);
  ibv_qp_init_attr plain{attr.qp_context, attr.send_cq, attr.recv_cq,   attr.srq,
                         attr.cap,        attr.qp_type, attr.sq_sig_all};
  const Made<ibv_qp> made = made_qp(attr.pd, plain, builder ? attr.send_ops_flags : 0, builder);
  if (made) attr.cap = plain.cap;
  return made;
}

int EmulatedVerbs::modify_qp(ibv_qp* plain, ibv_qp_attr& attr, int mask) {
  const std::scoped_lock lock(host_->mutex);
  Qp& qp = of<Qp>(reinterpret_cast<ibv_qp_ex*>(plain));
  engine::transport::QueuePair& engine_qp = qp.qp;
  Nic& nic = nic_of(plain->context);
  const Profile& profile = nic.profile();
  if (const auto done = moved_offloaded(profile, engine_qp, attr, mask)) return *done;
  const ibv_qp_state from = engine_qp.state;
  const ibv_qp_state to = (mask & IBV_QP_STATE) != 0 ? attr.qp_state : from;
  if ((mask & IBV_QP_CUR_STATE) != 0 && attr.cur_qp_state != from) return EINVAL;
  if (!allowed(engine_qp.type, from, to, mask)) return EINVAL;
  if (qp.spoiled && to == IBV_QPS_INIT) return EINVAL;
  // InfiniBand specification, volume 1, send queue drain: not while it drains.
  if (from == IBV_QPS_SQD && to == IBV_QPS_RTS && engine_qp.draining) return EINVAL;

  std::uint8_t port = engine_qp.attr.port_num;
  if ((mask & IBV_QP_PORT) != 0) {
    if (attr.port_num == 0 || attr.port_num > nic.ports()) return EINVAL;
    port = attr.port_num;
  }
  if ((mask & IBV_QP_PKEY_INDEX) != 0 &&
      attr.pkey_index >= std::max<std::uint64_t>(1, profile.figure(port, PortCap::pkey_tbl_len)))
    return EINVAL;
  engine::queues::Address route = engine_qp.route;
  if ((mask & IBV_QP_AV) != 0) {
    if (attr.ah_attr.port_num != port) return EINVAL;
    if (const int error = nic.resolve(attr.ah_attr, route); error != 0) return error;
  }
  if ((mask & IBV_QP_PATH_MTU) != 0) {
    if (attr.path_mtu < IBV_MTU_256 || attr.path_mtu > IBV_MTU_4096) return EINVAL;
    const bool over = engine::wire::mtu_bytes(attr.path_mtu) > profile.figure(port, PortCap::active_mtu);
    if (over && profile.does(Behaviour::path_mtu_over_port) == Choice::refused) return EINVAL;
  }
  const bool limited = profile.does(Behaviour::rd_atomic_over_limit) != Choice::clamped;
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0 && limited && attr.max_rd_atomic > profile.figure(Cap::max_qp_init_rd_atom))
    return EINVAL;
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0 && limited &&
      attr.max_dest_rd_atomic > profile.figure(Cap::max_qp_rd_atom))
    return EINVAL;
  if ((mask & IBV_QP_TIMEOUT) != 0 && attr.timeout > 31) return EINVAL;
  if ((mask & IBV_QP_RETRY_CNT) != 0 && attr.retry_cnt > 7) return EINVAL;
  if ((mask & IBV_QP_RNR_RETRY) != 0 && attr.rnr_retry > 7) return EINVAL;
  if ((mask & IBV_QP_MIN_RNR_TIMER) != 0 && attr.min_rnr_timer > 31) return EINVAL;
  if ((mask & IBV_QP_ALT_PATH) != 0) return EINVAL;  // InfiniBand alone has a second path
  if ((mask & IBV_QP_QKEY) != 0 && (attr.qkey & 0x80000000U) != 0) return EPERM;

  ibv_qp_attr& mine = engine_qp.attr;
  const auto take = [mask](int bit, auto& own, const auto& given) {
    if ((mask & bit) != 0) own = given;
  };
  take(IBV_QP_PORT, mine.port_num, attr.port_num);
  take(IBV_QP_PKEY_INDEX, mine.pkey_index, attr.pkey_index);
  take(IBV_QP_ACCESS_FLAGS, mine.qp_access_flags, attr.qp_access_flags);
  take(IBV_QP_QKEY, mine.qkey, attr.qkey);
  take(IBV_QP_AV, mine.ah_attr, attr.ah_attr);
  take(IBV_QP_PATH_MTU, mine.path_mtu, attr.path_mtu);
  take(IBV_QP_TIMEOUT, mine.timeout, attr.timeout);
  take(IBV_QP_RETRY_CNT, mine.retry_cnt, attr.retry_cnt);
  take(IBV_QP_RNR_RETRY, mine.rnr_retry, attr.rnr_retry);
  take(IBV_QP_MIN_RNR_TIMER, mine.min_rnr_timer, attr.min_rnr_timer);
  take(IBV_QP_RQ_PSN, mine.rq_psn, attr.rq_psn & 0xffffff);
  take(IBV_QP_SQ_PSN, mine.sq_psn, attr.sq_psn & 0xffffff);
  take(IBV_QP_DEST_QPN, mine.dest_qp_num, attr.dest_qp_num & 0xffffff);
  take(IBV_QP_EN_SQD_ASYNC_NOTIFY, mine.en_sqd_async_notify, attr.en_sqd_async_notify);
  take(IBV_QP_PATH_MIG_STATE, mine.path_mig_state, attr.path_mig_state);
  if ((mask & IBV_QP_MAX_QP_RD_ATOMIC) != 0) mine.max_rd_atomic = rounded(profile, attr.max_rd_atomic);
  if ((mask & IBV_QP_MAX_DEST_RD_ATOMIC) != 0) mine.max_dest_rd_atomic = rounded(profile, attr.max_dest_rd_atomic);
  if (engine_qp.type == IBV_QPT_UD && (mask & IBV_QP_PORT) != 0) {
    // A datagram is as long as the port lets it be.
    mine.path_mtu = static_cast<ibv_mtu>(
        engine::wire::mtu_code(static_cast<std::uint32_t>(profile.figure(port, PortCap::active_mtu))));
  }
  engine_qp.route = route;
  engine_qp.route.udp.source_port = static_cast<std::uint16_t>(0xc000 | (engine_qp.number & 0x3fff));
  if ((mask & IBV_QP_STATE) == 0) return 0;
  if (to == IBV_QPS_RESET) {
    if (profile.does(Behaviour::reset_removes_completions) != Choice::no) {
      qp.send_cq->queue.purge(engine_qp.number);
      qp.recv_cq->queue.purge(engine_qp.number);
    }
    const bool fresh = from == IBV_QPS_RESET;
    if (fresh ? profile.does(Behaviour::noop_reset) == Choice::spoils
              : profile.does(Behaviour::recycle_through_reset) == Choice::no) {
      qp.spoiled = true;
    }
  }
  if (to != from || to == IBV_QPS_RESET || to == IBV_QPS_ERR) nic.adapter().enter(engine_qp, to);
  if (to == IBV_QPS_RESET) mine = {};
  plain->state = to;
  host_->progress();
  return 0;
}

int EmulatedVerbs::query_qp(ibv_qp* plain, ibv_qp_attr& attr, int /*mask*/, ibv_qp_init_attr& init) {
  const std::scoped_lock lock(host_->mutex);
  Qp& qp = of<Qp>(reinterpret_cast<ibv_qp_ex*>(plain));
  host_->progress();
  attr = qp.qp.attr;
  attr.qp_state = attr.cur_qp_state = qp.qp.state;
  attr.cap = qp.cap;
  attr.sq_draining = qp.qp.draining ? 1 : 0;
  if (attr.path_mtu == 0) attr.path_mtu = IBV_MTU_256;
  init = {};
  init.qp_context = plain->qp_context;
  init.send_cq = plain->send_cq;
  init.recv_cq = plain->recv_cq;
  init.srq = plain->srq;
  init.cap = qp.cap;
  init.qp_type = plain->qp_type;
  init.sq_sig_all = qp.qp.signal_all ? 1 : 0;
  plain->state = qp.qp.state;
  return 0;
}

int EmulatedVerbs::query_qp_data_in_order(ibv_qp* /*qp*/, ibv_wr_opcode /*opcode*/, std::uint32_t /*flags*/) {
  return 0;  // no promise: whole kilobytes come in order, and no more is said
}

int EmulatedVerbs::destroy_qp(ibv_qp* plain) {
  std::unique_lock lock(host_->mutex);
  Qp& qp = of<Qp>(reinterpret_cast<ibv_qp_ex*>(plain));
  if (qp.groups > 0) return EBUSY;
  Nic& nic = nic_of(plain->context);
  if (manager_) manager_->queue_pair_goes(nic, qp.qp.number);
  nic.adapter().remove(qp.qp);
  qp.send_cq->queue.purge(qp.qp.number);
  qp.recv_cq->queue.purge(qp.qp.number);
  nic.give_qp_number(qp.qp.number);
  Context::of(plain->context).events.remove([plain](const AsyncEvent& each) {
    switch (each.event.event_type) {
      case IBV_EVENT_QP_FATAL:
      case IBV_EVENT_QP_REQ_ERR:
      case IBV_EVENT_QP_ACCESS_ERR:
      case IBV_EVENT_QP_LAST_WQE_REACHED:
      case IBV_EVENT_SQ_DRAINED:
      case IBV_EVENT_COMM_EST:
        return each.event.element.qp == plain;
      default:
        return false;
    }
  });
  --nic.counts.queue_pairs;
  --qp.pd->users;
  --qp.send_cq->users;
  --qp.recv_cq->users;
  if (qp.srq != nullptr) --qp.srq->users;
  const std::uint64_t async = qp.async_given;
  lock.unlock();
  pthread_mutex_lock(&plain->mutex);
  while (plain->events_completed != async) pthread_cond_wait(&plain->cond, &plain->mutex);
  pthread_mutex_unlock(&plain->mutex);
  pthread_cond_destroy(&plain->cond);
  pthread_mutex_destroy(&plain->mutex);
  delete &qp;
  return 0;
}

int EmulatedVerbs::query_ece(ibv_qp* /*qp*/, ibv_ece& /*ece*/) {
  return EOPNOTSUPP;
}
int EmulatedVerbs::set_ece(ibv_qp* /*qp*/, ibv_ece& /*ece*/) {
  return EOPNOTSUPP;
}

}  // namespace verbena::emulator
