// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a work request's opcode comes to on the wire.
#pragma once

#include <infiniband/verbs.h>

#include "engine/wire/opcode.hpp"

namespace verbena::engine::transport {

/// IBV_WR_FLUSH of rdma-core 45 and later; its numbers are in `rkey` and `remote_address` as of an RDMA request.
inline constexpr auto kWorkFlush = static_cast<ibv_wr_opcode>(14);

inline constexpr auto kCompletionFlush = static_cast<ibv_wc_opcode>(8);  ///< IBV_WC_FLUSH

/// IBV_ACCESS_FLUSH_GLOBAL and _PERSISTENT of rdma-core 45 and later.
/// Source: linux include/uapi/rdma/ib_user_ioctl_verbs.h enum ib_uverbs_access_flags.
inline constexpr unsigned kAccessFlushGlobal = 1U << 8;
inline constexpr unsigned kAccessFlushPersistent = 1U << 9;

/// An answer must come back; an acknowledgement isn't enough. `max_rd_atomic` bounds how many of these are under way.
constexpr bool wants_answer(ibv_wr_opcode opcode) noexcept {
  return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD ||
         opcode == IBV_WR_ATOMIC_WRITE || opcode == kWorkFlush;
}

/// Nothing of it goes on the wire.
constexpr bool local(ibv_wr_opcode opcode) noexcept {
  return opcode == IBV_WR_LOCAL_INV || opcode == IBV_WR_BIND_MW;
}

constexpr bool writes(ibv_wr_opcode opcode) noexcept {
  return opcode == IBV_WR_RDMA_WRITE || opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
}

constexpr ibv_wc_opcode completion_opcode(ibv_wr_opcode opcode) noexcept {
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    case IBV_WR_LOCAL_INV:
      return IBV_WC_LOCAL_INV;
    case IBV_WR_BIND_MW:
      return IBV_WC_BIND_MW;
    case IBV_WR_ATOMIC_WRITE:
      return IBV_WC_ATOMIC_WRITE;
    default:
      return opcode == kWorkFlush ? kCompletionFlush : IBV_WC_SEND;
  }
}

/// The opcode of a packet that begins the message or not, and ends it or not. `opcode` isn't local().
constexpr wire::Opcode packet_opcode(ibv_wr_opcode opcode, ibv_qp_type type, bool begins, bool ends) noexcept {
  using enum wire::Opcode;
  const auto choose = [&](wire::Opcode only, wire::Opcode first, wire::Opcode middle, wire::Opcode last) {
    if (begins) return ends ? only : first;
    return ends ? last : middle;
  };
  if (type == IBV_QPT_UD) return opcode == IBV_WR_SEND_WITH_IMM ? ud_send_only_with_immediate : ud_send_only;
  if (type == IBV_QPT_UC) {
    switch (opcode) {
      case IBV_WR_RDMA_WRITE:
        return choose(uc_rdma_write_only, uc_rdma_write_first, uc_rdma_write_middle, uc_rdma_write_last);
      case IBV_WR_RDMA_WRITE_WITH_IMM:
        return choose(uc_rdma_write_only_with_immediate, uc_rdma_write_first, uc_rdma_write_middle,
                      uc_rdma_write_last_with_immediate);
      case IBV_WR_SEND_WITH_IMM:
        return choose(uc_send_only_with_immediate, uc_send_first, uc_send_middle, uc_send_last_with_immediate);
      default:
        return choose(uc_send_only, uc_send_first, uc_send_middle, uc_send_last);
    }
  }
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
      return choose(rc_rdma_write_only, rc_rdma_write_first, rc_rdma_write_middle, rc_rdma_write_last);
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return choose(rc_rdma_write_only_with_immediate, rc_rdma_write_first, rc_rdma_write_middle,
                    rc_rdma_write_last_with_immediate);
    case IBV_WR_SEND_WITH_IMM:
      return choose(rc_send_only_with_immediate, rc_send_first, rc_send_middle, rc_send_last_with_immediate);
    case IBV_WR_SEND_WITH_INV:
      return choose(rc_send_only_with_invalidate, rc_send_first, rc_send_middle, rc_send_last_with_invalidate);
    case IBV_WR_RDMA_READ:
      return rc_rdma_read_request;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return rc_compare_swap;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return rc_fetch_add;
    case IBV_WR_ATOMIC_WRITE:
      return rc_atomic_write;
    default:
      return opcode == kWorkFlush ? rc_flush : choose(rc_send_only, rc_send_first, rc_send_middle, rc_send_last);
  }
}

}  // namespace verbena::engine::transport
