// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <fcntl.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/mr/target.hpp"
#include "verbena/emulated.hpp"

namespace conform {

namespace {

using verbena::Feature;
using verbena::Made;
using verbena::Support;

template <class T>
Object<ibv_mr> region(Case& c, const Made<T>& made) {
  if (!made) return Object<ibv_mr>::refused(made.error);
  return Object<ibv_mr>(made.handle, [verbs = c.ground().verbs, mr = made.handle] { return verbs->dereg_mr(mr); });
}

// Null regions, by the plain verb in both columns.

Object<ibv_mr> null_region(Case& c, ibv_pd* pd) {
  const Made<ibv_mr> made = c.verbs().alloc_null_mr(pd);
  const bool unsupported = made.error == EOPNOTSUPP || made.error == ENOSYS || made.error == EPROTONOSUPPORT;
  if (!made && unsupported && c.contract().feature(Feature::null_mr).support == Support::unknown)
    c.absent("ibv_alloc_null_mr is refused as unsupported, and the contract doesn't say that it is there");
  return c.made(region(c, made), "ibv_alloc_null_mr");
}

void null_reads_zero(Case& c) {
  Loop loop(c, open_to_all(c));
  const Object<ibv_mr> null = null_region(c, loop.a().pd.raw());
  loop.b().memory->fill(1);
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, 100), "ibv_post_recv"));
  c.need(c.accepted(send_of(loop, loop.a(), 0, 100, null->lkey), "a send of a null region"));
  c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive"));
  c.holds(std::all_of(loop.b().data(), loop.b().data() + 100, [](std::uint8_t byte) { return byte == 0; }),
          Seen::no_data, "a send of a null region carried other bytes than zeros");
}

void null_discards(Case& c) {
  Loop loop(c, open_to_all(c));
  const Object<ibv_mr> null = null_region(c, loop.b().pd.raw());
  const Before before(*loop.b().memory);
  c.need(c.accepted(receive_into(loop, loop.b(), 0, 100, null->lkey), "a receive into a null region"));
  c.need(c.accepted(loop.send(loop.a(), 1, 0, 100), "ibv_post_send"));
  const std::optional<ibv_wc> wc = next(c, loop.b().recv_cq.raw());
  if (c.completed(wc, IBV_WC_SUCCESS, "a receive into a null region")) c.equal(wc->byte_len, 100U, "its length");
  before.unchanged(c, "a receive into a null region");
}

// Device memory is libibverbs' own in both columns.

