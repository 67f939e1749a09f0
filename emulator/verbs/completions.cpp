// SPDX-License-Identifier: Apache-2.0 OR MIT
// Completion channels and queues, and the events of all objects.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "nic/faults.hpp"
#include "verbs/emulated_verbs.hpp"
#include "verbs/made.hpp"

namespace verbena::emulator {

namespace {

/// Waits for a descriptor that counts events; 0 or a positive errno.
int read_one(int descriptor) {
  std::uint64_t one = 0;
  return read(descriptor, &one, sizeof one) == sizeof one ? 0 : errno;
}

constexpr std::uint64_t kStandardFlags =
    (std::uint64_t{1} << 7) - 1;  // IBV_WC_STANDARD_FLAGS: byte_len .. dlid_path_bits
constexpr std::uint64_t kTimestamps =
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;

}  // namespace

Made<ibv_comp_channel> EmulatedVerbs::create_comp_channel(ibv_context* context) {
  auto channel = std::make_unique<Channel>();
  if (channel->events.descriptor() < 0) return refused<ibv_comp_channel>(EMFILE);
  channel->base.context = context;
  channel->base.fd = channel->events.descriptor();
  return {&channel.release()->base};
}

int EmulatedVerbs::destroy_comp_channel(ibv_comp_channel* plain) {
  const std::scoped_lock lock(host_->mutex);
  if (plain->refcnt > 0) return EBUSY;
  delete &of<Channel>(plain);
  return 0;
}

template <class T>
Made<T> EmulatedVerbs::made_cq(ibv_context* context, std::uint32_t cqe, void* cq_context, ibv_comp_channel* channel,
                               int vector, std::uint64_t wc_flags, std::uint32_t creation_flags) {
  const std::scoped_lock lock(host_->mutex);
  Nic& nic = nic_of(context);
  const Profile& profile = nic.profile();
  if (vector < 0 || vector >= context->num_comp_vectors) return refused<T>(nic, EINVAL);
  if (nic.counts.completion_queues >= profile.figure(Cap::max_cq)) return refused<T>(nic, ENOMEM);
  Created created;
  created.taken = cqe > 0 && cqe <= profile.figure(Cap::max_cqe);
  if (const Creation* const creation = profile.creation(); creation != nullptr) {
    const Created told = creation->cq(cqe);
    if (told.known) created = told;
  }
  if (!created.taken) return refused_so<T>(nic, created.error);
  if (const int error = faults::in_cq(nic, cqe); error != 0) return refused<T>(nic, error);
  const bool told = profile.creation() == nullptr || profile.creation()->word("cq", "reported") != "unset";
  auto reported =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>(created.cqe.value_or(told ? cqe : 0), 0, INT32_MAX));
  std::uint32_t depth = std::max(reported, cqe);
  if (const std::uint32_t held = faults::cq_held(nic, cqe); held != cqe) reported = depth = held;
  auto cq = std::make_unique<Cq>(depth);
  cq->base.context = context;
  cq->base.channel = channel;
  cq->base.cq_context = cq_context;
  cq->base.cqe = static_cast<int>(reported);
  cq->queue.user = cq.get();
  cq->queue.stamped = (wc_flags & kTimestamps) != 0 && profile.has(Feature::completion_timestamp);
  cq->queue.ignores_overrun = (creation_flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0;
  pthread_mutex_init(&cq->base.mutex, nullptr);
  pthread_cond_init(&cq->base.cond, nullptr);
  fill_polling(cq->base);
  if (channel != nullptr) ++channel->refcnt;
  ++nic.counts.completion_queues;
  nic.counts.pinned += faults::ring_bytes(depth);
  return {reinterpret_cast<T*>(&cq.release()->base)};
}

Made<ibv_cq> EmulatedVerbs::create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                                      int comp_vector) {
  if (cqe < 0) return refused<ibv_cq>(nic_of(context), EINVAL);
  return made_cq<ibv_cq>(context, static_cast<std::uint32_t>(cqe), cq_context, channel, comp_vector, 0, 0);
}

