// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <mutex>

#include "engine/fabric/fork_guard.hpp"
#include "engine/fabric/lock.hpp"

namespace verbena::emulator {

/// The lock of a host. Where its NICs are inert in a child of fork(), it is nothing there: a thread that the child
/// doesn't have may hold it.
class HostMutex final : public engine::fabric::Lock {
public:
  /// Before the first lock().
  void inert_in_child() noexcept { ends_with_process_ = true; }
  bool here() const noexcept { return !ends_with_process_ || guard_.here(); }

  void lock() noexcept override {
    if (here()) mutex_.lock();
  }
  void unlock() noexcept override {
    if (here()) mutex_.unlock();
  }

private:
  engine::fabric::ForkGuard guard_;
  bool ends_with_process_ = false;
  std::mutex mutex_;
};

}  // namespace verbena::emulator
