// SPDX-License-Identifier: Apache-2.0 OR MIT
// Whose a train is: of this process, of another one, or of all that have the address.
#include <algorithm>

#include "engine/fabric/address_book.hpp"
#include "engine/fabric/shared.hpp"
#include "engine/fabric/shared_message.hpp"

namespace verbena::engine::fabric {

Shared::Port::~Port() {
  std::erase(fabric_.ports_, this);
  if (fabric_.here() && !gids_.empty()) fabric_.publish();
}

void Shared::Port::listen(const wire::Gid& gid) {
  if (!has(gid)) gids_.push_back(gid);
  fabric_.publish();
}

void Shared::Port::forget(const wire::Gid& gid) {
  std::erase_if(gids_, [&gid](const wire::Gid& one) { return wire::same(one, gid); });
  fabric_.publish();
}

bool Shared::Port::has(const wire::Gid& gid) const noexcept {
  return std::any_of(gids_.begin(), gids_.end(), [&gid](const wire::Gid& one) { return wire::same(one, gid); });
}

/// Of RC as many as the NIC may be busy with at a time, since the reader holds its lock meanwhile; of the others what
/// one message carries.
std::uint32_t Shared::Port::most_packets(const transport::QueuePair& qp) const noexcept {
  constexpr std::uint32_t kMostAtATime = 1U << 22;
  const std::uint32_t bytes = qp.type == IBV_QPT_RC ? kMostAtATime : kMostCopied;
  return std::max<std::uint32_t>(1, bytes / qp.mtu());
}

void Shared::Port::withdraw(const transport::QueuePair& qp) noexcept {
  if (!fabric_.here()) return;
  for (Peer& peer : fabric_.peers_) {
    if (peer.out) peer.out->withdraw(qp.number);
  }
}

void Shared::Port::withdraw(const memory::Piece& memory) noexcept {
  if (!fabric_.here()) return;
  for (Peer& peer : fabric_.peers_) {
    if (peer.out) peer.out->withdraw(memory);
  }
}

void Shared::publish() {
  std::vector<wire::Gid> gids;
  for (const Port* const port : ports_) {
    for (const wire::Gid& gid : port->gids_) {
      if (std::none_of(gids.begin(), gids.end(), [&gid](const wire::Gid& one) { return wire::same(one, gid); }))
        gids.push_back(gid);
    }
  }
  if (here()) board_.publish(gids);
}

bool Shared::send(const transport::Train& train) noexcept {
  if (!guard_.here()) return false;
  const std::uint32_t slot = train.head.bth.dest_qp >> kSlotShift;
  if (slot == 0 || slot > kSlots) {
    send_to_all(train);
    return true;
  }
  if (slot == board_.slot()) {
    if (!deliver(train)) ++counts_.lost;
    return true;
  }
  Peer* const peer = reach(slot, train.head.ip.destination);
  if (peer == nullptr) {
    ++counts_.lost;
    return true;
  }
  Outgoing& out = outgoing(slot, *peer);
  const bool sent = out.send(train);
  if (out.broken()) {
    cut_off(*peer);
    ++counts_.lost;
    return true;
  }
  if (out.stuck() && std::find(stuck_.begin(), stuck_.end(), slot) == stuck_.end()) stuck_.push_back(slot);
  return sent;
}

/// Groups are all's, and a queue pair that has the same number everywhere is of each that has the address. Whoever has
/// no such queue pair drops it.
void Shared::send_to_all(const transport::Train& train) {
  const wire::Gid& to = train.head.ip.destination;
  const bool group = multicast(to);
  bool any = deliver(train);
  for (std::uint32_t slot = 1; slot <= kSlots; ++slot) {
    if (slot == board_.slot() || board_.at(slot).incarnation.load(std::memory_order_relaxed) == 0) continue;
    Peer& peer = peers_[slot];
    if (group ? look(slot) == nullptr : reach(slot, to) == nullptr) continue;
    any = true;
    if (peer.says->incarnation == peer.gone || peer.says->incarnation == peer.cut_off) continue;
    Outgoing& out = outgoing(slot, peer);
    out.send_or_lose(train);
    if (out.broken()) cut_off(peer);
  }
  if (!any) ++counts_.lost;
}

/// To NICs of this process. False where none of them has the address, or none of those that have it the queue pair.
bool Shared::deliver(const transport::Train& train) {
  const wire::Gid& to = train.head.ip.destination;
  const bool group = multicast(to);
  const bool alone = train.head.bth.dest_qp >> kSlotShift == board_.slot();
  bool any = false;
  // By index: whoever gets it may send, and be sent, before this goes on.
  for (std::size_t index = 0; index < ports_.size(); ++index) {
    const Port& port = *ports_[index];
    if (port.adapter_ == nullptr || !(group || port.has(to))) continue;
    if (alone && port.adapter_->find(train.head.bth.dest_qp) == nullptr) continue;
    port.adapter_->receive(train);
    any = true;
  }
  return any;
}

/// What that slot says now; null where nobody is there.
const SlotSays* Shared::look(std::uint32_t slot) {
  Peer& peer = peers_[slot];
  const std::uint32_t version = board_.at(slot).version.load(std::memory_order_acquire);
  if (!peer.read || peer.version != version) {
    peer.says = board_.read(slot);
    peer.version = peer.says ? peer.says->version : version;
    peer.read = version % 2 == 0;
  }
  return peer.says ? &*peer.says : nullptr;
}

/// Null where no living process of that slot has the address.
Shared::Peer* Shared::reach(std::uint32_t slot, const wire::Gid& gid) {
  const SlotSays* const says = look(slot);
  Peer& peer = peers_[slot];
  if (says == nullptr || says->incarnation == peer.gone || says->incarnation == peer.cut_off) return nullptr;
  const bool has =
      std::any_of(says->gids.begin(), says->gids.end(), [&gid](const wire::Gid& one) { return wire::same(one, gid); });
  return has ? &peer : nullptr;
}

std::optional<std::uint32_t> Shared::who(const wire::Gid& gid, std::uint32_t qpn) {
  if (!guard_.here()) return 0;
  const std::uint32_t named = qpn >> kSlotShift;
  std::uint32_t found = 0;
  for (std::uint32_t slot = 1; slot <= kSlots; ++slot) {
    if (named != 0 && named != slot) continue;
    std::uint32_t incarnation = 0;
    if (slot == board_.slot()) {
      const bool own = std::any_of(ports_.begin(), ports_.end(), [&gid](const Port* port) { return port->has(gid); });
      if (own) incarnation = board_.incarnation();
    } else if (board_.at(slot).incarnation.load(std::memory_order_relaxed) != 0) {
      const Peer* const peer = reach(slot, gid);
      if (peer != nullptr && board_.lives(slot, peer->says->process)) incarnation = peer->says->incarnation;
    }
    if (incarnation != 0 && found != 0) return std::nullopt;
    found = std::max(found, incarnation);
  }
  return found;
}

Outgoing& Shared::outgoing(std::uint32_t slot, Peer& peer) {
  if (!peer.out || peer.out->incarnation() != peer.says->incarnation)
    peer.out = std::make_unique<Outgoing>(board_, slot, peer.says->incarnation, counts_);
  return *peer.out;
}

}  // namespace verbena::engine::fabric
