// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>
#include <cstdint>

#include "verbena/post.hpp"

namespace verbena {
namespace {

std::uint32_t usable(const FieldGrant& field) noexcept {
  return field.returned && *field.returned > field.granted ? *field.returned : field.granted;
}

// Sources of the families: rdma-core, providers/{mlx5,irdma,hns,rxe,siw,bnxt_re,efa,erdma,mana,cxgb4,qedr,ionic}, post
// functions. A full queue is ENOMEM everywhere; mlx5, bnxt_re and qedr's receive side answer ENOMEM for excess SGEs
// too, so the request is looked at first.
PostFault by_errno(int error) noexcept {
  switch (error) {
    case 0:
      return PostFault::none;
    case ENOMEM:
    case EAGAIN:
      return PostFault::queue_full;
    case EINVAL:
      return PostFault::invalid;
    case EOPNOTSUPP:
    case ENOSYS:
      return PostFault::unsupported;
    case EIO:
    case ENODEV:
    case ENOTCONN:
      return PostFault::qp_failed;
    default:
      return PostFault::other;
  }
}

}  // namespace

PostFault post_fault(const PostSendResult& result, const QpGrant& grant) noexcept {
  if (result.error == 0) return PostFault::none;
  if (result.bad != nullptr) {
    const ibv_send_wr& wr = *result.bad;
    const bool is_inline = (wr.send_flags & IBV_SEND_INLINE) != 0;
    if (is_inline) {
      std::uint64_t bytes = 0;
      for (int i = 0; i < wr.num_sge; ++i) bytes += wr.sg_list[i].length;
      if (bytes > usable(grant.max_inline_data())) return PostFault::inline_too_long;
    }
    if (wr.num_sge < 0) return PostFault::invalid;
    if (!is_inline && static_cast<std::uint32_t>(wr.num_sge) > usable(grant.max_send_sge())) {
      return PostFault::too_many_sges;
    }
  }
  return by_errno(result.error);
}

PostFault post_fault(const PostRecvResult& result, const QpGrant& grant) noexcept {
  if (result.error == 0) return PostFault::none;
  if (result.bad != nullptr) {
    if (result.bad->num_sge < 0) return PostFault::invalid;
    if (static_cast<std::uint32_t>(result.bad->num_sge) > usable(grant.max_recv_sge())) return PostFault::too_many_sges;
  }
  return by_errno(result.error);
}

std::string_view name(PostFault fault) noexcept {
  switch (fault) {
    case PostFault::none:
      return "none";
    case PostFault::queue_full:
      return "queue_full";
    case PostFault::too_many_sges:
      return "too_many_sges";
    case PostFault::inline_too_long:
      return "inline_too_long";
    case PostFault::invalid:
      return "invalid";
    case PostFault::unsupported:
      return "unsupported";
    case PostFault::qp_failed:
      return "qp_failed";
    case PostFault::other:
      return "other";
  }
  return "other";
}

}  // namespace verbena
