// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>

#include "rig/loop.hpp"

namespace conform {

/// A queue pair that librdmacm makes on an id lives on a context of its own, and so does all that it stands on: both
/// columns are alike here. The id must outlive this. What fails is a finding, and ends the case.
class OnId {
public:
  OnId(Case& c, rdma_cm_id* id, ibv_qp_type type, std::size_t bytes);
  OnId(const OnId&) = delete;
  OnId& operator=(const OnId&) = delete;
  ~OnId();

  /// Each of all the bytes; a positive errno or 0.
  int receive(std::uint64_t wr_id = 0);
  int send();
  /// A datagram of the last `length` bytes.
  int send_to(ibv_ah* ah, std::uint32_t qp_num, std::uint32_t qkey, std::size_t length);

  ibv_pd* pd() const noexcept { return pd_.raw(); }
  ibv_cq* cq() const noexcept { return cq_.raw(); }
  Memory& memory() noexcept { return memory_; }

private:
  int post(ibv_send_wr& wr, std::size_t length);

  Case& case_;
  Memory memory_;
  std::size_t bytes_;
  rdma_cm_id* id_;
  Object<ibv_pd> pd_;
  Object<ibv_cq> cq_;
  Object<ibv_mr> mr_;
};

}  // namespace conform
