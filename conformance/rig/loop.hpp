// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "rig/case.hpp"
#include "rig/completions.hpp"
#include "rig/memory.hpp"
#include "rig/states.hpp"

namespace conform {

/// What an end is built on instead of making it itself; whoever gives it keeps it until the Loop is gone.
struct Given {
  ibv_pd* pd = nullptr;
  ibv_cq* send_cq = nullptr;
  ibv_cq* recv_cq = nullptr;
  ibv_srq* srq = nullptr;
};

/// What two ends are to be like.
struct LoopShape {
  verbena::QpType type = verbena::QpType::rc;
  ibv_qp_cap cap{16, 16, 2, 2, 0};
  std::uint32_t cqe = 64;                ///< of each of the two CQs of an end
  bool sq_sig_all = false;
  verbena::SendOps ops = verbena::SendOps::all();
  std::size_t bytes = 1U << 16;          ///< of each end's memory, beyond a GRH
  unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
  std::uint32_t srq_wr = 0;              ///< receives of the second end come from an SRQ of this depth; 0: its own
  std::uint32_t mtu = 0;                 ///< bytes; 0: what both ports have
  bool channels = false;                 ///< each end has a channel, of both its completion queues
  Given a{}, b{};
  bool same_device = false;              ///< both ends on the run's first device
  Terms terms{};  ///< terms.access: what the queue pair allows, of `access` where that is more
};

/// One end: everything that it stands on, and memory.
struct End {
  Way* way = nullptr;
  const verbena::Device* device = nullptr;
  std::uint8_t port = 1;
  Object<ibv_pd> pd;
  Object<ibv_comp_channel> channel;  ///< of both completion queues; empty unless the shape asks for it
  Object<ibv_cq> send_cq, recv_cq;
  Object<ibv_srq> srq;
  std::optional<Memory> memory;
  Object<ibv_mr> mr;
  Object<ibv_qp> qp;
  ibv_qp_cap cap{};  ///< as creation wrote it back, or as granted
  Object<ibv_ah> ah;  ///< UD: the other end
  std::uint32_t peer_qp_num = 0;
  std::uint32_t qkey = 0;

  std::uint8_t* data() const noexcept { return memory->data(); }
  ibv_sge sge(std::size_t offset, std::size_t length) const noexcept {
    return {memory->address() + offset, static_cast<std::uint32_t>(length), mr->lkey};
  }
  std::uint64_t remote(std::size_t offset) const noexcept { return memory->address() + offset; }
  std::uint32_t rkey() const noexcept { return mr->rkey; }
};

/// A receive of UD begins with this many bytes.
inline constexpr std::size_t kGrhBytes = 40;

/// Two ends that are connected: RC and UC by their states or, where only rdma_cm can, by that; UD by address handles.
/// On one device, or on the run's two. What it stands on that fails is a finding, and ends the case.
class Loop {
public:
  Loop(Case& c, const LoopShape& shape = {}, bool connected = true);

  End& a() noexcept { return a_; }
  End& b() noexcept { return b_; }
  const LoopShape& shape() const noexcept { return shape_; }
  std::uint32_t mtu() const noexcept { return mtu_; }  ///< bytes of the path

  /// Brings both ends to RTS, for a Loop that was made unconnected or whose ends were reset.
  void connect();
  /// As connect(), by the states that the caller drives and on each end's own terms; not where only rdma_cm can.
  void connect_by_states(const Terms& of_a, const Terms& of_b);
  /// How `from` reaches `to`.
  PathTo path(const End& from, const End& to) const;

  // What a body does most. Each posts one work request and returns a positive errno or 0.
  int send(End& from, std::uint64_t wr_id, std::size_t offset, std::size_t length, unsigned flags = IBV_SEND_SIGNALED);
  int receive(End& at, std::uint64_t wr_id, std::size_t offset, std::size_t length);
  int write(End& from, End& to, std::uint64_t wr_id, std::size_t offset, std::size_t length,
            unsigned flags = IBV_SEND_SIGNALED);
  int read(End& from, End& to, std::uint64_t wr_id, std::size_t offset, std::size_t length,
           unsigned flags = IBV_SEND_SIGNALED);
  /// A work request of the case's own; UD addressing is filled in.
  int post(End& from, ibv_send_wr wr);
  int post(End& at, ibv_recv_wr wr);

private:
  void make(End& end, bool second);
  void address_datagrams();

  Case& case_;
  LoopShape shape_;
  std::uint32_t mtu_ = 1024;
  End a_, b_;
};

}  // namespace conform
