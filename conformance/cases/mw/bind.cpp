// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <string>

#include "cases/bodies.hpp"
#include "cases/mw/window.hpp"

namespace conform {

namespace {

constexpr std::size_t kBegin = 512;
constexpr std::size_t kLength = 1000;

void bounds(Case& c) {
  {
    Window window(c, IBV_MW_TYPE_1);
    window.bound(kBegin, kLength);
    window.writes(window.mw->rkey, kBegin, "a write of the first bytes of a window");
    window.writes(window.mw->rkey, kBegin + kLength - 16, "a write of the last bytes of a window");
    window.no_write(window.mw->rkey, kBegin - 1, "a write of the byte before a window", 1);
  }
  Window window(c, IBV_MW_TYPE_1);
  window.bound(kBegin, kLength);
  window.no_write(window.mw->rkey, kBegin + kLength, "a write of the byte behind a window", 1);
}

void access(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  window.bound(kBegin, kLength, IBV_ACCESS_REMOTE_READ);
  c.need(works(
      c, window.loop,
      {.opcode = IBV_WR_RDMA_READ, .address = window.of.address() + kBegin, .rkey = window.mw->rkey, .length = 16},
      "a READ through a window for reading"));
  window.loop.a().memory->fill(99);
  window.no_write(window.mw->rkey, kBegin, "a write through a window for reading");
}

void needs_bind_access(Case& c) {
  Window window(c, IBV_MW_TYPE_1, kBindable & ~static_cast<unsigned>(IBV_ACCESS_MW_BIND));
  window.bind_denied(window.bind(0, 256), "a bind to a region without IBV_ACCESS_MW_BIND");
}

void write_needs_local_write(Case& c) {
  {
    Window window(c, IBV_MW_TYPE_1, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
    window.bound(0, 256, IBV_ACCESS_REMOTE_READ);
    window.bind_denied(window.bind(0, 256, IBV_ACCESS_REMOTE_WRITE),
                       "a bind for writing to a region without local write");
  }
  if (!c.native(verbena::Feature::fetch_add)) return;
  Window window(c, IBV_MW_TYPE_1, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
  window.bind_denied(window.bind(0, 256, IBV_ACCESS_REMOTE_ATOMIC),
                     "a bind for atomics to a region without local write");
}

void within_region(Case& c) {
  {
    Window window(c, IBV_MW_TYPE_1);
    window.bound(0, window.of.length);
    window.bind_denied(window.bind(window.of.length - 64, 65), "a bind that ends one byte behind its region");
  }
  {
    Window window(c, IBV_MW_TYPE_1);
    window.bind_denied(window.bind(static_cast<std::size_t>(-1), 64), "a bind that begins one byte before its region");
  }
  Window window(c, IBV_MW_TYPE_1);
  window.bind_denied(window.bind(0, window.of.length + 1), "a bind that is one byte longer than its region");
}

void pd_of_queue_pair(Case& c) {
  Window window(c, IBV_MW_TYPE_1);
  Loop other(c, open_to_all(c));
  const int posted = window.bind(0, 256, IBV_ACCESS_REMOTE_WRITE, 21, other.b().qp.raw());
  if (posted != 0) return;
  c.completed(next(c, other.b().send_cq.raw()), IBV_WC_MW_BIND_ERR, "a bind by a queue pair of another domain");
}

// Type 2.

void gives_access(Case& c) {
  Window window(c, IBV_MW_TYPE_2);
  const std::uint32_t rkey = next_key(window.mw->rkey);
  window.bound2(rkey, kBegin, kLength);
  window.writes(rkey, kBegin, "a write through a type 2 window");
}

void keeps_index(Case& c) {
  Window window(c, IBV_MW_TYPE_2);
  const std::uint32_t own = window.mw->rkey & ~std::uint32_t{0xff};
  const std::uint32_t low = (window.mw->rkey + 7) & 0xff;
  window.bound2(own | low, kBegin, kLength);
  window.writes(own | low, kBegin, "a write by the window's index and the given low 8 bits");
  window.no_write(own | ((low + 1) & 0xff), kBegin + 64, "a write by the window's index and other low bits");
}

void bound_once(Case& c) {
  Window window(c, IBV_MW_TYPE_2);
  const std::uint32_t rkey = next_key(window.mw->rkey);
  window.bound2(rkey, kBegin, kLength);
  c.need(c.accepted(window.bind2(next_key(rkey), 0, 256), "posting the second bind"));
  c.completed(next(c, window.loop.b().send_cq.raw()), IBV_WC_MW_BIND_ERR, "a type 2 bind of a window that is bound");
}

void zero_length(Case& c) {
  Window window(c, IBV_MW_TYPE_2);
  window.bind_denied(window.bind2(next_key(window.mw->rkey), kBegin, 0), "a type 2 bind of length 0");
}

void local_invalidate(Case& c) {
  {
    Window window(c, IBV_MW_TYPE_2);
    std::uint32_t rkey = next_key(window.mw->rkey);
    for (int round = 0; round < 3; ++round) {
      window.bound2(rkey, kBegin, kLength);
      window.writes(rkey, kBegin, "a write through the window");
      c.need(c.accepted(window.invalidate(rkey), "posting a local invalidate"));
      c.need(c.completed(next(c, window.loop.b().send_cq.raw()), IBV_WC_SUCCESS, "a local invalidate"));
      rkey = next_key(rkey);
    }
  }
  Window window(c, IBV_MW_TYPE_2);
  const std::uint32_t rkey = next_key(window.mw->rkey);
  window.bound2(rkey, kBegin, kLength);
  c.need(c.accepted(window.invalidate(rkey), "posting a local invalidate"));
  c.need(c.completed(next(c, window.loop.b().send_cq.raw()), IBV_WC_SUCCESS, "a local invalidate"));
  window.no_write(rkey, kBegin, "a write by the key that was invalidated");
}

/// A send of the first end that invalidates a key of the second.
void remotely(Window& window, std::uint32_t rkey) {
  Case& c = window.c;
  Loop& loop = window.loop;
  c.need(c.accepted(loop.receive(loop.b(), 31, 0, 64), "ibv_post_recv"));
  ibv_sge sge = loop.a().sge(0, 8);
  ibv_send_wr wr{};
  wr.wr_id = 32;
  wr.sg_list = &sge;
  wr.num_sge = 1;
  wr.opcode = IBV_WR_SEND_WITH_INV;
  wr.send_flags = IBV_SEND_SIGNALED;
  wr.invalidate_rkey = rkey;
  c.need(c.accepted(loop.post(loop.a(), wr), "posting a send with invalidate"));
  const std::optional<ibv_wc> wc = next(c, loop.b().recv_cq.raw());
  c.need(c.completed(wc, IBV_WC_SUCCESS, "the receive of a send with invalidate"));
  // Whether IBV_WC_WITH_INV is set is data.send_inv.invalidates's to say.
  c.equal(wc->invalidated_rkey, rkey, "invalidated_rkey");
  c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send with invalidate"));
}

void remote_invalidate(Case& c) {
  {
    Window window(c, IBV_MW_TYPE_2);
    std::uint32_t rkey = next_key(window.mw->rkey);
    for (int round = 0; round < 3; ++round) {
      window.bound2(rkey, kBegin, kLength);
      window.writes(rkey, kBegin, "a write through the window");
      remotely(window, rkey);
      rkey = next_key(rkey);
    }
  }
  Window window(c, IBV_MW_TYPE_2);
  const std::uint32_t rkey = next_key(window.mw->rkey);
  window.bound2(rkey, kBegin, kLength);
  remotely(window, rkey);
  window.no_write(rkey, kBegin, "a write by the key that a peer invalidated");
}

void bound_to_its_queue_pair(Case& c) {
  ibv_device_attr attr{};
  c.need(c.accepted(c.verbs().query_device(c.context(), attr), "ibv_query_device"));
  if ((attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B) == 0)
    return c.note("IBV_DEVICE_MEM_WINDOW_TYPE_2B is not set");
  Window window(c, IBV_MW_TYPE_2);
  LoopShape shape = open_to_all(c);
  shape.b.pd = window.loop.b().pd.raw();
  Loop other(c, shape);
  const std::uint32_t rkey = next_key(window.mw->rkey);
  window.bound2(rkey, kBegin, kLength);
  window.writes(rkey, kBegin, "a write by the queue pair that the window is bound on");
  other.a().memory->fill(5);
  denied(c, other, {.address = window.of.address() + kBegin, .rkey = rkey, .length = 16},
         "a write by another queue pair of the domain", {}, &window.of.memory);
}

}  // namespace

Bodies mw_bind_bodies() {
  static constexpr Body kBodies[] = {
      {"mw.bind.bounds", bounds},
      {"mw.bind.access", access},
      {"mw.bind.needs_bind_access", needs_bind_access},
      {"mw.bind.write_needs_local_write", write_needs_local_write},
      {"mw.bind.within_region", within_region},
      {"mw.bind.pd_of_queue_pair", pd_of_queue_pair},
      {"mw.type2.bind_gives_access", gives_access},
      {"mw.type2.rkey_keeps_index", keeps_index},
      {"mw.type2.bound_once", bound_once},
      {"mw.type2.zero_length_refused", zero_length},
      {"mw.type2.local_invalidate", local_invalidate},
      {"mw.type2.remote_invalidate", remote_invalidate},
      {"mw.type2.bound_to_its_queue_pair", bound_to_its_queue_pair},
  };
  return kBodies;
}

}  // namespace conform
