// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/mr/target.hpp"

namespace conform {

namespace {

void lkey_dies(Case& c) {
  Loop loop(c, open_to_all(c));
  Target of = target(c, loop.a());
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, 64), "ibv_post_recv"));
  c.need(c.accepted(send_of(loop, loop.a(), of.address(), 64, of.lkey()), "ibv_post_send"));
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send of the region"));
  const std::uint32_t lkey = of.lkey();
  c.need(c.accepted(of.mr.destroy(), "ibv_dereg_mr"));
  local_key_denied(c, loop, of.address(), 64, lkey, "a send of a region that was removed");
}

void rkey_dies(Case& c) {
  Loop loop(c, open_to_all(c));
  Target of = target(c, loop.b());
  const Rdma rdma{.address = of.address(), .rkey = of.rkey(), .length = 64};
  loop.a().memory->fill(1);
  c.need(works(c, loop, rdma, "an RDMA WRITE into the region"));
  c.need(c.accepted(of.mr.destroy(), "ibv_dereg_mr"));
  loop.a().memory->fill(2);
  denied(c, loop, rdma, "an RDMA WRITE by the key of a region that was removed", {}, &of.memory);
}

void busy_with_window(Case& c) {
  Loop loop(c, open_to_all(c));
  Target of = target(c, loop.b(), {.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND});
  Object<ibv_mw> mw = c.made(loop.b().way->mw(loop.b().pd.raw(), IBV_MW_TYPE_1), "ibv_alloc_mw");
  ibv_mw_bind bind{};
  bind.send_flags = IBV_SEND_SIGNALED;
  bind.bind_info = {of.mr.raw(), of.address(), 256, IBV_ACCESS_REMOTE_WRITE};
  c.need(c.accepted(ibv_bind_mw(loop.b().qp.raw(), mw.raw(), &bind), "ibv_bind_mw"));
  c.need(c.completed(next(c, loop.b().send_cq.raw()), IBV_WC_SUCCESS, "the bind"));
  // The plain verb in both columns: an Mr of Verbena's would be given up with its handle.
  c.need(c.refused(c.verbs().dereg_mr(of.mr.raw()), "ibv_dereg_mr under a window"));
  loop.a().memory->fill(3);
  const Before before(of.memory);
  c.need(works(c, loop, {.address = of.address(), .rkey = mw->rkey, .length = 64}, "a write through the window"));
  before.only(c, of.first(), loop.a().data(), 64, "a write through the window");
  c.accepted(mw.destroy(), "ibv_dealloc_mw");
}

/// Writes under way when the region goes: from then on no byte changes.
void during_remote_writes(Case& c) {
  constexpr std::size_t kBytes = 64U << 10;
  for (int round = 0; round < 4; ++round) {
    Loop loop(c, open_to_all(c, kBytes));
    Target of = target(c, loop.b(), {.pages = kBytes / c.verbs().page_size() + 1});
    int posted = 0;
    for (; posted < 8; ++posted) {
      loop.a().memory->fill(static_cast<std::uint32_t>(posted + 100));
      if (post(loop, {.address = of.address(), .rkey = of.rkey(), .length = kBytes}, 1) != 0) break;
    }
    c.need(c.holds(posted > 0, Seen::refused, "no RDMA WRITE could be posted"));
    c.need(c.accepted(of.mr.destroy(), "ibv_dereg_mr while a peer writes"));
    const Before after(of.memory);
    const std::vector<ibv_wc> done = next(c, loop.a().send_cq.raw(), static_cast<std::size_t>(posted));
    c.equal(done.size(), static_cast<std::size_t>(posted), "completions of the writes");
    after.unchanged(c, "an RDMA WRITE after ibv_dereg_mr returned");
  }
}

/// A READ under way when the region goes, whose memory then gets other bytes.
/// Until a byte that was 0 is another, and no longer than 100 ms.
void wait_for_first(const std::uint8_t* byte) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
  while (__atomic_load_n(byte, __ATOMIC_RELAXED) == 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::yield();
}

void during_remote_reads(Case& c) {
  constexpr std::size_t kBytes = 1U << 20;  // long enough for bytes that are still to be sent when the region goes
  for (int round = 0; round < 4; ++round) {
    Loop loop(c, open_to_all(c, kBytes));
    Target of = target(c, loop.b(), {.pages = kBytes / c.verbs().page_size()});
    *of.first() = 0x11;
    const std::vector<std::uint8_t> first(of.first(), of.first() + kBytes);
    loop.a().memory->clear();
    c.need(c.accepted(
        post(loop, {.opcode = IBV_WR_RDMA_READ, .address = of.address(), .rkey = of.rkey(), .length = kBytes}),
        "posting a READ"));
    wait_for_first(loop.a().data());
    c.need(c.accepted(of.mr.destroy(), "ibv_dereg_mr while a peer reads"));
    std::memset(of.memory.data(), 0xa0 + round, kBytes);
    const std::optional<ibv_wc> wc = next(c, loop.a().send_cq.raw());
    if (!wc) {
      c.completed(wc, IBV_WC_REM_ACCESS_ERR, "a READ of a region that went");
    } else if (wc->status == IBV_WC_SUCCESS) {
      c.holds(std::equal(first.begin(), first.end(), loop.a().data()), Seen::data,
              "a READ that succeeded brought bytes of after ibv_dereg_mr");
    }
  }
}

