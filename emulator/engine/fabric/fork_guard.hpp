// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <atomic>

#include <sys/types.h>

namespace verbena::engine::fabric {

/// Knows whether this is still the process that made it. The kernel empties its page in a child (MADV_WIPEONFORK,
/// madvise(2)), so that asking costs one load, and no way of forking goes past it, which a handler of pthread_atfork()
/// doesn't see to. Where the kernel can't, the process's number is asked for.
class ForkGuard {
public:
  ForkGuard() noexcept;
  ~ForkGuard();
  ForkGuard(const ForkGuard&) = delete;
  ForkGuard& operator=(const ForkGuard&) = delete;

  bool here() const noexcept {
    if (mark_ != nullptr) return mark_->load(std::memory_order_relaxed) != 0;
    return same_number();
  }

private:
  bool same_number() const noexcept;

  std::atomic<unsigned>* mark_ = nullptr;
  pid_t process_ = 0;
};

}  // namespace verbena::engine::fabric
