// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <map>
#include <utility>

#include "rig/way.hpp"
#include "verbena/errno_family.hpp"
#include "verbena/pd.hpp"

namespace conform {

namespace {

using verbena::Made;
using verbena::QpType;

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

class RawWay final : public Way {
public:
  RawWay(verbena::Device device, std::shared_ptr<verbena::Verbs> verbs)
      : device_(std::move(device)), verbs_(std::move(verbs)) {}

  bool through_verbena() const noexcept override { return false; }

  Object<ibv_pd> pd() override {
    return made(verbs_->alloc_pd(context()), [](verbena::Verbs& v, ibv_pd* pd) { return v.dealloc_pd(pd); });
  }

  Object<ibv_comp_channel> channel() override {
    return made(verbs_->create_comp_channel(context()),
                [](verbena::Verbs& v, ibv_comp_channel* channel) { return v.destroy_comp_channel(channel); });
  }

  Object<ibv_cq> cq(const CqShape& shape) override {
    if (shape.extended()) {
      ibv_cq_init_attr_ex attr{};
      attr.cqe = shape.cqe;
      attr.cq_context = shape.cq_context;
      attr.channel = shape.channel;
      attr.comp_vector = static_cast<std::uint32_t>(shape.comp_vector);
      attr.wc_flags = shape.wc_flags;
      if (shape.ignore_overrun) {
        attr.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
        attr.flags = IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
      }
      const Made<ibv_cq_ex> cq = verbs_->create_cq_ex(context(), attr);
      if (!cq) return Object<ibv_cq>::refused(cq.error);
      ibv_cq* plain = ibv_cq_ex_to_cq(cq.handle);
      return Object<ibv_cq>(plain, [verbs = verbs_, plain] { return verbs->destroy_cq(plain); });
    }
    return made(
        verbs_->create_cq(context(), static_cast<int>(shape.cqe), shape.cq_context, shape.channel, shape.comp_vector),
        [](verbena::Verbs& v, ibv_cq* cq) { return v.destroy_cq(cq); });
  }

  Object<ibv_srq> srq(ibv_pd* pd, const ibv_srq_attr& attr, ibv_srq_attr* returned) override {
    ibv_srq_init_attr init{};
    init.attr = attr;
    const Made<ibv_srq> srq = verbs_->create_srq(pd, init);
    if (returned != nullptr) *returned = init.attr;
    return made(srq, [](verbena::Verbs& v, ibv_srq* handle) { return v.destroy_srq(handle); });
  }

  Object<ibv_qp> qp(ibv_pd* pd, const QpShape& shape, ibv_qp_cap* returned) override {
    Made<ibv_qp> qp;
    ibv_qp_cap cap = shape.cap;
    ibv_cq* recv_cq = shape.recv_cq != nullptr ? shape.recv_cq : shape.send_cq;
    if (shape.ops.is_all()) {
      ibv_qp_init_attr init{};
      init.qp_context = shape.qp_context;
      init.send_cq = shape.send_cq;
      init.recv_cq = recv_cq;
      init.srq = shape.srq;
      init.cap = cap;
      init.qp_type = verbs_type(shape.type);
      init.sq_sig_all = shape.sq_sig_all ? 1 : 0;
      qp = verbs_->create_qp(pd, init);
      cap = init.cap;
    } else {
      ibv_qp_init_attr_ex init{};
      init.qp_context = shape.qp_context;
      init.send_cq = shape.send_cq;
      init.recv_cq = recv_cq;
      init.srq = shape.srq;
      init.cap = cap;
      init.qp_type = verbs_type(shape.type);
      init.sq_sig_all = shape.sq_sig_all ? 1 : 0;
      init.pd = pd;
      init.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
      init.send_ops_flags = shape.ops.bits;
      qp = verbs_->create_qp_ex(context(), init);
      cap = init.cap;
    }
    if (returned != nullptr) *returned = cap;
    if (!qp) return Object<ibv_qp>::refused(qp.error);
    return Object<ibv_qp>(qp.handle, [this, handle = qp.handle] {
      adopted_.erase(handle);
      return verbs_->destroy_qp(handle);
    });
  }

