// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

namespace verbena::engine::fabric {

/// What post and poll of a NIC hold, whatever its owner took for it. A fabric's own thread holds it too while it
/// touches the NIC.
class Lock {
public:
  virtual ~Lock() = default;
  virtual void lock() noexcept = 0;
  virtual void unlock() noexcept = 0;
};

/// A mutex, or what looks like one, as a Lock.
template <class Mutex>
class LockOf final : public Lock {
public:
  explicit LockOf(Mutex& mutex) noexcept : mutex_(mutex) {}
  void lock() noexcept override { mutex_.lock(); }
  void unlock() noexcept override { mutex_.unlock(); }

private:
  Mutex& mutex_;
};

}  // namespace verbena::engine::fabric
