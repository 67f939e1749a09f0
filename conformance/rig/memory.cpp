// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

namespace conform {

namespace {

std::atomic<std::uintptr_t> next_address{0};  // 0: wherever the kernel likes

}  // namespace

void lay_memory_from(std::uintptr_t address) noexcept {
  next_address = address;
}

Memory::Memory(std::size_t bytes, std::size_t page)
    : mapped_((bytes + page - 1) / page * page + 2 * page), bytes_(bytes) {
  void* const wish = next_address == 0 ? nullptr : reinterpret_cast<void*>(next_address.fetch_add(mapped_));
  void* map = mmap(wish, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (map == MAP_FAILED) throw std::bad_alloc();
  map_ = static_cast<std::uint8_t*>(map);
  data_ = map_ + page;
  if (mprotect(data_, mapped_ - 2 * page, PROT_READ | PROT_WRITE) != 0) {
    munmap(map_, mapped_);
    throw std::bad_alloc();
  }
}

Memory::Memory(Memory&& other) noexcept
    : map_(std::exchange(other.map_, nullptr)),
      mapped_(std::exchange(other.mapped_, 0)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(map_, other.map_);
  std::swap(mapped_, other.mapped_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Memory::~Memory() {
  if (map_ != nullptr) munmap(map_, mapped_);
}

void Memory::fill(std::uint32_t seed) noexcept {
  std::uint32_t state = seed * 2654435761U + 1;
  for (std::uint8_t& byte : bytes()) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::uint8_t>(state >> 24);
  }
}

void Memory::clear() noexcept {
  std::fill_n(data_, bytes_, std::uint8_t{0});
}

}  // namespace conform
