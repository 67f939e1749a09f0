// SPDX-License-Identifier: Apache-2.0 OR MIT
// Protection domains, regions and windows.
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "engine/memory/pin.hpp"
#include "engine/memory/window.hpp"
#include "nic/faults.hpp"
#include "verbs/emulated_verbs.hpp"
#include "verbs/made.hpp"

namespace verbena::emulator {

namespace {

/// Flags that a kernel ignores where it doesn't know them: IBV_ACCESS_OPTIONAL_RANGE.
constexpr unsigned kOptional = 0x3ff00000;
constexpr unsigned kKnown = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                            IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND | IBV_ACCESS_ZERO_BASED |
                            IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB;
constexpr unsigned kFlushGlobal = 1U << 8;
constexpr unsigned kFlushPersistent = 1U << 9;

/// As the kernel judges access flags. Source: linux include/rdma/ib_verbs.h ib_check_mr_access.
int judged(const Profile& profile, unsigned access) {
  if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0)
    return EINVAL;
  // IB_DEVICE_FLUSH_GLOBAL and _PERSISTENT (linux include/rdma/ib_verbs.h).
  const std::uint64_t caps = profile.figure(Cap::device_cap_flags_ex);
  if ((access & kFlushGlobal) != 0 && (caps & (std::uint64_t{1} << 38)) == 0) return EOPNOTSUPP;
  if ((access & kFlushPersistent) != 0 && (caps & (std::uint64_t{1} << 39)) == 0) return EOPNOTSUPP;
  if ((access & ~(kKnown | kFlushGlobal | kFlushPersistent | kOptional)) != 0) return EINVAL;
  if ((access & IBV_ACCESS_ON_DEMAND) != 0 && !profile.has(Feature::on_demand_paging)) return EOPNOTSUPP;
  return 0;
}

/// The pages are there, and count as locked. 0; EFAULT; or ENOMEM: the process may not lock so much, or there is none.
int held(Host& host, const void* address, std::size_t bytes, bool written) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (!host.locked.take(address, bytes, page)) return ENOMEM;
  const int error = engine::memory::pin(address, bytes, written);
  if (error != 0) host.locked.give(address, bytes, page);
  return error;
}

/// What is registered on demand was never locked.
void let_go(Host& host, unsigned access, const void* address, std::size_t bytes) {
  if ((access & IBV_ACCESS_ON_DEMAND) != 0) return;
  host.locked.give(address, bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
}

/// With which errno the driver says that there is no memory for a region.
int without_memory(const Profile& profile) {
  const Creation* const creation = profile.creation();
  if (const int error = creation == nullptr ? 0 : creation->error("mr", "memory_failure"); error > 0) return error;
  return profile.does(Behaviour::memory_failure_errno) == Choice::efault ? EFAULT : ENOMEM;
}

}  // namespace

Made<ibv_pd> EmulatedVerbs::alloc_pd(ibv_context* context) {
  const std::scoped_lock lock(host_->mutex);
  Nic& nic = nic_of(context);
  if (nic.counts.domains >= nic.profile().figure(Cap::max_pd)) return refused<ibv_pd>(nic, ENOMEM);
  ++nic.counts.domains;
  auto pd = std::make_unique<Pd>();
  pd->base.context = context;
  pd->domain = nic.next_domain();
  pd->base.handle = pd->domain;
  return {&pd.release()->base};
}

int EmulatedVerbs::dealloc_pd(ibv_pd* plain) {
  const std::scoped_lock lock(host_->mutex);
  Pd& pd = of<Pd>(plain);
  if (pd.users > 0) return EBUSY;
  if (const int error = faults::in_destroy(nic_of(plain->context)); error != 0) return error;
  if (pd.td != nullptr) --pd.td->users;
  if (pd.parent != nullptr) {
    --pd.parent->users;
  } else {
    --nic_of(plain->context).counts.domains;
  }
  delete &pd;
  return 0;
}

