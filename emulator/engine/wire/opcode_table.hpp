// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/wire/extended_headers.hpp"
#include "engine/wire/opcode.hpp"

namespace verbena::engine::wire {

/// What an opcode means; all false and empty for a number that is no opcode.
struct OpcodeInfo {
  std::string_view name{};        ///< as the kernel calls it, without IB_OPCODE_
  std::string_view source{};      ///< where this row comes from
  HeaderSet headers = 0;          ///< what follows the BTH
  std::uint8_t header_bytes = 0;  ///< of all of them, the BTH left out
  bool known = false;
  Transport transport{};
  Operation operation{};
  Position position{};
  Payload payload{};
  bool request = false;            ///< goes to a responder; otherwise it goes back to a requester
  bool takes_receive = false;      ///< the responder takes a receive off its queue when this arrives
  bool completes_receive = false;  ///< and completes it with this one
  Answer answer{};                 ///< RC alone has answers; to all but reads and atomics they may be coalesced

  constexpr bool begins() const noexcept { return position == Position::first || position == Position::only; }
  constexpr bool ends() const noexcept { return position == Position::last || position == Position::only; }
  constexpr bool has(HeaderSet header) const noexcept { return (headers & header) != 0; }
};

constexpr std::uint8_t bytes_of(HeaderSet headers) noexcept {
  std::size_t bytes = 0;
  if ((headers & kDeth) != 0) bytes += Deth::kBytes;
  if ((headers & kFeth) != 0) bytes += Feth::kBytes;
  if ((headers & kReth) != 0) bytes += Reth::kBytes;
  if ((headers & kAtomicEth) != 0) bytes += AtomicEth::kBytes;
  if ((headers & kAeth) != 0) bytes += Aeth::kBytes;
  if ((headers & kAtomicAckEth) != 0) bytes += AtomicAckEth::kBytes;
  if ((headers & kImmDt) != 0) bytes += ImmDt::kBytes;
  if ((headers & kIeth) != 0) bytes += Ieth::kBytes;
  if ((headers & kCnpReserved) != 0) bytes += kCnpReservedBytes;
  return static_cast<std::uint8_t>(bytes);
}

namespace opcode_rows {

// Headers, payload, position, and which packets take and complete a receive: the masks of rxe_opcode[] there. Answers:
// rxe_resp.c acknowledge() (FLUSH and ATOMIC WRITE are answered by a read response without payload).
inline constexpr std::string_view kRxe = "linux drivers/infiniband/sw/rxe/rxe_opcode.c, rxe_resp.c";
inline constexpr std::string_view kCapture = "scapy test/contrib/roce.uts, a capture from a ConnectX-4 Lx";

constexpr OpcodeInfo row(std::string_view name, Transport transport, Operation operation, Position position,
                         HeaderSet headers, Payload payload) {
  OpcodeInfo info{.name = name, .source = kRxe};
  info.headers = headers;
  info.header_bytes = bytes_of(headers);
  info.known = true;
  info.transport = transport;
  info.operation = operation;
  info.position = position;
  info.payload = payload;
  return info;
}

constexpr OpcodeInfo request(OpcodeInfo info) {
  const bool immediate = info.has(kImmDt);
  const bool send = info.operation == Operation::send;
  info.request = true;
  // A SEND takes its receive at the beginning, a WRITE with immediate where the immediate is: at the end.
  info.takes_receive = send ? info.begins() : immediate;
  info.completes_receive = send ? info.ends() : immediate;
  if (info.transport != Transport::rc) return info;
  switch (info.operation) {
    case Operation::read:
    case Operation::flush:
    case Operation::atomic_write:
      info.answer = Answer::read_response;
      break;
    case Operation::atomic:
      info.answer = Answer::atomic_acknowledge;
      break;
    default:
      info.answer = Answer::acknowledge;
      break;
  }
  return info;
}

constexpr std::array<OpcodeInfo, 256> all() {
  using enum Opcode;
  using enum Position;
  constexpr Transport kRc = Transport::rc;
  constexpr Transport kUc = Transport::uc;
  constexpr Transport kUd = Transport::ud;
  constexpr Operation kSend = Operation::send;
  constexpr Operation kWrite = Operation::write;
  constexpr Operation kRead = Operation::read;
  constexpr Payload kAny = Payload::any;
  constexpr Payload kNone = Payload::none;

  std::array<OpcodeInfo, 256> table{};
  const auto set = [&table](Opcode opcode, const OpcodeInfo& info) { table[static_cast<std::size_t>(opcode)] = info; };

  set(rc_send_first, request(row("RC_SEND_FIRST", kRc, kSend, first, 0, kAny)));
  set(rc_send_middle, request(row("RC_SEND_MIDDLE", kRc, kSend, middle, 0, kAny)));
  set(rc_send_last, request(row("RC_SEND_LAST", kRc, kSend, last, 0, kAny)));
  set(rc_send_last_with_immediate, request(row("RC_SEND_LAST_WITH_IMMEDIATE", kRc, kSend, last, kImmDt, kAny)));
  set(rc_send_only, request(row("RC_SEND_ONLY", kRc, kSend, only, 0, kAny)));
  set(rc_send_only_with_immediate, request(row("RC_SEND_ONLY_WITH_IMMEDIATE", kRc, kSend, only, kImmDt, kAny)));
  set(rc_send_last_with_invalidate, request(row("RC_SEND_LAST_WITH_INVALIDATE", kRc, kSend, last, kIeth, kAny)));
  set(rc_send_only_with_invalidate, request(row("RC_SEND_ONLY_WITH_INVALIDATE", kRc, kSend, only, kIeth, kAny)));

  set(rc_rdma_write_first, request(row("RC_RDMA_WRITE_FIRST", kRc, kWrite, first, kReth, kAny)));
  set(rc_rdma_write_middle, request(row("RC_RDMA_WRITE_MIDDLE", kRc, kWrite, middle, 0, kAny)));
  set(rc_rdma_write_last, request(row("RC_RDMA_WRITE_LAST", kRc, kWrite, last, 0, kAny)));
  set(rc_rdma_write_last_with_immediate,
      request(row("RC_RDMA_WRITE_LAST_WITH_IMMEDIATE", kRc, kWrite, last, kImmDt, kAny)));
  set(rc_rdma_write_only, request(row("RC_RDMA_WRITE_ONLY", kRc, kWrite, only, kReth, kAny)));
  set(rc_rdma_write_only_with_immediate,
      request(row("RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", kRc, kWrite, only, kReth | kImmDt, kAny)));

  set(rc_rdma_read_request, request(row("RC_RDMA_READ_REQUEST", kRc, kRead, only, kReth, kNone)));
  set(rc_rdma_read_response_first, row("RC_RDMA_READ_RESPONSE_FIRST", kRc, kRead, first, kAeth, kAny));
  set(rc_rdma_read_response_middle, row("RC_RDMA_READ_RESPONSE_MIDDLE", kRc, kRead, middle, 0, kAny));
  set(rc_rdma_read_response_last, row("RC_RDMA_READ_RESPONSE_LAST", kRc, kRead, last, kAeth, kAny));
  set(rc_rdma_read_response_only, row("RC_RDMA_READ_RESPONSE_ONLY", kRc, kRead, only, kAeth, kAny));

  set(rc_acknowledge, row("RC_ACKNOWLEDGE", kRc, Operation::acknowledge, only, kAeth, kNone));
  set(rc_atomic_acknowledge, row("RC_ATOMIC_ACKNOWLEDGE", kRc, Operation::atomic, only, kAeth | kAtomicAckEth, kNone));
  set(rc_compare_swap, request(row("RC_COMPARE_SWAP", kRc, Operation::atomic, only, kAtomicEth, kNone)));
  set(rc_fetch_add, request(row("RC_FETCH_ADD", kRc, Operation::atomic, only, kAtomicEth, kNone)));
  set(rc_flush, request(row("RC_FLUSH", kRc, Operation::flush, only, kFeth | kReth, kNone)));
  set(rc_atomic_write,
      request(row("RC_ATOMIC_WRITE", kRc, Operation::atomic_write, only, kReth, Payload::eight_bytes)));

  set(uc_send_first, request(row("UC_SEND_FIRST", kUc, kSend, first, 0, kAny)));
  set(uc_send_middle, request(row("UC_SEND_MIDDLE", kUc, kSend, middle, 0, kAny)));
  set(uc_send_last, request(row("UC_SEND_LAST", kUc, kSend, last, 0, kAny)));
  set(uc_send_last_with_immediate, request(row("UC_SEND_LAST_WITH_IMMEDIATE", kUc, kSend, last, kImmDt, kAny)));
  set(uc_send_only, request(row("UC_SEND_ONLY", kUc, kSend, only, 0, kAny)));
  set(uc_send_only_with_immediate, request(row("UC_SEND_ONLY_WITH_IMMEDIATE", kUc, kSend, only, kImmDt, kAny)));
  set(uc_rdma_write_first, request(row("UC_RDMA_WRITE_FIRST", kUc, kWrite, first, kReth, kAny)));
  set(uc_rdma_write_middle, request(row("UC_RDMA_WRITE_MIDDLE", kUc, kWrite, middle, 0, kAny)));
  set(uc_rdma_write_last, request(row("UC_RDMA_WRITE_LAST", kUc, kWrite, last, 0, kAny)));
  set(uc_rdma_write_last_with_immediate,
      request(row("UC_RDMA_WRITE_LAST_WITH_IMMEDIATE", kUc, kWrite, last, kImmDt, kAny)));
  set(uc_rdma_write_only, request(row("UC_RDMA_WRITE_ONLY", kUc, kWrite, only, kReth, kAny)));
  set(uc_rdma_write_only_with_immediate,
      request(row("UC_RDMA_WRITE_ONLY_WITH_IMMEDIATE", kUc, kWrite, only, kReth | kImmDt, kAny)));

  set(ud_send_only, request(row("UD_SEND_ONLY", kUd, kSend, only, kDeth, kAny)));
  set(ud_send_only_with_immediate, request(row("UD_SEND_ONLY_WITH_IMMEDIATE", kUd, kSend, only, kDeth | kImmDt, kAny)));

  set(cnp, row("CNP", Transport::cnp, Operation::notification, only, kCnpReserved, kNone));
  table[static_cast<std::size_t>(cnp)].source = kCapture;
  return table;
}

}  // namespace opcode_rows

inline constexpr std::array<OpcodeInfo, 256> kOpcodes = opcode_rows::all();

constexpr const OpcodeInfo& info(Opcode opcode) noexcept {
  return kOpcodes[static_cast<std::size_t>(opcode)];
}

}  // namespace verbena::engine::wire
