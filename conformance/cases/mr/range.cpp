// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <string>

#include "cases/bodies.hpp"
#include "cases/mr/target.hpp"

namespace conform {

namespace {

using verbena::Behaviour;
using verbena::Choice;

constexpr unsigned kReadWrite = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

/// Pages of which some have been taken away; nobody else's come there while the scope lasts, since they stay reserved.
struct Holes {
  Holes(Case& of, std::size_t count) : c(of), page(of.verbs().page_size()), memory(count * page, page) {}
  void take(std::size_t index) {
    const void* taken =
        mmap(memory.data() + index * page, page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    c.need(c.accepted(taken != MAP_FAILED ? 0 : errno, "mmap"));
  }
  Case& c;
  std::size_t page;
  Memory memory;
};

void unmapped(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const std::size_t page = c.verbs().page_size();
  void* gone = mmap(nullptr, 4 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  c.need(c.holds(gone != MAP_FAILED, Seen::refused, "no memory"));
  c.accepted(c.way().mr(pd.raw(), {.address = gone, .length = 4 * page}), "ibv_reg_mr of the range while it is mapped");
  munmap(gone, 4 * page);
  const Object<ibv_mr> mr = c.way().mr(pd.raw(), {.address = gone, .length = 4 * page});
  if (c.refused(mr, "ibv_reg_mr of a range that is not mapped"))
    c.holds(mr.error() > 0, Seen::value, "the refusal set no errno");
}

/// Kilobytes of this process that are pinned, as the kernel counts them.
std::string pinned(Case& c) {
  std::string text;
  if (c.verbs().read_file("/proc/self/status", text) != 0) return "unknown";
  const std::size_t at = text.find("VmPin:");
  return at == std::string::npos ? "unknown" : text.substr(at, text.find('\n', at) - at);
}

void partly_unmapped(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  for (const std::size_t hole : {0U, 5U, 9U}) {
    Holes holes(c, 10);
    std::fill_n(holes.memory.data(), holes.memory.size(), std::uint8_t{1});
    holes.take(hole);
    const std::string before = pinned(c);
    c.refused(c.way().mr(pd.raw(), {.address = holes.memory.data(), .length = holes.memory.size()}),
              "ibv_reg_mr of ten pages of which page " + std::to_string(hole) + " is not mapped");
    c.equal(pinned(c), before, "what is pinned after the refusal");
  }
}

void overflow(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const std::size_t page = c.verbs().page_size();
  const Memory memory(page, page);
  // Never touched: an address, not memory.
  auto* last = reinterpret_cast<void*>(~std::uintptr_t{0} - page + 1);
  c.refused(c.way().mr(pd.raw(), {.address = last, .length = 2 * page}), "ibv_reg_mr beyond the last address",
            {EINVAL});
  c.refused(c.way().mr(pd.raw(), {.address = memory.data(), .length = ~std::size_t{0} - page}),
            "ibv_reg_mr of a length that passes the last address", {EINVAL});
}

struct ReadOnly {
  explicit ReadOnly(Case& c) : memory(2 * c.verbs().page_size(), c.verbs().page_size()) {
    memory.fill(3);
    mprotect(memory.data(), memory.size(), PROT_READ);
  }
  Memory memory;
};

void read_only_for(Case& c, unsigned access, const char* what) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const ReadOnly read_only(c);
  const Memory& memory = read_only.memory;
  c.accepted(c.way().mr(pd.raw(), {.address = memory.data(), .length = memory.size(), .access = 0}),
             "ibv_reg_mr of read-only memory for reading");
  const std::size_t adjusted = c.way().adjustments().size();
  const Object<ibv_mr> mr = c.way().mr(pd.raw(), {.address = memory.data(), .length = memory.size(), .access = access});
  if (mr && c.way().adjustments().size() > adjusted) return c.note("the flag was left out, and that was said");
  if (c.refused(mr, std::string("ibv_reg_mr of read-only memory with ") + what))
    c.holds(mr.error() > 0, Seen::value, "the refusal set no errno");
}

void read_only_for_write(Case& c) {
  read_only_for(c, IBV_ACCESS_LOCAL_WRITE, "IBV_ACCESS_LOCAL_WRITE");
}

void read_only_for_bind(Case& c) {
  read_only_for(c, IBV_ACCESS_MW_BIND, "IBV_ACCESS_MW_BIND");
}

void read_only_for_read(Case& c) {
  Loop loop(c, open_to_all(c));
  const ReadOnly read_only(c);
  const Memory& memory = read_only.memory;
  const auto region = [&](const End& end) {
    return c.made(end.way->mr(end.pd.raw(),
                              {.address = memory.data(), .length = memory.size(), .access = IBV_ACCESS_REMOTE_READ}),
                  "ibv_reg_mr of read-only memory for reading by a peer");
  };
  const Object<ibv_mr> of_b = region(loop.b());
  loop.a().memory->clear();
  c.need(works(c, loop,
               {.opcode = IBV_WR_RDMA_READ, .address = memory.address() + 5, .rkey = of_b->rkey, .length = 777},
               "a READ of read-only memory"));
  c.holds(std::equal(memory.data() + 5, memory.data() + 782, loop.a().data()), Seen::no_data,
          "a READ of read-only memory brought other bytes");
  const Object<ibv_mr> of_a = region(loop.a());
  loop.b().memory->clear();
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, 500), "ibv_post_recv"));
  c.need(c.accepted(send_of(loop, loop.a(), memory.address() + 9, 500, of_a->lkey), "ibv_post_send"));
  c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive of a send from read-only memory"));
  c.holds(std::equal(memory.data() + 9, memory.data() + 509, loop.b().data()), Seen::no_data,
          "a send from read-only memory carried other bytes");
}

