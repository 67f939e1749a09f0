// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <string_view>

#include <infiniband/verbs.h>

#include "verbena/grant.hpp"

// The data path: inline, through the context's own operations, with no lock, allocation, virtual call or exception.
// As thread-safe as verbs themselves are.
#pragma GCC visibility push(default)
namespace verbena {

/// What a post came to, the same on every driver.
template <class WorkRequest>
struct [[nodiscard]] PostResult {
  int error = 0;               ///< positive errno, 0 when all were taken
  WorkRequest* bad = nullptr;  ///< with an error: the first work request that was not taken; else of no meaning

  constexpr explicit operator bool() const noexcept { return error == 0; }
};
using PostSendResult = PostResult<ibv_send_wr>;
using PostRecvResult = PostResult<ibv_recv_wr>;

namespace detail {
// siw, erdma, cxgb4 and qedr return negative errnos, bnxt_re both (rdma-core, providers/*, their post functions).
constexpr int positive_errno(int value) noexcept {
  return value < 0 ? -value : value;
}
}  // namespace detail

/// Posts the list; `bad` is preset to its head, since a driver may leave it unset (rdma-core, providers/cxgb4/qp.c,
/// c4iw_post_srq_recv).
inline PostSendResult post_send(ibv_qp* qp, ibv_send_wr* list) noexcept {
  ibv_send_wr* bad = list;
  const int returned = qp->context->ops.post_send(qp, list, &bad);
  return {detail::positive_errno(returned), bad};
}

inline PostRecvResult post_recv(ibv_qp* qp, ibv_recv_wr* list) noexcept {
  ibv_recv_wr* bad = list;
  const int returned = qp->context->ops.post_recv(qp, list, &bad);
  return {detail::positive_errno(returned), bad};
}

inline PostRecvResult post_srq_recv(ibv_srq* srq, ibv_recv_wr* list) noexcept {
  ibv_recv_wr* bad = list;
  const int returned = srq->context->ops.post_srq_recv(srq, list, &bad);
  return {detail::positive_errno(returned), bad};
}

/// Takes up to `count` completions: how many there were, or a negative number when the queue is of no more use.
inline int poll(ibv_cq* cq, int count, ibv_wc* completions) noexcept {
  return cq->context->ops.poll_cq(cq, count, completions);
}

/// Why a post failed; errnos alone do not tell (ENOMEM is a full queue on all drivers, and too many SGEs on some).
enum class PostFault : std::uint8_t {
  none,
  queue_full,       ///< room comes back with completions
  too_many_sges,    ///< the request has more than the grant
  inline_too_long,  ///< more inline bytes than the grant
  invalid,          ///< opcode, flag or state of the QP is not one that takes this
  unsupported,      ///< the device has no such operation
  qp_failed,        ///< the QP is in ERR or the device is gone
  other,
};
std::string_view name(PostFault fault) noexcept;

/// Sorts a failed post by errno, the refused request and what was granted. For the cold path.
PostFault post_fault(const PostSendResult& result, const QpGrant& grant) noexcept;
PostFault post_fault(const PostRecvResult& result, const QpGrant& grant) noexcept;

}  // namespace verbena
#pragma GCC visibility pop
