// SPDX-License-Identifier: Apache-2.0 OR MIT
// Queue pairs: made as the model makes them, moved as the kernel's table lets them.
#include <linux/capability.h>

#include <algorithm>
#include <bit>
#include <cerrno>

#include "nic/faults.hpp"
#include "verbs/emulated_verbs.hpp"
#include "verbs/made.hpp"

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
    // As most say it, where no source says how this one does.
    if (!creation->makes(type) && told.error == 0) {
      created.taken = false;
      created.error = EOPNOTSUPP;
    }
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

/// Numbers that the library or the driver adds to in 32 bits, as it sees them then.
ibv_qp_cap wrapped(const Profile& profile, ibv_qp_cap cap) {
  // rdma-core providers/irdma/uk.c irdma_get_sqdepth: 258 quanta are added.
  constexpr std::uint32_t kAdded = 258;
  const auto wrap = [](std::uint32_t number) { return number > UINT32_MAX - kAdded ? number + kAdded : number; };
  if (profile.deviates(Deviation::send_depth_wraps)) cap.max_send_wr = wrap(cap.max_send_wr);
  if (profile.deviates(Deviation::receive_depth_wraps)) cap.max_recv_wr = wrap(cap.max_recv_wr);
  constexpr std::uint32_t kLargestPower = 1U << 31;
  if (profile.deviates(Deviation::inline_wraps) && cap.max_inline_data > kLargestPower) cap.max_inline_data = 0;
  return cap;
}

/// Asks the allocator of a parent domain for the rings' memory. False where it has none.
bool provide_ring(Pd& domain, Qp& qp) {
  if (domain.alloc == nullptr) return true;
  constexpr std::size_t kAlignment = 64;
  void* const ring =
      domain.alloc(&domain.base, domain.pd_context, faults::ring_bytes(qp.work_requests + 1), kAlignment, 0);
  if (ring == IBV_ALLOCATOR_USE_DEFAULT) return true;
  qp.ring = ring;
  return ring != nullptr;
}

/// As the device grants it; a library that has no room for that refuses the posts (Deviation::inline_without_room).
std::uint32_t inline_held(const Profile& profile, const ibv_qp_cap& asked, std::uint32_t granted, ibv_qp_type type) {
  if (!profile.deviates(Deviation::inline_without_room)) return granted;
  // rdma-core 44 providers/hns/hns_roce_u_hw_v2.c: 32 bytes in a work request of RC, else 16 for each SGE.
  constexpr std::uint32_t kInRequest = 32;
  constexpr std::uint32_t kForEachSge = 16;
  const std::uint32_t room = std::max(type == IBV_QPT_RC ? kInRequest : 0, asked.max_send_sge * kForEachSge);
  return std::min(granted, room);
}

}  // namespace