Made<ibv_pd> EmulatedVerbs::alloc_parent_domain(ibv_context* context, ibv_parent_domain_init_attr& attr) {
  const std::scoped_lock lock(host_->mutex);
  Nic& nic = nic_of(context);
  if (!nic.profile().has(Feature::parent_domain)) return lacking<ibv_pd>(nic);
  constexpr std::uint32_t kAllocators = IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS;
  constexpr std::uint32_t kTaken = kAllocators | IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT;
  if (attr.pd == nullptr || (attr.comp_mask & ~kTaken) != 0) return refused<ibv_pd>(nic, EINVAL);
  auto pd = std::make_unique<Pd>();
  pd->base.context = context;
  pd->parent = &of<Pd>(attr.pd).real();
  pd->domain = pd->parent->domain;
  ++pd->parent->users;
  if ((attr.comp_mask & kAllocators) != 0) {
    pd->alloc = attr.alloc;
    pd->free = attr.free;
  }
  if ((attr.comp_mask & IBV_PARENT_DOMAIN_INIT_ATTR_PD_CONTEXT) != 0) pd->pd_context = attr.pd_context;
  if (attr.td != nullptr) {
    pd->td = &of<Td>(attr.td);
    ++pd->td->users;
  }
  return {&pd.release()->base};
}

Made<ibv_td> EmulatedVerbs::alloc_td(ibv_context* context, ibv_td_init_attr& attr) {
  const Nic& nic = nic_of(context);
  if (!nic.profile().has(Feature::thread_domain)) return lacking<ibv_td>(nic);
  if (attr.comp_mask != 0) return refused<ibv_td>(nic, EINVAL);
  auto td = std::make_unique<Td>();
  td->base.context = context;
  return {&td.release()->base};
}

int EmulatedVerbs::dealloc_td(ibv_td* plain) {
  const std::scoped_lock lock(host_->mutex);
  Td& td = of<Td>(plain);
  if (td.users > 0) return EBUSY;
  delete &td;
  return 0;
}

Made<ibv_mr> EmulatedVerbs::reg_mr(ibv_pd* pd, void* address, std::size_t length, unsigned access) {
  return reg_mr_iova(pd, address, length, reinterpret_cast<std::uintptr_t>(address), access);
}

Made<ibv_mr> EmulatedVerbs::reg_mr_iova(ibv_pd* plain, void* address, std::size_t length, std::uint64_t iova,
                                        unsigned access) {
  const std::scoped_lock lock(host_->mutex);
  Pd& pd = of<Pd>(plain).real();
  Nic& nic = nic_of(plain->context);
  const Profile& profile = nic.profile();
  const Creation* const creation = profile.creation();
  const auto named = [creation](const char* key) { return creation == nullptr ? 0 : creation->error("mr", key); };
  if (const int error = judged(profile, access); error != 0) {
    const int own = named("bad_access");
    return refused_so<ibv_mr>(nic, error == EINVAL || own == 0 ? error : own);
  }
  const std::uint64_t page = profile.model().device.page_size.value_or(page_size());
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  // The kernel's umem wants the same place in a page of both (linux core/uverbs_cmd.c ib_uverbs_reg_mr).
  if ((access & IBV_ACCESS_ZERO_BASED) == 0 && first % page != iova % page) return refused<ibv_mr>(nic, EINVAL);
  if (length == 0) {
    const int error = named("zero");
    if (error != 0 || first % page == 0) return refused_so<ibv_mr>(nic, error);
  }
  const auto most = creation == nullptr ? std::nullopt : creation->number("mr", "length_max");
  // linux core/umem.c ib_umem_get looks at this before any limit.
  if (first + length < first)
    return refused_so<ibv_mr>(nic, named("over") == kErrnoLeftAlone ? kErrnoLeftAlone : EINVAL);
  if (most && *most != INT64_MAX && length > static_cast<std::uint64_t>(*most))
    return refused_so<ibv_mr>(nic, named("over"));
  if (nic.counts.regions >= profile.figure(Cap::max_mr)) return refused<ibv_mr>(nic, ENOMEM);
  if (const int error = faults::in_region(nic, address, length, access); error != 0) return refused<ibv_mr>(nic, error);
  if ((access & IBV_ACCESS_ON_DEMAND) == 0) {
    const bool written = (access & (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND)) != 0;
    if (const int error = held(*host_, address, length, written); error != 0) {
      if (error == EFAULT && profile.does(Behaviour::reg_mr_sets_errno) == Choice::no)
        return refused_so<ibv_mr>(nic, kErrnoLeftAlone);
      return refused<ibv_mr>(nic, error == ENOMEM ? without_memory(profile) : error);
    }
  }
  engine::memory::Region* const region = nic.keys().add();
  if (region == nullptr) {
    let_go(*host_, access, address, length);
    return refused<ibv_mr>(nic, ENOMEM);
  }
  region->domain = pd.domain;
  region->access = access;
  if (profile.does(Behaviour::remote_atomic_on_mr) == Choice::dropped)
    region->access &= ~static_cast<unsigned>(IBV_ACCESS_REMOTE_ATOMIC);
  region->address = (access & IBV_ACCESS_ZERO_BASED) != 0 ? 0 : iova;
  region->length = length;
  region->host = static_cast<std::byte*>(address);
  nic.counts.pinned += length;
  ++nic.counts.regions;
  ++pd.users;
  auto mr = std::make_unique<Mr>();
  mr->region = region;
  mr->pd = &pd;
  mr->base = {plain->context, plain, address, length, region->key >> 8, region->key, region->key};
  return {&mr.release()->base};
}

