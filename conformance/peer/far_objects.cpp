// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <cerrno>
#include <utility>

#include "peer/far_made.hpp"

namespace conform::peer {

using verbena::Made;

Made<ibv_pd> FarVerbs::alloc_pd(ibv_context* context) {
  Line::Answer answer = line_.ask(Call::alloc_pd, id_of(context));
  if (answer.error != 0) return refused<ibv_pd>(answer);
  Shadow<ibv_pd>* made = shadow<ibv_pd>(context, answer);
  answer.rest.get(made->object.handle);
  return {.handle = &made->object};
}

int FarVerbs::dealloc_pd(ibv_pd* pd) {
  const int error = line_.ask(Call::dealloc_pd, id_of(pd)).error;
  if (error == 0) delete &Shadow<ibv_pd>::of(pd);
  return error;
}

Made<ibv_pd> FarVerbs::alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr& attr) {
  if ((attr.comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS) != 0) return {.handle = nullptr, .error = EOPNOTSUPP};
  Line::Answer answer =
      line_.ask(Call::alloc_parent_domain, id_of(context), id_of(attr.pd), id_of(attr.td), attr.comp_mask);
  if (answer.error != 0) return refused<ibv_pd>(answer);
  Shadow<ibv_pd>* made = shadow<ibv_pd>(context, answer);
  answer.rest.get(made->object.handle);
  return {.handle = &made->object};
}

Made<ibv_td> FarVerbs::alloc_td(ibv_context* context, ibv_td_init_attr& attr) {
  Line::Answer answer = line_.ask(Call::alloc_td, id_of(context), attr.comp_mask);
  if (answer.error != 0) return refused<ibv_td>(answer);
  return {.handle = &shadow<ibv_td>(context, answer)->object};
}

int FarVerbs::dealloc_td(ibv_td* td) {
  const int error = line_.ask(Call::dealloc_td, id_of(td)).error;
  if (error == 0) delete &Shadow<ibv_td>::of(td);
  return error;
}

Made<ibv_mr> FarVerbs::made_mr(ibv_pd* pd, void* address, std::size_t length, bool held, Line::Answer answer) {
  if (answer.error != 0) {
    if (held) line_.drop(address, length);
    return refused<ibv_mr>(answer);
  }
  Shadow<ibv_mr>* made = shadow<ibv_mr>(pd->context, answer);
  made->object.pd = pd;
  made->object.addr = address;
  made->object.length = length;
  answer.rest.get(made->object.handle);
  answer.rest.get(made->object.lkey);
  answer.rest.get(made->object.rkey);
  if (held) {
    const std::lock_guard lock(mutex_);
    held_[&made->object] = {address, length};
  }
  return {.handle = &made->object};
}

Made<ibv_mr> FarVerbs::reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access) {
  const bool held = line_.hold(address, length);
  return made_mr(
      pd, address, length, held,
      line_.ask(Call::reg_mr, id_of(pd), reinterpret_cast<std::uint64_t>(address), std::uint64_t{length}, access));
}

Made<ibv_mr> FarVerbs::reg_mr_iova(ibv_pd* pd, void* address, std::size_t length, std::uint64_t iova, unsigned access) {
  const bool held = line_.hold(address, length);
  return made_mr(pd, address, length, held,
                 line_.ask(Call::reg_mr_iova, id_of(pd), reinterpret_cast<std::uint64_t>(address),
                           std::uint64_t{length}, iova, access));
}

Made<ibv_mr> FarVerbs::reg_dmabuf_mr(ibv_pd*, std::uint64_t, std::size_t, std::uint64_t, int, unsigned) {
  return {.handle = nullptr, .error = EOPNOTSUPP};
}

Made<ibv_mr> FarVerbs::alloc_null_mr(ibv_pd* pd) {
  return made_mr(pd, nullptr, 0, false, line_.ask(Call::alloc_null_mr, id_of(pd)));
}

