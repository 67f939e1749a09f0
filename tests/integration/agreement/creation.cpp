// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "creation.hpp"

#include <cerrno>

namespace agreement {
namespace {

ibv_qp_type verbs_type(verbena::QpType type) noexcept {
  if (type == verbena::QpType::ud) return IBV_QPT_UD;
  return type == verbena::QpType::uc ? IBV_QPT_UC : IBV_QPT_RC;
}

}  // namespace

Creation::~Creation() {
  destroy();
  if (qp_cq_ != nullptr) ibv_destroy_cq(qp_cq_);
  if (pd_ != nullptr) ibv_dealloc_pd(pd_);
}

bool Creation::start(bool has_cqs) {
  pd_ = ibv_alloc_pd(context_);
  return pd_ != nullptr && (!has_cqs || renew_cq());
}

bool Creation::renew_cq() {
  if (qp_cq_ != nullptr) ibv_destroy_cq(qp_cq_);
  qp_cq_ = ibv_create_cq(context_, 16, nullptr, nullptr, 0);
  return qp_cq_ != nullptr;
}

bool Creation::create_qp(const Tuple& tuple, Outcome& outcome) {
  const Numbers& passed = tuple.passed;
  ibv_qp_cap cap{passed[kSendWr], passed[kRecvWr], passed[kSendSge], passed[kRecvSge], passed[kInline]};
  if (tuple.ops.is_all()) {
    ibv_qp_init_attr attr{};
    attr.send_cq = attr.recv_cq = qp_cq_;
    attr.qp_type = verbs_type(tuple.type);
    attr.cap = cap;
    qp_ = ibv_create_qp(pd_, &attr);
    cap = attr.cap;
  } else {
    ibv_qp_init_attr_ex attr{};
    attr.send_cq = attr.recv_cq = qp_cq_;
    attr.qp_type = verbs_type(tuple.type);
    attr.cap = cap;
    attr.pd = pd_;
    attr.send_ops_flags = tuple.ops.bits;
    attr.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    qp_ = ibv_create_qp_ex(context_, &attr);
    cap = attr.cap;
  }
  outcome.returned = {cap.max_send_wr, cap.max_recv_wr, cap.max_send_sge, cap.max_recv_sge, cap.max_inline_data};
  return qp_ != nullptr;
}

Outcome Creation::create(const Tuple& tuple) {
  Outcome outcome;
  record_.empty();
  errno = 0;
  if (tuple.kind == Kind::qp) {
    outcome.taken = create_qp(tuple, outcome);
  } else if (tuple.kind == Kind::cq) {
    cq_ = ibv_create_cq(context_, static_cast<int>(tuple.passed[kDepth]), nullptr, nullptr, 0);
    outcome.taken = cq_ != nullptr;
    if (cq_ != nullptr) outcome.returned[kDepth] = cq_->cqe;
  } else {
    ibv_srq_init_attr attr{};
    attr.attr.max_wr = tuple.passed[kDepth];
    attr.attr.max_sge = tuple.passed[kSges];
    srq_ = ibv_create_srq(pd_, &attr);
    outcome.taken = srq_ != nullptr;
    outcome.returned[kDepth] = attr.attr.max_wr;
    outcome.returned[kSges] = attr.attr.max_sge;
  }
  if (!outcome.taken) {
    outcome.error = errno == 0 ? kErrnoLeftAlone : errno;
    outcome.by = record_.who_refused();
  }
  return outcome;
}

void Creation::destroy() {
  if (qp_ != nullptr) ibv_destroy_qp(qp_);
  if (cq_ != nullptr) ibv_destroy_cq(cq_);
  if (srq_ != nullptr) ibv_destroy_srq(srq_);
  if (qp_ != nullptr && spent_) renew_cq();
  spent_ = false;
  qp_ = nullptr;
  cq_ = nullptr;
  srq_ = nullptr;
}

}  // namespace agreement