Made<ibv_mr> EmulatedVerbs::reg_dmabuf_mr(ibv_pd* plain, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                                          int fd, unsigned access) {
  const std::scoped_lock lock(host_->mutex);
  Pd& pd = of<Pd>(plain).real();
  Nic& nic = nic_of(plain->context);
  const Profile& profile = nic.profile();
  if (!profile.has(Feature::dmabuf_mr)) return lacking<ibv_mr>(nic);
  // linux core/uverbs_std_types_mr.c UVERBS_HANDLER(UVERBS_METHOD_REG_DMABUF_MR).
  constexpr unsigned kTaken = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
                              IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_RELAXED_ORDERING;
  const std::uint64_t page = profile.model().device.page_size.value_or(page_size());
  if (offset % page != iova % page || (access & ~kTaken) != 0) return refused<ibv_mr>(nic, EINVAL);
  if (const int error = judged(profile, access); error != 0) return refused<ibv_mr>(nic, error);
  if (nic.counts.regions >= profile.figure(Cap::max_mr)) return refused<ibv_mr>(nic, ENOMEM);
  auto mr = std::make_unique<Mr>();
  const bool written = (access & IBV_ACCESS_LOCAL_WRITE) != 0;
  if (const int error = map_buffer(fd, offset, length, written, mr->buffer); error != 0)
    return refused<ibv_mr>(nic, error);
  engine::memory::Region* const region = nic.keys().add();
  if (region == nullptr) {
    unmap_buffer(mr->buffer);
    return refused<ibv_mr>(nic, ENOMEM);
  }
  region->domain = pd.domain;
  region->access = access;
  region->address = iova;
  region->length = length;
  region->host = mr->buffer.data;
  nic.counts.pinned += length;
  ++nic.counts.regions;
  ++pd.users;
  mr->region = region;
  mr->pd = &pd;
  // As rdma-core libibverbs/cmd_mr.c ibv_cmd_reg_dmabuf_mr has it.
  void* const address = reinterpret_cast<void*>(static_cast<std::uintptr_t>(offset));
  mr->base = {plain->context, plain, address, length, region->key >> 8, region->key, region->key};
  return {&mr.release()->base};
}