void with_receives_posted(Case& c) {
  Loop loop(c, open_to_all(c));
  Target of = target(c, loop.b());
  loop.a().memory->fill(8);
  c.need(c.accepted(receive_into(loop, loop.b(), of.address(), 64, of.lkey()), "ibv_post_recv"));
  c.need(c.accepted(of.mr.destroy(), "ibv_dereg_mr under a posted receive"));
  const Before before(of.memory);
  c.need(c.accepted(loop.send(loop.a(), 1, 0, 64), "ibv_post_send"));
  const std::optional<ibv_wc> wc = next(c, loop.b().recv_cq.raw());
  before.unchanged(c, "a message for a receive whose region was removed");
  if (!wc || wc->status == IBV_WC_SUCCESS) c.completed(wc, IBV_WC_LOC_PROT_ERR, "a receive whose region was removed");
}

void pinned_after_munmap(Case& c) {
  Loop loop(c, open_to_all(c));
  const std::size_t page = c.verbs().page_size();
  void* place = mmap(nullptr, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  c.need(c.holds(place != MAP_FAILED, Seen::refused, "no memory"));
  std::memset(place, 1, page);
  Object<ibv_mr> mr =
      loop.b().way->mr(loop.b().pd.raw(),
                       {.address = place, .length = page, .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE});
  if (c.accepted(mr, "ibv_reg_mr")) {
    munmap(place, page);
    void* again = mmap(place, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (again == place) {
      std::memset(place, 2, page);
      std::memset(loop.a().data(), 3, 64);
      works(c, loop, {.address = reinterpret_cast<std::uintptr_t>(place), .rkey = mr->rkey, .length = 64},
            "an RDMA WRITE into a region whose memory was unmapped");
      const auto* bytes = static_cast<const std::uint8_t*>(place);
      c.holds(std::all_of(bytes, bytes + page, [](std::uint8_t byte) { return byte == 2; }), Seen::data,
              "an RDMA WRITE changed memory that was mapped after the region's was unmapped");
    } else {
      c.note("the place was taken before it could be mapped again");
    }
    c.accepted(mr.destroy(), "ibv_dereg_mr");
  }
  munmap(place, page);
}

/// The child writes its copies and ends; the parent's pages must still be those that are registered.
void fork_keeps_parent(Case& c) {
  const ibv_fork_status status = c.verbs().is_fork_initialized();
  if (status == IBV_FORK_DISABLED && c.verbs().fork_init() != 0) {
    c.blocked("two_processes", "ibv_fork_init must come before the first registration, and this process has had one");
  }
  Loop loop(c, open_to_all(c));
  Target of = target(c, loop.b());
  std::memset(of.memory.data(), 1, of.memory.size());
  const pid_t child = fork();
  c.need(c.holds(child >= 0, Seen::refused, "fork"));
  if (child == 0) {
    volatile std::uint8_t* bytes = loop.b().data();
    bytes[0] = 9;
    _exit(0);
  }
  of.first()[4000] = 2;  // the parent writes the page that it shares with the child
  std::memset(loop.a().data(), 3, 64);
  const Before before(of.memory);
  if (works(c, loop, {.address = of.address() + 64, .rkey = of.rkey(), .length = 64}, "an RDMA WRITE after fork"))
    before.only(c, of.first() + 64, loop.a().data(), 64, "an RDMA WRITE after fork");
  int ended = 0;
  waitpid(child, &ended, 0);
}

}  // namespace

Bodies mr_dereg_bodies() {
  static constexpr Body kBodies[] = {
      {"mr.dereg.lkey_dies", lkey_dies},
      {"mr.dereg.rkey_dies", rkey_dies},
      {"mr.dereg.busy_with_window", busy_with_window},
      {"mr.dereg.during_remote_writes", during_remote_writes},
      {"mr.dereg.during_remote_reads", during_remote_reads},
      {"mr.dereg.with_receives_posted", with_receives_posted},
      {"mr.pages.pinned_after_munmap", pinned_after_munmap},
      {"mr.pages.fork_keeps_parent", fork_keeps_parent},
  };
  return kBodies;
}

}  // namespace conform
