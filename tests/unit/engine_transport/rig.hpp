// SPDX-License-Identifier: Apache-2.0 OR MIT
// Two NICs on a fabric of one process, with a clock that the test turns.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/memory/key_table.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/transport/posting.hpp"

namespace engine_test {

using namespace verbena::engine;  // NOLINT(google-build-using-namespace): what every line of these tests speaks of

struct Turned final : transport::Clock {
  transport::Time time{};
  transport::Time now() noexcept override { return time; }
};

struct Told final : transport::Notices {
  std::vector<ibv_event_type> of_queue_pair;
  std::vector<ibv_event_type> of_shared;
  int completions = 0;
  int overflows = 0;

  void completion(queues::CompletionQueue& /*cq*/) noexcept override { ++completions; }
  void on_queue_pair(transport::QueuePair& /*qp*/, ibv_event_type event) noexcept override {
    of_queue_pair.push_back(event);
  }
  void on_completion_queue(queues::CompletionQueue& /*cq*/) noexcept override { ++overflows; }
  void on_shared_receive_queue(queues::SharedReceiveQueue& /*srq*/, ibv_event_type event) noexcept override {
    of_shared.push_back(event);
  }
  bool has(ibv_event_type event) const {
    return std::find(of_queue_pair.begin(), of_queue_pair.end(), event) != of_queue_pair.end();
  }
};

inline constexpr memory::DomainId kDomain = 1;

/// A NIC with memory of its own behind one key.
template <class Fabric>
struct Nic {
  Nic(Fabric& fabric, transport::Clock& clock, std::uint8_t host) : Nic(fabric, clock, wire::mapped(10, 0, 0, host)) {}
  /// Whoever may not get the address listens once more, and sees why.
  Nic(Fabric& fabric, transport::Clock& clock, const wire::Gid& address)
      : gid(address), port(fabric), adapter(keys, port, clock, told) {
    port.connect(adapter);
    static_cast<void>(port.listen(gid));
  }

  memory::Region& region(std::byte* at, std::size_t bytes,
                         unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                                           IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND) {
    memory::Region& region = *keys.add();
    region.domain = kDomain;
    region.access = access;
    region.host = at;
    region.address = reinterpret_cast<std::uintptr_t>(at);
    region.length = bytes;
    return region;
  }