Made<ibv_mr> EmulatedVerbs::alloc_null_mr(ibv_pd* plain) {
  const std::scoped_lock lock(host_->mutex);
  Pd& pd = of<Pd>(plain).real();
  Nic& nic = nic_of(plain->context);
  if (!nic.profile().has(Feature::null_mr)) return lacking<ibv_mr>(nic);
  engine::memory::Region* const region = nic.keys().add();
  if (region == nullptr) return refused<ibv_mr>(nic, ENOMEM);
  region->kind = engine::memory::Region::Kind::null;
  region->domain = pd.domain;
  region->access = IBV_ACCESS_LOCAL_WRITE;
  region->length = ~std::uint64_t{0};
  ++nic.counts.regions;
  ++pd.users;
  auto mr = std::make_unique<Mr>();
  mr->region = region;
  mr->pd = &pd;
  mr->base = {plain->context, plain, nullptr, SIZE_MAX, region->key >> 8, region->key, region->key};
  return {&mr.release()->base};
}

int EmulatedVerbs::rereg_mr(ibv_mr* plain, int flags, ibv_pd* pd, void* address, std::size_t length, unsigned access,
                            int& code) {
  const std::scoped_lock lock(host_->mutex);
  Mr& mr = of<Mr>(plain);
  const Profile& profile = nic_of(plain->context).profile();
  const auto refuse = [&code](int why, int error) {
    code = why;
    return error;
  };
  constexpr int kAll = IBV_REREG_MR_CHANGE_TRANSLATION | IBV_REREG_MR_CHANGE_PD | IBV_REREG_MR_CHANGE_ACCESS;
  if (flags == 0 || (flags & ~kAll) != 0) return refuse(IBV_REREG_MR_ERR_INPUT, EINVAL);
  const bool moves = (flags & IBV_REREG_MR_CHANGE_TRANSLATION) != 0;
  if (moves && (length == 0 || address == nullptr)) return refuse(IBV_REREG_MR_ERR_INPUT, EINVAL);
  if ((flags & IBV_REREG_MR_CHANGE_PD) != 0 && pd == nullptr) return refuse(IBV_REREG_MR_ERR_INPUT, EINVAL);
  if ((flags & IBV_REREG_MR_CHANGE_ACCESS) == 0 && access != 0) return refuse(IBV_REREG_MR_ERR_INPUT, EINVAL);
  if (!profile.has(Feature::rereg_mr)) return refuse(IBV_REREG_MR_ERR_CMD, profile.unsupported());
  engine::memory::Region& region = *mr.region;
  if (region.windows > 0) return refuse(IBV_REREG_MR_ERR_CMD, EBUSY);
  const unsigned after = (flags & IBV_REREG_MR_CHANGE_ACCESS) != 0 ? access : region.access;
  if (const int error = judged(profile, after); error != 0) return refuse(IBV_REREG_MR_ERR_CMD, error);
  void* const at = moves ? address : plain->addr;
  const std::size_t bytes = moves ? length : plain->length;
  // What was is let go of last (linux hw/mlx5/mr.c mlx5_ib_rereg_user_mr).
  const bool of_buffer = mr.buffer.mapping != nullptr && !moves;
  if (const int error = of_buffer ? 0 : held(*host_, at, bytes, (after & IBV_ACCESS_LOCAL_WRITE) != 0); error != 0)
    return refuse(IBV_REREG_MR_ERR_CMD, error == ENOMEM ? without_memory(profile) : error);
  nic_of(plain->context).withdraw(region);
  if (mr.buffer.mapping != nullptr && moves) {
    unmap_buffer(mr.buffer);
  } else if (!of_buffer) {
    let_go(*host_, region.access, plain->addr, plain->length);
  }
  region.access = after;
  if (moves) {
    Counts& counts = nic_of(plain->context).counts;
    counts.pinned = counts.pinned - region.length + length;
    region.address = reinterpret_cast<std::uintptr_t>(address);
    region.length = length;
    region.host = static_cast<std::byte*>(address);
    plain->addr = address;
    plain->length = length;
  }
  if ((flags & IBV_REREG_MR_CHANGE_PD) != 0) {
    --mr.pd->users;
    mr.pd = &of<Pd>(pd).real();
    ++mr.pd->users;
    region.domain = mr.pd->domain;
    plain->pd = pd;
  }
  code = 0;
  return 0;
}

