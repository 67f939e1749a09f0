// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>
#include <cstdint>

#include <infiniband/verbs.h>

#include "peer/far_made.hpp"

namespace conform::peer {

namespace {

FarVerbs& far_of(ibv_context* context) {
  return *ShadowContext::of(context).far;
}

int post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  return far_of(qp->context).post_send(qp, wr, bad);
}
int post_recv(ibv_qp* qp, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  return far_of(qp->context).post_recv(Call::post_recv, id_of(qp), wr, bad);
}
int post_srq_recv(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  return far_of(srq->context).post_recv(Call::post_srq_recv, id_of(srq), wr, bad);
}
int poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
  return far_of(cq->context).poll_cq(cq, count, wc);
}
int req_notify_cq(ibv_cq* cq, int solicited_only) {
  return far_of(cq->context).req_notify_cq(cq, solicited_only);
}
ibv_mw* alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  const verbena::Made<ibv_mw> made = far_of(pd->context).alloc_mw(pd, type);
  if (!made) errno = made.error;
  return made.handle;
}
int bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  return far_of(qp->context).bind_mw(qp, mw, bind);
}
int dealloc_mw(ibv_mw* mw) {
  return far_of(mw->context).dealloc_mw(mw);
}

/// What the far end can't follow: memory that a request points at and that no region is over.
void put_inline(Packet& packet, const ibv_send_wr& wr) {
  for (int at = 0; at < wr.num_sge; ++at) {
    const ibv_sge& sge = wr.sg_list[at];
    packet.put_bytes(reinterpret_cast<const void*>(sge.addr), sge.length);
  }
}

void put_sges(Packet& packet, const ibv_sge* list, int count) {
  const std::uint32_t given = count > 0 && list != nullptr ? static_cast<std::uint32_t>(count) : 0;
  packet.put(given);
  packet.put_bytes(list, given * sizeof *list);
}

/// Work requests to the far end and, of a refusal, the place of the one that was refused.
template <class Wr>
int refused_at(Line::Answer& answer, Wr* list, Wr** bad) {
  // The sign is the driver's own.
  const auto returned = answer.error == 0 ? answer.rest.get<int>() : answer.error;
  const auto place = answer.error == 0 ? answer.rest.get<std::int32_t>() : 0;
  if (returned == 0 || bad == nullptr || place < 0) return returned;
  Wr* at = list;
  for (std::int32_t step = 0; step < place && at != nullptr; ++step) at = at->next;
  *bad = at;
  return returned;
}

ibv_wc_opcode read_opcode(ibv_cq_ex* cq) {
  return ShadowCq::of(cq).current.wc.opcode;
}
std::uint32_t read_vendor_err(ibv_cq_ex* cq) {
  return ShadowCq::of(cq).current.wc.vendor_err;
}
std::uint32_t read_byte_len(ibv_cq_ex* cq) {
  return ShadowCq::of(cq).current.wc.byte_len;
}
std::uint32_t read_imm_data(ibv_cq_ex* cq) {
  return ShadowCq::of(cq).current.wc.imm_data;
}
std::uint32_t read_qp_num(ibv_cq_ex* cq) {
  return ShadowCq::of(cq).current.wc.qp_num;
}
std::uint32_t read_src_qp(ibv_cq_ex* cq) {
  return ShadowCq::of(cq).current.wc.src_qp;
}
unsigned read_wc_flags(ibv_cq_ex* cq) {
  return ShadowCq::of(cq).current.wc.wc_flags;
}
std::uint32_t read_slid(ibv_cq_ex* cq) {
  return ShadowCq::of(cq).current.wc.slid;
}
std::uint8_t read_sl(ibv_cq_ex* cq) {
  return ShadowCq::of(cq).current.wc.sl;
}
std::uint8_t read_dlid_path_bits(ibv_cq_ex* cq) {
  return ShadowCq::of(cq).current.wc.dlid_path_bits;
}
std::uint64_t read_completion_ts(ibv_cq_ex* cq) {
  return ShadowCq::of(cq).current.timestamp;
}
std::uint64_t read_completion_wallclock_ns(ibv_cq_ex* cq) {
  return ShadowCq::of(cq).current.wallclock;
}
int start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
  return far_of(cq->context).start_poll(cq, attr);
}
int next_poll(ibv_cq_ex* cq) {
  return far_of(cq->context).next_poll(cq);
}
void end_poll(ibv_cq_ex* cq) {
  far_of(cq->context).end_poll(cq);
}

}  // namespace

void set_far_data_path(ibv_context_ops& ops) {
  ops.post_send = conform::peer::post_send;
  ops.post_recv = conform::peer::post_recv;
  ops.post_srq_recv = conform::peer::post_srq_recv;
  ops.poll_cq = conform::peer::poll_cq;
  ops.req_notify_cq = conform::peer::req_notify_cq;
  ops.alloc_mw = conform::peer::alloc_mw;
  ops.bind_mw = conform::peer::bind_mw;
  ops.dealloc_mw = conform::peer::dealloc_mw;
}

