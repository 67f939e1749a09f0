// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "cases/bodies.hpp"
#include "cases/mr/target.hpp"

namespace conform {

namespace {

using verbena::Feature;

constexpr unsigned kOn = IBV_ACCESS_LOCAL_WRITE;

unsigned access_of(const std::string& word) {
  if (word == "none") return 0;
  if (word == "local_write") return IBV_ACCESS_LOCAL_WRITE;
  if (word == "remote_read") return IBV_ACCESS_REMOTE_READ;
  if (word == "remote_write") return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  if (word == "remote_atomic") return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  return IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;  // read_write
}

// The matrix: one operation of each body, against a region of the row's access.

/// Without remote atomic a region may still be asked for where the device takes the flag.
Target region(Case& c, const End& end) {
  return target(c, end, {.pages = 2, .offset = 128, .length = 1024, .access = access_of(c.with("access"))});
}

void matrix_send(Case& c) {
  Loop loop(c, open_to_all(c));
  const Target of = region(c, loop.a());
  loop.b().memory->clear();
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, 512), "ibv_post_recv"));
  c.need(c.accepted(send_of(loop, loop.a(), of.address(), 512, of.lkey()), "ibv_post_send"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send of the region");
  c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive"));
  c.holds(std::equal(of.first(), of.first() + 512, loop.b().data()), Seen::no_data, "other bytes arrived");
}

void receive_guarded(Case& c, unsigned access) {
  Loop loop(c, open_to_all(c));
  const Target into = target(c, loop.b(), {.pages = 2, .offset = 128, .length = 1024, .access = access});
  loop.a().memory->fill(41);
  const Before before(into.memory);
  c.need(c.accepted(receive_into(loop, loop.b(), into.address(), 512, into.lkey()), "ibv_post_recv"));
  c.need(c.accepted(loop.send(loop.a(), 1, 0, 512), "ibv_post_send"));
  const std::optional<ibv_wc> wc = next(c, loop.b().recv_cq.raw());
  if ((access & IBV_ACCESS_LOCAL_WRITE) != 0) {
    c.completed(wc, IBV_WC_SUCCESS, "a receive into the region");
    before.only(c, into.first(), loop.a().data(), 512, "a receive into the region");
    return;
  }
  before.unchanged(c, "a receive into a region without local write");
  if (!wc || wc->status == IBV_WC_SUCCESS) {
    c.completed(wc, IBV_WC_LOC_PROT_ERR, "a receive into a region without local write");
  }
}

void matrix_receive(Case& c) {
  receive_guarded(c, access_of(c.with("access")));
}

void guarded(Case& c, ibv_wr_opcode opcode, unsigned needed, const char* what) {
  const unsigned access = access_of(c.with("access"));
  Loop loop(c, open_to_all(c));
  const Target of = region(c, loop.b());
  loop.a().memory->fill(7);
  const bool read = opcode == IBV_WR_RDMA_READ;
  const bool atomic = opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
  const std::size_t length = atomic ? 8 : 512;
  const Rdma rdma{
      .opcode = opcode, .address = of.address() + 64, .rkey = of.rkey(), .length = length, .compare_add = 5};
  if ((access & needed) == 0) {
    const Before kept(of.memory);
    denied(c, loop, rdma, std::string(what) + " without the access", {IBV_WC_REM_ACCESS_ERR},
           read ? &*loop.a().memory : &of.memory);
    kept.unchanged(c, std::string(what) + " without the access");
    return;
  }
  std::uint64_t old = 0;
  std::memcpy(&old, of.first() + 64, sizeof old);
  const Before before(of.memory);
  c.need(works(c, loop, rdma, what));
  if (read) {
    before.unchanged(c, what);
    c.holds(std::equal(of.first() + 64, of.first() + 64 + length, loop.a().data()), Seen::no_data,
            "other bytes were read");
  } else if (atomic) {
    const std::uint64_t sum = old + 5;
    before.only(c, of.first() + 64, reinterpret_cast<const std::uint8_t*>(&sum), sizeof sum, what);
  } else {
    before.only(c, of.first() + 64, loop.a().data(), length, what);
  }
}

void matrix_write(Case& c) {
  guarded(c, IBV_WR_RDMA_WRITE, IBV_ACCESS_REMOTE_WRITE, "an RDMA WRITE");
}

void matrix_read(Case& c) {
  guarded(c, IBV_WR_RDMA_READ, IBV_ACCESS_REMOTE_READ, "an RDMA READ");
}

void matrix_atomic(Case& c) {
  guarded(c, IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_ACCESS_REMOTE_ATOMIC, "a fetch-and-add");
}

/// The sink is the requester's own region.
void local_write_guards_read(Case& c) {
  for (const bool may : {true, false}) {
    Loop loop(c, open_to_all(c));
    const unsigned access = may ? kOn | IBV_ACCESS_REMOTE_WRITE : static_cast<unsigned>(IBV_ACCESS_REMOTE_READ);
    const Target sink = target(c, loop.a(), {.pages = 1, .offset = 64, .length = 1024, .access = access});
    loop.b().memory->fill(77);
    const Before before(sink.memory);
    ibv_sge sge{sink.address(), 512, sink.lkey()};
    ibv_send_wr wr{};
    wr.sg_list = &sge;
    wr.num_sge = 1;
    wr.opcode = IBV_WR_RDMA_READ;
    wr.send_flags = IBV_SEND_SIGNALED;
    wr.wr.rdma = {loop.b().remote(0), loop.b().rkey()};
    c.need(c.accepted(loop.post(loop.a(), wr), "ibv_post_send of a READ"));
    const std::optional<ibv_wc> wc = next(c, loop.a().send_cq.raw());
    if (may) {
      c.completed(wc, IBV_WC_SUCCESS, "a READ into a region with local write");
      before.only(c, sink.first(), loop.b().data(), 512, "a READ into a region with local write");
    } else {
      c.completed(wc, IBV_WC_LOC_PROT_ERR, "a READ into a region without local write");
      before.unchanged(c, "a READ into a region without local write");
    }
  }
}

// Registration alone.

struct Page {
  explicit Page(Case& of)
      : c(of), pd(of.made(of.way().pd(), "ibv_alloc_pd")), memory(of.verbs().page_size(), of.verbs().page_size()) {}
  Object<ibv_mr> region(unsigned access) {
    return c.way().mr(pd.raw(), {.address = memory.data(), .length = memory.size(), .access = access});
  }
  Case& c;
  Object<ibv_pd> pd;
  Memory memory;
};

void remote_write_needs_local(Case& c) {
  Page page(c);
  c.accepted(page.region(kOn | IBV_ACCESS_REMOTE_WRITE), "ibv_reg_mr with local and remote write");
  c.refused(page.region(IBV_ACCESS_REMOTE_WRITE), "ibv_reg_mr with remote write alone", {EINVAL});
  c.refused(page.region(IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ),
            "ibv_reg_mr with remote write and read alone", {EINVAL});
}

void remote_atomic_needs_local(Case& c) {
  Page page(c);
  if (c.native(Feature::fetch_add))
    c.accepted(page.region(kOn | IBV_ACCESS_REMOTE_ATOMIC), "ibv_reg_mr with local write and remote atomic");
  c.refused(page.region(IBV_ACCESS_REMOTE_ATOMIC), "ibv_reg_mr with remote atomic alone", {EINVAL});
}

void unknown_flag(Case& c) {
  Page page(c);
  c.accepted(page.region(kOn), "ibv_reg_mr with local write");
  for (const unsigned bit : {15U, 19U, 30U}) {
    c.refused(page.region(kOn | 1U << bit), "ibv_reg_mr with the undefined flag of bit " + std::to_string(bit),
              {EINVAL});
  }
}

void optional_flag(Case& c) {
  Page page(c);
  for (const unsigned bit : {21U, 25U, 29U}) {
    c.accepted(page.region(kOn | 1U << bit), "ibv_reg_mr with the optional flag of bit " + std::to_string(bit));
  }
}

ibv_device_attr_ex queried_ex(Case& c) {
  ibv_device_attr_ex attr{};
  c.need(c.accepted(c.verbs().query_device_ex(c.context(), nullptr, attr), "ibv_query_device_ex"));
  return attr;
}

void odp_without_cap(Case& c) {
  if ((queried_ex(c).odp_caps.general_caps & IBV_ODP_SUPPORT) != 0) return c.note("IBV_ODP_SUPPORT is set");
  Page page(c);
  c.refused(page.region(kOn | IBV_ACCESS_ON_DEMAND), "ibv_reg_mr with IBV_ACCESS_ON_DEMAND", {EOPNOTSUPP});
}

// Of verbs.h of newer libraries: enum ib_uverbs_access_flags and ib_uverbs_device_cap_flags of the kernel's interface.
constexpr unsigned kFlushGlobal = 1U << 8;
constexpr unsigned kFlushPersistent = 1U << 9;
constexpr std::uint64_t kCapFlushGlobal = std::uint64_t{1} << 38;
constexpr std::uint64_t kCapFlushPersistent = std::uint64_t{1} << 39;

void flush_without_cap(Case& c) {
  const std::uint64_t caps = queried_ex(c).device_cap_flags_ex;
  Page page(c);
  const auto judged = [&](bool declared, unsigned flag, const std::string& name) {
    const std::size_t before = c.way().adjustments().size();
    const Object<ibv_mr> mr = page.region(kOn | flag);
    if (declared)
      c.accepted(mr, "ibv_reg_mr with " + name + ", which the caps have,");
    else if (c.through_verbena() && mr)
      c.holds(c.way().adjustments().size() > before, Seen::accepted,
              "ibv_reg_mr with " + name + ", which the caps lack, dropped it unseen");
    else
      c.refused(mr, "ibv_reg_mr with " + name + ", which the caps lack,", {EOPNOTSUPP});
  };
  judged((caps & kCapFlushGlobal) != 0, kFlushGlobal, "IBV_ACCESS_FLUSH_GLOBAL");
  // Persistent memory is the host's: where the device has the flag, ordinary memory may be refused.
  if ((caps & kCapFlushPersistent) == 0) judged(false, kFlushPersistent, "IBV_ACCESS_FLUSH_PERSISTENT");
}

/// For each flag that stands for a feature: as the contract says, and through Verbena never dropped unseen.
void access_flags(Case& c) {
  Page page(c);
  for (const auto& [flag, feature, name] :
       {std::tuple(static_cast<unsigned>(IBV_ACCESS_ON_DEMAND), Feature::on_demand_paging, "IBV_ACCESS_ON_DEMAND"),
        std::tuple(static_cast<unsigned>(IBV_ACCESS_ZERO_BASED), Feature::zero_based_mr, "IBV_ACCESS_ZERO_BASED"),
        std::tuple(static_cast<unsigned>(IBV_ACCESS_MW_BIND), Feature::memory_window_1, "IBV_ACCESS_MW_BIND")}) {
    const verbena::Support support = c.contract().feature(feature).support;
    if (feature == Feature::memory_window_1 && c.native(Feature::memory_window_2)) continue;
    const std::size_t before = c.way().adjustments().size();
    const Object<ibv_mr> mr = page.region(kOn | flag);
    const std::string what = std::string("ibv_reg_mr with ") + name;
    if (support == verbena::Support::native) c.accepted(mr, what + ", native by the contract,");
    if (support != verbena::Support::absent) continue;
    if (c.through_verbena() && mr)
      c.holds(c.way().adjustments().size() > before, Seen::accepted,
              what + ", absent by the contract, was dropped unseen");
    else if (!c.through_verbena() && feature == Feature::on_demand_paging)
      c.refused(mr, what + ", absent by the contract,");  // of the others nobody demands it
  }
}

void remote_atomic(Case& c) {
  LoopShape shape = open_to_all(c);
  Loop loop(c, shape);
  const bool dropped = c.contract().is(verbena::Behaviour::remote_atomic_on_mr, verbena::Choice::dropped);
  Object<ibv_mr> mr = loop.b().way->mr(
      loop.b().pd.raw(),
      {.address = loop.b().data(),
       .length = 4096,
       .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC});
  if (dropped) {
    c.note("the contract says that the flag is dropped");
    if (mr && !is_iwarp(c)) {
      denied(c, loop,
             {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD, .address = loop.b().remote(0), .rkey = mr->rkey, .length = 8},
             "an atomic on a region whose flag was dropped");
    }
    return;
  }
  if (!c.native(Feature::fetch_add)) return c.note("the device has no atomics");
  c.need(c.accepted(mr, "ibv_reg_mr with IBV_ACCESS_REMOTE_ATOMIC"));
  std::memset(loop.b().data(), 0, 8);
  c.need(works(c, loop,
               {.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
                .address = loop.b().remote(0),
                .rkey = mr->rkey,
                .length = 8,
                .compare_add = 3},
               "a fetch-and-add on a region with remote atomic"));
  c.equal(static_cast<int>(loop.b().data()[0]), 3, "the target after fetch-and-add");
}

}  // namespace

Bodies mr_access_bodies() {
  static constexpr Body kBodies[] = {
      {"mr.access.matrix.send", matrix_send},
      {"mr.access.matrix.receive", matrix_receive},
      {"mr.access.matrix.write", matrix_write},
      {"mr.access.matrix.read", matrix_read},
      {"mr.access.matrix.atomic", matrix_atomic},
      {"mr.access.local_write_guards_read", local_write_guards_read},
      {"mr.access.remote_write_needs_local", remote_write_needs_local},
      {"mr.access.remote_atomic_needs_local", remote_atomic_needs_local},
      {"mr.access.unknown_flag_refused", unknown_flag},
      {"mr.access.optional_flag_ignored", optional_flag},
      {"mr.access.odp_without_cap", odp_without_cap},
      {"mr.access.flush_without_cap", flush_without_cap},
      {"mr.register.access_flags", access_flags},
      {"mr.register.remote_atomic", remote_atomic},
  };
  return kBodies;
}

}  // namespace conform
