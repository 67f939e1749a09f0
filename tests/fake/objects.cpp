// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/eventfd.h>
#include <unistd.h>

#include "fake/fake_objects.hpp"

namespace verbena::fake {
namespace {

template <class T>
Made<T> given(T* handle) {
  Made<T> result;
  result.handle = handle;
  return result;
}

}  // namespace

Made<ibv_pd> FakeVerbs::alloc_pd(ibv_context* context) {
  const Lock lock = enter("alloc_pd");
  FakeDevice& device = device_of(context);
  if (const int error = scripted(device, "alloc_pd"); error != 0) return refused<ibv_pd>(error);
  auto* pd = new ibv_pd{};
  pd->context = context;
  ++device.pds;
  return given(pd);
}

int FakeVerbs::dealloc_pd(ibv_pd* pd) {
  const Lock lock = enter("dealloc_pd");
  FakeDevice& device = device_of(pd->context);
  const int error = scripted(device, "dealloc_pd");
  if (error != 0 && !device.gone) return error;
  for (const auto& [parent, parts] : parents_)
    if (parts.pd == pd) return EBUSY;
  --(parents_.erase(pd) != 0 ? device.parents : device.pds);
  delete pd;
  return error;
}

// A parent domain keeps its parts busy, as mlx5 counts them (providers/mlx5/verbs.c mlx5_alloc_parent_domain).
Made<ibv_pd> FakeVerbs::alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr& attr) {
  const Lock lock = enter("alloc_parent_domain");
  FakeDevice& device = device_of(context);
  if (const int error = scripted(device, "alloc_parent_domain"); error != 0) return refused<ibv_pd>(error);
  if (!device.has_parent_domains) return refused<ibv_pd>(EOPNOTSUPP);
  if (attr.pd == nullptr || attr.comp_mask != 0) return refused<ibv_pd>(EINVAL);
  auto* pd = new ibv_pd{};
  pd->context = context;
  parents_[pd] = {attr.pd, attr.td};
  ++device.parents;
  return given(pd);
}

Made<ibv_td> FakeVerbs::alloc_td(ibv_context* context, ibv_td_init_attr& attr) {
  const Lock lock = enter("alloc_td");
  FakeDevice& device = device_of(context);
  if (const int error = scripted(device, "alloc_td"); error != 0) return refused<ibv_td>(error);
  if (!device.has_thread_domains) return refused<ibv_td>(EOPNOTSUPP);
  if (attr.comp_mask != 0) return refused<ibv_td>(EINVAL);
  auto* td = new ibv_td{};
  td->context = context;
  ++device.tds;
  return given(td);
}

int FakeVerbs::dealloc_td(ibv_td* td) {
  const Lock lock = enter("dealloc_td");
  FakeDevice& device = device_of(td->context);
  const int error = scripted(device, "dealloc_td");
  if (error != 0 && !device.gone) return error;
  for (const auto& [parent, parts] : parents_)
    if (parts.td == td) return EBUSY;
  --device.tds;
  delete td;
  return error;
}

int FakeVerbs::lock_pages(std::size_t length) {
  if (!may_lock && memlock.soft != MemlockLimit::kUnlimited && locked_bytes + length > memlock.soft) return ENOMEM;
  locked_bytes += length;
  files["/proc/self/status"] = "Name:\ttest\nVmLck:\t" + std::to_string(locked_bytes >> 10) + " kB\nVmPin:\t" +
                               std::to_string(locked_bytes >> 10) + " kB\n";
  return 0;
}

Made<ibv_mr> FakeVerbs::reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access) {
  const Lock lock = enter("reg_mr");
  FakeDevice& device = device_of(pd->context);
  if (const int error = scripted(device, "reg_mr"); error != 0) return refused<ibv_mr>(error);
  if (const int error = over_threshold(device, "mr_length", length); error != 0) return refused<ibv_mr>(error);
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) {
    return refused<ibv_mr>(EINVAL);
  }
  if (const int error = lock_pages(length); error != 0) return refused<ibv_mr>(error);
  auto* fake = new FakeMr;
  fake->mr.context = pd->context;
  fake->mr.pd = pd;
  fake->mr.addr = address;
  fake->mr.length = length;
  fake->mr.lkey = next_key_;
  fake->mr.rkey = next_key_++;
  locked_[&fake->mr] = length;
  ++device.mrs;
  return given(&fake->mr);
}

