// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

#include <infiniband/verbs.h>

namespace conform {

/// What an asynchronous event is about. A device's is told by its port, which is 0.
enum class ElementKind : std::uint8_t { port, cq, qp, srq };

inline ElementKind kind_of(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_CQ_ERR:
      return ElementKind::cq;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
      return ElementKind::qp;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
      return ElementKind::srq;
    default:
      return ElementKind::port;
  }
}

inline void set_element(ibv_async_event& event, void* object, std::uint32_t port) {
  switch (kind_of(event.event_type)) {
    case ElementKind::cq:
      event.element.cq = static_cast<ibv_cq*>(object);
      break;
    case ElementKind::qp:
      event.element.qp = static_cast<ibv_qp*>(object);
      break;
    case ElementKind::srq:
      event.element.srq = static_cast<ibv_srq*>(object);
      break;
    case ElementKind::port:
      event.element.port_num = static_cast<int>(port);
      break;
  }
}

}  // namespace conform
