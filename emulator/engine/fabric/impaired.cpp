// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/impaired.hpp"

#include <algorithm>
#include <utility>

#include "engine/fabric/packets.hpp"

namespace verbena::engine::fabric {

bool Impaired::Port::send(const transport::Train& train) noexcept {
  std::array<std::byte, wire::kMostPacketBytes> bytes;
  const Impairments& wire = fabric_.impairments;
  const std::uint32_t lost = train.info().request ? wire.lost : std::max(wire.lost, wire.answers_lost);
  for (std::uint32_t index = 0; index < train.packets; ++index) {
    const std::size_t written = write_packet(train, index, bytes);
    ++fabric_.sent_;
    if (written == 0 || !up) {
      ++fabric_.lost_;
      continue;
    }
    fabric_.fly(train.head.ip.destination, lost, std::span(bytes).first(written));
  }
  return true;
}

void Impaired::fly(const wire::Gid& to, std::uint32_t lost, std::span<const std::byte> bytes) {
  const int copies = chance(impairments.doubled) ? 2 : 1;
  for (int copy = 0; copy < copies; ++copy) {
    if (chance(lost)) {
      ++lost_;
      continue;
    }
    const bool delayed = impairments.delayed >= kOfMillion || chance(impairments.delayed);
    const transport::Time due = clock_.now() + (delayed ? impairments.delay : transport::Time{});
    Flying packet{due, turn_++, to, {bytes.begin(), bytes.end()}};
    if (chance(impairments.late)) packet.turn += impairments.behind;
    if (chance(impairments.corrupted)) {
      const std::uint64_t bit = random_() % (8 * packet.bytes.size());
      packet.bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    flying_.push_back(std::move(packet));
  }
}

std::vector<Impaired::Flying>::const_iterator Impaired::first() const noexcept {
  return std::min_element(flying_.begin(), flying_.end(), [](const Flying& one, const Flying& other) {
    return std::pair(one.due, one.turn) < std::pair(other.due, other.turn);
  });
}

std::optional<transport::Time> Impaired::next() const noexcept {
  const auto found = first();
  if (found == flying_.end()) return std::nullopt;
  return found->due;
}

bool Impaired::deliver() {
  const auto found = first();
  if (found == flying_.end() || found->due > clock_.now()) return false;
  const Flying packet = std::move(flying_[static_cast<std::size_t>(found - flying_.begin())]);
  flying_.erase(found);
  if (Port* const port = book_.find(packet.to); port != nullptr) {
    hand_over(*port, packet);
  } else if (multicast(packet.to)) {
    for (Port* const each : book_.all()) hand_over(*each, packet);
  } else {
    ++lost_;
  }
  return true;
}

void Impaired::hand_over(Port& port, const Flying& packet) {
  if (!port.up || port.adapter_ == nullptr) {
    ++lost_;
    return;
  }
  const wire::Parsed parsed = wire::parse(packet.bytes, refused_);
  if (!parsed) return;
  memory::Piece piece;
  port.adapter_->receive(as_train(*parsed, piece));
}

}  // namespace verbena::engine::fabric