Made<ibv_mr> FakeVerbs::reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t, unsigned access) {
  const Lock lock = enter("reg_mr_iova");
  return reg_mr(pd, address, length, access);
}

Made<ibv_mr> FakeVerbs::reg_dmabuf_mr(ibv_pd* pd, std::uint64_t, std::size_t length, std::uint64_t, int,
                                      unsigned access) {
  const Lock lock = enter("reg_dmabuf_mr");
  return reg_mr(pd, nullptr, length, access);
}

Made<ibv_mr> FakeVerbs::alloc_null_mr(ibv_pd*) {
  return refused<ibv_mr>(EOPNOTSUPP);
}

// As libibverbs has it (verbs.c ibv_rereg_mr): what it finds itself is an input error, and a provider without the call
// is a failed command. New keys each time: the kernel may make a new object.
int FakeVerbs::rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length, unsigned access,
                        int& code) {
  const Lock lock = enter("rereg_mr");
  FakeDevice& device = device_of(mr->context);
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool rights = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0;
  code = IBV_REREG_MR_ERR_INPUT;
  if ((moves && (length == 0 || address == nullptr)) || (access != 0 && !rights)) return EINVAL;
  code = IBV_REREG_MR_ERR_CMD;
  if (!device.has_rereg) return EOPNOTSUPP;
  const int error = scripted(device, "rereg_mr");
  if (error != 0) code = device.rereg_code;
  if (error != 0 && code != IBV_REREG_MR_ERR_DO_FORK_OLD) return error;
  if (moves) {
    locked_bytes -= locked_[mr];
    if (const int refused = lock_pages(length); refused != 0) return refused;
    locked_[mr] = length;
    mr->addr = address;
    mr->length = length;
  }
  if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) mr->pd = pd;
  mr->lkey = next_key_;
  mr->rkey = next_key_++;
  if (error == 0) code = 0;
  return error;
}

int FakeVerbs::dereg_mr(ibv_mr* mr) {
  const Lock lock = enter("dereg_mr");
  FakeDevice& device = device_of(mr->context);
  const int error = scripted(device, "dereg_mr");
  if (error != 0 && !device.gone) return error;
  locked_bytes -= locked_[mr];
  locked_.erase(mr);
  --device.mrs;
  delete reinterpret_cast<FakeMr*>(mr);
  return error;
}

int FakeVerbs::advise_mr(ibv_pd*, ibv_advise_mr_advice, std::uint32_t, ibv_sge*, std::uint32_t) {
  return EOPNOTSUPP;
}

Made<ibv_mw> FakeVerbs::alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  const Lock lock = enter("alloc_mw");
  FakeDevice& device = device_of(pd->context);
  if (const int error = scripted(device, "alloc_mw"); error != 0) return refused<ibv_mw>(error);
  ++device.mws;
  return given(pd->context->ops.alloc_mw(pd, type));
}

int FakeVerbs::dealloc_mw(ibv_mw* mw) {
  const Lock lock = enter("dealloc_mw");
  FakeDevice& device = device_of(mw->context);
  --device.mws;
  const int error = scripted(device, "dealloc_mw");
  mw->context->ops.dealloc_mw(mw);
  return error;
}

Made<ibv_comp_channel> FakeVerbs::create_comp_channel(ibv_context* context) {
  const Lock lock = enter("create_comp_channel");
  FakeDevice& device = device_of(context);
  if (const int error = scripted(device, "create_comp_channel"); error != 0) return refused<ibv_comp_channel>(error);
  auto* fake = new FakeChannel;
  fake->channel.context = context;
  fake->channel.fd = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  ++device.channels;
  return given(&fake->channel);
}

int FakeVerbs::destroy_comp_channel(ibv_comp_channel* channel) {
  const Lock lock = enter("destroy_comp_channel");
  FakeDevice& device = device_of(channel->context);
  if (channel->refcnt != 0) return EBUSY;
  --device.channels;
  ::close(channel->fd);
  delete reinterpret_cast<FakeChannel*>(channel);
  return 0;
}