  Object<ibv_mr> mr(ibv_pd* pd, const MrShape& shape) override {
    const Made<ibv_mr> mr = shape.iova ? verbs_->reg_mr_iova(pd, shape.address, shape.length, *shape.iova, shape.access)
                                       : verbs_->reg_mr(pd, shape.address, shape.length, shape.access);
    return made(mr, [](verbena::Verbs& v, ibv_mr* handle) { return v.dereg_mr(handle); });
  }

  Object<ibv_mw> mw(ibv_pd* pd, ibv_mw_type type) override {
    return made(verbs_->alloc_mw(pd, type), [](verbena::Verbs& v, ibv_mw* mw) { return v.dealloc_mw(mw); });
  }

  Object<ibv_ah> ah(ibv_pd* pd, const ibv_ah_attr& attr) override {
    ibv_ah_attr copy = attr;
    return made(verbs_->create_ah(pd, copy), [](verbena::Verbs& v, ibv_ah* ah) { return v.destroy_ah(ah); });
  }

  int modify(ibv_qp* qp, const ibv_qp_attr& attr, int mask) override {
    ibv_qp_attr copy = attr;
    return verbs_->modify_qp(qp, copy, mask);
  }
  int query(ibv_qp* qp, ibv_qp_attr& attr, int mask, ibv_qp_init_attr& init) override {
    return verbs_->query_qp(qp, attr, mask, init);
  }
  int resize(ibv_cq* cq, std::uint32_t cqe) override { return verbs_->resize_cq(cq, static_cast<int>(cqe)); }
  int arm_srq_limit(ibv_srq* srq, std::uint32_t limit) override {
    ibv_srq_attr attr{};
    attr.srq_limit = limit;
    return verbs_->modify_srq(srq, attr, IBV_SRQ_LIMIT);
  }

  int post_send(ibv_qp* qp, ibv_send_wr& list, ibv_send_wr*& bad) override {
    return verbena::normalise_errno(qp->context->ops.post_send(qp, &list, &bad));
  }
  int post_recv(ibv_qp* qp, ibv_recv_wr& list, ibv_recv_wr*& bad) override {
    return verbena::normalise_errno(qp->context->ops.post_recv(qp, &list, &bad));
  }
  int poll(ibv_cq* cq, int count, ibv_wc* completions) override {
    return cq->context->ops.poll_cq(cq, count, completions);
  }

  verbena::Qp* object(ibv_qp* qp) override {
    const auto found = adopted_.find(qp);
    if (found != adopted_.end()) return &found->second;
    const auto pd = verbena::Pd::adopt(device_, qp->pd, verbena::Ownership::callers);
    if (!pd) return nullptr;
    auto adopted = verbena::Qp::adopt(*pd, qp, verbena::Ownership::callers);
    return adopted ? &adopted_.emplace(qp, *std::move(adopted)).first->second : nullptr;
  }

private:
  ibv_context* context() const { return device_.raw(); }

  template <class T, class Destroy>
  Object<T> made(const Made<T>& made, Destroy destroy) {
    if (!made) return Object<T>::refused(made.error);
    return Object<T>(made.handle, [verbs = verbs_, handle = made.handle, destroy] { return destroy(*verbs, handle); });
  }

  verbena::Device device_;
  std::shared_ptr<verbena::Verbs> verbs_;
  std::map<ibv_qp*, verbena::Qp> adopted_;  // of those that rdma_cm connects
};

}  // namespace

std::unique_ptr<Way> raw_way(const verbena::Device& device, std::shared_ptr<verbena::Verbs> verbs) {
  return std::make_unique<RawWay>(device, std::move(verbs));
}

}  // namespace conform
