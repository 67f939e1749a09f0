// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>

#include "peer/answers.hpp"

namespace conform::peer {

int Answers::create_qp(Call call, Packet& in, Packet& out) {
  ibv_pd* pd = nullptr;
  ibv_context* context = nullptr;
  if (call == Call::create_qp) {
    pd = taken(in, pds_);
  } else {
    context = taken(in, contexts_);
  }
  ibv_qp_init_attr_ex attr{};
  attr.send_cq = taken(in, cqs_);
  attr.recv_cq = taken(in, cqs_);
  attr.srq = taken(in, srqs_);
  in.get(attr.cap);
  in.get(attr.qp_type);
  in.get(attr.sq_sig_all);
  verbena::Made<ibv_qp> qp;
  if (call == Call::create_qp) {
    if (pd == nullptr) return EINVAL;
    ibv_qp_init_attr plain{};
    plain.send_cq = attr.send_cq;
    plain.recv_cq = attr.recv_cq;
    plain.srq = attr.srq;
    plain.cap = attr.cap;
    plain.qp_type = attr.qp_type;
    plain.sq_sig_all = attr.sq_sig_all;
    qp = verbs_.create_qp(pd, plain);
    attr.cap = plain.cap;
  } else {
    in.get(attr.comp_mask);
    attr.pd = taken(in, pds_);
    in.get(attr.create_flags);
    in.get(attr.send_ops_flags);
    if (context == nullptr) return EINVAL;
    qp = verbs_.create_qp_ex(context, attr);
  }
  const int error = made(qp, qps_, out);
  out.put(attr.cap);
  if (error != 0) return error;
  out.put(qp.handle->handle);
  out.put(qp.handle->qp_num);
  out.put(qp.handle->state);
  return 0;
}

int Answers::queue_pairs(Call call, Packet& in, Packet& out) {
  if (call == Call::create_qp || call == Call::create_qp_ex) return create_qp(call, in, out);
  if (call == Call::destroy_qp) return destroyed(in, qps_, [&](ibv_qp* qp) { return verbs_.destroy_qp(qp); });
  ibv_qp* qp = taken(in, qps_);
  if (qp == nullptr) return EINVAL;
  switch (call) {
    case Call::modify_qp: {
      auto attr = in.get<ibv_qp_attr>();
      const auto mask = in.get<int>();
      const int error = verbs_.modify_qp(qp, attr, mask);
      out.put(qp->state);
      return error;
    }
    case Call::query_qp: {
      const auto mask = in.get<int>();
      ibv_qp_attr attr{};
      ibv_qp_init_attr init{};
      const int error = verbs_.query_qp(qp, attr, mask, init);
      out.put(attr);
      out.put(init.cap);
      out.put(init.qp_type);
      out.put(init.sq_sig_all);
      out.put(qp->state);
      return error;
    }
    case Call::query_qp_data_in_order: {
      const auto opcode = in.get<ibv_wr_opcode>();
      const auto flags = in.get<std::uint32_t>();
      out.put(verbs_.query_qp_data_in_order(qp, opcode, flags));
      return 0;
    }
    case Call::query_ece: {
      ibv_ece ece{};
      const int error = verbs_.query_ece(qp, ece);
      out.put(ece);
      return error;
    }
    case Call::set_ece: {
      auto ece = in.get<ibv_ece>();
      return verbs_.set_ece(qp, ece);
    }
    case Call::attach_mcast:
    case Call::detach_mcast: {
      const auto gid = in.get<ibv_gid>();
      const auto lid = in.get<std::uint16_t>();
      return call == Call::attach_mcast ? verbs_.attach_mcast(qp, gid, lid) : verbs_.detach_mcast(qp, gid, lid);
    }
    default:
      return ENOSYS;
  }
}

}  // namespace conform::peer
