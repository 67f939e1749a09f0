// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/memory/pin.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>

namespace verbena::engine::memory {

namespace {

#ifdef MADV_POPULATE_READ
constexpr int kPopulateRead = MADV_POPULATE_READ;
constexpr int kPopulateWrite = MADV_POPULATE_WRITE;
#else
constexpr int kPopulateRead = 22;
constexpr int kPopulateWrite = 23;
#endif

/// EINVAL means either that the kernel doesn't know the advice or that the page may not be touched so; a page of the
/// stack tells which.
bool populates(std::uintptr_t page) noexcept {
  static const bool answer = [page] {
    char here = 0;
    const auto at = reinterpret_cast<std::uintptr_t>(&here) & ~(page - 1);
    return madvise(reinterpret_cast<void*>(at), page, kPopulateRead) == 0;
  }();
  return answer;
}

int mapped(std::uintptr_t from, std::size_t bytes, std::size_t page) noexcept {
  std::array<unsigned char, 256> resident{};
  while (bytes > 0) {
    const std::size_t step = std::min(bytes, resident.size() * page);
    if (mincore(reinterpret_cast<void*>(from), step, resident.data()) != 0) return errno == ENOMEM ? EFAULT : errno;
    from += step;
    bytes -= step;
  }
  return 0;
}

}  // namespace

int pin(const void* address, std::size_t bytes, bool written) noexcept {
  if (bytes == 0) return 0;
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  const std::uintptr_t from = first & ~(page - 1);
  if (first + (bytes - 1) < first) return EFAULT;
  const std::uintptr_t last = (first + (bytes - 1)) | (page - 1);
  const std::size_t length = last - from + 1;
  if (length == 0) return EFAULT;
  if (!populates(page)) return mapped(from, length, page);
  while (madvise(reinterpret_cast<void*>(from), length, written ? kPopulateWrite : kPopulateRead) != 0) {
    if (errno == EINTR || errno == EAGAIN) continue;
    // ENOMEM is said of a hole as of a host without memory; a hole is found again by looking.
    if (errno == ENOMEM && mapped(from, length, page) == 0) return ENOMEM;
    return EFAULT;
  }
  return 0;
}

}  // namespace verbena::engine::memory
