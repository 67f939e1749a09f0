// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>

namespace verbena::engine::wire {

/// First byte of the BTH: three bits of transport, five of operation. RD isn't here: no RoCE NIC has it.
/// Source: linux include/rdma/ib_pack.h, IB_OPCODE_*; cnp: scapy scapy/contrib/roce.py CNP_OPCODE.
enum class Opcode : std::uint8_t {
  rc_send_first = 0x00,
  rc_send_middle = 0x01,
  rc_send_last = 0x02,
  rc_send_last_with_immediate = 0x03,
  rc_send_only = 0x04,
  rc_send_only_with_immediate = 0x05,
  rc_rdma_write_first = 0x06,
  rc_rdma_write_middle = 0x07,
  rc_rdma_write_last = 0x08,
  rc_rdma_write_last_with_immediate = 0x09,
  rc_rdma_write_only = 0x0a,
  rc_rdma_write_only_with_immediate = 0x0b,
  rc_rdma_read_request = 0x0c,
  rc_rdma_read_response_first = 0x0d,
  rc_rdma_read_response_middle = 0x0e,
  rc_rdma_read_response_last = 0x0f,
  rc_rdma_read_response_only = 0x10,
  rc_acknowledge = 0x11,
  rc_atomic_acknowledge = 0x12,
  rc_compare_swap = 0x13,
  rc_fetch_add = 0x14,
  rc_send_last_with_invalidate = 0x16,
  rc_send_only_with_invalidate = 0x17,
  rc_flush = 0x1c,
  rc_atomic_write = 0x1d,

  uc_send_first = 0x20,
  uc_send_middle = 0x21,
  uc_send_last = 0x22,
  uc_send_last_with_immediate = 0x23,
  uc_send_only = 0x24,
  uc_send_only_with_immediate = 0x25,
  uc_rdma_write_first = 0x26,
  uc_rdma_write_middle = 0x27,
  uc_rdma_write_last = 0x28,
  uc_rdma_write_last_with_immediate = 0x29,
  uc_rdma_write_only = 0x2a,
  uc_rdma_write_only_with_immediate = 0x2b,

  ud_send_only = 0x64,
  ud_send_only_with_immediate = 0x65,

  cnp = 0x81,
};

enum class Transport : std::uint8_t { rc, uc, ud, cnp };

/// What an opcode is part of. Congestion notifications are of no work request.
enum class Operation : std::uint8_t { send, write, read, atomic, flush, atomic_write, acknowledge, notification };

/// Which packet of its message.
enum class Position : std::uint8_t { first, middle, last, only };

/// Payload that an opcode may have; how much of it the path MTU wants is the transport's business.
enum class Payload : std::uint8_t { none, any, eight_bytes };

/// What a responder sends back when all went well. A read response is one or more packets.
enum class Answer : std::uint8_t { none, acknowledge, read_response, atomic_acknowledge };

/// Headers after the BTH, as bits in the order in which they are written.
using HeaderSet = std::uint16_t;
inline constexpr HeaderSet kDeth = 1 << 0;
inline constexpr HeaderSet kFeth = 1 << 1;
inline constexpr HeaderSet kReth = 1 << 2;
inline constexpr HeaderSet kAtomicEth = 1 << 3;
inline constexpr HeaderSet kAeth = 1 << 4;
inline constexpr HeaderSet kAtomicAckEth = 1 << 5;
inline constexpr HeaderSet kImmDt = 1 << 6;
inline constexpr HeaderSet kIeth = 1 << 7;
inline constexpr HeaderSet kCnpReserved = 1 << 8;

}  // namespace verbena::engine::wire