struct DeviceMemory {
  DeviceMemory(Case& of, std::size_t bytes) : c(of) {
    ibv_alloc_dm_attr attr{};
    attr.length = bytes;
    errno = 0;
    dm = ibv_alloc_dm(c.context(), &attr);
    c.need(c.accepted(dm != nullptr ? 0 : errno, "ibv_alloc_dm"));
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { c.accepted(ibv_free_dm(dm), "ibv_free_dm"); }
  Case& c;
  ibv_dm* dm = nullptr;
};

void dm_copies(Case& c) {
  const DeviceMemory memory(c, 256);
  std::vector<std::uint8_t> in(256), out(256);
  for (std::size_t at = 0; at < in.size(); ++at) in[at] = static_cast<std::uint8_t>(at * 7 + 1);
  c.need(c.accepted(ibv_memcpy_to_dm(memory.dm, 0, in.data(), in.size()), "ibv_memcpy_to_dm"));
  c.need(c.accepted(ibv_memcpy_from_dm(out.data(), memory.dm, 0, out.size()), "ibv_memcpy_from_dm"));
  c.holds(in == out, Seen::no_data, "other bytes came back");
  c.accepted(ibv_memcpy_from_dm(out.data(), memory.dm, 64, 64), "ibv_memcpy_from_dm of a part");
  c.holds(std::equal(in.begin() + 64, in.begin() + 128, out.begin()), Seen::no_data, "other bytes of a part came back");
}

Object<ibv_mr> dm_region(ibv_pd* pd, ibv_dm* dm, unsigned access) {
  errno = 0;
  ibv_mr* mr = ibv_reg_dm_mr(pd, dm, 0, 64, access);
  if (mr == nullptr) return Object<ibv_mr>::refused(errno != 0 ? errno : EINVAL);
  return Object<ibv_mr>(mr, [mr] { return ibv_dereg_mr(mr); });
}

void dm_needs_zero_based(Case& c) {
  const DeviceMemory memory(c, 64);
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  c.accepted(dm_region(pd.raw(), memory.dm, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED),
             "ibv_reg_dm_mr, zero based,");
  c.refused(dm_region(pd.raw(), memory.dm, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_dm_mr without IBV_ACCESS_ZERO_BASED");
}

void dm_carries(Case& c) {
  Loop loop(c, open_to_all(c));
  const DeviceMemory memory(c, 64);
  const std::vector<std::uint8_t> in(64, 0x5a);
  c.need(c.accepted(ibv_memcpy_to_dm(memory.dm, 0, in.data(), in.size()), "ibv_memcpy_to_dm"));
  const Object<ibv_mr> mr =
      c.made(dm_region(loop.a().pd.raw(), memory.dm, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_ZERO_BASED), "ibv_reg_dm_mr");
  c.need(c.accepted(loop.receive(loop.b(), 1, 0, 64), "ibv_post_recv"));
  c.need(c.accepted(send_of(loop, loop.a(), 0, 64, mr->lkey), "a send of device memory"));
  c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive"));
  c.holds(std::equal(in.begin(), in.end(), loop.b().data()), Seen::no_data, "other bytes arrived");
}

// dma-bufs, of the host's own memory.

struct DmaBuf {
  DmaBuf(Case& c, std::size_t bytes) {
    if (verbena::EmulatedHost* const emulated = verbena::emulated_host(c.verbs()); emulated != nullptr) {
      fd = emulated->make_dmabuf(bytes);
      return;
    }
    const int memory = memfd_create("verbena", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    const int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC);
    if (memory >= 0 && device >= 0 && ftruncate(memory, static_cast<off_t>(bytes)) == 0 &&
        fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK) == 0) {
      udmabuf_create create{};
      create.memfd = static_cast<std::uint32_t>(memory);
      create.flags = UDMABUF_FLAGS_CLOEXEC;
      create.size = bytes;
      fd = ioctl(device, UDMABUF_CREATE, &create);
    }
    if (memory >= 0) close(memory);
    if (device >= 0) close(device);
  }
  DmaBuf(const DmaBuf&) = delete;
  DmaBuf& operator=(const DmaBuf&) = delete;
  ~DmaBuf() {
    if (fd >= 0) close(fd);
  }
  int fd = -1;
};

Object<ibv_mr> of_dmabuf(Case& c, ibv_pd* pd, int fd, std::uint64_t offset, std::uint64_t iova, unsigned access) {
  return region(c, c.verbs().reg_dmabuf_mr(pd, offset, c.verbs().page_size(), iova, fd, access));
}

void dmabuf_offset(Case& c) {
  const std::size_t page = c.verbs().page_size();
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const DmaBuf buffer(c, 4 * page);
  if (buffer.fd < 0) c.blocked("privilege", "no dma-buf can be made: /dev/udmabuf");
  c.accepted(of_dmabuf(c, pd.raw(), buffer.fd, 64, 16 * page + 64, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_dmabuf_mr");
  c.refused(of_dmabuf(c, pd.raw(), buffer.fd, 64, 16 * page + 65, IBV_ACCESS_LOCAL_WRITE),
            "ibv_reg_dmabuf_mr with another offset in the page than the iova's", {EINVAL});
}

void dmabuf_access(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const DmaBuf buffer(c, 4 * c.verbs().page_size());
  if (buffer.fd < 0) c.blocked("privilege", "no dma-buf can be made: /dev/udmabuf");
  c.accepted(of_dmabuf(c, pd.raw(), buffer.fd, 0, 0, IBV_ACCESS_LOCAL_WRITE), "ibv_reg_dmabuf_mr");
  for (const auto& [flag, name] :
       {std::pair(IBV_ACCESS_MW_BIND, "IBV_ACCESS_MW_BIND"), std::pair(IBV_ACCESS_ZERO_BASED, "IBV_ACCESS_ZERO_BASED"),
        std::pair(IBV_ACCESS_ON_DEMAND, "IBV_ACCESS_ON_DEMAND")}) {
    c.refused(of_dmabuf(c, pd.raw(), buffer.fd, 0, 0, IBV_ACCESS_LOCAL_WRITE | static_cast<unsigned>(flag)),
              std::string("ibv_reg_dmabuf_mr with ") + name);
  }
}

/// Without a buffer at hand the refusal alone can be seen.
void dmabuf_native(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const DmaBuf buffer(c, 4 * c.verbs().page_size());
  const Support support = c.contract().feature(Feature::dmabuf_mr).support;
  const Object<ibv_mr> mr = of_dmabuf(c, pd.raw(), buffer.fd, 0, 0, IBV_ACCESS_LOCAL_WRITE);
  if (support == Support::absent)
    c.refused(mr, "ibv_reg_dmabuf_mr, absent by the contract,", {EOPNOTSUPP, ENOSYS, EPROTONOSUPPORT});
  else if (buffer.fd < 0)
    c.blocked("privilege", "no dma-buf can be made: /dev/udmabuf");
  else if (support == Support::native)
    c.accepted(mr, "ibv_reg_dmabuf_mr, native by the contract,");
}

// Relaxed ordering.

void relaxed_shows_data(Case& c) {
  Loop loop(c, open_to_all(c));
  const Target into =
      target(c, loop.b(),
             {.pages = 8, .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_RELAXED_ORDERING});
  for (std::uint32_t round = 0; round < 64; ++round) {
    loop.a().memory->fill(round + 1);
    c.need(c.accepted(receive_into(loop, loop.b(), into.address(), 4000, into.lkey()), "ibv_post_recv"));
    c.need(c.accepted(loop.send(loop.a(), round, 0, 4000), "ibv_post_send"));
    c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "a receive with relaxed ordering"));
    c.need(c.holds(std::equal(into.first(), into.first() + 4000, loop.a().data()), Seen::no_data,
                   "bytes of message " + std::to_string(round) + " are not there though its completion is"));
    c.need(c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "a send"));
  }
}

void relaxed_optional(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  c.accepted(c.way().mr(pd.raw(), {.address = memory.data(),
                                   .length = memory.size(),
                                   .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING}),
             "ibv_reg_mr with IBV_ACCESS_RELAXED_ORDERING");
}

}  // namespace

Bodies mr_kinds_bodies() {
  static constexpr Body kBodies[] = {
      {"mr.null.reads_zero", null_reads_zero},
      {"mr.null.discards", null_discards},
      {"mr.dm.copies", dm_copies},
      {"mr.dm.needs_zero_based", dm_needs_zero_based},
      {"mr.dm.carries_data", dm_carries},
      {"mr.dmabuf.page_offset_must_match", dmabuf_offset},
      {"mr.dmabuf.other_access_refused", dmabuf_access},
      {"mr.dmabuf.native", dmabuf_native},
      {"mr.relaxed.completion_shows_data", relaxed_shows_data},
      {"mr.register.relaxed_ordering", relaxed_optional},
  };
  return kBodies;
}

}  // namespace conform
