// SPDX-License-Identifier: Apache-2.0 OR MIT
// What comes in on RC and UC: in order, checked before a byte is touched, each request done once however often it is
// sent. Source: linux drivers/infiniband/sw/rxe/rxe_resp.c.
#include <algorithm>
#include <atomic>

#include "engine/memory/access.hpp"
#include "engine/memory/window.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/transport/work_opcode.hpp"
#include "engine/wire/mtu.hpp"

namespace verbena::engine::transport {

namespace {

using wire::NakCode;
using wire::Operation;

/// As many payload bytes as the number of packets and the path MTU want.
bool fills(const Train& train, std::uint32_t mtu) noexcept {
  if (train.ends()) {
    return train.packets == wire::packets_of(static_cast<std::uint32_t>(train.bytes), mtu) &&
           (train.bytes > 0 || train.info().begins());
  }
  return train.bytes == std::uint64_t{train.packets} * mtu;
}

memory::Asker asker(const QueuePair& qp) noexcept {
  return {qp.domain, qp.number, qp.conduct->windows_bound};
}

bool immediate(const Train& train) noexcept {
  return wire::info(train.last_opcode).has(wire::kImmDt);
}

}  // namespace

void Adapter::requested(QueuePair& qp, const Train& train) {
  Responder& responder = qp.responder;
  if (qp.type == IBV_QPT_RC) {
    switch (wire::region(train.first(), responder.expected)) {
      case wire::PsnRegion::expected:
        responder.gap_told = false;
        return take(qp, train);
      case wire::PsnRegion::duplicate: {
        const auto known = static_cast<std::uint32_t>(wire::distance(train.first(), responder.expected));
        return train.info().payload == wire::Payload::any && known < train.packets ? take_rest(qp, train, known)
                                                                                   : again(qp, train);
      }
      case wire::PsnRegion::ahead:
        if (responder.gap_told) return;
        responder.gap_told = true;
        return send_acknowledge(qp, responder.expected, wire::Syndrome::nak(NakCode::psn_sequence_error));
    }
  }
  // UC: a message of which anything is missing is dropped whole; the receive that it took is for the next one.
  const bool begins = train.info().begins();
  if (train.first() != responder.expected || begins) {
    if (responder.message) ++dropped_.out_of_order;
    responder.message.reset();
  }
  responder.expected = train.last() + 1;
  if (!begins && !responder.message) {
    ++dropped_.out_of_order;
    return;
  }
  take(qp, train);
}

void Adapter::take(QueuePair& qp, const Train& train) {
  Responder& responder = qp.responder;
  const wire::OpcodeInfo& info = train.info();
  const bool begins = info.begins();
  if (begins == responder.message.has_value() || (responder.message && *responder.message != info.operation) ||
      (info.payload == wire::Payload::any && !fills(train, qp.mtu()))) {
    return refuse(qp, train, NakCode::invalid_request, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
  }
  switch (info.operation) {
    case Operation::send:
      return take_send(qp, train);
    case Operation::write:
      return take_write(qp, train);
    case Operation::read:
      return take_read(qp, train);
    case Operation::atomic:
      return take_atomic(qp, train);
    case Operation::flush:
      return take_flush(qp, train);
    case Operation::atomic_write:
      return take_atomic_write(qp, train);
    default:
      return;
  }
}

bool Adapter::take_receive(QueuePair& qp) {
  Responder& responder = qp.responder;
  if (!responder.has_receive) responder.has_receive = fetch(qp, &responder.wr_id);
  return responder.has_receive;
}

void Adapter::take_send(QueuePair& qp, const Train& train) {
  Responder& responder = qp.responder;
  const bool begins = train.info().begins();
  if (begins) {
    if (!take_receive(qp)) return not_ready(qp, train.first());
    responder.offset = 0;
  }
  std::uint64_t room = 0;
  for (const ibv_sge& sge : responder.sges) room += sge.length;
  if (responder.offset + train.bytes > room)
    return conduct_.short_receive_malformed
               ? refuse(qp, train, NakCode::remote_operational_error, IBV_WC_LOC_QP_OP_ERR, IBV_EVENT_QP_FATAL)
               : refuse(qp, train, NakCode::invalid_request, IBV_WC_LOC_LEN_ERR, IBV_EVENT_QP_REQ_ERR);
  if (train.bytes > 0) {
    qp.scattered.clear();
    for (const ibv_sge& sge : responder.sges) {
      const memory::Place at = memory::local(keys_, sge, qp.domain, true);
      if (!at) return refuse(qp, train, NakCode::remote_operational_error, IBV_WC_LOC_PROT_ERR, IBV_EVENT_QP_FATAL);
      if (sge.length > 0) qp.scattered.push_back({*at, sge.length});
    }
    if (!bring(qp.scattered, responder.offset, train, train.bytes)) return;
  }
  responder.offset += train.bytes;
  responder.message = Operation::send;
  if (!train.ends()) return advance(qp, train, train.packets);

  if (wire::info(train.last_opcode).has(wire::kIeth) &&
      !memory::invalidate(keys_, train.head.invalidate.rkey, qp.domain, qp.number, conduct_.invalidates_regions)) {
    return refuse(qp, train, NakCode::remote_operational_error, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
  }
  responder.message.reset();
  responder.msn = (responder.msn + 1) & wire::kLow24;
  complete_receive(qp, IBV_WC_SUCCESS, &train, responder.offset);
  advance(qp, train, train.packets);
}

void Adapter::take_write(QueuePair& qp, const Train& train) {
  Responder& responder = qp.responder;
  if (train.info().begins()) {
    if ((qp.attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) == 0)
      return refuse(qp, train, NakCode::invalid_request, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
    responder.address = train.head.reth.address;
    responder.rkey = train.head.reth.rkey;
    responder.length = train.head.reth.length;
    responder.offset = 0;
  }
  const std::uint64_t after = responder.offset + train.bytes;
  if (after > responder.length || (train.ends() && after != responder.length))
    return refuse(qp, train, NakCode::invalid_request, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);

  // The whole message is judged at its beginning, and what is left of it at every packet: the region may be gone by
  // then.
  std::byte* to = nullptr;
  if (responder.length > 0) {
    const std::uint64_t at = responder.address + responder.offset;
    const memory::Place place = memory::remote(keys_, responder.rkey, at, responder.length - responder.offset,
                                               IBV_ACCESS_REMOTE_WRITE, asker(qp));
    if (!place) return refuse(qp, train, NakCode::remote_access_error, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
    to = *place;
  }
  std::uint64_t bytes = train.bytes;
  std::uint32_t packets = train.packets;
  const bool waits = train.ends() && immediate(train) && !take_receive(qp);
  if (waits) {  // its last packet comes again
    --packets;
    bytes = std::uint64_t{packets} * qp.mtu();
    if (qp.type != IBV_QPT_RC) bytes = train.bytes;
  }
  const memory::Piece target{to, bytes};
  if (!bring({&target, 1}, 0, train, bytes)) return;
  responder.offset += bytes;
  if (waits && qp.type == IBV_QPT_RC) {
    const wire::Psn psn = train.first() + packets;
    if (packets > 0) {
      responder.message = Operation::write;
      responder.expected = psn;
    }
    return not_ready(qp, psn);
  }
  if (!train.ends()) {
    responder.message = Operation::write;
    return advance(qp, train, train.packets);
  }
  responder.message.reset();
  responder.msn = (responder.msn + 1) & wire::kLow24;
  if (waits) {
    ++dropped_.no_receive;
    return;
  }
  if (immediate(train)) complete_receive(qp, IBV_WC_SUCCESS, &train, responder.length);
  advance(qp, train, train.packets);
}

void Adapter::take_read(QueuePair& qp, const Train& train) {
  Responder& responder = qp.responder;
  const wire::Reth& reth = train.head.reth;
  if ((qp.attr.qp_access_flags & IBV_ACCESS_REMOTE_READ) == 0 || qp.attr.max_dest_rd_atomic == 0)
    return refuse(qp, train, NakCode::invalid_request, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
  std::byte* from = nullptr;
  if (reth.length > 0) {
    const memory::Place place =
        memory::remote(keys_, reth.rkey, reth.address, reth.length, IBV_ACCESS_REMOTE_READ, asker(qp));
    if (!place) return refuse(qp, train, NakCode::remote_access_error, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
    from = *place;
  }
  const std::uint32_t packets = wire::packets_of(reth.length, qp.mtu());
  const wire::Psn psn = train.first();
  remember(qp, {psn, packets, train.head.bth.opcode, 0});
  responder.expected = psn + packets;
  responder.msn = (responder.msn + 1) & wire::kLow24;
  send_read_answer(qp, psn, from, reth.length);
}

void Adapter::take_atomic(QueuePair& qp, const Train& train) {
  Responder& responder = qp.responder;
  const wire::AtomicEth& asked = train.head.atomic;
  if ((qp.attr.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC) == 0 || qp.attr.max_dest_rd_atomic == 0 ||
      asked.address % sizeof(std::uint64_t) != 0) {
    return refuse(qp, train, NakCode::invalid_request, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
  }
  const memory::Place place =
      memory::remote(keys_, asked.rkey, asked.address, sizeof(std::uint64_t), IBV_ACCESS_REMOTE_ATOMIC, asker(qp));
  // The iova may be aligned where the memory is not; atomics of the host want the latter.
  if (!place || reinterpret_cast<std::uintptr_t>(*place) % sizeof(std::uint64_t) != 0)
    return refuse(qp, train, NakCode::remote_access_error, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
  std::uint64_t original = 0;
  if (*place != nullptr) {
    const std::atomic_ref<std::uint64_t> word(*reinterpret_cast<std::uint64_t*>(*place));
    if (train.head.bth.opcode == wire::Opcode::rc_fetch_add) {
      original = word.fetch_add(asked.swap_or_add);
    } else {
      original = asked.compare;
      word.compare_exchange_strong(original, asked.swap_or_add);
    }
  }
  const wire::Psn psn = train.first();
  remember(qp, {psn, 1, train.head.bth.opcode, original});
  responder.expected = psn + 1;
  responder.msn = (responder.msn + 1) & wire::kLow24;
  send_atomic_answer(qp, psn, original);
}

void Adapter::take_flush(QueuePair& qp, const Train& train) {
  Responder& responder = qp.responder;
  unsigned access = 0;
  if ((train.head.feth.placement & wire::Feth::kGlobal) != 0) access |= kAccessFlushGlobal;
  if ((train.head.feth.placement & wire::Feth::kPersistent) != 0) access |= kAccessFlushPersistent;
  if ((qp.attr.qp_access_flags & access) != access || qp.attr.max_dest_rd_atomic == 0)
    return refuse(qp, train, NakCode::invalid_request, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
  const wire::Reth& reth = train.head.reth;
  const bool whole = train.head.feth.selectivity == wire::Feth::kRegion;
  const memory::Region* const region = keys_.find(reth.rkey);
  const std::uint64_t address = whole && region != nullptr ? region->address : reth.address;
  if (!memory::remote(keys_, reth.rkey, address, whole ? 0 : reth.length, access, asker(qp)))
    return refuse(qp, train, NakCode::remote_access_error, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
  // Memory of this host is visible to all as soon as it is written; none of it survives a loss of power.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const wire::Psn psn = train.first();
  remember(qp, {psn, 1, train.head.bth.opcode, 0});
  responder.expected = psn + 1;
  responder.msn = (responder.msn + 1) & wire::kLow24;
  send_read_answer(qp, psn, nullptr, 0);
}

void Adapter::take_atomic_write(QueuePair& qp, const Train& train) {
  Responder& responder = qp.responder;
  const wire::Reth& reth = train.head.reth;
  constexpr std::uint64_t kBytes = 8;
  if ((qp.attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE) == 0 || qp.attr.max_dest_rd_atomic == 0 ||
      train.bytes != kBytes || reth.length != kBytes || reth.address % kBytes != 0) {
    return refuse(qp, train, NakCode::invalid_request, IBV_WC_REM_INV_REQ_ERR, IBV_EVENT_QP_REQ_ERR);
  }
  const memory::Place place =
      memory::remote(keys_, reth.rkey, reth.address, kBytes, IBV_ACCESS_REMOTE_WRITE, asker(qp));
  if (!place || reinterpret_cast<std::uintptr_t>(*place) % kBytes != 0)
    return refuse(qp, train, NakCode::remote_access_error, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
  if (*place != nullptr) {
    std::uint64_t value = 0;
    const memory::Piece piece{reinterpret_cast<std::byte*>(&value), sizeof value};
    if (!bring({&piece, 1}, 0, train, sizeof value)) return;
    std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(*place)).store(value);
  }
  const wire::Psn psn = train.first();
  remember(qp, {psn, 1, train.head.bth.opcode, 0});
  responder.expected = psn + 1;
  responder.msn = (responder.msn + 1) & wire::kLow24;
  send_read_answer(qp, psn, nullptr, 0);
}

/// The first `known` packets came before, and those behind them are new.
void Adapter::take_rest(QueuePair& qp, const Train& train, std::uint32_t known) {
  const std::uint64_t skipped = std::uint64_t{known} * train.mtu;
  Train rest = train;
  rest.head = packet(train, known);
  rest.head.bth.solicited = train.head.bth.solicited;
  rest.head.bth.ack_request = train.head.bth.ack_request;
  rest.packets -= known;
  rest.bytes -= std::min(skipped, train.bytes);
  std::vector<memory::Piece> pieces(train.payload.size());
  rest.payload = memory::slice(train.payload, skipped, rest.bytes, pieces);
  qp.responder.gap_told = false;
  take(qp, rest);
}

/// A request that was done already: what can be answered again is; nothing is done twice.
void Adapter::again(QueuePair& qp, const Train& train) {
  const Responder& responder = qp.responder;
  const wire::OpcodeInfo& info = train.info();
  if (info.answer == wire::Answer::acknowledge || info.answer == wire::Answer::none) return acknowledge(qp);
  const auto found = std::find_if(responder.answered.begin(), responder.answered.end(), [&](const Answered& one) {
    return one.opcode == train.head.bth.opcode && wire::in_window(train.first(), one.first, one.packets);
  });
  if (found == responder.answered.end()) return;
  switch (info.operation) {
    case Operation::atomic:
      return send_atomic_answer(qp, found->first, found->original);
    case Operation::read: {
      const wire::Reth& reth = train.head.reth;
      const auto skipped = static_cast<std::uint32_t>(wire::distance(found->first, train.first()));
      if (skipped + wire::packets_of(reth.length, qp.mtu()) > found->packets) return;
      std::byte* from = nullptr;
      if (reth.length > 0) {
        const memory::Place place =
            memory::remote(keys_, reth.rkey, reth.address, reth.length, IBV_ACCESS_REMOTE_READ, asker(qp));
        if (!place)
          return refuse(qp, train, NakCode::remote_access_error, IBV_WC_REM_ACCESS_ERR, IBV_EVENT_QP_ACCESS_ERR);
        from = *place;
      }
      return send_read_answer(qp, train.first(), from, reth.length);
    }
    default:
      return send_read_answer(qp, found->first, nullptr, 0);
  }
}

void Adapter::remember(QueuePair& qp, const Answered& answered) {
  std::deque<Answered>& all = qp.responder.answered;
  all.push_back(answered);
  while (all.size() > qp.attr.max_dest_rd_atomic) all.pop_front();
}

/// `packets` of it were taken.
void Adapter::advance(QueuePair& qp, const Train& train, std::uint32_t packets) {
  if (qp.type != IBV_QPT_RC) return;
  qp.responder.expected = train.first() + packets;
  if (train.head.bth.ack_request && !note_for(qp, train)) acknowledge(qp);
}

/// No receive for it: RC says so, UC drops it.
void Adapter::not_ready(QueuePair& qp, wire::Psn psn) {
  if (qp.type == IBV_QPT_RC) {
    const auto code =
        conduct_.rnr_timer == Conduct::kAll ? qp.attr.min_rnr_timer : static_cast<std::uint8_t>(conduct_.rnr_timer);
    return send_acknowledge(qp, psn, wire::Syndrome::rnr_nak(code));
  }
  ++dropped_.no_receive;
  qp.responder.message.reset();
}

/// The request is wrong, or this end is: RC says which and fails, UC fails where its own receive is at fault, and drops
/// what else is wrong.
void Adapter::refuse(QueuePair& qp, const Train& train, NakCode code, ibv_wc_status receive_status,
                     ibv_event_type event) {
  Responder& responder = qp.responder;
  const bool own = receive_status == IBV_WC_LOC_LEN_ERR || receive_status == IBV_WC_LOC_PROT_ERR ||
                   receive_status == IBV_WC_LOC_QP_OP_ERR;
  if (qp.type == IBV_QPT_UC && !own) {
    ++dropped_.refused;
    responder.message.reset();
    return;
  }
  const bool tells = qp.type == IBV_QPT_RC;
  if (responder.has_receive) complete_receive(qp, receive_status, nullptr, 0);
  fail(qp);
  if (conduct_.error_events) notices_.on_queue_pair(qp, event);
  // Last, since the answer may find this queue pair again.
  if (tells) send_acknowledge(qp, train.first(), wire::Syndrome::nak(code));
}

void Adapter::complete_receive(QueuePair& qp, ibv_wc_status status, const Train* train, std::uint64_t bytes) {
  Responder& responder = qp.responder;
  responder.has_receive = false;
  queues::Completion completion;
  ibv_wc& wc = completion.wc;
  wc.wr_id = responder.wr_id;
  wc.status = status;
  wc.opcode = IBV_WC_RECV;
  wc.qp_num = qp.number;
  wc.src_qp = qp.attr.dest_qp_num;
  wc.pkey_index = qp.attr.pkey_index;
  bool solicited = status != IBV_WC_SUCCESS && conduct_.errors_solicited;
  if (train != nullptr) {
    const wire::OpcodeInfo& info = wire::info(train->last_opcode);
    solicited = solicited || train->head.bth.solicited;
    wc.byte_len = static_cast<std::uint32_t>(bytes);
    if (info.operation == Operation::write) wc.opcode = IBV_WC_RECV_RDMA_WITH_IMM;
    if (info.has(wire::kImmDt)) {
      wc.wc_flags |= IBV_WC_WITH_IMM;
      wc.imm_data = wire::network_order(train->head.immediate.data);
    }
    if (info.has(wire::kIeth)) {
      wc.wc_flags |= conduct_.invalidate_flag;
      wc.invalidated_rkey = train->head.invalidate.rkey;
    }
    if (info.has(wire::kDeth)) {
      if (!train->head.ip.without_grh) wc.wc_flags |= IBV_WC_GRH;
      wc.slid = train->head.ip.source_lid;
      wc.sl = train->head.ip.service_level;
      wc.src_qp = train->head.deth.source_qp;
    }
  }
  push(*qp.receive_cq, completion, solicited);
}

}  // namespace verbena::engine::transport
