// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <infiniband/verbs.h>

#include "kernel_record.hpp"
#include "tuple.hpp"

namespace agreement {

/// Objects made by plain verbs, without Verbena: what the driver itself does.
class Creation {
public:
  explicit Creation(ibv_context* context) : context_(context) {}
  ~Creation();
  Creation(const Creation&) = delete;
  Creation& operator=(const Creation&) = delete;

  /// PD, and a CQ for the QPs to come unless the device has none.
  bool start(bool has_cqs);
  ibv_pd* pd() const noexcept { return pd_; }
  ibv_context* context() const noexcept { return context_; }

  /// Makes the object. On success one of the three below is set until the next call of `destroy`.
  Outcome create(const Tuple& tuple);
  void destroy();
  /// Work was posted to the object. Destroying a QP may leave its flushed completions in the CQ, as libcxgb4 does,
  /// where they would count for the next QP of that number: so that CQ goes with it.
  void posted_to() noexcept { spent_ = true; }
  ibv_qp* qp() const noexcept { return qp_; }
  ibv_srq* srq() const noexcept { return srq_; }

private:
  bool create_qp(const Tuple& tuple, Outcome& outcome);
  bool renew_cq();

  ibv_context* context_;
  KernelRecord record_;
  ibv_pd* pd_ = nullptr;
  ibv_cq* qp_cq_ = nullptr;
  ibv_qp* qp_ = nullptr;
  ibv_cq* cq_ = nullptr;
  ibv_srq* srq_ = nullptr;
  bool spent_ = false;
};

}  // namespace agreement
