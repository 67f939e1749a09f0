// SPDX-License-Identifier: Apache-2.0 OR MIT
// What may stand between BTH and payload. Each header has kBytes; write() and read() take exactly so many; reserved
// bits are written as 0 and not looked at. Source of all: linux drivers/infiniband/sw/rxe/rxe_hdr.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/wire/bth.hpp"
#include "engine/wire/bytes.hpp"
#include "engine/wire/syndrome.hpp"

namespace verbena::engine::wire {

/// Datagram: the key that the receiver's must equal, and who sent it.
struct Deth {
  static constexpr std::size_t kBytes = 8;
  std::uint32_t qkey = 0;
  std::uint32_t source_qp = 0;  ///< 24 bits

  friend constexpr bool operator==(const Deth&, const Deth&) noexcept = default;
  constexpr void write(std::byte* to) const noexcept {
    store(to, qkey);
    store(to + 4, source_qp & kLow24);
  }
  static constexpr Deth read(const std::byte* from) noexcept {
    return {load<std::uint32_t>(from), load<std::uint32_t>(from + 4) & kLow24};
  }
};

/// RDMA: where in the responder's memory, and how many bytes the whole message has.
struct Reth {
  static constexpr std::size_t kBytes = 16;
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint32_t length = 0;

  friend constexpr bool operator==(const Reth&, const Reth&) noexcept = default;
  constexpr void write(std::byte* to) const noexcept {
    store(to, address);
    store(to + 8, rkey);
    store(to + 12, length);
  }
  static constexpr Reth read(const std::byte* from) noexcept {
    return {load<std::uint64_t>(from), load<std::uint32_t>(from + 8), load<std::uint32_t>(from + 12)};
  }
};

/// FLUSH: what is to be visible or persistent.
struct Feth {
  static constexpr std::size_t kBytes = 4;
  /// Bits of `placement`, then values of `selectivity`.
  /// Source: linux include/uapi/rdma/ib_user_verbs.h enum ib_placement_type, ib_selectivity_level.
  static constexpr std::uint8_t kGlobal = 1;
  static constexpr std::uint8_t kPersistent = 2;
  static constexpr std::uint8_t kRange = 0;
  static constexpr std::uint8_t kRegion = 1;

  std::uint8_t placement = 0;    ///< four bits
  std::uint8_t selectivity = 0;  ///< two bits

  friend constexpr bool operator==(const Feth&, const Feth&) noexcept = default;
  constexpr void write(std::byte* to) const noexcept {
    store(to, static_cast<std::uint32_t>(((selectivity & 3) << 4) | (placement & 0xf)));
  }
  static constexpr Feth read(const std::byte* from) noexcept {
    const auto bits = load<std::uint32_t>(from);
    return {static_cast<std::uint8_t>(bits & 0xf), static_cast<std::uint8_t>((bits >> 4) & 3)};
  }
};

/// Atomic request; `compare` has no meaning in FETCH ADD.
struct AtomicEth {
  static constexpr std::size_t kBytes = 28;
  std::uint64_t address = 0;
  std::uint32_t rkey = 0;
  std::uint64_t swap_or_add = 0;
  std::uint64_t compare = 0;

  friend constexpr bool operator==(const AtomicEth&, const AtomicEth&) noexcept = default;
  constexpr void write(std::byte* to) const noexcept {
    store(to, address);
    store(to + 8, rkey);
    store(to + 12, swap_or_add);
    store(to + 20, compare);
  }
  static constexpr AtomicEth read(const std::byte* from) noexcept {
    return {load<std::uint64_t>(from), load<std::uint32_t>(from + 8), load<std::uint64_t>(from + 12),
            load<std::uint64_t>(from + 20)};
  }
};

/// Acknowledgement, negative ones included.
struct Aeth {
  static constexpr std::size_t kBytes = 4;
  Syndrome syndrome;
  std::uint32_t msn = 0;  ///< messages completed so far, 24 bits

  friend constexpr bool operator==(const Aeth&, const Aeth&) noexcept = default;
  constexpr void write(std::byte* to) const noexcept {
    store(to, (static_cast<std::uint32_t>(syndrome.bits()) << 24) | (msn & kLow24));
  }
  static constexpr Aeth read(const std::byte* from) noexcept {
    return {Syndrome(load<std::uint8_t>(from)), load<std::uint32_t>(from) & kLow24};
  }
};

/// What the word held before the atomic.
struct AtomicAckEth {
  static constexpr std::size_t kBytes = 8;
  std::uint64_t original = 0;

  friend constexpr bool operator==(const AtomicAckEth&, const AtomicAckEth&) noexcept = default;
  constexpr void write(std::byte* to) const noexcept { store(to, original); }
  static constexpr AtomicAckEth read(const std::byte* from) noexcept { return {load<std::uint64_t>(from)}; }
};

/// Immediate data. verbs' imm_data is these four bytes as they are; here they are a number, the first byte the highest.
struct ImmDt {
  static constexpr std::size_t kBytes = 4;
  std::uint32_t data = 0;

  friend constexpr bool operator==(const ImmDt&, const ImmDt&) noexcept = default;
  constexpr void write(std::byte* to) const noexcept { store(to, data); }
  static constexpr ImmDt read(const std::byte* from) noexcept { return {load<std::uint32_t>(from)}; }
};

/// SEND with invalidate: the key that the receiver shall invalidate.
struct Ieth {
  static constexpr std::size_t kBytes = 4;
  std::uint32_t rkey = 0;

  friend constexpr bool operator==(const Ieth&, const Ieth&) noexcept = default;
  constexpr void write(std::byte* to) const noexcept { store(to, rkey); }
  static constexpr Ieth read(const std::byte* from) noexcept { return {load<std::uint32_t>(from)}; }
};

/// Bytes after the BTH of a congestion notification; all of them reserved.
/// Source: scapy's tests of its RoCE layer (a capture from a ConnectX-4 Lx).
inline constexpr std::size_t kCnpReservedBytes = 16;

}  // namespace verbena::engine::wire
