// SPDX-License-Identifier: Apache-2.0 OR MIT
// Shared receive queues.
#include <algorithm>
#include <cerrno>

#include "nic/faults.hpp"
#include "verbs/emulated_verbs.hpp"
#include "verbs/made.hpp"

namespace verbena::emulator {

Made<ibv_srq> EmulatedVerbs::create_srq(ibv_pd* plain, ibv_srq_init_attr& attr) {
  const std::scoped_lock lock(host_->mutex);
  Pd& pd = of<Pd>(plain).real();
  Nic& nic = nic_of(plain->context);
  const Profile& profile = nic.profile();
  if (!profile.has(Feature::srq)) return lacking<ibv_srq>(nic);
  if (nic.counts.shared_queues >= profile.figure(Cap::max_srq)) return refused<ibv_srq>(nic, ENOMEM);
  Created created;
  created.taken = attr.attr.max_wr > 0 && attr.attr.max_wr <= profile.figure(Cap::max_srq_wr) &&
                  attr.attr.max_sge <= profile.figure(Cap::max_srq_sge);
  if (const Creation* const creation = profile.creation(); creation != nullptr) {
    const Created told = creation->srq(attr.attr.max_wr, attr.attr.max_sge);
    if (told.known) created = told;
  }
  if (!created.taken) return refused_so<ibv_srq>(nic, created.error);
  if (const int error = faults::in_srq(nic, attr.attr.max_wr); error != 0) return refused<ibv_srq>(nic, error);
  const auto depth = static_cast<std::uint32_t>(created.srq_wr.value_or(attr.attr.max_wr));
  const auto sges = static_cast<std::uint32_t>(created.srq_sge.value_or(attr.attr.max_sge));
  std::unique_ptr<Srq> srq(new Srq{.queue = {.queue = engine::queues::ReceiveQueue(depth, sges)}});
  srq->base.context = plain->context;
  srq->base.srq_context = attr.srq_context;
  srq->base.pd = plain;
  srq->pd = &pd;
  srq->depth = depth;
  srq->sges = sges;
  srq->queue.user = srq.get();
  if (profile.deviates(Deviation::srq_limit_at_creation)) srq->queue.limit = attr.attr.srq_limit;
  pthread_mutex_init(&srq->base.mutex, nullptr);
  pthread_cond_init(&srq->base.cond, nullptr);
  attr.attr.max_wr = depth;
  attr.attr.max_sge = sges;
  ++pd.users;
  nic.counts.pinned += faults::ring_bytes(depth);
  ++nic.counts.shared_queues;
  return {&srq.release()->base};
}

Made<ibv_srq> EmulatedVerbs::create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex& attr) {
  const Nic& nic = nic_of(context);
  if (!nic.profile().has(Feature::srq)) return lacking<ibv_srq>(nic);
  const bool basic = (attr.comp_mask & IBV_SRQ_INIT_ATTR_TYPE) == 0 || attr.srq_type == IBV_SRQT_BASIC;
  if (!basic) return lacking<ibv_srq>(nic);
  if ((attr.comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || attr.pd == nullptr) return refused<ibv_srq>(nic, EINVAL);
  ibv_srq_init_attr plain{attr.srq_context, attr.attr};
  const Made<ibv_srq> made = create_srq(attr.pd, plain);
  if (made) attr.attr = plain.attr;
  return made;
}

int EmulatedVerbs::modify_srq(ibv_srq* plain, ibv_srq_attr& attr, int mask) {
  const std::scoped_lock lock(host_->mutex);
  Srq& srq = of<Srq>(plain);
  if ((mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT)) != 0) return EINVAL;
  const Profile& profile = nic_of(plain->context).profile();
  if ((mask & IBV_SRQ_MAX_WR) != 0) {
    if (!profile.has(Feature::srq_resize)) return EINVAL;
    if (attr.max_wr == 0 || attr.max_wr > profile.figure(Cap::max_srq_wr)) return EINVAL;
    if (attr.max_wr < srq.queue.queue.works.size()) return EINVAL;
    engine::queues::ReceiveQueue other(attr.max_wr, srq.sges);
    engine::queues::ReceiveQueue& mine = srq.queue.queue;
    for (std::uint64_t place = mine.works.begin(); place != mine.works.end(); ++place) {
      const std::uint64_t to = other.works.end();
      other.works.grow() = mine.works[place];
      std::copy_n(mine.sges_of(place).begin(), mine.works[place].sges, other.sges_of(to).begin());
    }
    mine = std::move(other);
    Counts& counts = nic_of(plain->context).counts;
    counts.pinned = counts.pinned - faults::ring_bytes(srq.depth) + faults::ring_bytes(attr.max_wr);
    srq.depth = attr.max_wr;
  }
  if ((mask & IBV_SRQ_LIMIT) != 0) {
    if (attr.srq_limit > srq.depth) return EINVAL;
    srq.queue.limit = attr.srq_limit;
  }
  return 0;
}

int EmulatedVerbs::query_srq(ibv_srq* plain, ibv_srq_attr& attr) {
  const std::scoped_lock lock(host_->mutex);
  const Srq& srq = of<Srq>(plain);
  const bool rings = nic_of(plain->context).profile().deviates(Deviation::srq_ring_queried);
  attr.max_wr = rings ? 2 * srq.depth + 1 : srq.depth;
  attr.max_sge = srq.sges;
  attr.srq_limit = srq.queue.limit;
  return 0;
}

int EmulatedVerbs::destroy_srq(ibv_srq* plain) {
  std::unique_lock lock(host_->mutex);
  Srq& srq = of<Srq>(plain);
  if (srq.users > 0) return EBUSY;
  if (const int error = faults::in_destroy(nic_of(plain->context)); error != 0) return error;
  Context::of(plain->context).events.remove([plain](const AsyncEvent& each) {
    const ibv_event_type type = each.event.event_type;
    return (type == IBV_EVENT_SRQ_ERR || type == IBV_EVENT_SRQ_LIMIT_REACHED) && each.event.element.srq == plain;
  });
  --srq.pd->users;
  --nic_of(plain->context).counts.shared_queues;
  nic_of(plain->context).counts.pinned -= faults::ring_bytes(srq.depth);
  const std::uint64_t async = srq.async_given;
  lock.unlock();
  pthread_mutex_lock(&plain->mutex);
  while (plain->events_completed != async) pthread_cond_wait(&plain->cond, &plain->mutex);
  pthread_mutex_unlock(&plain->mutex);
  pthread_cond_destroy(&plain->cond);
  pthread_mutex_destroy(&plain->mutex);
  delete &srq;
  return 0;
}

}  // namespace verbena::emulator
