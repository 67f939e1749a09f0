// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>

#include "peer/far_made.hpp"

namespace conform::peer {

using verbena::Made;

Made<ibv_comp_channel> FarVerbs::create_comp_channel(ibv_context* context) {
  Line::Answer answer = line_.ask(Call::create_comp_channel, id_of(context));
  if (answer.error != 0) return refused<ibv_comp_channel>(answer);
  Shadow<ibv_comp_channel>* made = shadow<ibv_comp_channel>(context, answer);
  made->object.fd = new_descriptor();
  const std::lock_guard lock(mutex_);
  watched_[made->object.fd] = {Call::channel_readable, made->id, false};
  return {.handle = &made->object};
}

int FarVerbs::destroy_comp_channel(ibv_comp_channel* channel) {
  const int error = line_.ask(Call::destroy_comp_channel, id_of(channel)).error;
  if (error != 0) return error;
  close_descriptor(channel->fd);
  delete &Shadow<ibv_comp_channel>::of(channel);
  return 0;
}

ShadowCq* FarVerbs::made_cq(ibv_context* context, void* cq_context, ibv_comp_channel* channel, Line::Answer& answer) {
  auto* made = new ShadowCq;
  answer.rest.get<bool>();
  answer.rest.get(made->id);
  answer.rest.get(made->object.cqe);
  answer.rest.get(made->object.handle);
  made->object.context = context;
  made->object.channel = channel;
  made->object.cq_context = cq_context;
  set_far_polling(made->object);
  if (channel != nullptr) ++channel->refcnt;
  const std::lock_guard lock(mutex_);
  by_id_[made->id] = made;
  return made;
}

Made<ibv_cq> FarVerbs::create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                                 int comp_vector) {
  Line::Answer answer = line_.ask(Call::create_cq, id_of(context), cqe, id_of(channel), comp_vector);
  if (answer.error != 0) return refused<ibv_cq>(answer);
  return {.handle = made_cq(context, cq_context, channel, answer)->plain()};
}

Made<ibv_cq_ex> FarVerbs::create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex& attr) {
  const bool has_domain = (attr.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0;
  Line::Answer answer =
      line_.ask(Call::create_cq_ex, id_of(context), attr.cqe, id_of(attr.channel), attr.comp_vector, attr.wc_flags,
                attr.comp_mask, attr.flags, has_domain ? id_of(attr.parent_domain) : 0U);
  if (answer.error != 0) return refused<ibv_cq_ex>(answer);
  return {.handle = &made_cq(context, attr.cq_context, attr.channel, answer)->object};
}

int FarVerbs::resize_cq(ibv_cq* cq, int cqe) {
  Line::Answer answer = line_.ask(Call::resize_cq, id_of(cq), cqe);
  if (answer.error == 0) answer.rest.get(cq->cqe);
  return answer.error;
}

int FarVerbs::modify_cq(ibv_cq* cq, ibv_modify_cq_attr& attr) {
  return line_.ask(Call::modify_cq, id_of(cq), attr).error;
}

int FarVerbs::destroy_cq(ibv_cq* cq) {
  ShadowCq& shadow = ShadowCq::of(cq);
  const int error = line_.ask(Call::destroy_cq, shadow.id).error;
  if (error != 0) return error;
  if (cq->channel != nullptr) --cq->channel->refcnt;
  const std::lock_guard lock(mutex_);
  by_id_.erase(shadow.id);
  delete &shadow;
  return 0;
}

void FarVerbs::ack_cq_events(ibv_cq* cq, unsigned count) {
  line_.ask(Call::ack_cq_events, id_of(cq), count);
}

Made<ibv_srq> FarVerbs::create_srq(ibv_pd* pd, ibv_srq_init_attr& attr) {
  Line::Answer answer = line_.ask(Call::create_srq, id_of(pd), attr.attr);
  if (answer.error != 0) return refused<ibv_srq>(answer);
  Shadow<ibv_srq>* made = shadow<ibv_srq>(pd->context, answer);
  answer.rest.get(made->object.handle);
  answer.rest.get(attr.attr);
  made->object.pd = pd;
  made->object.srq_context = attr.srq_context;
  const std::lock_guard lock(mutex_);
  by_id_[made->id] = made;
  return {.handle = &made->object};
}

Made<ibv_srq> FarVerbs::create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex& attr) {
  constexpr std::uint32_t kCarried = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD;
  if ((attr.comp_mask & ~kCarried) != 0) return {.handle = nullptr, .error = EOPNOTSUPP};
  ibv_pd* pd = (attr.comp_mask & IBV_SRQ_INIT_ATTR_PD) != 0 ? attr.pd : nullptr;
  Line::Answer answer =
      line_.ask(Call::create_srq_ex, id_of(context), attr.attr, attr.comp_mask, attr.srq_type, id_of(pd));
  if (answer.error != 0) return refused<ibv_srq>(answer);
  Shadow<ibv_srq>* made = shadow<ibv_srq>(context, answer);
  answer.rest.get(made->object.handle);
  answer.rest.get(attr.attr);
  made->object.pd = pd;
  made->object.srq_context = attr.srq_context;
  const std::lock_guard lock(mutex_);
  by_id_[made->id] = made;
  return {.handle = &made->object};
}

int FarVerbs::modify_srq(ibv_srq* srq, ibv_srq_attr& attr, int mask) {
  return line_.ask(Call::modify_srq, id_of(srq), attr, mask).error;
}

