// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>
#include <map>
#include <utility>

#include "rig/way.hpp"
#include "verbena/ah.hpp"
#include "verbena/comp_channel.hpp"
#include "verbena/cq.hpp"
#include "verbena/mr.hpp"
#include "verbena/mw.hpp"
#include "verbena/pd.hpp"
#include "verbena/post.hpp"
#include "verbena/qp.hpp"
#include "verbena/srq.hpp"

namespace conform {

namespace {

using verbena::Error;
using verbena::ErrorKind;
using verbena::Result;

/// The errno that a user of plain verbs would look for.
int errno_of(const Error& error) {
  if (error.errno_value != 0) return error.errno_value;
  switch (error.kind) {
    case ErrorKind::unsupported:
      return EOPNOTSUPP;
    case ErrorKind::no_memory:
      return ENOMEM;
    case ErrorKind::permission:
      return EPERM;
    case ErrorKind::no_device:
      return ENODEV;
    case ErrorKind::device_gone:
      return EIO;
    case ErrorKind::timeout:
      return ETIMEDOUT;
    case ErrorKind::io:
      return EIO;
    case ErrorKind::invalid_request:
    case ErrorKind::limit:
    case ErrorKind::refused:
    case ErrorKind::bad_table:
      break;
  }
  return EINVAL;
}

/// Owned here, and found again by the raw handle that cases work with. One that is not known is adopted, and stays its
/// owner's.
template <class T, class Raw>
class Held {
public:
  template <class Adopt>
  T* find(Raw* raw, const Adopt& adopt) {
    if (raw == nullptr) return nullptr;
    const auto found = objects_.find(raw);
    if (found != objects_.end()) return &found->second;
    Result<T> adopted = adopt(raw);
    if (!adopted) return nullptr;
    return &objects_.emplace(raw, *std::move(adopted)).first->second;
  }
  void add(Raw* raw, T object) { objects_.insert_or_assign(raw, std::move(object)); }
  void remove(Raw* raw) { objects_.erase(raw); }

private:
  std::map<Raw*, T> objects_;
};

struct Objects {
  // Destroyed from the last to the first, so what is built upon comes first.
  Held<verbena::Pd, ibv_pd> pds;
  Held<verbena::CompChannel, ibv_comp_channel> channels;
  Held<verbena::Cq, ibv_cq> cqs;
  Held<verbena::Srq, ibv_srq> srqs;
  Held<verbena::Mr, ibv_mr> mrs;
  Held<verbena::Mw, ibv_mw> mws;
  Held<verbena::Ah, ibv_ah> ahs;
  Held<verbena::Qp, ibv_qp> qps;
};

class VerbenaWay final : public Way {
public:
  VerbenaWay(verbena::Device device, std::shared_ptr<verbena::Verbs> verbs, std::uint8_t port)
      : device_(std::move(device)), verbs_(std::move(verbs)), port_(port), objects_(std::make_shared<Objects>()) {}

  bool through_verbena() const noexcept override { return true; }

  Object<ibv_pd> pd() override { return made(verbena::Pd::alloc(device_), &Objects::pds); }
  Object<ibv_comp_channel> channel() override {
    return made(verbena::CompChannel::create(device_), &Objects::channels);
  }

  Object<ibv_cq> cq(const CqShape& shape) override {
    verbena::CqRequest request;
    request.cqe.want = shape.cqe;
    request.comp_vector = static_cast<std::uint32_t>(shape.comp_vector);
    request.wc_flags = shape.wc_flags;
    request.ignore_overrun = shape.ignore_overrun;
    const verbena::CompChannel* channel = find(shape.channel);
    if (shape.channel != nullptr && channel == nullptr) return Object<ibv_cq>::refused(EINVAL);
    Result<verbena::Cq> cq = verbena::Cq::create(device_, request, channel, shape.cq_context);
    if (cq) note(cq->grant());
    return made(std::move(cq), &Objects::cqs);
  }