Made<ibv_qp> EmulatedVerbs::made_qp(ibv_pd* plain_pd, ibv_qp_init_attr& attr, std::uint64_t send_ops, bool builder) {
  std::unique_lock lock(host_->mutex);
  if (plain_pd == nullptr) return refused<ibv_qp>(EINVAL);
  Pd& pd = of<Pd>(plain_pd).real();
  Nic& nic = nic_of(plain_pd->context);
  const Profile& profile = nic.profile();
  const auto type = type_of(attr.qp_type);
  // linux core/uverbs_cmd.c create_qp.
  if (attr.qp_type == IBV_QPT_RAW_PACKET && !capable(CAP_NET_RAW)) return refused<ibv_qp>(nic, EPERM);
  if (!type) return refused<ibv_qp>(nic, profile.unsupported());
  if (attr.send_cq == nullptr || attr.recv_cq == nullptr) return refused<ibv_qp>(nic, EINVAL);
  // UC takes its receives from its own queue (ibv_create_qp(3), srq).
  if (attr.srq != nullptr && attr.qp_type == IBV_QPT_UC && !profile.deviates(Deviation::uc_takes_srq))
    return refused<ibv_qp>(nic, EINVAL);
  ibv_qp_cap asked = wrapped(profile, faults::asked_of(nic, attr.cap));
  if (attr.srq != nullptr && profile.deviates(Deviation::receive_caps_beside_srq) &&
      !created_qp(profile, *type, SendOps{send_ops}, asked).taken)
    return refused<ibv_qp>(nic, EINVAL);
  if (attr.srq != nullptr) asked.max_recv_wr = asked.max_recv_sge = 0;
  Created created = created_qp(profile, *type, SendOps{send_ops}, asked);
  if (attr.srq != nullptr && !created.taken) {
    // A least depth is one of a queue of its own.
    ibv_qp_cap least = asked;
    least.max_recv_wr = least.max_recv_sge = 1;
    created = created_qp(profile, *type, SendOps{send_ops}, least);
    created.recv_wr = created.recv_sge = 0;
  }
  if (!created.taken)
    return refused_so<ibv_qp>(nic, created.error == EOPNOTSUPP ? profile.unsupported() : created.error);
  if (const int error = faults::in_qp(nic, asked); error != 0) return refused<ibv_qp>(nic, error);
  if (nic.counts.queue_pairs >= profile.figure(Cap::max_qp)) return refused<ibv_qp>(nic, ENOMEM);
  if (const int error = nic.enter(); error != 0) return refused<ibv_qp>(error);
  const std::uint32_t number = nic.take_qp_number();
  if (number == 0) {
    nic.leave();
    return refused<ibv_qp>(nic, ENOMEM);
  }

  ibv_qp_cap cap = attr.cap;
  cap.max_send_wr = written_back(created.send_wr, asked.max_send_wr);
  cap.max_send_sge = written_back(created.send_sge, asked.max_send_sge);
  cap.max_inline_data = written_back(created.inline_data, asked.max_inline_data);
  cap.max_recv_wr = written_back(created.recv_wr, asked.max_recv_wr);
  cap.max_recv_sge = written_back(created.recv_sge, asked.max_recv_sge);
  const std::uint32_t granted = cap.max_inline_data;
  const std::uint32_t told = faults::inline_returned(nic, attr.cap.max_inline_data, granted);
  cap.max_inline_data = told;
  auto qp = std::make_unique<Qp>(
      engine::queues::SendQueue(cap.max_send_wr, cap.max_send_sge,
                                told > granted ? told : inline_held(profile, asked, granted, attr.qp_type),
                                attr.qp_type == IBV_QPT_UD),
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
  qp->work_requests = std::uint64_t{asked.max_send_wr} + asked.max_recv_wr;
  nic.counts.work_requests += qp->work_requests;
  nic.counts.pinned += faults::ring_bytes(qp->work_requests);
  ++nic.counts.queue_pairs;
  ++pd.users;
  ++qp->send_cq->users;
  ++qp->recv_cq->users;
  if (qp->srq != nullptr) ++qp->srq->users;
  if (profile.does(Behaviour::caps_written_back) != Choice::no) attr.cap = cap;
  Qp& made = *qp.release();
  lock.unlock();
  if (!provide_ring(of<Pd>(plain_pd), made)) {
    destroy_qp(made.plain());
    return refused<ibv_qp>(nic, ENOMEM);
  }
  return {made.plain()};
}

Made<ibv_qp> EmulatedVerbs::create_qp(ibv_pd* pd, ibv_qp_init_attr& attr) {
  return made_qp(pd, attr, 0, false);
}

Made<ibv_qp> EmulatedVerbs::create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex& attr) {
  const Nic& nic = nic_of(context);
  if ((attr.comp_mask & IBV_QP_INIT_ATTR_PD) == 0) return refused<ibv_qp>(nic, EINVAL);
  const bool builder = (attr.comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) != 0;
  if (builder && !nic.profile().has(Feature::create_qp_ex)) return lacking<ibv_qp>(nic);
  constexpr std::uint32_t kTaken = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  if ((attr.comp_mask & ~kTaken) != 0) return lacking<ibv_qp>(nic);
  std::uint64_t operations = operations_of(attr.qp_type);
  // Libraries of devices that have these not have nothing to build them with.
  if (!nic.profile().has(Feature::atomic_write)) operations &= ~std::uint64_t{SendOps::kAtomicWrite};
  if (!nic.profile().has(Feature::flush)) operations &= ~std::uint64_t{SendOps::kFlush};
  if (builder && (attr.send_ops_flags & ~operations) != 0) return lacking<ibv_qp>(nic);
  ibv_qp_init_attr plain{attr.qp_context, attr.send_cq, attr.recv_cq,   attr.srq,
                         attr.cap,        attr.qp_type, attr.sq_sig_all};
  const Made<ibv_qp> made = made_qp(attr.pd, plain, builder ? attr.send_ops_flags : 0, builder);
  if (made) attr.cap = plain.cap;
  return made;
}