int FarVerbs::query_srq(ibv_srq* srq, ibv_srq_attr& attr) {
  Line::Answer answer = line_.ask(Call::query_srq, id_of(srq));
  if (answer.error == 0) answer.rest.get(attr);
  return answer.error;
}

int FarVerbs::destroy_srq(ibv_srq* srq) {
  Shadow<ibv_srq>& shadow = Shadow<ibv_srq>::of(srq);
  const int error = line_.ask(Call::destroy_srq, shadow.id).error;
  if (error != 0) return error;
  const std::lock_guard lock(mutex_);
  by_id_.erase(shadow.id);
  delete &shadow;
  return 0;
}

Made<ibv_qp> FarVerbs::made_qp(ibv_pd* pd, void* qp_context, ibv_cq* send_cq, ibv_cq* recv_cq, ibv_srq* srq,
                               ibv_qp_type type, ibv_qp_cap& cap, Line::Answer answer) {
  if (answer.error != 0) {
    const Made<ibv_qp> out = refused<ibv_qp>(answer);
    if (answer.rest.left() > 0) answer.rest.get(cap);
    return out;
  }
  Shadow<ibv_qp>* made = shadow<ibv_qp>(pd->context, answer);
  answer.rest.get(cap);
  ibv_qp& qp = made->object;
  answer.rest.get(qp.handle);
  answer.rest.get(qp.qp_num);
  answer.rest.get(qp.state);
  qp.pd = pd;
  qp.qp_context = qp_context;
  qp.send_cq = send_cq;
  qp.recv_cq = recv_cq;
  qp.srq = srq;
  qp.qp_type = type;
  const std::lock_guard lock(mutex_);
  by_id_[made->id] = made;
  return {.handle = &qp};
}

Made<ibv_qp> FarVerbs::create_qp(ibv_pd* pd, ibv_qp_init_attr& attr) {
  return made_qp(pd, attr.qp_context, attr.send_cq, attr.recv_cq, attr.srq, attr.qp_type, attr.cap,
                 line_.ask(Call::create_qp, id_of(pd), id_of(attr.send_cq), id_of(attr.recv_cq), id_of(attr.srq),
                           attr.cap, attr.qp_type, attr.sq_sig_all));
}

Made<ibv_qp> FarVerbs::create_qp_ex(ibv_context* context, ibv_qp_init_attr_ex& attr) {
  constexpr std::uint32_t kCarried =
      IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
  if ((attr.comp_mask & ~kCarried) != 0 || (attr.comp_mask & IBV_QP_INIT_ATTR_PD) == 0)
    return {.handle = nullptr, .error = EOPNOTSUPP};
  return made_qp(
      attr.pd, attr.qp_context, attr.send_cq, attr.recv_cq, attr.srq, attr.qp_type, attr.cap,
      line_.ask(Call::create_qp_ex, id_of(context), id_of(attr.send_cq), id_of(attr.recv_cq), id_of(attr.srq), attr.cap,
                attr.qp_type, attr.sq_sig_all, attr.comp_mask, id_of(attr.pd), attr.create_flags, attr.send_ops_flags));
}

int FarVerbs::modify_qp(ibv_qp* qp, ibv_qp_attr& attr, int mask) {
  Line::Answer answer = line_.ask(Call::modify_qp, id_of(qp), attr, mask);
  if (answer.error == 0) answer.rest.get(qp->state);
  return answer.error;
}

int FarVerbs::query_qp(ibv_qp* qp, ibv_qp_attr& attr, int mask, ibv_qp_init_attr& init) {
  Line::Answer answer = line_.ask(Call::query_qp, id_of(qp), mask);
  if (answer.error != 0) return answer.error;
  answer.rest.get(attr);
  answer.rest.get(init.cap);
  answer.rest.get(init.qp_type);
  answer.rest.get(init.sq_sig_all);
  answer.rest.get(qp->state);
  init.qp_context = qp->qp_context;
  init.send_cq = qp->send_cq;
  init.recv_cq = qp->recv_cq;
  init.srq = qp->srq;
  return 0;
}

int FarVerbs::query_qp_data_in_order(ibv_qp* qp, ibv_wr_opcode opcode, std::uint32_t flags) {
  // The answer is no errno: flags, or 0.
  Line::Answer answer = line_.ask(Call::query_qp_data_in_order, id_of(qp), opcode, flags);
  return answer.error == 0 ? answer.rest.get<int>() : 0;
}

int FarVerbs::destroy_qp(ibv_qp* qp) {
  Shadow<ibv_qp>& shadow = Shadow<ibv_qp>::of(qp);
  const int error = line_.ask(Call::destroy_qp, shadow.id).error;
  if (error != 0) return error;
  const std::lock_guard lock(mutex_);
  by_id_.erase(shadow.id);
  delete &shadow;
  return 0;
}

int FarVerbs::query_ece(ibv_qp* qp, ibv_ece& ece) {
  Line::Answer answer = line_.ask(Call::query_ece, id_of(qp));
  if (answer.error == 0) answer.rest.get(ece);
  return answer.error;
}

int FarVerbs::set_ece(ibv_qp* qp, ibv_ece& ece) {
  return line_.ask(Call::set_ece, id_of(qp), ece).error;
}

int FarVerbs::attach_mcast(ibv_qp* qp, const ibv_gid& gid, std::uint16_t lid) {
  return line_.ask(Call::attach_mcast, id_of(qp), gid, lid).error;
}

int FarVerbs::detach_mcast(ibv_qp* qp, const ibv_gid& gid, std::uint16_t lid) {
  return line_.ask(Call::detach_mcast, id_of(qp), gid, lid).error;
}

}  // namespace conform::peer
