// SPDX-License-Identifier: Apache-2.0 OR MIT
// What goes out: works in the order in which they were posted, a READ or an atomic only while the other end has room to
// remember it, and all of it again from where something was lost. Source: linux drivers/infiniband/sw/rxe/rxe_req.c.
#include <algorithm>

#include "engine/memory/access.hpp"
#include "engine/memory/window.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/transport/work_opcode.hpp"
#include "engine/wire/mtu.hpp"
#include "engine/wire/timers.hpp"

namespace verbena::engine::transport {

namespace {

/// Packets between two that ask for an acknowledgement, within a long message.
constexpr std::uint32_t kAskEvery = 16;

/// How long it waits for an acknowledgement; 0: for ever.
Time patience(const QueuePair& qp) noexcept {
  const Conduct& conduct = *qp.conduct;
  if (conduct.retry_after != Time{} && (qp.attr.timeout != 0 || !conduct.zero_waits)) {
    constexpr std::uint32_t kMostDoublings = 16;
    const std::uint32_t doublings = conduct.retry_doubles ? std::min(qp.requester.waits, kMostDoublings) : 0;
    return conduct.retry_after * (std::int64_t{1} << doublings);
  }
  const Time wait = wire::ack_timeout(qp.attr.timeout);
  if (wait == Time{} || conduct.timer_grain == Time{}) return wait;
  return (wait / conduct.timer_grain + 1) * conduct.timer_grain;
}

std::uint32_t packets_for(const queues::SendWork& work, std::uint32_t mtu) noexcept {
  if (local(work.opcode)) return 0;
  const bool one = wants_answer(work.opcode) && work.opcode != IBV_WR_RDMA_READ;
  return one ? 1 : wire::packets_of(work.bytes, mtu);
}

}  // namespace

void Adapter::progress(QueuePair& qp) {
  if (qp.state == IBV_QPS_ERR || qp.state == IBV_QPS_SQE) return flush(qp);
  Requester& requester = qp.requester;
  if (requester.sending) return;  // by the loop below, which goes on when this returns
  requester.sending = true;
  if (!conduct_.fence_orders) take_fenced_early(qp);
  while (!stopped_ && send_next(qp)) {
  }
  requester.sending = false;
  watch(qp);
}

/// False where nothing can be sent now.
bool Adapter::send_next(QueuePair& qp) {
  if (qp.state != IBV_QPS_RTS && qp.state != IBV_QPS_SQD) return false;
  Requester& requester = qp.requester;
  queues::SendQueue& sends = qp.send_queue;
  if (requester.resting || requester.place == sends.works.end()) return false;
  queues::SendWork& work = sends.works[requester.place];
  if (requester.place == sends.next) requester.rewound = false;
  if (qp.state == IBV_QPS_SQD && requester.rewound && conduct_.sqd_forgets_retries) return false;
  if (requester.place == sends.next && (qp.state == IBV_QPS_SQD || !begin(qp, work))) return false;
  if (work.done) {
    ++requester.place;
    requester.packet = 0;
    return true;
  }
  if (local(work.opcode)) {
    do_local(qp, work);
    return work.done;
  }
  return qp.type == IBV_QPT_UD ? send_datagram(qp, work) : send_packets(qp, work);
}

/// Numbers its packets; false where it must wait for others.
bool Adapter::begin(QueuePair& qp, queues::SendWork& work) {
  Requester& requester = qp.requester;
  if ((work.flags & IBV_SEND_FENCE) != 0 && requester.reads > 0 && conduct_.fence_orders) return false;
  if (wants_answer(work.opcode)) {
    if (requester.reads >= qp.attr.max_rd_atomic) return false;
    ++requester.reads;
  }
  if (begun_++ >= conduct_.stops_after) {
    stop(qp);
    return false;
  }
  work.done = false;
  work.received = 0;
  work.first = requester.psn;
  work.packets = qp.type == IBV_QPT_UD ? 1 : packets_for(work, qp.mtu());
  requester.psn = requester.psn + work.packets;
  ++qp.send_queue.next;
  return true;
}

void Adapter::do_local(QueuePair& qp, queues::SendWork& work) {
  bool well = false;
  if (work.opcode == IBV_WR_LOCAL_INV) {
    // What goes before may be sent again from there (InfiniBand specification volume 1, 10.6.5.1; linux
    // drivers/infiniband/sw/rxe/rxe_req.c rxe_wqe_is_fenced).
    if (qp.requester.place != qp.send_queue.completed) return;
    well = memory::invalidate(keys_, work.invalidate, qp.domain, qp.number, conduct_.invalidates_regions);
  } else {
    const memory::Bind asked{.window = work.window,
                             .rkey = work.rkey,
                             .lkey = work.bind.mr != nullptr ? work.bind.mr->lkey : 0,
                             .address = work.bind.addr,
                             .length = work.bind.length,
                             .access = work.bind.mw_access_flags,
                             .queue_pair = qp.number,
                             .domain = qp.domain};
    well = memory::bind(keys_, asked) == memory::BindFault::none;
  }
  if (well) {
    work.done = true;
    retire(qp);
  } else if (qp.requester.place == qp.send_queue.completed) {
    fail_own(qp, qp.requester.place, work.opcode == IBV_WR_BIND_MW ? IBV_WC_MW_BIND_ERR : IBV_WC_LOC_QP_OP_ERR);
  }  // else those before it complete first, and it is tried again
}

/// What fenced sends will carry, as it is before the READs ahead of them have ended (Conduct::fence_orders).
void Adapter::take_fenced_early(QueuePair& qp) {
  queues::SendQueue& sends = qp.send_queue;
  qp.taken_early.erase(qp.taken_early.begin(), qp.taken_early.lower_bound(sends.completed));
  for (std::uint64_t place = sends.next; place != sends.works.end(); ++place) {
    queues::SendWork& work = sends.works[place];
    const bool fenced = (work.flags & IBV_SEND_FENCE) != 0 && !work.is_inline;
    if (!fenced || local(work.opcode) || wants_answer(work.opcode) || qp.taken_early.contains(place)) continue;
    if (gather(qp, work, place) != IBV_WC_SUCCESS) continue;
    std::vector<std::byte> bytes(work.bytes);
    const memory::Piece into{bytes.data(), bytes.size()};
    memory::copy({&into, 1}, 0, qp.gathered, 0, bytes.size());
    qp.taken_early.emplace(place, std::move(bytes));
  }
}

/// Finds its payload, in qp.gathered.
ibv_wc_status Adapter::gather(QueuePair& qp, queues::SendWork& work, std::uint64_t place) {
  qp.gathered.clear();
  if (work.is_inline) {
    qp.gathered.push_back({qp.send_queue.inline_of(place), work.bytes});
    return IBV_WC_SUCCESS;
  }
  if (const auto early = qp.taken_early.find(place); early != qp.taken_early.end()) {
    qp.gathered.push_back({early->second.data(), early->second.size()});
    return IBV_WC_SUCCESS;
  }
  if (work.sges > conduct_.sges_carried) return IBV_WC_LOC_QP_OP_ERR;
  for (const ibv_sge& sge : qp.send_queue.sges_of(place).first(work.sges)) {
    const memory::Place at = memory::local(keys_, sge, qp.domain, false);
    if (!at) return IBV_WC_LOC_PROT_ERR;
    if (sge.length > 0) qp.gathered.push_back({*at, sge.length});
  }
  return IBV_WC_SUCCESS;
}

/// Whether a READ may be asked for, by the access of what it will fill.
bool Adapter::sink_is_good(QueuePair& qp, const queues::SendWork& work, std::uint64_t place) const noexcept {
  if (!conduct_.sink_needs_remote_write) return true;
  const auto sges = qp.send_queue.sges_of(place).first(work.sges);
  return std::all_of(sges.begin(), sges.end(), [this](const ibv_sge& sge) {
    const memory::Region* const region = keys_.find(sge.lkey);
    return sge.length == 0 || (region != nullptr && (region->access & IBV_ACCESS_REMOTE_WRITE) != 0);
  });
}

bool Adapter::send_packets(QueuePair& qp, queues::SendWork& work) {
  Requester& requester = qp.requester;
  const std::uint64_t place = requester.place;
  const std::uint32_t index = requester.packet;
  const bool answer = wants_answer(work.opcode);
  const std::uint32_t mtu = qp.mtu();

  std::uint32_t room = outlet_.most_packets(qp);
  if (qp.type == IBV_QPT_RC) {
    const auto sent = static_cast<std::uint32_t>(wire::distance(requester.acknowledged, work.first + index));
    if (sent >= outlet_.window()) return false;
    room = std::min(room, outlet_.window() - sent);
  }
  const std::uint32_t packets = answer ? 1 : std::min(room, work.packets - index);
  const bool ends = answer || index + packets == work.packets;

  Train& train = requester.outgoing;
  train.mtu = mtu;
  train.packets = packets;
  train.bytes = 0;
  train.payload = {};
  train.noted = nullptr;
  train.stays = qp.type == IBV_QPT_RC;
  train.from_qp = qp.number;
  train.head.ip = qp.route.ip;
  train.head.udp = qp.route.udp;
  wire::Bth& bth = train.head.bth;
  const bool begins = answer || index == 0;
  bth.opcode = packet_opcode(work.opcode, qp.type, begins, ends && packets == 1);
  train.last_opcode = packets == 1 ? bth.opcode : packet_opcode(work.opcode, qp.type, false, ends);
  bth.pkey = qp.pkey;
  bth.dest_qp = qp.attr.dest_qp_num;
  bth.psn = work.first + index;
  bth.solicited = ends && (work.flags & IBV_SEND_SOLICITED) != 0;
  bth.ack_request = qp.type == IBV_QPT_RC && (ends || packets == room || (index + packets) % kAskEvery == 0);

  const std::uint64_t offset = std::uint64_t{index} * mtu;
  train.head.reth = {work.remote_address, work.rkey, work.bytes};
  train.head.immediate.data = work.immediate;
  train.head.invalidate.rkey = work.invalidate;
  ibv_wc_status status = IBV_WC_SUCCESS;
  if (work.bytes > conduct_.largest_message) {
    status = IBV_WC_LOC_LEN_ERR;
  } else if (!answer) {
    status = gather(qp, work, place);
    train.bytes = ends ? work.bytes - offset : std::uint64_t{packets} * mtu;
  } else if (work.opcode == IBV_WR_RDMA_READ) {
    if (!sink_is_good(qp, work, place)) status = IBV_WC_LOC_PROT_ERR;
    train.head.reth = {work.remote_address + offset, work.rkey, static_cast<std::uint32_t>(work.bytes - offset)};
  } else if (work.opcode == IBV_WR_ATOMIC_WRITE) {
    status = gather(qp, work, place);
    train.bytes = work.bytes;
  } else if (work.opcode == kWorkFlush) {
    train.head.feth = {static_cast<std::uint8_t>(work.compare_or_add), static_cast<std::uint8_t>(work.swap)};
  } else {
    const bool swaps = work.opcode == IBV_WR_ATOMIC_CMP_AND_SWP;
    train.head.atomic = {work.remote_address, work.rkey, swaps ? work.swap : work.compare_or_add,
                         swaps ? work.compare_or_add : 0};
  }
  if (status != IBV_WC_SUCCESS) {
    // In order: those before it complete first, and this is looked at again.
    if (place != qp.send_queue.completed) return false;
    fail_own(qp, place, status);
    return false;
  }
  if (train.bytes == 0) {
    // no payload
  } else if (train.bytes == work.bytes) {
    train.payload = qp.gathered;
  } else {
    qp.sliced.resize(qp.gathered.size());
    train.payload = memory::slice(qp.gathered, offset, train.bytes, qp.sliced);
  }

  // Answers may come before send() returns, and may send it all again: what was sent is noted before.
  const bool whole = answer || index + packets == work.packets;
  requester.packet = whole ? 0 : index + packets;
  if (whole) ++requester.place;
  Noted noted;
  if (qp.type == IBV_QPT_RC && outlet_.hands_over()) train.noted = &noted;
  if (!outlet_.send(train)) {
    requester.place = place;
    requester.packet = index;
    if (std::find(refused_.begin(), refused_.end(), &qp) == refused_.end()) refused_.push_back(&qp);
    return false;
  }
  if (noted.any) note(qp, noted.last);
  if (whole && qp.type == IBV_QPT_UC) {
    work.done = true;
    retire(qp);
  }
  return true;
}

bool Adapter::send_datagram(QueuePair& qp, queues::SendWork& work) {
  Requester& requester = qp.requester;
  const std::uint64_t place = requester.place;
  if (const ibv_wc_status status = gather(qp, work, place); status != IBV_WC_SUCCESS) {
    fail_own(qp, place, status);
    return false;
  }
  if (work.bytes > qp.mtu()) {
    // It is too long for a packet: nothing is sent, and nobody is told (InfiniBand specification, volume 1, datagrams).
    ++requester.place;
    work.done = true;
    retire(qp);
    return true;
  }
  const queues::Address& to = qp.send_queue.address_of(place);
  Train train;
  train.mtu = wire::kLargestMtu;
  train.bytes = work.bytes;
  train.payload = work.bytes == 0 ? memory::Pieces{} : qp.gathered;
  train.head.ip = to.ip;
  train.head.udp = to.udp;
  train.head.bth = {.opcode = packet_opcode(work.opcode, qp.type, true, true),
                    .solicited = (work.flags & IBV_SEND_SOLICITED) != 0,
                    .pkey = qp.pkey,
                    .dest_qp = work.remote_qp,
                    .psn = work.first};
  train.last_opcode = train.head.bth.opcode;
  // A key with the highest bit set stands for the queue pair's own.
  constexpr std::uint32_t kOwn = 0x80000000;
  train.head.deth = {(work.remote_qkey & kOwn) != 0 ? qp.attr.qkey : work.remote_qkey, qp.number};
  train.head.immediate.data = work.immediate;
  ++requester.place;
  if (!outlet_.send(train)) {
    requester.place = place;
    if (std::find(refused_.begin(), refused_.end(), &qp) == refused_.end()) refused_.push_back(&qp);
    return false;
  }
  work.done = true;
  retire(qp);
  return true;
}

/// What may not have arrived is sent again.
void Adapter::rewind(QueuePair& qp) noexcept {
  queues::SendQueue& sends = qp.send_queue;
  Requester& requester = qp.requester;
  requester.rewound = true;
  requester.place = sends.completed;
  while (requester.place != sends.next && sends.works[requester.place].done) ++requester.place;
  requester.packet = 0;
  if (requester.place == sends.next) return;
  const queues::SendWork& work = sends.works[requester.place];
  if (work.packets == 0) return;
  const std::int32_t come = wire::distance(work.first, requester.acknowledged);
  requester.packet = wants_answer(work.opcode) ? work.received : static_cast<std::uint32_t>(std::max(come, 0));
}

/// The clock runs while an acknowledgement is due.
void Adapter::watch(QueuePair& qp) {
  if (qp.type != IBV_QPT_RC || qp.requester.resting) return;
  const queues::SendQueue& sends = qp.send_queue;
  const bool waits = sends.completed != sends.next && qp.requester.acknowledged != qp.requester.psn &&
                     (qp.state == IBV_QPS_RTS || qp.state == IBV_QPS_SQD);
  const Time wait = waits ? patience(qp) : Time{};
  if (wait == Time{}) {
    deadlines_.clear(qp);
  } else if (!qp.deadline) {
    deadlines_.set(qp, clock_.now() + wait);
  }
}

}  // namespace verbena::engine::transport
