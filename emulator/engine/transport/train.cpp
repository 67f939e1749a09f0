// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/transport/train.hpp"

namespace verbena::engine::transport {

wire::Opcode middle_of(wire::Opcode of) noexcept {
  const wire::OpcodeInfo& info = wire::info(of);
  const bool uc = info.transport == wire::Transport::uc;
  switch (info.operation) {
    case wire::Operation::send:
      if (info.transport == wire::Transport::ud) return of;
      return uc ? wire::Opcode::uc_send_middle : wire::Opcode::rc_send_middle;
    case wire::Operation::write:
      return uc ? wire::Opcode::uc_rdma_write_middle : wire::Opcode::rc_rdma_write_middle;
    case wire::Operation::read:
      return info.request ? of : wire::Opcode::rc_rdma_read_response_middle;
    default:
      return of;
  }
}

wire::Packet packet(const Train& train, std::uint32_t index) noexcept {
  wire::Packet packet = train.head;
  packet.bth.psn = train.head.bth.psn + index;
  const bool last = index + 1 == train.packets;
  if (index > 0) packet.bth.opcode = last ? train.last_opcode : middle_of(train.head.bth.opcode);
  if (!last) packet.bth.solicited = packet.bth.ack_request = false;
  return packet;
}

Train part(const Train& train, std::uint32_t first, std::uint32_t packets, std::span<memory::Piece> room) noexcept {
  Train part = train;
  const bool last = first + packets == train.packets;
  part.head = packet(train, first);
  part.head.bth.solicited = last && train.head.bth.solicited;
  part.head.bth.ack_request = last && train.head.bth.ack_request;
  part.packets = packets;
  part.last_opcode = packet(train, first + packets - 1).bth.opcode;
  const std::uint64_t offset = std::uint64_t{first} * train.mtu;
  part.bytes = last ? train.bytes - offset : std::uint64_t{packets} * train.mtu;
  part.payload = memory::slice(train.payload, offset, part.bytes, room);
  return part;
}

}  // namespace verbena::engine::transport
