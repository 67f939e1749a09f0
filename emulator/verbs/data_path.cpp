// SPDX-License-Identifier: Apache-2.0 OR MIT
// What programs call through a context's table: post, poll, arm, bind. Never through the Verbs table.
#include <sched.h>

#include <algorithm>
#include <cerrno>

#include "engine/transport/posting.hpp"
#include "engine/transport/work_opcode.hpp"
#include "verbs/emulated_verbs.hpp"

namespace verbena::emulator {

namespace {

using engine::transport::PostFault;

Qp& qp_of(ibv_qp* plain) {
  return of<Qp>(reinterpret_cast<ibv_qp_ex*>(plain));
}
Cq& cq_of(ibv_cq* plain) {
  return of<Cq>(reinterpret_cast<ibv_cq_ex*>(plain));
}

int named(const Profile& profile, const char* key, int otherwise) {
  const int error = profile.creation() == nullptr ? 0 : profile.creation()->error("post", key);
  return error > 0 ? error : otherwise;
}

int errno_of(const Profile& profile, PostFault fault, bool receive = false) {
  switch (fault) {
    case PostFault::none:
      return 0;
    case PostFault::full:
      return named(profile, "full", ENOMEM);
    case PostFault::sges:
      if (receive) return named(profile, "too_many_recv_sges", named(profile, "too_many_sges", EINVAL));
      return named(profile, "too_many_sges", EINVAL);
    case PostFault::state:
    case PostFault::opcode:
    case PostFault::inline_bytes:
    case PostFault::bytes:
      break;
  }
  return EINVAL;
}

/// What a driver refuses for its flags (models, creation.post); 0 where it takes them.
int flags_refused(const Qp& qp, const Profile& profile, unsigned flags) {
  const bool all_signalled = profile.does(Behaviour::every_wr_signaled) == Choice::yes;
  if (all_signalled && !qp.qp.signal_all && (flags & IBV_SEND_SIGNALED) == 0)
    return named(profile, "unsignaled", EINVAL);
  if (profile.does(Behaviour::fence_and_solicited) != Choice::refused) return 0;
  if ((flags & IBV_SEND_FENCE) != 0) return named(profile, "fence", EINVAL);
  return (flags & IBV_SEND_SOLICITED) != 0 ? named(profile, "solicited", EINVAL) : 0;
}

bool is_atomic(ibv_wr_opcode opcode) {
  return opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/// Of a refusal: most return a positive errno.
int signed_so(const Profile& profile, int error) {
  const bool negative = profile.does(Behaviour::post_return_sign) == Choice::negative;
  return negative ? -error : error;
}

Feature feature_of(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND_WITH_IMM:
      return Feature::send_with_imm;
    case IBV_WR_SEND_WITH_INV:
      return Feature::send_with_inv;
    case IBV_WR_RDMA_WRITE:
      return Feature::rdma_write;
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return Feature::rdma_write_with_imm;
    case IBV_WR_RDMA_READ:
      return Feature::rdma_read;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return Feature::compare_swap;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return Feature::fetch_add;
    case IBV_WR_LOCAL_INV:
      return Feature::local_inv;
    case IBV_WR_BIND_MW:
      return Feature::bind_mw;
    case IBV_WR_ATOMIC_WRITE:
      return Feature::atomic_write;
    default:
      return opcode == engine::transport::kWorkFlush ? Feature::flush : Feature::send;
  }
}

PostFault post_one(Qp& qp, const Profile& profile, const ibv_send_wr& wr) {
  if (!profile.has(feature_of(wr.opcode))) return PostFault::opcode;
  const engine::queues::Address* to = nullptr;
  if (qp.qp.type == IBV_QPT_UD) {
    if (wr.wr.ud.ah == nullptr) return PostFault::opcode;
    to = &of<Ah>(wr.wr.ud.ah).address;
  }
  return engine::transport::post_send(qp.qp, wr, to);
}

/// Of a NIC that is inert (Host::inert).
template <class Wr>
int not_here(Wr** bad, Wr* list) {
  if (bad != nullptr) *bad = list;
  return EIO;
}

int post_send(ibv_qp* plain, ibv_send_wr* list, ibv_send_wr** bad) {
  Qp& qp = qp_of(plain);
  Nic& nic = nic_of(plain->context);
  if (nic.host().inert()) return not_here(bad, list);
  const std::scoped_lock lock(nic.host().mutex);
  const Profile& profile = nic.profile();
  int error = 0;
  for (ibv_send_wr* wr = list; wr != nullptr; wr = wr->next) {
    PostFault fault = PostFault::none;
    error = flags_refused(qp, profile, wr->send_flags);
    if (error == 0 && is_atomic(wr->opcode)) error = profile.error(Fault::atomics_refused_when_posted, "errno", 0);
    if (error == 0) {
      fault = post_one(qp, profile, *wr);
      error = errno_of(profile, fault);
    }
    if (fault == PostFault::state && profile.deviates(Deviation::early_sends_accepted)) error = 0;
    if (error == 0) continue;
    const bool cleared = fault == PostFault::state && profile.deviates(Deviation::bad_wr_cleared);
    if (bad != nullptr) *bad = cleared ? nullptr : wr;
    break;
  }
  nic.adapter().progress(qp.qp);
  // Without a route the requester fails a work request as it does one that is at fault (linux
  // drivers/infiniband/sw/rxe/rxe_net.c prepare4, prepare6; rxe_req.c rxe_requester).
  if (profile.deviates(Deviation::local_errors_flushed) && qp.qp.state == IBV_QPS_RTS &&
      nic.state(qp.qp.attr.port_num) == IBV_PORT_DOWN)
    nic.adapter().enter(qp.qp, IBV_QPS_ERR);
  nic.host().posted();
  return signed_so(nic.profile(), error);
}

int post_into(engine::queues::ReceiveQueue& queue, const Profile& profile, ibv_recv_wr* list, ibv_recv_wr** bad) {
  for (ibv_recv_wr* wr = list; wr != nullptr; wr = wr->next) {
    const int error = errno_of(profile, engine::transport::post_receive(queue, *wr), true);
    if (error == 0) continue;
    if (bad != nullptr) *bad = wr;
    return error;
  }
  return 0;
}

int post_recv(ibv_qp* plain, ibv_recv_wr* list, ibv_recv_wr** bad) {
  Qp& qp = qp_of(plain);
  Nic& nic = nic_of(plain->context);
  if (nic.host().inert()) return not_here(bad, list);
  const std::scoped_lock lock(nic.host().mutex);
  int error = 0;
  const bool reset =
      qp.qp.state == IBV_QPS_RESET && nic.profile().does(Behaviour::post_recv_in_reset) != Choice::accepted;
  if (qp.qp.shared != nullptr || reset) {
    error = EINVAL;
    if (bad != nullptr) *bad = reset && nic.profile().deviates(Deviation::bad_wr_cleared) ? nullptr : list;
  } else {
    error = post_into(qp.qp.receive_queue, nic.profile(), list, bad);
  }
  nic.adapter().receives_posted(qp.qp);
  return signed_so(nic.profile(), error);
}

int post_srq_recv(ibv_srq* plain, ibv_recv_wr* list, ibv_recv_wr** bad) {
  Nic& nic = nic_of(plain->context);
  if (nic.host().inert()) return not_here(bad, list);
  const std::scoped_lock lock(nic.host().mutex);
  return signed_so(nic.profile(), post_into(of<Srq>(plain).queue.queue, nic.profile(), list, bad));
}

int poll_cq(ibv_cq* plain, int count, ibv_wc* completions) {
  Nic& nic = nic_of(plain->context);
  Host& host = nic.host();
  if (host.inert()) return 0;
  int found = 0;
  bool yields = false;
  {
    const std::scoped_lock lock(host.mutex);
    host.progress();
    found = cq_of(plain).queue.poll(count, completions);
    yields = host.impatient(found != 0);
  }
  if (yields) sched_yield();
  return found;
}

int req_notify_cq(ibv_cq* plain, int solicited_only) {
  Nic& nic = nic_of(plain->context);
  if (nic.host().inert()) return EIO;
  const std::scoped_lock lock(nic.host().mutex);
  using Arm = engine::queues::CompletionQueue::Arm;
  cq_of(plain).queue.arm(solicited_only != 0 ? Arm::solicited : Arm::any);
  nic.host().doze();
  return 0;
}

/// A type 1 window by a work request of its own, as providers do it (rdma-core providers/rxe/rxe.c rxe_bind_mw).
int bind_mw(ibv_qp* plain, ibv_mw* mw, ibv_mw_bind* bind) {
  if (mw->type != IBV_MW_TYPE_1) return EINVAL;
  if (bind->bind_info.mr != nullptr && bind->bind_info.mr->pd != mw->pd) return EPERM;
  ibv_send_wr wr{};
  wr.wr_id = bind->wr_id;
  wr.opcode = IBV_WR_BIND_MW;
  wr.send_flags = bind->send_flags;
  wr.bind_mw.mw = mw;
  wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
  wr.bind_mw.bind_info = bind->bind_info;
  ibv_send_wr* bad = nullptr;
  const int error = post_send(plain, &wr, &bad);
  if (error == 0) mw->rkey = wr.bind_mw.rkey;
  return error;
}

// Extended polling: the lock is held from a start_poll that found something to its end_poll.

Nic& nic_of_cq(ibv_cq_ex* cq) {
  return nic_of(cq->context);
}

void show(Cq& cq) {
  cq.current = cq.repeats ? &cq.last : cq.queue.oldest();
  if (cq.current == nullptr) return;
  cq.base.wr_id = cq.current->wc.wr_id;
  cq.base.status = cq.current->wc.status;
}

/// The current one has been read.
void drop(Cq& cq) {
  if (cq.current == nullptr) return;
  if (cq.current == &cq.last) {
    cq.repeats = false;
    return;
  }
  cq.last = *cq.current;
  cq.read_one = true;
  cq.queue.drop();
}

int start_poll(ibv_cq_ex* plain, ibv_poll_cq_attr* attr) {
  if (attr != nullptr && attr->comp_mask != 0) return EINVAL;
  Cq& cq = of<Cq>(plain);
  Host& host = nic_of_cq(plain).host();
  if (host.inert()) return ENOENT;
  host.mutex.lock();
  host.progress();
  show(cq);
  const bool yields = host.impatient(cq.current != nullptr);
  // One that comes again is read without the lock: who didn't expect it never ends that batch.
  if (cq.current == nullptr || cq.current == &cq.last) host.mutex.unlock();
  if (cq.current != nullptr) return 0;
  if (yields) sched_yield();
  return ENOENT;
}

int next_poll(ibv_cq_ex* plain) {
  Cq& cq = of<Cq>(plain);
  if (cq.current == &cq.last) nic_of_cq(plain).host().mutex.lock();
  drop(cq);
  show(cq);
  return cq.current != nullptr ? 0 : ENOENT;
}

void end_poll(ibv_cq_ex* plain) {
  Cq& cq = of<Cq>(plain);
  // rdma-core 44 providers/rxe/rxe.c cq_next_poll, cq_end_poll: both count the end of the batch.
  cq.repeats =
      cq.current == nullptr && cq.read_one && nic_of_cq(plain).profile().deviates(Deviation::next_poll_repeats);
  const bool again = cq.current == &cq.last;
  drop(cq);
  cq.read_one = false;
  cq.current = nullptr;
  if (!again) nic_of_cq(plain).host().mutex.unlock();
}

const ibv_wc& current(ibv_cq_ex* plain) {
  return of<Cq>(plain).current->wc;
}

}  // namespace

void fill_polling(ibv_cq_ex& cq) {
  cq.start_poll = start_poll;
  cq.next_poll = next_poll;
  cq.end_poll = end_poll;
  cq.read_opcode = [](ibv_cq_ex* plain) { return current(plain).opcode; };
  cq.read_vendor_err = [](ibv_cq_ex* plain) { return current(plain).vendor_err; };
  cq.read_byte_len = [](ibv_cq_ex* plain) { return current(plain).byte_len; };
  cq.read_imm_data = [](ibv_cq_ex* plain) { return current(plain).imm_data; };
  cq.read_qp_num = [](ibv_cq_ex* plain) { return current(plain).qp_num; };
  cq.read_src_qp = [](ibv_cq_ex* plain) { return current(plain).src_qp; };
  cq.read_wc_flags = [](ibv_cq_ex* plain) { return current(plain).wc_flags; };
  cq.read_slid = [](ibv_cq_ex* plain) { return static_cast<std::uint32_t>(current(plain).slid); };
  cq.read_sl = [](ibv_cq_ex* plain) { return current(plain).sl; };
  cq.read_dlid_path_bits = [](ibv_cq_ex* plain) { return current(plain).dlid_path_bits; };
  cq.read_completion_ts = [](ibv_cq_ex* plain) { return of<Cq>(plain).current->at; };
  cq.read_completion_wallclock_ns = [](ibv_cq_ex* plain) { return of<Cq>(plain).current->at; };
  cq.read_cvlan = [](ibv_cq_ex*) { return std::uint16_t{0}; };
  cq.read_flow_tag = [](ibv_cq_ex*) { return std::uint32_t{0}; };
}

int post_building(ibv_qp* plain, Building& building) {
  for (std::size_t index = 0; index < building.works.size(); ++index) {
    Building::Work& work = building.works[index];
    work.wr.next = index + 1 < building.works.size() ? &building.works[index + 1].wr : nullptr;
    if ((work.wr.send_flags & IBV_SEND_INLINE) != 0) {
      work.sges = {{reinterpret_cast<std::uintptr_t>(work.inline_data.data()),
                    static_cast<std::uint32_t>(work.inline_data.size()), 0}};
    }
    work.wr.sg_list = work.sges.data();
    work.wr.num_sge = static_cast<int>(work.sges.size());
  }
  Qp& qp = qp_of(plain);
  Nic& nic = nic_of(plain->context);
  if (nic.host().inert()) return EIO;
  // All of it or nothing (ibv_wr_post(3), ibv_wr_complete).
  {
    const std::scoped_lock lock(nic.host().mutex);
    std::uint32_t slots = 0;
    for (const Building::Work& work : building.works) {
      const bool there = nic.profile().has(feature_of(work.wr.opcode));
      const PostFault fault = there ? engine::transport::judge_send(qp.qp, work.wr, ++slots) : PostFault::opcode;
      if (fault != PostFault::none) return errno_of(nic.profile(), fault);
    }
  }
  ibv_send_wr* bad = nullptr;
  return building.works.empty() ? 0 : post_send(plain, &building.works.front().wr, &bad);
}

void fill_operations(verbs_context& context) {
  ibv_context_ops& ops = context.context.ops;
  ops.post_send = post_send;
  ops.post_recv = post_recv;
  ops.post_srq_recv = post_srq_recv;
  ops.poll_cq = poll_cq;
  ops.req_notify_cq = req_notify_cq;
  ops.bind_mw = bind_mw;
}

}  // namespace verbena::emulator
