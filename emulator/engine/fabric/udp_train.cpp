// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/udp_train.hpp"

#include <algorithm>
#include <cstring>

#include "engine/wire/encode.hpp"
#include "engine/wire/icrc.hpp"

namespace verbena::engine::fabric {

namespace {

wire::Opcode opcode_at(const transport::Train& train, std::uint32_t index) noexcept {
  if (index == 0) return train.head.bth.opcode;
  return index + 1 == train.packets ? train.last_opcode : transport::middle_of(train.head.bth.opcode);
}

}  // namespace

bool UdpTrain::well_formed() const noexcept {
  if (train_.packets == 0 || memory::bytes_of(train_.payload) != train_.bytes) return false;
  if (train_.packets > 1 && (train_.mtu == 0 || train_.bytes > std::uint64_t{train_.packets} * train_.mtu ||
                             train_.bytes <= std::uint64_t{train_.packets - 1} * train_.mtu)) {
    return false;
  }
  if (!wire::check_encodable(train_.head, payload_of(0))) return false;
  return train_.packets == 1 ||
         wire::check_encodable(transport::packet(train_, train_.packets - 1), payload_of(train_.packets - 1));
}

std::uint64_t UdpTrain::payload_of(std::uint32_t index) const noexcept {
  if (index + 1 < train_.packets) return train_.mtu;
  return train_.bytes - std::uint64_t{index} * train_.mtu;
}

std::size_t UdpTrain::bytes_of(std::uint32_t index) const noexcept {
  const std::uint64_t payload = train_.packets == 1 ? train_.bytes : payload_of(index);
  return wire::Bth::kBytes + wire::info(opcode_at(train_, index)).header_bytes + payload + wire::pad_after(payload) +
         wire::Icrc::kBytes;
}

Segments UdpTrain::next(std::span<std::byte> room, std::uint32_t most) noexcept {
  Segments segments;
  room = room.first(std::min(room.size(), kMostBytes));
  if (done() || bytes_of(index_) > room.size()) return segments;
  segments.segment = bytes_of(index_);
  std::size_t used = 0;
  while (!done() && segments.packets < std::min(most, kMostSegments)) {
    const std::size_t bytes = bytes_of(index_);
    if (bytes > segments.segment || used + bytes > room.size()) break;
    write(index_, static_cast<std::uint16_t>(segments.packets), room.subspan(used, bytes));
    used += bytes;
    ++index_;
    ++segments.packets;
    if (bytes < segments.segment) break;
  }
  segments.data = room.first(used);
  return segments;
}

void UdpTrain::write(std::uint32_t index, std::uint16_t identification, std::span<std::byte> to) noexcept {
  const std::uint64_t payload = train_.packets == 1 ? train_.bytes : payload_of(index);
  const std::size_t head = wire::write_transport_headers(transport::packet(train_, index), payload, to.data());
  copy_payload(to.data() + head, payload);
  const std::size_t covered = to.size() - wire::Icrc::kBytes;
  std::fill(to.begin() + static_cast<std::ptrdiff_t>(head + payload), to.begin() + static_cast<std::ptrdiff_t>(covered),
            std::byte{0});
  const std::uint32_t before = flows_.of(ip_, udp_, to.size()).before(identification);
  const std::uint32_t icrc = wire::icrc_behind(before, to.first(covered));
  for (std::size_t byte = 0; byte < wire::Icrc::kBytes; ++byte)
    to[covered + byte] = static_cast<std::byte>(icrc >> (8 * byte));
}

void UdpTrain::copy_payload(std::byte* to, std::uint64_t bytes) noexcept {
  while (bytes > 0) {
    const memory::Piece& piece = train_.payload[piece_];
    const std::uint64_t step = std::min<std::uint64_t>(bytes, piece.bytes - offset_);
    if (piece.data == nullptr) {
      std::memset(to, 0, step);
    } else {
      std::memcpy(to, piece.data + offset_, step);
    }
    to += step;
    bytes -= step;
    offset_ += step;
    if (offset_ == piece.bytes) {
      ++piece_;
      offset_ = 0;
    }
  }
}

}  // namespace verbena::engine::fabric
