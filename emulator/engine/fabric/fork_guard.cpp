// SPDX-License-Identifier: Apache-2.0 OR MIT
#include "engine/fabric/fork_guard.hpp"

#include <new>

#include <sys/mman.h>
#include <unistd.h>

namespace verbena::engine::fabric {

ForkGuard::ForkGuard() noexcept : process_(::getpid()) {
  void* const page = ::mmap(nullptr, sizeof *mark_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return;
  if (::madvise(page, sizeof *mark_, MADV_WIPEONFORK) != 0) {
    ::munmap(page, sizeof *mark_);
    return;
  }
  mark_ = new (page) std::atomic<unsigned>(1);
}

ForkGuard::~ForkGuard() {
  if (mark_ != nullptr) ::munmap(mark_, sizeof *mark_);
}

bool ForkGuard::same_number() const noexcept {
  return ::getpid() == process_;
}

}  // namespace verbena::engine::fabric