Made<ibv_cq_ex> FakeVerbs::create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex& attr) {
  const Lock lock = enter("create_cq_ex");
  FakeDevice& device = device_of(context);
  if (const int error = scripted(device, "create_cq"); error != 0) return refused<ibv_cq_ex>(error);
  if (const int error = over_threshold(device, "cqe", attr.cqe); error != 0) return refused<ibv_cq_ex>(error);
  auto* fake = new FakeCq;
  fake->cq.context = context;
  fake->cq.channel = attr.channel;
  fake->cq.cq_context = attr.cq_context;
  fake->cq.cqe = device.cqe_write_back ? device.cqe_write_back(static_cast<int>(attr.cqe)) : static_cast<int>(attr.cqe);
  if (attr.channel != nullptr) ++attr.channel->refcnt;
  ++device.cqs;
  return given(&fake->cq);
}

Made<ibv_cq> FakeVerbs::create_cq(ibv_context* context, int cqe, void* cq_context, ibv_comp_channel* channel,
                                  int comp_vector) {
  const Lock lock = enter("create_cq");
  if (comp_vector < 0 || comp_vector >= context->num_comp_vectors || cqe < 1) return refused<ibv_cq>(EINVAL);
  ibv_cq_init_attr_ex attr{};
  attr.cqe = static_cast<std::uint32_t>(cqe);
  attr.cq_context = cq_context;
  attr.channel = channel;
  const Made<ibv_cq_ex> made = create_cq_ex(context, attr);
  --calls_["create_cq_ex"];
  Made<ibv_cq> result;
  result.handle = reinterpret_cast<ibv_cq*>(made.handle);
  result.error = made.error;
  result.errno_missing = made.errno_missing;
  return result;
}

int FakeVerbs::resize_cq(ibv_cq* cq, int cqe) {
  const Lock lock = enter("resize_cq");
  FakeDevice& device = device_of(cq->context);
  if (const int error = scripted(device, "resize_cq"); error != 0) return error;
  if (const int error = over_threshold(device, "cqe", static_cast<std::uint64_t>(cqe)); error != 0) return error;
  cq->cqe = device.cqe_write_back ? device.cqe_write_back(cqe) : cqe;
  return 0;
}

int FakeVerbs::modify_cq(ibv_cq* cq, ibv_modify_cq_attr&) {
  const Lock lock = enter("modify_cq");
  return scripted(device_of(cq->context), "modify_cq");
}

int FakeVerbs::destroy_cq(ibv_cq* cq) {
  const Lock lock = enter("destroy_cq");
  FakeDevice& device = device_of(cq->context);
  FakeCq& fake = FakeCq::of(cq);
  const int error = scripted(device, "destroy_cq");
  if (error != 0 && !device.gone) return error;
  if (fake.users != 0) return EBUSY;
  if (cq->channel != nullptr) --cq->channel->refcnt;
  --device.cqs;
  delete &fake;
  return error;
}

void FakeVerbs::raise_completion(ibv_cq* cq) {
  const Lock lock(mutex_);
  reinterpret_cast<FakeChannel*>(cq->channel)->events.push_back(cq);
  ring(cq->channel->fd);
}

void FakeVerbs::complete(ibv_cq* cq, const ibv_wc& wc) {
  const Lock lock(mutex_);
  FakeCq::of(cq).completions.push_back(wc);
}

int FakeVerbs::get_cq_event(ibv_comp_channel* channel, ibv_cq** cq, void** cq_context) {
  const Lock lock = enter("get_cq_event");
  auto* fake = reinterpret_cast<FakeChannel*>(channel);
  if (device_of(channel->context).gone) return EIO;
  if (fake->events.empty()) return EAGAIN;
  *cq = fake->events.front();
  fake->events.pop_front();
  if (fake->events.empty()) silence(channel->fd);
  *cq_context = (*cq)->cq_context;
  ++FakeCq::of(*cq).unacknowledged;
  return 0;
}

void FakeVerbs::ack_cq_events(ibv_cq* cq, unsigned count) {
  const Lock lock = enter("ack_cq_events");
  FakeCq::of(cq).unacknowledged -= count;
}

