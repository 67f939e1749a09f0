// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "backends/generic/generic_backend.hpp"

#include <algorithm>

#include "verbena/verbs.hpp"

namespace verbena {
namespace {

ibv_qp_type verbs_type(QpType type) {
  switch (type) {
    case QpType::uc:
      return IBV_QPT_UC;
    case QpType::ud:
      return IBV_QPT_UD;
    case QpType::rc:
      break;
  }
  return IBV_QPT_RC;
}

ibv_qp_cap passed_cap(const QpGrant& grant) {
  ibv_qp_cap cap{};
  cap.max_send_wr = grant.max_send_wr().passed;
  cap.max_recv_wr = grant.max_recv_wr().passed;
  cap.max_send_sge = grant.max_send_sge().passed;
  cap.max_recv_sge = grant.max_recv_sge().passed;
  cap.max_inline_data = grant.max_inline_data().passed;
  return cap;
}

/// 0 tells the caller that the driver refused without an errno.
template <class T>
T* answer(const Made<T>& made, int& errno_value) {
  errno_value = made.errno_missing ? 0 : made.error;
  return made.handle;
}

/// What ibv_qp_init_attr and ibv_qp_init_attr_ex have in common.
template <class Attr>
Attr plain_attr(const QpCreate& what, const QpFit& fit) noexcept {
  Attr attr{};
  attr.qp_context = what.qp_context;
  attr.send_cq = what.send_cq;
  attr.recv_cq = what.recv_cq;
  attr.srq = what.srq;
  attr.cap = passed_cap(fit.grant);
  attr.qp_type = verbs_type(fit.grant.type);
  attr.sq_sig_all = what.sq_sig_all ? 1 : 0;
  return attr;
}

}  // namespace

std::string GenericBackend::probe(Verbs&, ibv_context*, const DeviceId&, Caps&) const {
  return {};
}

ibv_qp_init_attr_ex GenericBackend::extended_attr(const QpCreate& what, const QpFit& fit) noexcept {
  auto attr = plain_attr<ibv_qp_init_attr_ex>(what, fit);
  attr.comp_mask = IBV_QP_INIT_ATTR_PD;
  attr.pd = what.pd;
  if (fit.declare_ops && !fit.grant.ops.is_all()) {
    attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    attr.send_ops_flags = fit.grant.ops.bits;
  }
  return attr;
}

ibv_qp* GenericBackend::create_qp(Verbs& verbs, const QpCreate& what, const QpFit& fit, ibv_qp_cap& cap,
                                  int& errno_value) const {
  if (fit.declare_ops && !fit.grant.ops.is_all()) {
    auto attr = extended_attr(what, fit);
    ibv_qp* const qp = answer(verbs.create_qp_ex(what.context, attr), errno_value);
    cap = attr.cap;
    return qp;
  }
  auto attr = plain_attr<ibv_qp_init_attr>(what, fit);
  ibv_qp* const qp = answer(verbs.create_qp(what.pd, attr), errno_value);
  cap = attr.cap;
  return qp;
}

ibv_cq* GenericBackend::create_cq(Verbs& verbs, ibv_context* context, const CqRequest& request, const CqGrant& grant,
                                  ibv_comp_channel* channel, void* cq_context, std::uint32_t& cqe,
                                  int& errno_value) const {
  ibv_cq* cq = nullptr;
  if (request.wc_flags != 0 || request.single_threaded || request.ignore_overrun) {
    ibv_cq_init_attr_ex attr{};
    attr.cqe = grant.cqe.passed;
    attr.cq_context = cq_context;
    attr.channel = channel;
    attr.comp_vector = request.comp_vector;
    attr.wc_flags = request.wc_flags;
    if (request.single_threaded) attr.flags |= IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
    if (request.ignore_overrun) attr.flags |= IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    if (attr.flags != 0) attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
    ibv_cq_ex* const extended = answer(verbs.create_cq_ex(context, attr), errno_value);
    if (extended != nullptr) cq = ibv_cq_ex_to_cq(extended);
  } else {
    cq = answer(verbs.create_cq(context, static_cast<int>(grant.cqe.passed), cq_context, channel,
                                static_cast<int>(request.comp_vector)),
                errno_value);
  }
  if (cq != nullptr) cqe = static_cast<std::uint32_t>(std::max(cq->cqe, 0));
  return cq;
}

std::string_view GenericBackend::vendor_error(std::uint32_t) const noexcept {
  return {};
}

}  // namespace verbena
