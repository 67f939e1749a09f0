// SPDX-License-Identifier: Apache-2.0 OR MIT
// Events of rdma_cm, and what librdmacm does before it hands one out (rdma-core librdmacm/cma.c rdma_get_cm_event).
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "verbs/emulated_verbs.hpp"

namespace verbena::emulator {

using cm::Event;
using cm::Identifier;

/// What came in answer to rdma_connect: the queue pair is moved, and the other end told that it can be used.
void EmulatedVerbs::respond(Event& event) {
  Identifier& id = Identifier::of(event.base.id);
  int error = move_qp(id.base, IBV_QPS_RTR);
  if (error == 0) error = move_qp(id.base, IBV_QPS_RTS);
  if (error == 0) {
    const std::scoped_lock lock(host_->mutex);
    error = manager().accept(id, nullptr);
    host_->posted();
  }
  if (error == 0) {
    event.base.event = RDMA_CM_EVENT_ESTABLISHED;
    return;
  }
  move_qp(id.base, IBV_QPS_ERR);
  event.base.event = RDMA_CM_EVENT_CONNECT_ERROR;
  event.base.status = -error;
  id.failed = true;
}

/// False where a program isn't told.
bool EmulatedVerbs::prepare(Event& event) {
  Identifier& id = Identifier::of(event.base.id);
  switch (event.base.event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      if (const int error = attach_device(id); error != 0) {
        event.base.event = RDMA_CM_EVENT_ADDR_ERROR;
        event.base.status = -error;
      }
      return true;
    case RDMA_CM_EVENT_CONNECT_REQUEST:
      attach_device(id);
      if (event.counted->waits) {
        const Made<rdma_event_channel> own = cm_create_event_channel();
        if (!own) return true;
        const std::scoped_lock lock(host_->mutex);
        id.base.channel = own.handle;
        id.waits = true;
      }
      return true;
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      if (id.base.qp != nullptr) respond(event);
      return true;
    case RDMA_CM_EVENT_REJECTED:
      if (id.failed) return false;
      move_qp(id.base, IBV_QPS_ERR);
      return true;
    case RDMA_CM_EVENT_DISCONNECTED:
      return !id.failed;
    case RDMA_CM_EVENT_MULTICAST_JOIN:
      if (id.base.qp != nullptr && !event.membership->sends_only) {
        ibv_gid gid{};
        std::memcpy(gid.raw, event.membership->group.gid.data(), sizeof gid.raw);
        if (const int error = attach_mcast(id.base.qp, gid, event.membership->group.lid); error != 0) {
          event.base.event = RDMA_CM_EVENT_MULTICAST_ERROR;
          event.base.status = -error;
        }
      }
      return true;
    default:
      return true;
  }
}

/// The next event, unless that is an errno. `lock` holds the host.
int EmulatedVerbs::await_event(cm::Channel& channel, std::unique_lock<HostMutex>& lock, std::unique_ptr<Event>& event) {
  while (!channel.ended()) {
    host_->progress();
    event = channel.pop();
    if (event) {
      ++event->counted->given;
      if (event->membership != nullptr) ++event->membership->given;
      if (event->base.event == RDMA_CM_EVENT_CONNECT_REQUEST) ++event->counted->room;
      return 0;
    }
    host_->doze();  // and whoever sleeps on the descriptor itself has asked here before
    const int flags = fcntl(channel.base.fd, F_GETFL);
    if (flags < 0) return errno;
    if ((flags & O_NONBLOCK) != 0) return EAGAIN;
    pollfd waiting{channel.base.fd, POLLIN, 0};
    lock.unlock();
    const int error = poll(&waiting, 1, -1) < 0 ? errno : 0;
    lock.lock();
    if (error != 0) return error;
  }
  return 0;
}

int EmulatedVerbs::cm_get_event(rdma_event_channel* plain, rdma_cm_event** given) {
  if (given == nullptr) return EINVAL;
  cm::Channel& channel = cm::Channel::of(plain);
  std::unique_lock lock(host_->mutex);
  channel.enter();
  *given = nullptr;
  std::unique_ptr<Event> event;
  int error = 0;
  do {
    error = await_event(channel, lock, event);
    if (!event) break;
    lock.unlock();
    const bool told = prepare(*event);
    *given = &event.release()->base;
    if (!told) cm_ack_event(std::exchange(*given, nullptr));
    lock.lock();
  } while (*given == nullptr);
  channel.leave();
  lock.unlock();
  if (error != 0 || *given != nullptr) return error;
  // The channel has ended beneath this thread, which sleeps on: the kernel holds the file for it, and there is never
  // an event again (linux drivers/infiniband/core/ucma.c ucma_get_event).
  return poll(nullptr, 0, -1) < 0 ? errno : 0;
}

int EmulatedVerbs::cm_ack_event(rdma_cm_event* plain) {
  if (plain == nullptr) return EINVAL;
  const std::unique_ptr<Event> event(&Event::of(plain));
  const std::scoped_lock lock(host_->mutex);
  ++event->counted->acknowledged;
  if (event->membership != nullptr) ++event->membership->acknowledged;
  acknowledged_.notify_all();
  return 0;
}

/// Of an id whose calls wait: until its event is there.
int EmulatedVerbs::complete(Identifier& id) {
  if (!id.waits) return 0;
  rdma_cm_id& plain = id.base;
  if (plain.event != nullptr) cm_ack_event(std::exchange(plain.event, nullptr));
  if (const int error = cm_get_event(plain.channel, &plain.event); error != 0) return error;
  const int status = plain.event->status;
  if (status == 0) return 0;
  if (plain.event->event == RDMA_CM_EVENT_REJECTED) return ECONNREFUSED;
  return status < 0 ? -status : status;
}

const char* EmulatedVerbs::cm_event_str(int event) {
  switch (event) {
    case RDMA_CM_EVENT_ADDR_RESOLVED:
      return "RDMA_CM_EVENT_ADDR_RESOLVED";
    case RDMA_CM_EVENT_ADDR_ERROR:
      return "RDMA_CM_EVENT_ADDR_ERROR";
    case RDMA_CM_EVENT_ROUTE_RESOLVED:
      return "RDMA_CM_EVENT_ROUTE_RESOLVED";
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return "RDMA_CM_EVENT_ROUTE_ERROR";
    case RDMA_CM_EVENT_CONNECT_REQUEST:
      return "RDMA_CM_EVENT_CONNECT_REQUEST";
    case RDMA_CM_EVENT_CONNECT_RESPONSE:
      return "RDMA_CM_EVENT_CONNECT_RESPONSE";
    case RDMA_CM_EVENT_CONNECT_ERROR:
      return "RDMA_CM_EVENT_CONNECT_ERROR";
    case RDMA_CM_EVENT_UNREACHABLE:
      return "RDMA_CM_EVENT_UNREACHABLE";
    case RDMA_CM_EVENT_REJECTED:
      return "RDMA_CM_EVENT_REJECTED";
    case RDMA_CM_EVENT_ESTABLISHED:
      return "RDMA_CM_EVENT_ESTABLISHED";
    case RDMA_CM_EVENT_DISCONNECTED:
      return "RDMA_CM_EVENT_DISCONNECTED";
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return "RDMA_CM_EVENT_DEVICE_REMOVAL";
    case RDMA_CM_EVENT_MULTICAST_JOIN:
      return "RDMA_CM_EVENT_MULTICAST_JOIN";
    case RDMA_CM_EVENT_MULTICAST_ERROR:
      return "RDMA_CM_EVENT_MULTICAST_ERROR";
    case RDMA_CM_EVENT_ADDR_CHANGE:
      return "RDMA_CM_EVENT_ADDR_CHANGE";
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return "RDMA_CM_EVENT_TIMEWAIT_EXIT";
    default:
      return "UNKNOWN EVENT";
  }
}

}  // namespace verbena::emulator
