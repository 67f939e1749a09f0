// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "engine/fabric/impairments.hpp"
#include "engine/fabric/port.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/transport/time.hpp"

namespace verbena::emulator {

/// The host's monotonic clock.
class MonotonicClock final : public engine::transport::Clock {
public:
  engine::transport::Time now() noexcept override;
};

/// What the emulated NICs of one process share: a fabric, a lock, a clock, and a thread that serves timers while nobody
/// posts or polls. It starts when the first timer runs.
class Host {
public:
  /// Impairments that are all zero make a fabric that hands over at once.
  explicit Host(const engine::fabric::Impairments& impairments = {}, std::uint64_t seed = 1);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Held by whoever touches a NIC: no call of the engine may run beside another.
  std::mutex mutex;

  engine::fabric::Fabric& fabric() noexcept { return *fabric_; }
  engine::transport::Clock& clock() noexcept { return clock_; }

  // With the mutex held.
  void add(engine::transport::Adapter& adapter) { adapters_.push_back(&adapter); }
  void remove(engine::transport::Adapter& adapter) noexcept { std::erase(adapters_, &adapter); }
  /// Does all that is due, and sees to it that somebody does what will be.
  void progress();

private:
  void serve(const std::stop_token& stop);
  std::optional<engine::transport::Time> do_what_is_due();

  MonotonicClock clock_;
  std::unique_ptr<engine::fabric::Fabric> fabric_;
  bool direct_ = true;
  std::vector<engine::transport::Adapter*> adapters_;
  std::optional<engine::transport::Time> serving_at_;  ///< what the thread waits for
  std::condition_variable earlier_;
  std::jthread thread_;
};

}  // namespace verbena::emulator
