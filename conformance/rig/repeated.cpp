// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "rig/repeated.hpp"

#include <linux/memfd.h>
#include <sys/mman.h>
#include <unistd.h>

namespace conform {

namespace {

constexpr std::size_t kHuge = std::size_t{2} << 20;

}  // namespace

RepeatedMemory::RepeatedMemory(std::size_t bytes, std::size_t period) : bytes_(bytes) {
  if (period % kHuge == 0 && map(period, MFD_HUGETLB | MFD_HUGE_2MB)) return;
  map(period, 0);
}

bool RepeatedMemory::map(std::size_t period, unsigned huge) {
  const std::size_t whole = (bytes_ + period - 1) / period * period;
  const int file = memfd_create("conform", MFD_CLOEXEC | huge);
  if (file < 0) return false;
  bool mapped = ftruncate(file, static_cast<off_t>(period)) == 0;
  if (mapped) {
    // Room for the addresses to begin where a huge page may.
    reserved_ = whole + kHuge;
    void* const room = mmap(nullptr, reserved_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mapped = room != MAP_FAILED;
    if (mapped) {
      room_ = static_cast<std::uint8_t*>(room);
      data_ = room_ + (kHuge - reinterpret_cast<std::uintptr_t>(room_) % kHuge) % kHuge;
    }
  }
  for (std::size_t at = 0; mapped && at < whole; at += period) {
    mapped = mmap(data_ + at, period, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file, 0) != MAP_FAILED;
  }
  close(file);
  if (!mapped) unmap();
  return mapped;
}

void RepeatedMemory::unmap() noexcept {
  if (room_ != nullptr) munmap(room_, reserved_);
  room_ = data_ = nullptr;
}

}  // namespace conform