int FarVerbs::rereg_mr(ibv_mr* mr, int flags, ibv_pd* pd, void* address, std::size_t length, unsigned access,
                       int& code) {
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  const bool held = moves && line_.hold(address, length);
  Line::Answer answer = line_.ask(Call::rereg_mr, id_of(mr), flags, id_of(pd), reinterpret_cast<std::uint64_t>(address),
                                  std::uint64_t{length}, access);
  answer.rest.get(code);
  if (answer.error != 0) {
    if (held) line_.drop(address, length);
    return answer.error;
  }
  answer.rest.get(mr->lkey);
  answer.rest.get(mr->rkey);
  if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) mr->pd = pd;
  if (!moves) return 0;
  mr->addr = address;
  mr->length = length;
  std::pair<void*, std::size_t> before{nullptr, 0};
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = held_.find(mr); found != held_.end()) {
      before = found->second;
      held_.erase(found);
    }
    if (held) held_[mr] = {address, length};
  }
  if (before.second != 0) line_.drop(before.first, before.second);
  return 0;
}

int FarVerbs::dereg_mr(ibv_mr* mr) {
  const int error = line_.ask(Call::dereg_mr, id_of(mr)).error;
  if (error != 0) return error;
  std::pair<void*, std::size_t> before{nullptr, 0};
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = held_.find(mr); found != held_.end()) {
      before = found->second;
      held_.erase(found);
    }
  }
  if (before.second != 0) line_.drop(before.first, before.second);
  delete &Shadow<ibv_mr>::of(mr);
  return 0;
}

int FarVerbs::advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list,
                        std::uint32_t count) {
  Packet values;
  values.put(id_of(pd));
  values.put(advice);
  values.put(flags);
  values.put(count);
  values.put_bytes(list, count * sizeof *list);
  return line_.ask(Call::advise_mr, values).error;
}

Made<ibv_mw> FarVerbs::alloc_mw(ibv_pd* pd, ibv_mw_type type) {
  Line::Answer answer = line_.ask(Call::alloc_mw, id_of(pd), type);
  if (answer.error != 0) return refused<ibv_mw>(answer);
  Shadow<ibv_mw>* made = shadow<ibv_mw>(pd->context, answer);
  made->object.pd = pd;
  made->object.type = type;
  answer.rest.get(made->object.handle);
  answer.rest.get(made->object.rkey);
  return {.handle = &made->object};
}

int FarVerbs::dealloc_mw(ibv_mw* mw) {
  const int error = line_.ask(Call::dealloc_mw, id_of(mw)).error;
  if (error == 0) delete &Shadow<ibv_mw>::of(mw);
  return error;
}

Made<ibv_ah> FarVerbs::made_ah(ibv_pd* pd, Line::Answer answer) {
  if (answer.error != 0) return refused<ibv_ah>(answer);
  Shadow<ibv_ah>* made = shadow<ibv_ah>(pd->context, answer);
  made->object.pd = pd;
  return {.handle = &made->object};
}

Made<ibv_ah> FarVerbs::create_ah(ibv_pd* pd, ibv_ah_attr& attr) {
  return made_ah(pd, line_.ask(Call::create_ah, id_of(pd), attr));
}

Made<ibv_ah> FarVerbs::create_ah_from_wc(ibv_pd* pd, ibv_wc& wc, ibv_grh* grh, std::uint8_t port) {
  return made_ah(
      pd, line_.ask(Call::create_ah_from_wc, id_of(pd), wc, grh != nullptr, grh != nullptr ? *grh : ibv_grh{}, port));
}

int FarVerbs::init_ah_from_wc(ibv_context* context, std::uint8_t port, ibv_wc& wc, ibv_grh* grh, ibv_ah_attr& attr) {
  Line::Answer answer =
      line_.ask(Call::init_ah_from_wc, id_of(context), port, wc, grh != nullptr, grh != nullptr ? *grh : ibv_grh{});
  if (answer.error == 0) answer.rest.get(attr);
  return answer.error;
}

int FarVerbs::destroy_ah(ibv_ah* ah) {
  const int error = line_.ask(Call::destroy_ah, id_of(ah)).error;
  if (error == 0) delete &Shadow<ibv_ah>::of(ah);
  return error;
}

int FarVerbs::resolve_eth_l2_from_gid(ibv_context* context, ibv_ah_attr& attr, std::uint8_t mac[6],
                                      std::uint16_t* vlan) {
  Line::Answer answer = line_.ask(Call::resolve_eth_l2_from_gid, id_of(context), attr);
  if (answer.error != 0) return answer.error;
  for (int at = 0; at < 6; ++at) answer.rest.get(mac[at]);
  const auto tag = answer.rest.get<std::uint16_t>();
  if (vlan != nullptr) *vlan = tag;
  return 0;
}

}  // namespace conform::peer
