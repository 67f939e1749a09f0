// SPDX-License-Identifier: Apache-2.0 OR MIT
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <string>
#include <vector>

#include "cases/bodies.hpp"
#include "cases/mr/target.hpp"
#include "rig/repeated.hpp"

namespace conform {

namespace {

/// A mapping that goes with its scope.
class Mapping {
public:
  Mapping(std::size_t bytes, int protection, int flags, int fd = -1)
      : bytes_(bytes), data_(mmap(nullptr, bytes, protection, flags, fd, 0)) {}
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() {
    if (data_ != MAP_FAILED) munmap(data_, bytes_);
  }
  explicit operator bool() const noexcept { return data_ != MAP_FAILED; }
  std::uint8_t* data() const noexcept { return static_cast<std::uint8_t*>(data_); }

private:
  std::size_t bytes_;
  void* data_;
};

void fields(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const std::size_t page = c.verbs().page_size();
  const Memory memory(3 * page, page);
  for (const auto& [offset, length] : {std::pair(std::size_t{0}, 3 * page), std::pair(page, page),
                                       std::pair(std::size_t{7}, std::size_t{1}), std::pair(page - 3, page + 5)}) {
    const Object<ibv_mr> mr =
        c.made(c.way().mr(pd.raw(), {.address = memory.data() + offset, .length = length}), "ibv_reg_mr");
    c.holds(mr->addr == memory.data() + offset, Seen::value, "addr of a region is not what was registered");
    c.equal(mr->length, length, "length of a region");
    c.holds(mr->pd == pd.raw(), Seen::value, "pd of a region is another one");
    c.holds(mr->context == c.context(), Seen::value, "context of a region is another one");
  }
}

/// A region at either end, from which a send is gathered and into which it is scattered.
void carries(Case& c, std::size_t pages, std::size_t offset, std::size_t length) {
  Loop loop(c, open_to_all(c));
  Target from = target(c, loop.a(), {.pages = pages, .offset = offset, .length = length});
  Target into = target(c, loop.b(), {.pages = pages, .offset = offset, .length = length});
  into.memory.clear();
  const Before before(into.memory);
  c.need(c.accepted(receive_into(loop, loop.b(), into.address(), length, into.lkey()), "ibv_post_recv"));
  c.need(c.accepted(send_of(loop, loop.a(), from.address(), length, from.lkey()), "ibv_post_send"));
  c.completed(next(c, loop.a().send_cq.raw()), IBV_WC_SUCCESS, "the send");
  c.need(c.completed(next(c, loop.b().recv_cq.raw()), IBV_WC_SUCCESS, "the receive"));
  before.only(c, into.first(), from.first(), length,
              "a message of " + std::to_string(length) + " bytes at offset " + std::to_string(offset));
}

void any_alignment(Case& c) {
  for (const auto& [offset, length] : {std::pair(1, 1), std::pair(13, 101), std::pair(511, 3), std::pair(1023, 2049)}) {
    carries(c, 1, static_cast<std::size_t>(offset), static_cast<std::size_t>(length));
  }
}

void page_border(Case& c) {
  const std::size_t page = c.verbs().page_size();
  carries(c, 2, page - 1, 2);
  carries(c, 2, page - 50, 101);
  carries(c, 3, page - 7, page + 14);
}

void huge_pages(Case& c) {
  constexpr std::size_t kHuge = 2U << 20;
  const Mapping huge(kHuge, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB);
  if (!huge) c.blocked("huge_pages", "no huge page is set aside");
  Loop loop(c, open_to_all(c, 1U << 16));
  for (const auto& [offset, length] :
       {std::pair(std::size_t{0}, kHuge), std::pair(std::size_t{12345}, std::size_t{100000})}) {
    const Object<ibv_mr> mr =
        c.made(loop.b().way->mr(loop.b().pd.raw(), {.address = huge.data() + offset,
                                                    .length = length,
                                                    .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}),
               "ibv_reg_mr on huge pages");
    for (const std::size_t at : {std::size_t{0}, length / 2, length - 4000}) {
      loop.a().memory->fill(static_cast<std::uint32_t>(at));
      const std::uint64_t address = reinterpret_cast<std::uintptr_t>(huge.data() + offset + at);
      c.need(works(c, loop, {.address = address, .rkey = mr->rkey, .length = 4000}, "a write to huge pages"));
      c.holds(std::equal(loop.a().data(), loop.a().data() + 4000, huge.data() + offset + at), Seen::no_data,
              "the bytes written to huge pages are not there");
    }
  }
}

/// 4 GiB and a bit of addresses over the same 2 MiB of memory, so that no more than that is needed.
void beyond_4gib(Case& c) {
  constexpr std::size_t kPiece = 2U << 20;
  constexpr std::size_t kPieces = 2049;
  c.needs_grant(verbena::Field::mr_length, kPieces * kPiece);
  const RepeatedMemory room(kPieces * kPiece, kPiece);
  if (room.data() == nullptr) c.blocked("much_memory", "4 GiB of addresses can't be mapped");
  Loop loop(c, open_to_all(c));
  const Object<ibv_mr> mr = loop.b().way->mr(
      loop.b().pd.raw(),
      {.address = room.data(), .length = kPieces * kPiece, .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE});
  if (mr.error() == ENOMEM && !c.verbs().may_lock_memory()) c.blocked("much_memory", "4 GiB may not be locked");
  c.need(c.accepted(mr, "ibv_reg_mr of more than 4 GiB"));
  constexpr std::size_t kBehind = (std::size_t{4} << 30) + 4096 + 5;
  loop.a().memory->fill(99);
  // Each piece is the same memory: where a write lands by its low 32 bits shows as an offset of another page.
  c.need(works(c, loop,
               {.address = reinterpret_cast<std::uintptr_t>(room.data()) + kBehind, .rkey = mr->rkey, .length = 1000},
               "a write behind 4 GiB"));
  c.holds(std::equal(loop.a().data(), loop.a().data() + 1000, room.data() + kBehind), Seen::no_data,
          "the bytes written behind 4 GiB are not there");
}

void overlapping(Case& c) {
  const std::size_t page = c.verbs().page_size();
  for (const bool above : {true, false}) {
    Loop loop(c, open_to_all(c));
    const Target low = target(c, loop.b(), {.pages = 3, .length = 2 * page});
    const Object<ibv_mr> high =
        c.made(loop.b().way->mr(loop.b().pd.raw(), {.address = low.memory.data() + page,
                                                    .length = 2 * page,
                                                    .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}),
               "ibv_reg_mr of an overlapping range");
    for (const std::uint32_t rkey : {low.rkey(), high->rkey}) {
      loop.a().memory->fill(rkey);
      const Before before(low.memory);
      c.need(works(c, loop, {.address = low.address() + page + 64, .rkey = rkey, .length = 100},
                   "a write to what two regions share"));
      before.only(c, low.first() + page + 64, loop.a().data(), 100, "a write to what two regions share");
    }
    if (is_iwarp(c)) continue;
    if (above)
      denied(c, loop, {.address = low.address() + 2 * page, .rkey = low.rkey(), .length = 8},
             "a write by the lower region's key to what the upper one has alone", {}, &low.memory);
    else
      denied(c, loop, {.address = low.address() + page - 8, .rkey = high->rkey, .length = 8},
             "a write by the upper region's key to what the lower one has alone", {}, &low.memory);
  }
}

void keys_distinct(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const Object<ibv_pd> other = c.made(c.way().pd(), "ibv_alloc_pd");
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  std::vector<Object<ibv_mr>> regions;
  std::set<std::uint32_t> keys;
  for (int count = 0; count < 64; ++count) {
    // Some go again, so that their numbers may be used for others.
    if (count % 5 == 4) {
      keys.erase(regions.front()->lkey);
      regions.erase(regions.begin());
    }
    regions.push_back(
        c.made(c.way().mr((count % 2 == 0 ? pd : other).raw(), {.address = memory.data(), .length = memory.size()}),
               "ibv_reg_mr"));
    c.holds(keys.insert(regions.back()->lkey).second, Seen::value, "two regions have one lkey");
  }
}

void shared_and_file(Case& c) {
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  const std::size_t page = c.verbs().page_size();
  const int file = memfd_create("verbena", MFD_CLOEXEC);
  c.need(c.holds(file >= 0 && ftruncate(file, static_cast<off_t>(2 * page)) == 0, Seen::refused, "no memory file"));
  const Mapping anonymous(2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS);
  const Mapping shared(2 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS);
  const Mapping of_file(2 * page, PROT_READ | PROT_WRITE, MAP_SHARED, file);
  const Mapping private_of_file(2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE, file);
  close(file);
  for (const auto& [mapping, what] :
       {std::pair(&anonymous, "anonymous"), std::pair(&shared, "shared"), std::pair(&of_file, "a shared file's"),
        std::pair(&private_of_file, "a private file's")}) {
    c.accepted(c.way().mr(pd.raw(), {.address = mapping->data(),
                                     .length = 2 * page,
                                     .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE}),
               std::string("ibv_reg_mr of memory that is ") + what);
  }
}

/// Up to 1.25 GiB: what is longer by the contract is registered at that length.
void length_at_limit(Case& c) {
  constexpr std::size_t kPeriod = 2U << 20;
  constexpr std::uint64_t kMost = 640 * kPeriod;
  const verbena::Domain& domain = c.contract().domain(verbena::Field::mr_length);
  const std::uint64_t promised = domain.known ? domain.largest_grant() : kMost;
  const auto bytes = static_cast<std::size_t>(std::min(promised, kMost));
  const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
  // A limit may count pages, of which a region that begins within one has one more.
  const std::size_t longer = bytes + 2 * c.verbs().page_size();
  const RepeatedMemory memory(longer, kPeriod);
  if (memory.data() == nullptr) c.blocked("much_memory", "the addresses can't be mapped");
  {
    const Object<ibv_mr> mr = c.way().mr(pd.raw(), {.address = memory.data(), .length = bytes});
    if (mr.error() == ENOMEM && !c.verbs().may_lock_memory()) c.blocked("privilege", "so much may not be locked");
    c.accepted(mr, "ibv_reg_mr of " + std::to_string(bytes) + " bytes");
  }
  if (bytes == promised) {
    c.refused(c.way().mr(pd.raw(), {.address = memory.data(), .length = longer}),
              "ibv_reg_mr of two pages more than the longest region");
  } else if (domain.known && domain.max < std::uint64_t{1} << 47) {
    // The refusal of a longer one costs no memory.
    c.refused(c.way().mr(pd.raw(), {.address = memory.data(), .length = static_cast<std::size_t>(domain.max + 1)}),
              "ibv_reg_mr of one byte more than the longest region");
  }
}

void length_zero(Case& c) {
  const bool takes = c.contract().domain(verbena::Field::mr_length).min == 0;
  if (c.qp_types().empty() || !c.native(verbena::Feature::rc)) {
    const Object<ibv_pd> pd = c.made(c.way().pd(), "ibv_alloc_pd");
    const Memory memory(c.verbs().page_size(), c.verbs().page_size());
    Object<ibv_mr> mr = c.way().mr(pd.raw(), {.address = memory.data(), .length = 0});
    if (c.through_verbena() && !takes) c.refused(mr, "ibv_reg_mr of 0 bytes");
    c.accepted(mr.destroy(), "ibv_dereg_mr of 0 bytes");
    return;
  }
  Loop loop(c, open_to_all(c), false);
  const Memory memory(c.verbs().page_size(), c.verbs().page_size());
  Object<ibv_mr> mr = loop.b().way->mr(
      loop.b().pd.raw(),
      {.address = memory.data(), .length = 0, .access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE});
  if (c.through_verbena() && !takes) c.refused(mr, "ibv_reg_mr of 0 bytes");
  if (!mr) {
    c.holds(mr.error() != 0, Seen::value, "the refusal of 0 bytes has no errno");
    return;
  }
  loop.connect();
  denied(c, loop, {.address = memory.address(), .rkey = mr->rkey, .length = 1},
         "a write of a byte into a region of none", {}, &memory);
  c.accepted(mr.destroy(), "ibv_dereg_mr of 0 bytes");
}

}  // namespace

Bodies mr_register_bodies() {
  static constexpr Body kBodies[] = {
      {"mr.register.fields", fields},
      {"mr.register.any_alignment", any_alignment},
      {"mr.register.page_border", page_border},
      {"mr.register.huge_pages", huge_pages},
      {"mr.register.beyond_4gib", beyond_4gib},
      {"mr.register.overlapping", overlapping},
      {"mr.register.keys_distinct", keys_distinct},
      {"mr.register.shared_and_file_memory", shared_and_file},
      {"mr.register.length_at_limit", length_at_limit},
      {"mr.register.length_zero", length_zero},
  };
  return kBodies;
}

}  // namespace conform