int EmulatedVerbs::dereg_mr(ibv_mr* plain) {
  const std::scoped_lock lock(host_->mutex);
  Mr& mr = of<Mr>(plain);
  if (mr.region->windows > 0) return EBUSY;
  Nic& nic = nic_of(plain->context);
  if (const int error = faults::in_destroy(nic); error != 0) return error;
  if (mr.region->kind == engine::memory::Region::Kind::registered) {
    nic.counts.pinned -= mr.region->length;
    if (mr.buffer.mapping == nullptr) let_go(*host_, mr.region->access, plain->addr, plain->length);
  }
  nic.withdraw(*mr.region);
  nic.keys().remove(*mr.region);
  --nic.counts.regions;
  --mr.pd->users;
  unmap_buffer(mr.buffer);
  delete &mr;
  return 0;
}

int EmulatedVerbs::advise_mr(ibv_pd* pd, ibv_advise_mr_advice advice, std::uint32_t flags, ibv_sge* list,
                             std::uint32_t count) {
  const std::scoped_lock lock(host_->mutex);
  Nic& nic = nic_of(pd->context);
  if (!nic.profile().has(Feature::advise_mr)) return nic.profile().unsupported();
  if (advice > IBV_ADVISE_MR_ADVICE_PREFETCH_NO_FAULT) return EOPNOTSUPP;
  if ((flags & ~static_cast<std::uint32_t>(IBV_ADVISE_MR_FLAG_FLUSH)) != 0) return EINVAL;
  if (count == 0) return EINVAL;
  for (std::uint32_t index = 0; index < count; ++index) {
    const engine::memory::Region* const region = nic.keys().find(list[index].lkey);
    if (region == nullptr) return EINVAL;
    if (region->domain != of<Pd>(pd).domain || !region->holds(list[index].addr, list[index].length)) return EPERM;
  }
  return 0;
}

Made<ibv_mw> EmulatedVerbs::alloc_mw(ibv_pd* plain, ibv_mw_type type) {
  const std::scoped_lock lock(host_->mutex);
  Pd& pd = of<Pd>(plain).real();
  Nic& nic = nic_of(plain->context);
  const Profile& profile = nic.profile();
  const bool there = profile.has(Feature::memory_window_1) || profile.has(Feature::memory_window_2);
  if (!there) return lacking<ibv_mw>(nic);
  if (type != IBV_MW_TYPE_1 && type != IBV_MW_TYPE_2) return refused<ibv_mw>(nic, EINVAL);
  if (!profile.has(type == IBV_MW_TYPE_1 ? Feature::memory_window_1 : Feature::memory_window_2))
    return refused<ibv_mw>(nic, EINVAL);
  if (nic.counts.windows >= profile.figure(Cap::max_mw)) return refused<ibv_mw>(nic, ENOMEM);
  if (const int error = faults::in_window(nic); error != 0) return refused<ibv_mw>(nic, error);
  engine::memory::Region* const region = nic.keys().add();
  if (region == nullptr) return refused<ibv_mw>(nic, ENOMEM);
  using Kind = engine::memory::Region::Kind;
  region->kind = type == IBV_MW_TYPE_1 ? Kind::window_type_1 : Kind::window_type_2;
  region->domain = pd.domain;
  region->valid = false;
  ++nic.counts.windows;
  ++pd.users;
  auto mw = std::make_unique<Mw>();
  mw->region = region;
  mw->base.context = plain->context;
  mw->base.pd = plain;
  mw->base.rkey = region->key;
  mw->base.handle = region->key >> 8;
  mw->base.type = type;
  return {&mw.release()->base};
}

int EmulatedVerbs::dealloc_mw(ibv_mw* plain) {
  const std::scoped_lock lock(host_->mutex);
  Mw& mw = of<Mw>(plain);
  Nic& nic = nic_of(plain->context);
  if (const int error = faults::in_destroy(nic); error != 0) return error;
  engine::memory::release(*mw.region);
  nic.keys().remove(*mw.region);
  --nic.counts.windows;
  --of<Pd>(plain->pd).real().users;
  delete &mw;
  return 0;
}

}  // namespace verbena::emulator
