// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>

#include "peer/answers.hpp"

namespace conform::peer {

int Answers::create_cq_ex(Packet& in, Packet& out) {
  ibv_context* context = taken(in, contexts_);
  ibv_cq_init_attr_ex attr{};
  in.get(attr.cqe);
  attr.channel = taken(in, channels_);
  in.get(attr.comp_vector);
  in.get(attr.wc_flags);
  in.get(attr.comp_mask);
  in.get(attr.flags);
  attr.parent_domain = taken(in, pds_);
  if (context == nullptr) return EINVAL;
  const verbena::Made<ibv_cq_ex> cq = verbs_.create_cq_ex(context, attr);
  verbena::Made<ibv_cq> plain{.handle = nullptr, .error = cq.error, .errno_missing = cq.errno_missing};
  if (cq) plain.handle = ibv_cq_ex_to_cq(cq.handle);
  if (const int error = made(plain, cqs_, out); error != 0) return error;
  wc_flags_[cqs_.id(plain.handle)] = attr.wc_flags;
  out.put(plain.handle->cqe);
  out.put(plain.handle->handle);
  return 0;
}

int Answers::queues(Call call, Packet& in, Packet& out) {
  const auto made_srq = [&](const verbena::Made<ibv_srq>& srq, const ibv_srq_attr& attr) {
    if (const int error = made(srq, srqs_, out); error != 0) return error;
    out.put(srq.handle->handle);
    out.put(attr);
    return 0;
  };
  switch (call) {
    case Call::create_comp_channel: {
      ibv_context* context = taken(in, contexts_);
      if (context == nullptr) return EINVAL;
      const verbena::Made<ibv_comp_channel> channel = verbs_.create_comp_channel(context);
      if (const int error = made(channel, channels_, out); error != 0) return error;
      verbs_.set_nonblocking(channel.handle->fd, true);
      return 0;
    }
    case Call::destroy_comp_channel:
      return destroyed(in, channels_, [&](auto* one) { return verbs_.destroy_comp_channel(one); });
    case Call::channel_readable: {
      ibv_comp_channel* channel = taken(in, channels_);
      if (channel == nullptr) return EINVAL;
      const int error = verbs_.wait_readable(channel->fd, 0);
      return error == ETIMEDOUT ? EAGAIN : error;
    }
    case Call::create_cq: {
      ibv_context* context = taken(in, contexts_);
      const auto cqe = in.get<int>();
      ibv_comp_channel* channel = taken(in, channels_);
      const auto vector = in.get<int>();
      if (context == nullptr) return EINVAL;
      const verbena::Made<ibv_cq> cq = verbs_.create_cq(context, cqe, nullptr, channel, vector);
      if (const int error = made(cq, cqs_, out); error != 0) return error;
      out.put(cq.handle->cqe);
      out.put(cq.handle->handle);
      return 0;
    }
    case Call::create_cq_ex:
      return create_cq_ex(in, out);
    case Call::resize_cq: {
      ibv_cq* cq = taken(in, cqs_);
      const auto cqe = in.get<int>();
      if (cq == nullptr) return EINVAL;
      const int error = verbs_.resize_cq(cq, cqe);
      out.put(cq->cqe);
      return error;
    }
    case Call::modify_cq: {
      ibv_cq* cq = taken(in, cqs_);
      auto attr = in.get<ibv_modify_cq_attr>();
      return cq != nullptr ? verbs_.modify_cq(cq, attr) : EINVAL;
    }
    case Call::destroy_cq:
      return destroyed(in, cqs_, [&](ibv_cq* cq) { return verbs_.destroy_cq(cq); });
    case Call::get_cq_event: {
      ibv_comp_channel* channel = taken(in, channels_);
      if (channel == nullptr) return EINVAL;
      ibv_cq* cq = nullptr;
      void* context = nullptr;
      if (const int error = verbs_.get_cq_event(channel, &cq, &context); error != 0) return error;
      out.put(cqs_.id(cq));
      return 0;
    }
    case Call::ack_cq_events: {
      ibv_cq* cq = taken(in, cqs_);
      const auto count = in.get<unsigned>();
      if (cq == nullptr) return EINVAL;
      verbs_.ack_cq_events(cq, count);
      return 0;
    }
    case Call::create_srq: {
      ibv_pd* pd = taken(in, pds_);
      ibv_srq_init_attr attr{};
      in.get(attr.attr);
      if (pd == nullptr) return EINVAL;
      const verbena::Made<ibv_srq> srq = verbs_.create_srq(pd, attr);
      return made_srq(srq, attr.attr);
    }
    case Call::create_srq_ex: {
      ibv_context* context = taken(in, contexts_);
      ibv_srq_init_attr_ex attr{};
      in.get(attr.attr);
      in.get(attr.comp_mask);
      in.get(attr.srq_type);
      attr.pd = taken(in, pds_);
      if (context == nullptr) return EINVAL;
      const verbena::Made<ibv_srq> srq = verbs_.create_srq_ex(context, attr);
      return made_srq(srq, attr.attr);
    }
    case Call::modify_srq: {
      ibv_srq* srq = taken(in, srqs_);
      auto attr = in.get<ibv_srq_attr>();
      const auto mask = in.get<int>();
      return srq != nullptr ? verbs_.modify_srq(srq, attr, mask) : EINVAL;
    }
    case Call::query_srq: {
      ibv_srq* srq = taken(in, srqs_);
      if (srq == nullptr) return EINVAL;
      ibv_srq_attr attr{};
      const int error = verbs_.query_srq(srq, attr);
      out.put(attr);
      return error;
    }
    case Call::destroy_srq:
      return destroyed(in, srqs_, [&](ibv_srq* srq) { return verbs_.destroy_srq(srq); });
    default:
      return ENOSYS;
  }
}

}  // namespace conform::peer
