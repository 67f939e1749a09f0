// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/transport/posting.hpp"

#include <algorithm>
#include <cstring>

#include "engine/transport/work_opcode.hpp"
#include "engine/wire/bytes.hpp"

namespace verbena::engine::transport {

namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 31;
constexpr std::uint32_t kAtomicBytes = 8;

bool allowed(ibv_qp_type type, ibv_wr_opcode opcode) noexcept {
  const bool send = opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM;
  switch (type) {
    case IBV_QPT_RC:
      return send || writes(opcode) || wants_answer(opcode) || local(opcode) || opcode == IBV_WR_SEND_WITH_INV;
    case IBV_QPT_UC:
      return send || writes(opcode) || local(opcode);
    case IBV_QPT_UD:
      return send;
    default:
      return false;
  }
}

bool can_be_inline(ibv_wr_opcode opcode) noexcept {
  return !wants_answer(opcode) || opcode == IBV_WR_ATOMIC_WRITE;
}

std::uint64_t bytes_of(const ibv_send_wr& wr) noexcept {
  std::uint64_t bytes = 0;
  if (local(wr.opcode)) return bytes;
  for (int index = 0; index < wr.num_sge; ++index) bytes += wr.sg_list[index].length;
  return bytes;
}

}  // namespace

PostFault judge_send(const QueuePair& qp, const ibv_send_wr& wr, std::uint32_t slots) noexcept {
  const queues::SendQueue& sends = qp.send_queue;
  if (!allowed(qp.type, wr.opcode)) return PostFault::opcode;
  if (sends.works.size() + slots > sends.works.depth()) return PostFault::full;
  const bool carries = !local(wr.opcode);
  if (carries && static_cast<std::uint32_t>(wr.num_sge) > sends.most_sges()) return PostFault::sges;
  const std::uint64_t bytes = bytes_of(wr);
  if (bytes > kMostBytes) return PostFault::bytes;
  const bool is_inline = carries && (wr.send_flags & IBV_SEND_INLINE) != 0;
  const bool misread = wr.opcode == IBV_WR_RDMA_READ && qp.conduct->takes_inline_reads;
  if (is_inline && (bytes > sends.inline_bytes() || (!can_be_inline(wr.opcode) && !misread)))
    return PostFault::inline_bytes;
  const bool atomic = wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  return atomic && bytes != kAtomicBytes ? PostFault::bytes : PostFault::none;
}

PostFault post_send(QueuePair& qp, const ibv_send_wr& wr, const queues::Address* to) {
  const bool early = qp.state == IBV_QPS_RESET || qp.state == IBV_QPS_INIT || qp.state == IBV_QPS_RTR;
  if (early && !qp.conduct->keeps_early_sends) return PostFault::state;
  if (const PostFault fault = judge_send(qp, wr, 1); fault != PostFault::none) return fault;
  queues::SendQueue& sends = qp.send_queue;
  const bool carries = !local(wr.opcode);
  auto sges = carries ? static_cast<std::uint32_t>(wr.num_sge) : 0;
  std::uint64_t bytes = bytes_of(wr);
  const bool is_inline = carries && (wr.send_flags & IBV_SEND_INLINE) != 0 && can_be_inline(wr.opcode);
  if (is_inline && qp.conduct->inline_first_alone && sges > 1) {
    sges = 1;
    bytes = wr.sg_list[0].length;
  }
  const bool atomic = wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

  const std::uint64_t place = sends.works.end();
  queues::SendWork& work = sends.works.grow();
  // The slot's earlier numbers are left where this opcode has none: clearing them all costs more than the rest.
  work.first = {};
  work.packets = 0;
  work.received = 0;
  work.done = false;
  work.compare_or_add = 0;
  work.swap = 0;
  work.wr_id = wr.wr_id;
  work.opcode = wr.opcode;
  work.flags = wr.send_flags;
  work.signalled = qp.signal_all || (wr.send_flags & IBV_SEND_SIGNALED) != 0;
  work.bytes = static_cast<std::uint32_t>(bytes);
  work.sges = static_cast<std::uint16_t>(sges);
  work.is_inline = is_inline;
  if (wr.opcode == IBV_WR_SEND_WITH_INV || wr.opcode == IBV_WR_LOCAL_INV) {
    work.invalidate = wr.invalidate_rkey;
    work.immediate = 0;
  } else {
    work.invalidate = 0;
    work.immediate = wire::network_order(wr.imm_data);
  }
  if (qp.type == IBV_QPT_UD) {
    if (to != nullptr) sends.address_of(place) = *to;
    work.remote_qp = wr.wr.ud.remote_qpn;
    work.remote_qkey = wr.wr.ud.remote_qkey;
  } else if (wr.opcode == IBV_WR_BIND_MW) {
    work.bind = wr.bind_mw.bind_info;
    work.window = wr.bind_mw.mw->rkey;
    work.rkey = wr.bind_mw.rkey;
  } else if (atomic) {
    work.remote_address = wr.wr.atomic.remote_addr;
    work.rkey = wr.wr.atomic.rkey;
    work.compare_or_add = wr.wr.atomic.compare_add;
    work.swap = wr.wr.atomic.swap;
  } else if (carries) {
    work.remote_address = wr.wr.rdma.remote_addr;
    work.rkey = wr.wr.rdma.rkey;
  }
  if (is_inline) {
    std::byte* const first = sends.inline_of(place);
    std::byte* into = first;
    for (std::uint32_t index = 0; index < sges; ++index) {
      const ibv_sge& sge = wr.sg_list[index];
      if (sge.length == 0) continue;
      std::memcpy(into, reinterpret_cast<const void*>(sge.addr), sge.length);
      into += sge.length;
    }
    if (bytes > qp.conduct->inline_carried)
      std::memset(first + qp.conduct->inline_carried, 0, bytes - qp.conduct->inline_carried);
  } else {
    std::copy_n(wr.sg_list, sges, sends.sges_of(place).begin());
  }
  if (carries && !is_inline && (wr.send_flags & IBV_SEND_INLINE) != 0) {
    // What lies in the buffer is no key of anything.
    for (ibv_sge& sge : sends.sges_of(place).first(sges)) sge.lkey = 0;
  }
  return early ? PostFault::state : PostFault::none;
}

PostFault post_receive(queues::ReceiveQueue& queue, const ibv_recv_wr& wr) {
  const auto sges = static_cast<std::uint32_t>(wr.num_sge);
  if (sges > queue.most_sges()) return PostFault::sges;
  if (queue.works.full()) return PostFault::full;
  const std::uint64_t place = queue.works.end();
  queues::ReceiveWork& work = queue.works.grow();
  work.wr_id = wr.wr_id;
  work.sges = static_cast<std::uint16_t>(sges);
  std::copy_n(wr.sg_list, sges, queue.sges_of(place).begin());
  return PostFault::none;
}

}  // namespace verbena::engine::transport
