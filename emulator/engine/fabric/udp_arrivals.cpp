// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/udp_arrivals.hpp"

#include <algorithm>

#include "engine/wire/flow_icrc.hpp"
#include "engine/wire/icrc.hpp"

namespace verbena::engine::fabric {

bool UdpArrivals::take(const UdpArrival& arrival) {
  const std::size_t segment = arrival.segment == 0 ? arrival.data.size() : arrival.segment;
  const bool v4 = arrival.ip.version == wire::IpVersion::v4;
  Counting& sender = counting(arrival);
  bool foreign = false;
  bool first = true;
  std::span<std::byte> left = arrival.data;
  std::uint16_t identification = arrival.seen || !sender.goes_on ? arrival.ip.identification : sender.next;
  do {  // also where there is nothing, which is then refused as too short
    const std::size_t bytes = std::min(segment, left.size());
    const bool hidden = v4 && (!first || !arrival.seen);
    if (judge(arrival, left.first(bytes), identification, hidden)) {
      ++counters_.packets_in;
      if (bytes < arrival.data.size()) ++counters_.joined_in;
      if (hidden && identification >= kOwn) {
        ++counters_.mended;
        foreign = foreign || !arrival.seen;
      }
      if (first) sender.goes_on = v4 && identification != 0 && identification == sender.next;
      sender.next = static_cast<std::uint16_t>(identification + 1);
      add(*parsed_);
    }
    first = false;
    left = left.subspan(bytes);
    ++identification;
  } while (!left.empty());
  return foreign;
}

UdpArrivals::Counting& UdpArrivals::counting(const UdpArrival& arrival) noexcept {
  const unsigned host = std::to_integer<unsigned>(arrival.ip.source.back());
  Counting& counting = counting_[(host + arrival.udp.source_port) % counting_.size()];
  if (counting.port != arrival.udp.source_port || !wire::same(counting.source, arrival.ip.source))
    counting = {arrival.ip.source, arrival.udp.source_port};
  return counting;
}

bool UdpArrivals::judge(const UdpArrival& arrival, std::span<std::byte> data, std::uint16_t& identification,
                        bool hidden) noexcept {
  const wire::FlowIcrc& flow = flows_.of(arrival.ip, arrival.udp, data.size());
  parsed_ = wire::parse_in_flow(arrival.ip, arrival.udp, flow.before(identification), data, first_tries_);
  if (!parsed_ && parsed_.error() == wire::Refusal::icrc && hidden) {
    const std::span<std::byte> covered = data.first(data.size() - wire::Icrc::kBytes);
    const auto worked_out = wire::identification_of(wire::icrc_behind(flow.before(0), covered),
                                                    wire::Icrc::read(covered.data() + covered.size()), covered.size());
    if (worked_out) {
      identification = *worked_out;
      parsed_ = wire::parse_in_flow(arrival.ip, arrival.udp, flow.before(identification), data, first_tries_);
    }
  }
  if (!parsed_) {
    ++counters_.refused[parsed_.error()];
    return false;
  }
  parsed_->packet.ip.identification = arrival.ip.version == wire::IpVersion::v4 ? identification : std::uint16_t{0};
  return true;
}

bool UdpArrivals::follows(const wire::Received& received) const noexcept {
  if (train_.packets == 0 || train_.packets == kMostPackets) return false;
  const wire::Packet& packet = received.packet;
  const wire::Packet& head = train_.head;
  const wire::OpcodeInfo& last = wire::info(train_.last_opcode);
  const wire::OpcodeInfo& info = wire::info(packet.bth.opcode);
  return !last.ends() && !info.begins() && info.operation == last.operation && info.transport == last.transport &&
         info.request == last.request && packet.bth.psn == train_.last() + 1 &&
         packet.bth.dest_qp == head.bth.dest_qp && packet.bth.pkey == head.bth.pkey &&
         wire::same(packet.ip.source, head.ip.source) && wire::same(packet.ip.destination, head.ip.destination) &&
         // All but the last of a message are of one size, and that one has no more, and something.
         train_.bytes == std::uint64_t{train_.packets} * train_.mtu && !received.payload.empty() &&
         (info.ends() ? received.payload.size() <= train_.mtu : received.payload.size() == train_.mtu);
}

void UdpArrivals::add(const wire::Received& received) {
  // Only read from: a train's payload is whoever sent it's.
  const memory::Piece piece{const_cast<std::byte*>(received.payload.data()), received.payload.size()};
  const wire::Packet& packet = received.packet;
  if (follows(received)) {
    pieces_[train_.packets++] = piece;
    train_.last_opcode = packet.bth.opcode;
    train_.bytes += piece.bytes;
    // The head has what the last one has; who asked for an acknowledgement in between gets one with the last.
    train_.head.bth.solicited = packet.bth.solicited;
    train_.head.bth.ack_request = train_.head.bth.ack_request || packet.bth.ack_request;
    train_.head.immediate = packet.immediate;
    train_.head.invalidate = packet.invalidate;
    return;
  }
  finish();
  train_.head = packet;
  train_.last_opcode = packet.bth.opcode;
  train_.packets = 1;
  train_.bytes = piece.bytes;
  train_.mtu = static_cast<std::uint32_t>(piece.bytes);
  pieces_[0] = piece;
}

void UdpArrivals::finish() {
  if (train_.packets == 0) return;
  train_.payload = train_.bytes > 0 ? memory::Pieces(pieces_.data(), train_.packets) : memory::Pieces{};
  ++counters_.trains_in;
  adapter_.receive(train_);
  train_.packets = 0;
}

}  // namespace verbena::engine::fabric