int EmulatedVerbs::query_qp(ibv_qp* plain, ibv_qp_attr& attr, int /*mask*/, ibv_qp_init_attr& init) {
  const std::scoped_lock lock(host_->mutex);
  Qp& qp = of<Qp>(reinterpret_cast<ibv_qp_ex*>(plain));
  host_->progress();
  const Profile& profile = nic_of(plain->context).profile();
  attr = qp.qp.attr;
  attr.qp_state = attr.cur_qp_state = qp.qp.state;
  attr.cap = qp.cap;
  attr.sq_draining = qp.qp.draining ? 1 : 0;
  if (qp.qp.state == IBV_QPS_ERR) {
    const auto shown = profile.number(Fault::query_qp_state_wrong, "state", IBV_QPS_ERR);
    attr.qp_state = attr.cur_qp_state = static_cast<ibv_qp_state>(shown);
  }
  if (profile.deviates(Deviation::timers_not_queried)) {
    attr.timeout = attr.min_rnr_timer = 0;
    attr.ah_attr = {};
  }
  if (profile.deviates(Deviation::rnr_timer_shortest) && (qp.qp.state == IBV_QPS_RTR || qp.qp.state == IBV_QPS_RTS))
    attr.min_rnr_timer = 1;
  if (profile.deviates(Deviation::read_rights_after_depth) && attr.max_dest_rd_atomic == 0)
    attr.qp_access_flags &= ~static_cast<unsigned>(IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
  if (profile.deviates(Deviation::rings_queried)) {
    attr.cap.max_send_wr = std::bit_ceil(attr.cap.max_send_wr + 1);
    attr.cap.max_recv_wr = std::bit_ceil(attr.cap.max_recv_wr + 1);
  }
  if (attr.path_mtu == 0) attr.path_mtu = IBV_MTU_256;
  init = {};
  init.qp_context = plain->qp_context;
  init.send_cq = plain->send_cq;
  init.recv_cq = plain->recv_cq;
  init.srq = plain->srq;
  init.cap = attr.cap;
  init.qp_type = plain->qp_type;
  init.sq_sig_all = qp.qp.signal_all || profile.deviates(Deviation::signal_all_queried) ? 1 : 0;
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
  if (const int error = faults::in_destroy(nic); error != 0) return error;
  if (manager_) manager_->queue_pair_goes(nic, qp.qp.number);
  nic.adapter().remove(qp.qp);
  qp.send_cq->queue.purge(qp.qp.number);
  qp.recv_cq->queue.purge(qp.qp.number);
  nic.give_qp_number(qp.qp.number);
  nic.leave();
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
  nic.counts.work_requests -= qp.work_requests;
  nic.counts.pinned -= faults::ring_bytes(qp.work_requests);
  nic.counts.read_atomics -= qp.read_atomics;
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
  if (qp.ring != nullptr) {
    const Pd& domain = of<Pd>(plain->pd);
    domain.free(plain->pd, domain.pd_context, qp.ring, 0);
  }
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
