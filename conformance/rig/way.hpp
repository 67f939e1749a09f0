// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <infiniband/verbs.h>

#include "rig/object.hpp"
#include "verbena/device.hpp"
#include "verbena/grant.hpp"
#include "verbena/qp.hpp"
#include "verbena/request.hpp"
#include "verbena/verbs.hpp"

namespace conform {

struct CqShape {
  std::uint32_t cqe = 16;
  ibv_comp_channel* channel = nullptr;
  int comp_vector = 0;
  void* cq_context = nullptr;
  std::uint64_t wc_flags = 0;    ///< IBV_WC_EX_*; any makes it an extended queue
  bool ignore_overrun = false;   ///< makes it an extended queue too
  bool extended() const noexcept { return wc_flags != 0 || ignore_overrun; }
};

struct QpShape {
  verbena::QpType type = verbena::QpType::rc;
  ibv_qp_cap cap{1, 1, 1, 1, 0};
  ibv_cq* send_cq = nullptr;
  ibv_cq* recv_cq = nullptr;  ///< null: send_cq
  ibv_srq* srq = nullptr;
  bool sq_sig_all = false;
  verbena::SendOps ops = verbena::SendOps::all();  ///< all: ibv_create_qp, and no word of the opcodes
  void* qp_context = nullptr;
};

struct MrShape {
  void* address = nullptr;
  std::size_t length = 0;
  unsigned access = IBV_ACCESS_LOCAL_WRITE;
  std::optional<std::uint64_t> iova{};
};

/// How a case makes its objects: by libibverbs alone, or by Verbena. A case that asks for both the same way runs twice,
/// so that a fault shows whose it is. Whatever this does not make is made on the raw handles, in both columns alike.
///
/// Errors are positive errnos; through Verbena, an Error's errno, or the one that stands for its kind.
class Way {
public:
  virtual ~Way() = default;
  Way(const Way&) = delete;
  Way& operator=(const Way&) = delete;

  virtual bool through_verbena() const noexcept = 0;

  virtual Object<ibv_pd> pd() = 0;
  virtual Object<ibv_comp_channel> channel() = 0;
  virtual Object<ibv_cq> cq(const CqShape& shape) = 0;
  /// `returned`: as creation wrote it back, or as granted.
  virtual Object<ibv_srq> srq(ibv_pd* pd, const ibv_srq_attr& attr, ibv_srq_attr* returned = nullptr) = 0;
  virtual Object<ibv_qp> qp(ibv_pd* pd, const QpShape& shape, ibv_qp_cap* returned = nullptr) = 0;
  virtual Object<ibv_mr> mr(ibv_pd* pd, const MrShape& shape) = 0;
  virtual Object<ibv_mw> mw(ibv_pd* pd, ibv_mw_type type) = 0;
  virtual Object<ibv_ah> ah(ibv_pd* pd, const ibv_ah_attr& attr) = 0;

  virtual int modify(ibv_qp* qp, const ibv_qp_attr& attr, int mask) = 0;
  /// Every attribute that the mask names; through Verbena, all that a query gives.
  virtual int query(ibv_qp* qp, ibv_qp_attr& attr, int mask, ibv_qp_init_attr& init) = 0;
  virtual int resize(ibv_cq* cq, std::uint32_t cqe) = 0;
  virtual int arm_srq_limit(ibv_srq* srq, std::uint32_t limit) = 0;

  virtual int post_send(ibv_qp* qp, ibv_send_wr& list, ibv_send_wr*& bad) = 0;
  virtual int post_recv(ibv_qp* qp, ibv_recv_wr& list, ibv_recv_wr*& bad) = 0;
  /// At most `count`; a negative count is a failure of the CQ.
  virtual int poll(ibv_cq* cq, int count, ibv_wc* completions) = 0;

  /// The queue pair as Verbena's own, for what only rdma_cm can do; adopted where libibverbs made it. Null when it
  /// can't be had.
  virtual verbena::Qp* object(ibv_qp* qp) = 0;

  /// What Verbena changed so far, of all objects; empty in the raw column.
  const std::vector<verbena::Adjustment>& adjustments() const noexcept { return adjustments_; }

protected:
  Way() = default;
  std::vector<verbena::Adjustment> adjustments_;
};

std::unique_ptr<Way> raw_way(const verbena::Device& device, std::shared_ptr<verbena::Verbs> verbs);
std::unique_ptr<Way> verbena_way(const verbena::Device& device, std::shared_ptr<verbena::Verbs> verbs,
                                 std::uint8_t port);

}  // namespace conform