/// The plain verb in the raw column, since Object holds an errno in any case.
void sets_errno(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  Holes holes(c, 2);
  holes.take(0);
  holes.take(1);
  if (c.through_verbena()) {
    const Object<ibv_mr> mr = c.way().mr(pd.raw(), {.address = holes.memory.data(), .length = 2 * holes.page});
    if (c.refused(mr, "ibv_reg_mr of memory that can't be touched"))
      c.holds(mr.error() > 0, Seen::value, "the refusal has no errno");
    return;
  }
  const verbena::Made<ibv_mr> mr =
      c.verbs().reg_mr(pd.raw(), holes.memory.data(), 2 * holes.page, IBV_ACCESS_LOCAL_WRITE);
  if (mr) c.verbs().dereg_mr(mr.handle);
  c.need(c.refused(mr ? 0 : mr.error, "ibv_reg_mr of memory that can't be touched"));
  const bool known_to_miss = c.contract().is(Behaviour::reg_mr_sets_errno, Choice::no);
  if (!known_to_miss) c.holds(!mr.errno_missing, Seen::value, "the refused registration set no errno");
}

/// RLIMIT_MEMLOCK of this process until the end of the scope, for one that is held to it.
class Limit {
public:
  Limit(Case& c, rlim_t bytes) {
    if (c.verbs().may_lock_memory()) c.blocked("no_privilege", "the process may lock memory beyond its limit");
    getrlimit(RLIMIT_MEMLOCK, &before_);
    const rlimit limit{std::min(bytes, before_.rlim_max), before_.rlim_max};
    setrlimit(RLIMIT_MEMLOCK, &limit);
  }
  Limit(const Limit&) = delete;
  Limit& operator=(const Limit&) = delete;
  ~Limit() { setrlimit(RLIMIT_MEMLOCK, &before_); }

private:
  rlimit before_{};
};

struct Locked {
  explicit Locked(Case& c, std::size_t pages)
      : page(c.verbs().page_size()), pd(c.made(c.way().pd(), "ibv_alloc_pd")), memory(pages * page, page) {}
  Object<ibv_mr> region(Case& c, std::size_t pages, unsigned access = IBV_ACCESS_LOCAL_WRITE) {
    return c.way().mr(pd.raw(), {.address = memory.data(), .length = pages * page, .access = access});
  }
  std::size_t page;
  Object<ibv_pd> pd;
  Memory memory;
};

void above_limit(Case& c) {
  Locked locked(c, 64);
  const Limit limit(c, 32 * locked.page);
  c.accepted(locked.region(c, 8), "ibv_reg_mr within RLIMIT_MEMLOCK");
  c.refused(locked.region(c, 64), "ibv_reg_mr above RLIMIT_MEMLOCK", {ENOMEM});
}

void refusal_costs_nothing(Case& c) {
  Locked locked(c, 64);
  const Limit limit(c, 32 * locked.page);
  for (int round = 0; round < 8; ++round) {
    c.refused(locked.region(c, 64), "ibv_reg_mr above RLIMIT_MEMLOCK", {ENOMEM});
    c.accepted(locked.region(c, 24), "ibv_reg_mr within RLIMIT_MEMLOCK after a refusal");
  }
}

void returned_by_dereg(Case& c) {
  Locked locked(c, 32);
  const Limit limit(c, 32 * locked.page);
  for (int round = 0; round < 200; ++round) {
    Object<ibv_mr> mr = locked.region(c, 24);
    c.need(c.accepted(mr, "ibv_reg_mr within RLIMIT_MEMLOCK, round " + std::to_string(round)));
    c.need(c.accepted(mr.destroy(), "ibv_dereg_mr"));
  }
}

void odp_not_pinned(Case& c) {
  Locked locked(c, 64);
  const Limit limit(c, 16 * locked.page);
  c.refused(locked.region(c, 64), "ibv_reg_mr above RLIMIT_MEMLOCK", {ENOMEM});
  c.accepted(locked.region(c, 64, kReadWrite | IBV_ACCESS_ON_DEMAND),
             "ibv_reg_mr on demand of more than RLIMIT_MEMLOCK");
}

}  // namespace

Bodies mr_range_bodies() {
  static constexpr Body kBodies[] = {
      {"mr.range.unmapped_refused", unmapped},
      {"mr.range.partly_unmapped_refused", partly_unmapped},
      {"mr.range.overflow_refused", overflow},
      {"mr.range.read_only_for_write_refused", read_only_for_write},
      {"mr.range.read_only_for_bind_refused", read_only_for_bind},
      {"mr.range.read_only_for_read", read_only_for_read},
      {"mr.register.errno", sets_errno},
      {"mr.memlock.above_limit_refused", above_limit},
      {"mr.memlock.refusal_costs_nothing", refusal_costs_nothing},
      {"mr.memlock.returned_by_dereg", returned_by_dereg},
      {"mr.odp.not_pinned", odp_not_pinned},
  };
  return kBodies;
}

}  // namespace conform