  Object<ibv_srq> srq(ibv_pd* pd, const ibv_srq_attr& attr, ibv_srq_attr* returned) override {
    const verbena::Pd* domain = find(pd);
    if (domain == nullptr) return Object<ibv_srq>::refused(EINVAL);
    verbena::SrqRequest request;
    request.max_wr.want = attr.max_wr;
    request.max_sge.want = attr.max_sge;
    request.srq_limit = attr.srq_limit;
    Result<verbena::Srq> srq = verbena::Srq::create(*domain, request);
    if (srq) {
      const verbena::SrqGrant& grant = srq->grant();
      note(grant);
      if (returned != nullptr) *returned = {grant.max_wr.granted, grant.max_sge.granted, attr.srq_limit};
    }
    return made(std::move(srq), &Objects::srqs);
  }

  Object<ibv_qp> qp(ibv_pd* pd, const QpShape& shape, ibv_qp_cap* returned) override {
    const verbena::Pd* domain = find(pd);
    verbena::QpQueues queues;
    queues.send_cq = find(shape.send_cq);
    queues.recv_cq = find(shape.recv_cq);
    queues.srq = find(shape.srq);
    if (domain == nullptr || queues.send_cq == nullptr) return Object<ibv_qp>::refused(EINVAL);
    verbena::QpRequest request;
    request.type = shape.type;
    request.ops = shape.ops;
    request.max_send_wr.want = shape.cap.max_send_wr;
    request.max_recv_wr.want = shape.cap.max_recv_wr;
    request.max_send_sge.want = shape.cap.max_send_sge;
    request.max_recv_sge.want = shape.cap.max_recv_sge;
    request.max_inline_data.want = shape.cap.max_inline_data;
    request.srq = shape.srq != nullptr;
    request.sq_sig_all = shape.sq_sig_all;
    Result<verbena::Qp> qp = verbena::Qp::create(*domain, request, queues, port_, shape.qp_context);
    if (qp) {
      const verbena::QpGrant& grant = qp->grant();
      note(grant);
      if (returned != nullptr) {
        *returned = {grant.max_send_wr().granted, grant.max_recv_wr().granted, grant.max_send_sge().granted,
                     grant.max_recv_sge().granted, grant.max_inline_data().granted};
      }
    }
    return made(std::move(qp), &Objects::qps);
  }

  Object<ibv_mr> mr(ibv_pd* pd, const MrShape& shape) override {
    const verbena::Pd* domain = find(pd);
    if (domain == nullptr) return Object<ibv_mr>::refused(EINVAL);
    verbena::MrRequest request;
    request.length = shape.length;
    request.access = shape.access;
    request.iova = shape.iova;
    Result<verbena::Mr> mr = verbena::Mr::reg(*domain, shape.address, request);
    if (mr) note(mr->grant());
    return made(std::move(mr), &Objects::mrs);
  }

  Object<ibv_mw> mw(ibv_pd* pd, ibv_mw_type type) override {
    const verbena::Pd* domain = find(pd);
    if (domain == nullptr) return Object<ibv_mw>::refused(EINVAL);
    return made(verbena::Mw::alloc(*domain, type), &Objects::mws);
  }

  Object<ibv_ah> ah(ibv_pd* pd, const ibv_ah_attr& attr) override {
    const verbena::Pd* domain = find(pd);
    if (domain == nullptr) return Object<ibv_ah>::refused(EINVAL);
    return made(verbena::Ah::create(*domain, attr), &Objects::ahs);
  }

  int modify(ibv_qp* qp, const ibv_qp_attr& attr, int mask) override {
    verbena::Qp* known = find(qp);
    if (known == nullptr) return EINVAL;
    const Result<verbena::TransitionNotes> moved = known->modify(attr, static_cast<verbena::QpAttributes>(mask));
    if (!moved) return errno_of(moved.error());
    adjustments_.insert(adjustments_.end(), moved->begin(), moved->end());
    return 0;
  }

  int query(ibv_qp* qp, ibv_qp_attr& attr, int /*mask*/, ibv_qp_init_attr& init) override {
    verbena::Qp* known = find(qp);
    if (known == nullptr) return EINVAL;
    const Result<verbena::QpNow> now = known->query();
    if (!now) return errno_of(now.error());
    attr = now->attr;
    init = now->init;
    return 0;
  }

