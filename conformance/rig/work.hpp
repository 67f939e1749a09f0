// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "rig/loop.hpp"

namespace conform {

/// A send work request that owns its list of SGEs, so that it can be written in one expression.
struct SendWork {
  ibv_wr_opcode opcode = IBV_WR_SEND;
  std::uint64_t wr_id = 0;
  std::vector<ibv_sge> sges{};
  unsigned flags = IBV_SEND_SIGNALED;
  std::uint64_t remote = 0;        ///< RDMA and atomics: the address at the peer
  std::uint32_t rkey = 0;
  std::uint32_t imm = 0;           ///< as it lies in memory
  std::uint32_t invalidate = 0;    ///< SEND with invalidate, local invalidate: the key
  std::uint64_t compare_add = 0;
  std::uint64_t swap = 0;
};

struct ReceiveWork {
  std::uint64_t wr_id = 0;
  std::vector<ibv_sge> sges{};
};

/// What became of a list that was posted in one call.
struct Posted {
  int error = 0;  ///< positive errno or 0
  int bad = -1;   ///< the place in the list that bad_wr named; -1: none of them
};

/// UD: to the peer that the end was connected to.
Posted post_list(End& from, std::span<const SendWork> list);
Posted post_list(End& at, std::span<const ReceiveWork> list);
int post(End& from, const SendWork& work);
int post(End& at, const ReceiveWork& work);

/// A key that no region or window has: another number in the device's table.
std::uint32_t unknown_key(std::uint32_t key) noexcept;

/// Whether the device's connections are TCP's, where a responder's errors end the connection and name no cause.
bool iwarp(const Case& c);
/// Bytes that must have come, and did; else a finding of no_data.
bool same_bytes(Case& c, const std::uint8_t* is, const std::uint8_t* must, std::size_t length, std::string_view what);
/// Bytes that must still be what they were filled with; else a finding of data.
bool untouched(Case& c, const std::uint8_t* at, std::size_t length, std::uint8_t value, std::string_view what);
/// Bytes of a Loop's memory in which a message begins: behind the GRH for UD.
std::size_t head_of(verbena::QpType type) noexcept;
/// A completion in error: with one of `statuses`, or with any where none is named. Else a finding.
bool fails(Case& c, const std::optional<ibv_wc>& wc, std::string_view what,
           std::initializer_list<ibv_wc_status> statuses = {});
/// What fails on this device when it is carried out: a write with a key that nobody has, or where a peer's refusal
/// names no cause (iWARP), a send of memory without a key. It is always taken when it is posted in a list behind
/// others.
SendWork failing_work(const Case& c, Loop& loop, std::uint64_t wr_id, unsigned flags = IBV_SEND_SIGNALED);
/// Waits until the queue pair is in the state, as long as a completion may take; else a finding.
bool reaches(Case& c, ibv_qp* qp, ibv_qp_state state, std::string_view what);

}  // namespace conform
