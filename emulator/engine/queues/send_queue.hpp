// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include <infiniband/verbs.h>

#include "engine/queues/address.hpp"
#include "engine/queues/ring.hpp"
#include "engine/wire/psn.hpp"

namespace verbena::engine::queues {

/// A send as it was posted, and how far it has come.
struct SendWork {
  std::uint64_t wr_id = 0;
  ibv_wr_opcode opcode = IBV_WR_SEND;
  unsigned flags = 0;             ///< IBV_SEND_*
  bool signalled = false;         ///< completes even where it succeeds
  std::uint32_t bytes = 0;        ///< of its payload, or of what a READ brings
  std::uint32_t immediate = 0;    ///< the four bytes of imm_data as a number of the network's order
  std::uint32_t invalidate = 0;   ///< rkey, of SEND with invalidate and of LOCAL_INV
  std::uint64_t remote_address = 0;
  std::uint32_t rkey = 0;
  std::uint64_t compare_or_add = 0;
  std::uint64_t swap = 0;
  std::uint32_t remote_qp = 0;
  std::uint32_t remote_qkey = 0;
  ibv_mw_bind_info bind{};            ///< of BIND_MW
  std::uint32_t window = 0;           ///< its key
  std::uint16_t sges = 0;
  bool is_inline = false;             ///< its payload lies in the ring

  // The transport's own.
  wire::Psn first;             ///< of its packets
  std::uint32_t packets = 0;   ///< 0: none was numbered yet
  std::uint32_t received = 0;  ///< packets of a READ's answer that have come
  bool done = false;           ///< what it does is done; it completes when those before it have

  wire::Psn last() const noexcept { return first + (packets - 1); }
};

/// The send queue of a queue pair. Places grow: begin() <= completed <= next <= end().
class SendQueue {
public:
  /// `datagrams`: each work has an address of its own.
  SendQueue(std::uint32_t depth, std::uint32_t most_sges, std::uint32_t inline_bytes, bool datagrams = false);

  Ring<SendWork> works;
  std::uint64_t completed = 0;  ///< the first that has not completed; those before it only keep their slot
  std::uint64_t next = 0;       ///< the first that was not begun
  /// A slot is free again when the completion that tells of it is polled, as with most drivers; else when it is there.
  bool freed_by_poll = true;

  bool idle() const noexcept { return completed == works.end(); }

  std::uint32_t most_sges() const noexcept { return most_sges_; }
  std::uint32_t inline_bytes() const noexcept { return inline_bytes_; }

  /// Room for the SGEs of that work, and for its inline bytes.
  std::span<ibv_sge> sges_of(std::uint64_t place) noexcept {
    return {sges_.get() + works.index(place) * most_sges_, most_sges_};
  }
  /// Of a queue of datagrams alone.
  Address& address_of(std::uint64_t place) noexcept { return addresses_[works.index(place)]; }
  std::byte* inline_of(std::uint64_t place) noexcept { return inline_.get() + works.index(place) * inline_bytes_; }

private:
  std::uint32_t most_sges_;
  std::uint32_t inline_bytes_;
  // Left as the host gives it: a deep queue costs memory where it is used.
  std::unique_ptr<ibv_sge[]> sges_;
  std::unique_ptr<std::byte[]> inline_;
  std::unique_ptr<Address[]> addresses_;
};

}  // namespace verbena::engine::queues
