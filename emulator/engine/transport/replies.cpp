// SPDX-License-Identifier: Apache-2.0 OR MIT
// What a responder sends back. A fabric always takes these: who waits for one has nothing else to wait for.
#include <algorithm>

#include "engine/transport/adapter.hpp"
#include "engine/wire/mtu.hpp"

namespace verbena::engine::transport {

wire::Packet Adapter::reply(const QueuePair& qp, wire::Opcode opcode, wire::Psn psn) const noexcept {
  wire::Packet packet;
  packet.ip = qp.route.ip;
  packet.udp = qp.route.udp;
  packet.bth = {.opcode = opcode, .pkey = qp.pkey, .dest_qp = qp.attr.dest_qp_num, .psn = psn};
  packet.aeth = {wire::Syndrome::ack(), qp.responder.msn};
  return packet;
}

/// All that was taken has arrived: now, or at the end of the batch.
void Adapter::acknowledge(QueuePair& qp) {
  if (!batching_) return send_acknowledge(qp, qp.responder.expected - 1, wire::Syndrome::ack());
  if (qp.responder.owes) return;
  qp.responder.owes = true;
  owing_.push_back(&qp);
}

/// Where the sender waits for it: no packet is needed, if one would have found its way there.
bool Adapter::note_for(QueuePair& qp, const Train& train) noexcept {
  if (train.noted == nullptr || batching_ || qp.attr.dest_qp_num != train.from_qp ||
      !wire::same(qp.route.ip.destination, train.head.ip.source)) {
    return false;
  }
  *train.noted = {true, qp.responder.expected - 1};
  qp.responder.owes = false;
  return true;
}

/// Before a queue pair forgets what it took.
void Adapter::settle(QueuePair& qp) {
  if (std::erase(owing_, &qp) == 0) return;
  if (qp.responder.owes) send_acknowledge(qp, qp.responder.expected - 1, wire::Syndrome::ack());
}

void Adapter::end_batch() {
  batching_ = false;
  while (!owing_.empty()) {
    QueuePair& qp = *owing_.back();
    owing_.pop_back();
    if (qp.responder.owes) send_acknowledge(qp, qp.responder.expected - 1, wire::Syndrome::ack());
  }
}

void Adapter::send_acknowledge(QueuePair& qp, wire::Psn psn, wire::Syndrome syndrome) {
  qp.responder.owes = false;  // whatever it says: all before its PSN has arrived
  Train train;
  train.head = reply(qp, wire::Opcode::rc_acknowledge, psn);
  train.head.aeth.syndrome = syndrome;
  train.last_opcode = train.head.bth.opcode;
  train.mtu = qp.mtu();
  outlet_.send(train);
}

void Adapter::send_read_answer(QueuePair& qp, wire::Psn psn, std::byte* from, std::uint64_t bytes) {
  using enum wire::Opcode;
  qp.responder.owes = false;  // an answer acknowledges what came before it
  const std::uint32_t mtu = qp.mtu();
  const std::uint32_t all = wire::packets_of(static_cast<std::uint32_t>(bytes), mtu);
  for (std::uint32_t index = 0; index < all;) {
    const std::uint32_t packets = std::min(outlet_.most_packets(qp), all - index);
    const bool begins = index == 0;
    const bool ends = index + packets == all;
    const std::uint64_t offset = std::uint64_t{index} * mtu;
    Train train;
    wire::Opcode first = begins ? rc_rdma_read_response_first : rc_rdma_read_response_middle;
    if (packets == 1 && ends) first = begins ? rc_rdma_read_response_only : rc_rdma_read_response_last;
    train.head = reply(qp, first, psn + index);
    train.last_opcode = packets == 1 ? first : ends ? rc_rdma_read_response_last : rc_rdma_read_response_middle;
    train.packets = packets;
    train.mtu = mtu;
    train.bytes = ends ? bytes - offset : std::uint64_t{packets} * mtu;
    const memory::Piece piece{from == nullptr ? nullptr : from + offset, train.bytes};
    if (train.bytes > 0) train.payload = {&piece, 1};
    train.stays = true;
    train.from_qp = qp.number;
    outlet_.send(train);
    index += packets;
  }
}

void Adapter::send_atomic_answer(QueuePair& qp, wire::Psn psn, std::uint64_t original) {
  qp.responder.owes = false;
  Train train;
  train.head = reply(qp, wire::Opcode::rc_atomic_acknowledge, psn);
  train.head.atomic_ack.original = original;
  train.last_opcode = train.head.bth.opcode;
  train.mtu = qp.mtu();
  outlet_.send(train);
}

}  // namespace verbena::engine::transport