void set_far_polling(ibv_cq_ex& cq) {
  cq.start_poll = conform::peer::start_poll;
  cq.next_poll = conform::peer::next_poll;
  cq.end_poll = conform::peer::end_poll;
  cq.read_opcode = read_opcode;
  cq.read_vendor_err = read_vendor_err;
  cq.read_byte_len = read_byte_len;
  cq.read_imm_data = read_imm_data;
  cq.read_qp_num = read_qp_num;
  cq.read_src_qp = read_src_qp;
  cq.read_wc_flags = read_wc_flags;
  cq.read_slid = read_slid;
  cq.read_sl = read_sl;
  cq.read_dlid_path_bits = read_dlid_path_bits;
  cq.read_completion_ts = read_completion_ts;
  cq.read_completion_wallclock_ns = read_completion_wallclock_ns;
}

bool is_far(const ibv_context* context) {
  return context != nullptr && context->ops.poll_cq == conform::peer::poll_cq;
}

int FarVerbs::post_send(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  Packet values;
  values.put(id_of(qp));
  std::uint32_t count = 0;
  for (const ibv_send_wr* one = wr; one != nullptr; one = one->next) ++count;
  values.put(count);
  for (const ibv_send_wr* one = wr; one != nullptr; one = one->next) {
    values.put(*one);
    put_sges(values, one->sg_list, one->num_sge);
    if ((one->send_flags & IBV_SEND_INLINE) != 0) put_inline(values, *one);
    if (qp->qp_type == IBV_QPT_UD) values.put(id_of(one->wr.ud.ah));
    if (one->opcode == IBV_WR_BIND_MW) {
      values.put(id_of(one->bind_mw.mw));
      // A program may write the key into the structure, where rxe's provider looks for it.
      values.put(one->bind_mw.mw != nullptr ? one->bind_mw.mw->rkey : 0U);
      values.put(id_of(one->bind_mw.bind_info.mr));
    }
  }
  Line::Answer answer = line_.ask(Call::post_send, values);
  return refused_at(answer, wr, bad);
}

int FarVerbs::post_recv(Call call, std::uint32_t id, ibv_recv_wr* wr, ibv_recv_wr** bad) {
  Packet values;
  values.put(id);
  std::uint32_t count = 0;
  for (const ibv_recv_wr* one = wr; one != nullptr; one = one->next) ++count;
  values.put(count);
  for (const ibv_recv_wr* one = wr; one != nullptr; one = one->next) {
    values.put(*one);
    put_sges(values, one->sg_list, one->num_sge);
  }
  Line::Answer answer = line_.ask(call, values);
  return refused_at(answer, wr, bad);
}

int FarVerbs::poll_cq(ibv_cq* cq, int count, ibv_wc* wc) {
  Line::Answer answer = line_.ask(Call::poll_cq, id_of(cq), count);
  if (answer.error != 0) return -answer.error;
  const auto found = answer.rest.get<int>();
  for (int at = 0; at < found && at < count; ++at) answer.rest.get(wc[at]);
  return found;
}

int FarVerbs::req_notify_cq(ibv_cq* cq, int solicited_only) {
  Line::Answer answer = line_.ask(Call::req_notify_cq, id_of(cq), solicited_only);
  return answer.error != 0 ? answer.error : answer.rest.get<int>();
}

int FarVerbs::bind_mw(ibv_qp* qp, ibv_mw* mw, ibv_mw_bind* bind) {
  Line::Answer answer =
      line_.ask(Call::bind_mw, id_of(qp), id_of(mw), mw->rkey, id_of(bind->bind_info.mr), bind->wr_id, bind->send_flags,
                bind->bind_info.addr, bind->bind_info.length, bind->bind_info.mw_access_flags);
  if (answer.error != 0) return answer.error;
  const auto returned = answer.rest.get<int>();
  answer.rest.get(mw->rkey);
  return returned;
}

int FarVerbs::taken_poll(ShadowCq& cq, Line::Answer& answer) {
  if (answer.error != 0) return answer.error;
  answer.rest.get(cq.current.wc);
  answer.rest.get(cq.current.timestamp);
  answer.rest.get(cq.current.wallclock);
  cq.object.wr_id = cq.current.wc.wr_id;
  cq.object.status = cq.current.wc.status;
  return 0;
}

int FarVerbs::start_poll(ibv_cq_ex* cq, ibv_poll_cq_attr* attr) {
  Line::Answer answer = line_.ask(Call::start_poll, ShadowCq::of(cq).id, attr != nullptr ? attr->comp_mask : 0U);
  return taken_poll(ShadowCq::of(cq), answer);
}

int FarVerbs::next_poll(ibv_cq_ex* cq) {
  Line::Answer answer = line_.ask(Call::next_poll, ShadowCq::of(cq).id);
  return taken_poll(ShadowCq::of(cq), answer);
}

void FarVerbs::end_poll(ibv_cq_ex* cq) {
  line_.ask(Call::end_poll, ShadowCq::of(cq).id);
}

}  // namespace conform::peer
