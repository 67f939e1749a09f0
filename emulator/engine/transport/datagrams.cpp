// SPDX-License-Identifier: Apache-2.0 OR MIT
// What comes in on UD: one packet a message, behind 40 bytes that say where it came from.
// Source: linux drivers/infiniband/sw/rxe/rxe_resp.c; ibv_create_ah_from_wc(3) for the 40 bytes.
#include <array>

#include "engine/memory/access.hpp"
#include "engine/transport/adapter.hpp"

namespace verbena::engine::transport {

void Adapter::datagram(QueuePair& qp, const Train& train) {
  Responder& responder = qp.responder;
  if (train.head.deth.qkey != qp.attr.qkey) {
    ++dropped_.qkey;
    return;
  }
  if (!take_receive(qp)) {
    ++dropped_.no_receive;
    return;
  }
  const std::uint64_t bytes = wire::kGrhBytes + train.bytes;
  std::uint64_t room = 0;
  qp.scattered.clear();
  ibv_wc_status status = IBV_WC_SUCCESS;
  for (const ibv_sge& sge : responder.sges) {
    room += sge.length;
    const memory::Place at = memory::local(keys_, sge, qp.domain, true);
    if (!at) status = IBV_WC_LOC_PROT_ERR;
    if (at && sge.length > 0) qp.scattered.push_back({*at, sge.length});
  }
  if (bytes > room) {
    ++dropped_.too_long;
    return;  // and the receive is for the next one
  }
  if (status != IBV_WC_SUCCESS) {
    complete_receive(qp, status, nullptr, 0);
    return fail(qp);
  }
  std::array<std::byte, wire::kGrhBytes> grh{};
  constexpr std::uint64_t kHeaders = wire::Udp::kBytes + wire::Bth::kBytes + wire::Icrc::kBytes;
  const std::uint64_t datagram = kHeaders + train.info().header_bytes + train.bytes + wire::pad_after(train.bytes);
  wire::write_grh(train.head.ip, static_cast<std::uint16_t>(datagram), grh);
  const memory::Piece head{grh.data(), grh.size()};
  // Without a GRH its place is left as it is (InfiniBand specification, volume 1, datagrams).
  if (!train.head.ip.without_grh) memory::copy(qp.scattered, 0, {&head, 1}, 0, grh.size());
  if (!bring(qp.scattered, grh.size(), train, train.bytes)) return;  // the receive is for the next one
  complete_receive(qp, IBV_WC_SUCCESS, &train, bytes);
}

}  // namespace verbena::engine::transport