  int resize(ibv_cq* cq, std::uint32_t cqe) override {
    const verbena::Cq* known = find(cq);
    if (known == nullptr) return EINVAL;
    verbena::Wish wish;
    wish.want = cqe;
    const Result<verbena::CqGrant> resized = known->resize(wish);
    if (!resized) return errno_of(resized.error());
    note(*resized);
    return 0;
  }

  int arm_srq_limit(ibv_srq* srq, std::uint32_t limit) override {
    const verbena::Srq* known = find(srq);
    if (known == nullptr) return EINVAL;
    const Result<void> armed = known->arm_limit(limit);
    return armed ? 0 : errno_of(armed.error());
  }

  int post_send(ibv_qp* qp, ibv_send_wr& list, ibv_send_wr*& bad) override {
    const verbena::PostSendResult posted = verbena::post_send(qp, &list);
    bad = posted.bad;
    return posted.error;
  }
  int post_recv(ibv_qp* qp, ibv_recv_wr& list, ibv_recv_wr*& bad) override {
    const verbena::PostRecvResult posted = verbena::post_recv(qp, &list);
    bad = posted.bad;
    return posted.error;
  }
  int poll(ibv_cq* cq, int count, ibv_wc* completions) override { return verbena::poll(cq, count, completions); }

  verbena::Qp* object(ibv_qp* qp) override { return find(qp); }

private:
  static constexpr verbena::Ownership kTheirs = verbena::Ownership::callers;

  verbena::Pd* find(ibv_pd* pd) {
    return objects_->pds.find(pd, [&](ibv_pd* raw) { return verbena::Pd::adopt(device_, raw, kTheirs); });
  }
  verbena::CompChannel* find(ibv_comp_channel* channel) {
    return objects_->channels.find(
        channel, [&](ibv_comp_channel* raw) { return verbena::CompChannel::adopt(device_, raw, kTheirs); });
  }
  verbena::Cq* find(ibv_cq* cq) {
    return objects_->cqs.find(cq, [&](ibv_cq* raw) { return verbena::Cq::adopt(device_, raw, kTheirs); });
  }
  verbena::Srq* find(ibv_srq* srq) {
    return objects_->srqs.find(srq, [&](ibv_srq* raw) -> Result<verbena::Srq> {
      verbena::Pd* pd = find(raw->pd);
      if (pd == nullptr) return verbena::Failure(Error{.kind = ErrorKind::invalid_request});
      return verbena::Srq::adopt(*pd, raw, kTheirs);
    });
  }
  verbena::Qp* find(ibv_qp* qp) {
    return objects_->qps.find(qp, [&](ibv_qp* raw) -> Result<verbena::Qp> {
      verbena::Pd* pd = find(raw->pd);
      if (pd == nullptr) return verbena::Failure(Error{.kind = ErrorKind::invalid_request});
      return verbena::Qp::adopt(*pd, raw, kTheirs);
    });
  }

  void note(const verbena::GrantNotes& notes) {
    adjustments_.insert(adjustments_.end(), notes.adjustments.begin(), notes.adjustments.end());
  }

  template <class T, class Raw>
  Object<Raw> made(Result<T> object, Held<T, Raw> Objects::* where) {
    if (!object) return Object<Raw>::refused(errno_of(object.error()));
    Raw* raw = object->raw();
    (objects_.get()->*where).add(raw, *std::move(object));
    return Object<Raw>(raw, [objects = objects_, device = device_, raw, where] {
      const std::uint64_t before = device.counters().destroy_failures;
      (objects.get()->*where).remove(raw);
      return device.counters().destroy_failures == before ? 0 : EIO;
    });
  }

  verbena::Device device_;
  std::shared_ptr<verbena::Verbs> verbs_;
  std::uint8_t port_;
  std::shared_ptr<Objects> objects_;
};

}  // namespace

std::unique_ptr<Way> verbena_way(const verbena::Device& device, std::shared_ptr<verbena::Verbs> verbs,
                                 std::uint8_t port) {
  return std::make_unique<VerbenaWay>(device, std::move(verbs), port);
}

}  // namespace conform