  wire::Gid gid;
  memory::KeyTable keys;
  Told told;
  typename Fabric::Port port;
  transport::Adapter adapter;
};

struct Shape {
  ibv_qp_type type = IBV_QPT_RC;
  std::uint32_t depth = 64;
  std::uint32_t sges = 4;
  std::uint32_t inline_bytes = 64;
  std::uint32_t cqe = 5000;
  bool signal_all = true;
  queues::SharedReceiveQueue* shared = nullptr;
};

/// One end of a connection.
template <class Fabric>
struct End {
  End(Nic<Fabric>& on, std::uint32_t number, const Shape& shape = {}, std::size_t bytes = 1 << 16)
      : nic(on),
        cq(shape.cqe),
        qp{.number = number,
           .type = shape.type,
           .domain = kDomain,
           .signal_all = shape.signal_all,
           .send_queue = queues::SendQueue(shape.depth, shape.sges, shape.inline_bytes, shape.type == IBV_QPT_UD),
           .receive_queue = queues::ReceiveQueue(shape.shared != nullptr ? 0 : shape.depth, shape.sges),
           .shared = shape.shared,
           .send_cq = &cq,
           .receive_cq = &cq},
        memory(bytes),
        region(&on.region(memory.data(), bytes)) {
    nic.adapter.add(qp);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;
  ~End() { nic.adapter.remove(qp); }

  ibv_sge sge(std::size_t offset, std::uint32_t bytes) {
    return {reinterpret_cast<std::uintptr_t>(memory.data() + offset), bytes, region->key};
  }
  std::uint64_t address(std::size_t offset) const { return reinterpret_cast<std::uintptr_t>(memory.data() + offset); }

  transport::PostFault receive(std::uint64_t wr_id, std::vector<ibv_sge> sges) {
    ibv_recv_wr wr{};
    wr.wr_id = wr_id;
    wr.sg_list = sges.data();
    wr.num_sge = static_cast<int>(sges.size());
    const transport::PostFault fault =
        transport::post_receive(qp.shared != nullptr ? qp.shared->queue : qp.receive_queue, wr);
    nic.adapter.receives_posted(qp);
    return fault;
  }
  transport::PostFault send(ibv_send_wr wr, std::vector<ibv_sge> sges, const queues::Address* to = nullptr) {
    wr.sg_list = sges.data();
    wr.num_sge = static_cast<int>(sges.size());
    const transport::PostFault fault = transport::post_send(qp, wr, to);
    if (fault == transport::PostFault::none) nic.adapter.progress(qp);
    return fault;
  }
  std::optional<ibv_wc> poll() {
    ibv_wc wc{};
    if (cq.poll(1, &wc) == 0) return std::nullopt;
    return wc;
  }

  Nic<Fabric>& nic;
  queues::CompletionQueue cq;
  transport::QueuePair qp;
  std::vector<std::byte> memory;
  memory::Region* region;
};

struct Path {
  ibv_mtu mtu = IBV_MTU_1024;
  std::uint8_t timeout = 14;
  std::uint8_t retry_cnt = 7;
  std::uint8_t rnr_retry = 7;
  std::uint8_t rd_atomic = 4;
  unsigned access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
};

/// `from` to RTS, its packets to the queue pair of that number on the NIC of that address.
template <class Fabric>
void aim_at(End<Fabric>& from, std::uint32_t number, const wire::Gid& gid, const Path& path, std::uint32_t psn) {
  transport::QueuePair& qp = from.qp;
  qp.attr.path_mtu = path.mtu;
  qp.attr.timeout = path.timeout;
  qp.attr.retry_cnt = path.retry_cnt;
  qp.attr.rnr_retry = path.rnr_retry;
  qp.attr.min_rnr_timer = 12;
  qp.attr.max_rd_atomic = qp.attr.max_dest_rd_atomic = path.rd_atomic;
  qp.attr.qp_access_flags = path.access;
  qp.attr.dest_qp_num = number;
  qp.attr.sq_psn = psn;
  qp.attr.rq_psn = psn;
  qp.attr.qkey = 0x11;
  qp.route.ip.version = wire::is_mapped(from.nic.gid) ? wire::IpVersion::v4 : wire::IpVersion::v6;
  qp.route.ip.source = from.nic.gid;
  qp.route.ip.destination = gid;
  from.nic.adapter.enter(qp, IBV_QPS_INIT);
  from.nic.adapter.enter(qp, IBV_QPS_RTR);
  from.nic.adapter.enter(qp, IBV_QPS_RTS);
}

template <class Fabric>
void aim(End<Fabric>& from, const End<Fabric>& to, const Path& path, std::uint32_t psn) {
  aim_at(from, to.qp.number, to.nic.gid, path, psn);
}

template <class Fabric>
void connect(End<Fabric>& one, End<Fabric>& other, const Path& path = {}, std::uint32_t psn = 0xfffff0) {
  aim(one, other, path, psn);
  aim(other, one, path, psn);
}

inline ibv_send_wr work(ibv_wr_opcode opcode, std::uint64_t wr_id, unsigned flags = IBV_SEND_SIGNALED) {
  ibv_send_wr wr{};
  wr.wr_id = wr_id;
  wr.opcode = opcode;
  wr.send_flags = flags;
  return wr;
}

inline ibv_send_wr rdma(ibv_wr_opcode opcode, std::uint64_t wr_id, std::uint64_t address, std::uint32_t rkey) {
  ibv_send_wr wr = work(opcode, wr_id);
  wr.wr.rdma.remote_addr = address;
  wr.wr.rdma.rkey = rkey;
  return wr;
}

}  // namespace engine_test
