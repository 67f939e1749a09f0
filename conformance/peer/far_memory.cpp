// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "peer/far_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace conform::peer {

FarMemory::~FarMemory() {
  for (const auto& [page, count] : pages_) munmap(reinterpret_cast<void*>(page), page_);
}

int FarMemory::map_pages(std::uint64_t first, std::uint64_t last) {
  while (first < last) {
    if (pages_.contains(first)) {
      first += page_;
      continue;
    }
    std::uint64_t end = first + page_;
    while (end < last && !pages_.contains(end)) end += page_;
    void* const wanted = reinterpret_cast<void*>(first);
    void* const got =
        mmap(wanted, end - first, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) return errno;
    if (got != wanted) {  // a kernel that doesn't know the flag takes the address as a hint
      munmap(got, end - first);
      return EEXIST;
    }
    for (; first < end; first += page_) pages_[first] = 0;
  }
  return 0;
}

int FarMemory::hold(std::uint64_t address, std::size_t length) {
  if (length == 0 || address + length < address) return EINVAL;
  const std::uint64_t first = address / page_ * page_;
  const std::uint64_t last = (address + length + page_ - 1) / page_ * page_;
  const int error = map_pages(first, last);
  for (std::uint64_t at = floor_of(address); error == 0 && at < address + length; at += kGrain) {
    Piece& piece = pieces_[at];
    if (++piece.users != 1) continue;
    // A page that stayed for a neighbour's sake may hold what was here before.
    if (++pages_[at / page_ * page_] > 1) std::memset(reinterpret_cast<void*>(at), 0, kGrain);
  }
  // What was mapped for nothing goes again.
  for (std::uint64_t page = first; error != 0 && page < last; page += page_) {
    const auto found = pages_.find(page);
    if (found == pages_.end() || found->second != 0) continue;
    pages_.erase(found);
    munmap(reinterpret_cast<void*>(page), page_);
  }
  return error;
}

void FarMemory::drop(std::uint64_t address, std::size_t length) {
  for (std::uint64_t at = floor_of(address); at < address + length; at += kGrain) {
    const auto found = pieces_.find(at);
    if (found == pieces_.end() || --found->second.users != 0) continue;
    pieces_.erase(found);
    const std::uint64_t page = at / page_ * page_;
    if (--pages_[page] != 0) continue;
    pages_.erase(page);
    munmap(reinterpret_cast<void*>(page), page_);
  }
}

bool FarMemory::apply(Packet& in) {
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t run = 0; run < count; ++run) {
    auto address = in.get<std::uint64_t>();
    std::size_t left = in.get<std::uint32_t>();
    const std::uint8_t* bytes = in.take(left);
    if (bytes == nullptr) return false;
    while (left > 0) {
      const std::uint64_t base = floor_of(address);
      const std::size_t here = std::min<std::size_t>(left, base + kGrain - address);
      const auto found = pieces_.find(base);
      if (found == pieces_.end()) return false;
      std::memcpy(found->second.last.data() + (address - base), bytes, here);
      std::memcpy(reinterpret_cast<void*>(address), bytes, here);
      address += here;
      bytes += here;
      left -= here;
    }
  }
  return in.good();
}

void FarMemory::changes(Packet& out) {
  Changes changes(out);
  for (auto& [address, piece] : pieces_) {
    // The device may be writing: what is compared must be what is sent.
    std::array<std::uint8_t, kGrain> now;
    if (std::memcmp(reinterpret_cast<const void*>(address), piece.last.data(), kGrain) == 0) continue;
    std::memcpy(now.data(), reinterpret_cast<const void*>(address), kGrain);
    changes.add(address, now.data(), piece.last.data(), kGrain);
  }
}

}  // namespace conform::peer
