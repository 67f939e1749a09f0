// SPDX-License-Identifier: Apache-2.0 OR MIT
// A train as a message of a shared ring: a head of fixed size, and behind it the payload, or the pieces of the sender's
// memory that hold it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/fabric/shared_ring.hpp"
#include "engine/transport/train.hpp"

namespace verbena::engine::fabric {

/// As it lies in shared memory: numbers of this host, since the other process is of this host too.
struct MessageHead {
  static constexpr std::uint32_t kCopied = 1;  ///< the payload is behind the head
  static constexpr std::uint32_t kLent = 2;  ///< MessagePieces are

  RingFrame frame;
  std::uint32_t withdrawn = 0;  ///< kLent: not 0 once the sender has taken the memory back
  std::uint32_t bytes = 0;  ///< of the payload
  std::uint32_t packets = 0;
  std::uint32_t psn = 0;
  std::uint32_t dest_qp = 0;
  std::uint16_t pkey = 0;
  std::uint16_t mtu = 0;
  std::uint8_t opcode = 0;
  std::uint8_t last_opcode = 0;
  std::uint8_t flags = 0;
  std::uint8_t pieces = 0;  ///< kLent: how many
  std::uint8_t ip_version = 0;
  std::uint8_t traffic_class = 0;
  std::uint8_t hop_limit = 0;
  std::uint8_t ip_flags = 0;
  std::uint32_t flow_label = 0;
  std::uint16_t identification = 0;
  std::uint16_t source_port = 0;
  std::uint16_t destination_port = 0;
  std::uint16_t reserved = 0;
  std::array<std::byte, wire::AtomicEth::kBytes> extended{};  ///< the headers after the BTH, as on a wire
  wire::Gid source{};
  wire::Gid destination{};
};
static_assert(sizeof(MessageHead) == 112 && alignof(MessageHead) == 4);

struct MessagePiece {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;
};

/// Pieces that a message may name. Payload in more of them is copied.
inline constexpr std::size_t kMostPieces = 32;
/// Payload that a message may carry: eight of these fit into a ring.
inline constexpr std::uint32_t kMostCopied = 1U << 15;
static_assert(sizeof(MessageHead) + kMostCopied <= kMostMessage);

/// Bytes that the train's message takes, its payload in it or not.
std::uint32_t copied_bytes(const transport::Train& train) noexcept;
std::uint32_t lent_bytes(const transport::Train& train) noexcept;

/// Writes the message into room of so many bytes.
void write_copied(const transport::Train& train, std::span<std::byte> to) noexcept;
void write_lent(const transport::Train& train, std::span<std::byte> to) noexcept;
/// Says to whoever reads it that what it names isn't lent any more.
void withdraw_message(std::byte* message) noexcept;

/// A message that was found to be one: whatever the other process does to it meanwhile, it stays what it is here,
/// except for the bytes of a copied payload.
struct Message {
  transport::Train train;
  bool lent = false;
  const std::atomic<std::uint32_t>* withdrawn = nullptr;
  std::array<memory::Piece, kMostPieces> pieces;
};

/// False where it isn't one; then `message` holds rubbish.
bool read_message(std::span<std::byte> from, Message& message) noexcept;

}  // namespace verbena::engine::fabric
