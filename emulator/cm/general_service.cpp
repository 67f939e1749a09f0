// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "cm/general_service.hpp"

#include <algorithm>

#include "engine/transport/posting.hpp"
#include "engine/wire/bytes.hpp"

namespace verbena::emulator::cm {

namespace {

constexpr std::uint32_t kNumber = 1;
constexpr std::uint32_t kQkey = 0x80010000;  // linux include/rdma/ib_mad.h IB_QP1_QKEY
constexpr std::uint32_t kDepth = 128;        // linux drivers/infiniband/core/mad_priv.h IB_MAD_QP_SEND_SIZE
constexpr std::uint32_t kReceives = 512;     // and IB_MAD_QP_RECV_SIZE
constexpr std::size_t kSlotBytes = engine::wire::kGrhBytes + kMadBytes;
// No protection domain of a program has it.
constexpr engine::memory::DomainId kDomain = ~engine::memory::DomainId{0};

/// Of the 40 bytes in front: IPv6's, or 20 without meaning and IPv4's (linux include/rdma/ib_verbs.h union
/// rdma_network_hdr).
engine::wire::Gid address_in(const std::byte* header, std::size_t v6_at, std::size_t v4_at) {
  const bool v4 = std::to_integer<unsigned>(header[0]) >> 4 != 6;
  engine::wire::Gid gid = engine::wire::mapped(0, 0, 0, 0);
  if (v4) {
    std::copy_n(header + v4_at, 4, gid.begin() + 12);
  } else {
    std::copy_n(header + v6_at, gid.size(), gid.begin());
  }
  return gid;
}

}  // namespace

GeneralService::GeneralService(engine::transport::Adapter& adapter, engine::memory::KeyTable& keys)
    : adapter_(adapter),
      keys_(keys),
      memory_(kSlotBytes * kReceives),
      region_(keys.add()),
      sent_(kDepth),
      received_(kReceives),
      qp_{.number = kNumber,
          .type = IBV_QPT_UD,
          .domain = kDomain,
          .signal_all = true,
          .send_queue = engine::queues::SendQueue(kDepth, 1, kMadBytes, true),
          .receive_queue = engine::queues::ReceiveQueue(kReceives, 1),
          .send_cq = &sent_,
          .receive_cq = &received_} {
  region_->domain = kDomain;
  region_->access = IBV_ACCESS_LOCAL_WRITE;
  region_->host = memory_.data();
  region_->address = reinterpret_cast<std::uintptr_t>(memory_.data());
  region_->length = memory_.size();
  qp_.attr.qkey = kQkey;
  qp_.attr.path_mtu = IBV_MTU_256;
  adapter_.add(qp_);
  for (const ibv_qp_state state : {IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS}) adapter_.enter(qp_, state);
  for (std::uint64_t slot = 0; slot < kReceives; ++slot) post(slot);
}

GeneralService::~GeneralService() {
  adapter_.remove(qp_);
  keys_.remove(*region_);
}

void GeneralService::post(std::uint64_t slot) {
  ibv_sge sge{region_->address + slot * kSlotBytes, kSlotBytes, region_->key};
  ibv_recv_wr wr{};
  wr.wr_id = slot;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  engine::transport::post_receive(qp_.receive_queue, wr);
}

void GeneralService::reap() {
  ibv_wc wc{};
  while (sent_.poll(1, &wc) > 0) {
  }
}

void GeneralService::send(const engine::queues::Address& to, const Mad& mad) {
  reap();
  ibv_sge sge{reinterpret_cast<std::uintptr_t>(mad.data()), kMadBytes, 0};
  ibv_send_wr wr{};
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND;
  wr.send_flags = IBV_SEND_INLINE;
  wr.wr.ud.remote_qpn = kNumber;
  wr.wr.ud.remote_qkey = kQkey;
  if (engine::transport::post_send(qp_, wr, &to) == engine::transport::PostFault::none) adapter_.progress(qp_);
}

std::optional<Received> GeneralService::next() {
  ibv_wc wc{};
  while (received_.poll(1, &wc) > 0) {
    std::optional<Received> received;
    if (wc.status == IBV_WC_SUCCESS && wc.byte_len == kSlotBytes) {
      const std::byte* const slot = memory_.data() + wc.wr_id * kSlotBytes;
      received.emplace();
      std::copy_n(slot + engine::wire::kGrhBytes, kMadBytes, received->mad.begin());
      received->source = address_in(slot, 8, 32);
      received->destination = address_in(slot, 24, 36);
    }
    post(wc.wr_id);
    if (received) return received;
  }
  return std::nullopt;
}

}  // namespace verbena::emulator::cm
