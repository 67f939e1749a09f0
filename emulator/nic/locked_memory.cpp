// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "nic/locked_memory.hpp"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace verbena::emulator {

namespace {

std::uint64_t pages_of(const void* address, std::size_t bytes, std::size_t page) noexcept {
  if (bytes == 0) return 0;
  const auto first = reinterpret_cast<std::uintptr_t>(address);
  return (first + (bytes - 1)) / page - first / page + 1;
}

}  // namespace

bool capable(unsigned capability) noexcept {
  __user_cap_header_struct header{};
  header.version = _LINUX_CAPABILITY_VERSION_3;
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
  if (::syscall(SYS_capget, &header, data.data()) != 0) return false;
  return (data[capability / 32].effective & (1U << (capability % 32))) != 0;
}

bool LockedMemory::take(const void* address, std::size_t bytes, std::size_t page) noexcept {
  const std::uint64_t more = pages_of(address, bytes, page);
  rlimit limit{};
  const bool known = ::getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  if (known && pages_ + more > limit.rlim_cur / page && !capable(CAP_IPC_LOCK)) return false;
  pages_ += more;
  return true;
}

void LockedMemory::give(const void* address, std::size_t bytes, std::size_t page) noexcept {
  pages_ -= std::min(pages_, pages_of(address, bytes, page));
}

}  // namespace verbena::emulator
