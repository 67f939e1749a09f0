// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/memory/copy.hpp"
#include "engine/memory/lender.hpp"
#include "engine/wire/packet.hpp"

namespace verbena::engine::transport {

/// An acknowledgement that needs no packet.
struct Noted {
  bool any = false;
  wire::Psn last;  ///< it and all before it have arrived
};

/// Packets of one message that follow each other, or a single packet. A fabric that loses nothing hands a train over as
/// it is; one that speaks of packets takes it apart with packet(). What arrives as a packet is a train of one.
struct Train {
  wire::Packet head;  ///< of the first packet, with what its last one has (immediate, invalidate)
  wire::Opcode last_opcode{};  ///< of the last packet; the first one's where there is one only
  std::uint32_t packets = 1;
  std::uint32_t mtu = 0;  ///< payload bytes of each packet but the last
  std::uint64_t bytes = 0;  ///< of the payload
  memory::Pieces payload;
  /// Whose memory the payload lies in, where it isn't this process's.
  memory::Lender* lender = nullptr;
  /// The payload stays where it is until the other end has answered, or Outlet::withdraw() takes it back: it may be
  /// read after send() has returned.
  bool stays = false;
  std::uint32_t from_qp = 0;  ///< the queue pair that sends it
  /// Set while the sender waits in send() of a fabric that hands this very train over: who takes the request may note
  /// its acknowledgement instead of sending one.
  Noted* noted = nullptr;

  wire::Psn first() const noexcept { return head.bth.psn; }
  wire::Psn last() const noexcept { return head.bth.psn + (packets - 1); }
  const wire::OpcodeInfo& info() const noexcept { return wire::info(head.bth.opcode); }
  /// Its last packet is the last of a message.
  bool ends() const noexcept { return wire::info(last_opcode).ends(); }
};

/// What a packet of a train says: `index` is below train.packets. `solicited` and `ack_request` are the last one's.
wire::Packet packet(const Train& train, std::uint32_t index) noexcept;

/// Packets `first` to before `first + packets` of it as a train of their own, whose payload's pieces are in `room`: it
/// has to hold as many as the train has.
Train part(const Train& train, std::uint32_t first, std::uint32_t packets, std::span<memory::Piece> room) noexcept;

/// A message's opcode of this kind at another position: a SEND's first is SEND_FIRST. `of` is one with that position's
/// siblings; an opcode that is always alone stays as it is.
wire::Opcode middle_of(wire::Opcode of) noexcept;

}  // namespace verbena::engine::transport
