// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/packets.hpp"

#include <algorithm>
#include <array>
#include <vector>

namespace verbena::engine::fabric {

namespace {

/// What a null region gives.
constexpr std::array<std::byte, wire::kLargestMtu> kZeros{};

}  // namespace

std::size_t write_packet(const transport::Train& train, std::uint32_t index, std::span<std::byte> to) noexcept {
  const std::uint64_t offset = std::uint64_t{index} * train.mtu;
  const std::uint64_t left = train.bytes - std::min(offset, train.bytes);
  const std::uint64_t bytes = train.packets == 1 ? train.bytes : std::min<std::uint64_t>(left, train.mtu);
  if (bytes > kZeros.size()) return 0;
  // The payload is copied once, to where encode() would copy it from; pieces past these few are rare.
  std::array<memory::Piece, 16> few;
  std::array<wire::Piece, 16> pieces;
  const memory::Pieces mine = memory::slice(train.payload, offset, bytes, few);
  std::size_t used = 0;
  std::uint64_t found = 0;
  for (const memory::Piece& piece : mine) {
    pieces[used++] = {piece.data == nullptr ? kZeros.data() : piece.data, piece.bytes};
    found += piece.bytes;
  }
  std::array<std::byte, wire::kLargestMtu> together;
  if (found < bytes) {
    const memory::Piece target{together.data(), bytes};
    memory::copy({&target, 1}, 0, train.payload, offset, bytes);
    pieces[0] = {together.data(), bytes};
    used = 1;
  }
  const auto written = wire::encode(transport::packet(train, index), std::span(pieces).first(used), to);
  return written ? *written : 0;
}

transport::Train as_train(const wire::Received& received, memory::Piece& piece) noexcept {
  transport::Train train;
  train.head = received.packet;
  train.last_opcode = received.packet.bth.opcode;
  train.bytes = received.payload.size();
  // Only read from: a train's payload is whoever sent it's.
  piece = {const_cast<std::byte*>(received.payload.data()), received.payload.size()};
  if (train.bytes > 0) train.payload = {&piece, 1};
  return train;
}

}  // namespace verbena::engine::fabric