Made<ibv_cq_ex> EmulatedVerbs::create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex& attr) {
  const Nic& nic = nic_of(context);
  const Profile& profile = nic.profile();
  if (!profile.has(Feature::create_cq_ex)) return lacking<ibv_cq_ex>(nic);
  if ((attr.comp_mask & ~static_cast<std::uint32_t>(IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD)) != 0)
    return refused<ibv_cq_ex>(nic, EINVAL);
  std::uint64_t known = kStandardFlags;
  // Some take what they declare, and write nothing there (quirks/irdma.yaml irdma-gen12-no-timestamps).
  if (profile.has(Feature::completion_timestamp) || profile.figure(Cap::completion_timestamp_mask) != 0)
    known |= kTimestamps;
  if ((attr.wc_flags & ~known) != 0) return lacking<ibv_cq_ex>(nic);
  const std::uint32_t flags = (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? attr.flags : 0;
  constexpr std::uint32_t kFlags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
  const int own = profile.creation() == nullptr ? 0 : profile.creation()->error("cq", "flags");
  if ((flags & ~kFlags) != 0) return refused_so<ibv_cq_ex>(nic, own);
  if ((flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0 && !profile.has(Feature::cq_ignore_overrun))
    return refused_so<ibv_cq_ex>(nic, own, profile.unsupported());
  return made_cq<ibv_cq_ex>(context, attr.cqe, attr.cq_context, attr.channel, static_cast<int>(attr.comp_vector),
                            attr.wc_flags, flags);
}

int EmulatedVerbs::resize_cq(ibv_cq* plain, int cqe) {
  const std::scoped_lock lock(host_->mutex);
  Cq& cq = of<Cq>(reinterpret_cast<ibv_cq_ex*>(plain));
  const Profile& profile = nic_of(plain->context).profile();
  if (!profile.has(Feature::cq_resize)) return profile.unsupported();
  // Whatever creation takes: rdma-core providers/irdma/uverbs.c irdma_uresize_cq, linux sw/rxe/rxe_cq.c
  // rxe_cq_chk_attr.
  if (cqe < 0 || static_cast<std::uint64_t>(cqe) > profile.figure(Cap::max_cqe)) return EINVAL;
  Created created;
  created.taken = cqe > 0 && static_cast<std::uint64_t>(cqe) <= profile.figure(Cap::max_cqe);
  if (const Creation* const creation = profile.creation(); creation != nullptr) {
    const Created told = creation->cq(static_cast<std::uint32_t>(cqe));
    if (told.known) created = told;
  }
  if (!created.taken) return created.error > 0 ? created.error : EINVAL;
  const auto reported = static_cast<std::uint32_t>(created.cqe.value_or(cqe));
  const std::uint32_t before = cq.queue.depth();
  if (!cq.queue.resize(std::max(reported, static_cast<std::uint32_t>(cqe)))) return EINVAL;
  Counts& counts = nic_of(plain->context).counts;
  counts.pinned = counts.pinned - faults::ring_bytes(before) + faults::ring_bytes(cq.queue.depth());
  plain->cqe = static_cast<int>(reported);
  return 0;
}

int EmulatedVerbs::modify_cq(ibv_cq* plain, ibv_modify_cq_attr& attr) {
  const Profile& profile = nic_of(plain->context).profile();
  if (!profile.has(Feature::cq_moderation)) return profile.unsupported();
  if (attr.attr_mask != IBV_CQ_ATTR_MODERATE) return EINVAL;
  if (attr.moderate.cq_count > profile.figure(Cap::max_cq_count) ||
      attr.moderate.cq_period > profile.figure(Cap::max_cq_period)) {
    return EINVAL;
  }
  return 0;
}

int EmulatedVerbs::destroy_cq(ibv_cq* plain) {
  std::unique_lock lock(host_->mutex);
  Cq& cq = of<Cq>(reinterpret_cast<ibv_cq_ex*>(plain));
  if (cq.users > 0) return EBUSY;
  if (const int error = faults::in_destroy(nic_of(plain->context)); error != 0) return error;
  if (plain->channel != nullptr) {
    of<Channel>(plain->channel).events.remove([plain](const ibv_cq* each) { return each == plain; });
    --plain->channel->refcnt;
  }
  Context::of(plain->context).events.remove([plain](const AsyncEvent& each) {
    return each.event.event_type == IBV_EVENT_CQ_ERR && each.event.element.cq == plain;
  });
  --nic_of(plain->context).counts.completion_queues;
  nic_of(plain->context).counts.pinned -= faults::ring_bytes(cq.queue.depth());
  const std::uint64_t completions = cq.events_given;
  const std::uint64_t async = cq.async_given;
  lock.unlock();
  // A program that holds an event acknowledges it, and only then is the queue gone (ibv_destroy_cq(3)).
  pthread_mutex_lock(&plain->mutex);
  while (plain->comp_events_completed != completions || plain->async_events_completed != async)
    pthread_cond_wait(&plain->cond, &plain->mutex);
  pthread_mutex_unlock(&plain->mutex);
  pthread_cond_destroy(&plain->cond);
  pthread_mutex_destroy(&plain->mutex);
  delete &cq;
  return 0;
}

int EmulatedVerbs::get_cq_event(ibv_comp_channel* plain, ibv_cq** cq, void** cq_context) {
  Channel& channel = of<Channel>(plain);
  for (;;) {
    if (const int error = read_one(plain->fd); error != 0) return error;
    const std::scoped_lock lock(host_->mutex);
    if (!channel.events.pop(*cq)) continue;
    *cq_context = (*cq)->cq_context;
    ++of<Cq>(reinterpret_cast<ibv_cq_ex*>(*cq)).events_given;
    return 0;
  }
}

void EmulatedVerbs::ack_cq_events(ibv_cq* cq, unsigned count) {
  pthread_mutex_lock(&cq->mutex);
  cq->comp_events_completed += count;
  pthread_cond_signal(&cq->cond);
  pthread_mutex_unlock(&cq->mutex);
}

int EmulatedVerbs::get_async_event(ibv_context* context, ibv_async_event& event) {
  for (;;) {
    if (const int error = read_one(context->async_fd); error != 0) return error;
    const std::scoped_lock lock(host_->mutex);
    AsyncEvent next;
    if (!Context::of(context).events.pop(next)) continue;
    event = next.event;
    switch (event.event_type) {
      case IBV_EVENT_CQ_ERR:
        ++of<Cq>(reinterpret_cast<ibv_cq_ex*>(event.element.cq)).async_given;
        break;
      case IBV_EVENT_SRQ_ERR:
      case IBV_EVENT_SRQ_LIMIT_REACHED:
        ++of<Srq>(event.element.srq).async_given;
        break;
      case IBV_EVENT_PORT_ACTIVE:
      case IBV_EVENT_PORT_ERR:
      case IBV_EVENT_DEVICE_FATAL:
      case IBV_EVENT_LID_CHANGE:
      case IBV_EVENT_PKEY_CHANGE:
      case IBV_EVENT_SM_CHANGE:
      case IBV_EVENT_GID_CHANGE:
      case IBV_EVENT_CLIENT_REREGISTER:
        break;
      default:
        ++of<Qp>(reinterpret_cast<ibv_qp_ex*>(event.element.qp)).async_given;
        break;
    }
    return 0;
  }
}

void EmulatedVerbs::ack_async_event(ibv_async_event& event) {
  const auto acknowledge = [](auto* object, std::uint32_t& completed) {
    pthread_mutex_lock(&object->mutex);
    ++completed;
    pthread_cond_signal(&object->cond);
    pthread_mutex_unlock(&object->mutex);
  };
  switch (event.event_type) {
    case IBV_EVENT_CQ_ERR:
      return acknowledge(event.element.cq, event.element.cq->async_events_completed);
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return acknowledge(event.element.srq, event.element.srq->events_completed);
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_COMM_EST:
      return acknowledge(event.element.qp, event.element.qp->events_completed);
    default:
      return;
  }
}

void EmulatedVerbs::completion(engine::queues::CompletionQueue& queue) noexcept {
  Cq& cq = *static_cast<Cq*>(queue.user);
  if (cq.base.channel != nullptr) of<Channel>(cq.base.channel).events.push(cq.plain());
}

void EmulatedVerbs::on_completion_queue(engine::queues::CompletionQueue& queue) noexcept {
  Cq& cq = *static_cast<Cq*>(queue.user);
  AsyncEvent event;
  event.event.event_type = IBV_EVENT_CQ_ERR;
  event.event.element.cq = cq.plain();
  Context::of(cq.base.context).events.push(event);
}

void EmulatedVerbs::on_stopped(engine::transport::QueuePair& engine_qp) noexcept {
  AsyncEvent event;
  event.event.event_type = IBV_EVENT_DEVICE_FATAL;
  Context::of(static_cast<Qp*>(engine_qp.user)->plain()->context).events.push(event);
}

void EmulatedVerbs::on_error(engine::transport::QueuePair& qp) noexcept {
  if (!manager_ || qp.user == nullptr) return;
  manager_->queue_pair_failed(nic_of(static_cast<Qp*>(qp.user)->plain()->context), qp.number);
}

void EmulatedVerbs::on_queue_pair(engine::transport::QueuePair& engine_qp, ibv_event_type type) noexcept {
  Qp& qp = *static_cast<Qp*>(engine_qp.user);
  AsyncEvent event;
  event.event.event_type = type;
  event.event.element.qp = qp.plain();
  Context::of(qp.plain()->context).events.push(event);
}

void EmulatedVerbs::on_shared_receive_queue(engine::queues::SharedReceiveQueue& queue, ibv_event_type type) noexcept {
  Srq& srq = *static_cast<Srq*>(queue.user);
  AsyncEvent event;
  event.event.event_type = type;
  event.event.element.srq = &srq.base;
  Context::of(srq.base.context).events.push(event);
}

}  // namespace verbena::emulator