Made<ibv_srq> FakeVerbs::create_srq(ibv_pd* pd, ibv_srq_init_attr& attr) {
  const Lock lock = enter("create_srq");
  FakeDevice& device = device_of(pd->context);
  if (const int error = scripted(device, "create_srq"); error != 0) return refused<ibv_srq>(error);
  if (const int error = over_threshold(device, "max_wr", attr.attr.max_wr); error != 0) return refused<ibv_srq>(error);
  if (const int error = over_threshold(device, "max_sge", attr.attr.max_sge); error != 0)
    return refused<ibv_srq>(error);
  if (device.srq_write_back) device.srq_write_back(attr.attr);
  auto* fake = new FakeSrq;
  fake->srq.context = pd->context;
  fake->srq.pd = pd;
  fake->srq.srq_context = attr.srq_context;
  fake->attr = attr.attr;
  ++device.srqs;
  return given(&fake->srq);
}

Made<ibv_srq> FakeVerbs::create_srq_ex(ibv_context*, ibv_srq_init_attr_ex&) {
  return refused<ibv_srq>(EOPNOTSUPP);
}

int FakeVerbs::modify_srq(ibv_srq* srq, ibv_srq_attr& attr, int mask) {
  const Lock lock = enter("modify_srq");
  if (const int error = scripted(device_of(srq->context), "modify_srq"); error != 0) return error;
  FakeSrq& fake = FakeSrq::of(srq);
  if ((mask & IBV_SRQ_LIMIT) != 0 && attr.srq_limit >= fake.attr.max_wr) return EINVAL;
  if ((mask & IBV_SRQ_LIMIT) != 0) fake.attr.srq_limit = attr.srq_limit;
  if ((mask & IBV_SRQ_MAX_WR) != 0) fake.attr.max_wr = attr.max_wr;
  return 0;
}

int FakeVerbs::query_srq(ibv_srq* srq, ibv_srq_attr& attr) {
  const Lock lock = enter("query_srq");
  if (const int error = scripted(device_of(srq->context), "query_srq"); error != 0) return error;
  attr = FakeSrq::of(srq).attr;
  return 0;
}

int FakeVerbs::destroy_srq(ibv_srq* srq) {
  const Lock lock = enter("destroy_srq");
  FakeDevice& device = device_of(srq->context);
  const int error = scripted(device, "destroy_srq");
  if (error != 0 && !device.gone) return error;
  --device.srqs;
  delete &FakeSrq::of(srq);
  return error;
}

Made<ibv_ah> FakeVerbs::create_ah(ibv_pd* pd, ibv_ah_attr&) {
  const Lock lock = enter("create_ah");
  FakeDevice& device = device_of(pd->context);
  if (const int error = scripted(device, "create_ah"); error != 0) return refused<ibv_ah>(error);
  auto* ah = new ibv_ah{};
  ah->context = pd->context;
  ah->pd = pd;
  ++device.ahs;
  return given(ah);
}

Made<ibv_ah> FakeVerbs::create_ah_from_wc(ibv_pd* pd, ibv_wc&, ibv_grh*, std::uint8_t port) {
  const Lock lock = enter("create_ah_from_wc");
  ibv_ah_attr attr{};
  attr.port_num = port;
  return create_ah(pd, attr);
}

int FakeVerbs::init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc& wc, ibv_grh*, ibv_ah_attr& attr) {
  const Lock lock = enter("init_ah_from_wc");
  attr = ibv_ah_attr{};
  attr.dlid = wc.slid;
  attr.port_num = port;
  return device_of(context).gone ? EIO : 0;
}

int FakeVerbs::destroy_ah(ibv_ah* ah) {
  const Lock lock = enter("destroy_ah");
  FakeDevice& device = device_of(ah->context);
  const int error = scripted(device, "destroy_ah");
  if (error != 0 && !device.gone) return error;
  --device.ahs;
  delete ah;
  return error;
}

int FakeVerbs::resolve_eth_l2_from_gid(ibv_context*, ibv_ah_attr&, std::uint8_t*, std::uint16_t*) {
  return EOPNOTSUPP;
}

}  // namespace verbena::fake
