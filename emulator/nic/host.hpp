// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "engine/fabric/impairments.hpp"
#include "engine/fabric/port.hpp"
#include "engine/transport/adapter.hpp"
#include "engine/transport/time.hpp"
#include "nic/host_mutex.hpp"
#include "nic/locked_memory.hpp"
#include "nic/net.hpp"

namespace verbena::emulator {

/// The host's monotonic clock.
class MonotonicClock final : public engine::transport::Clock {
public:
  engine::transport::Time now() noexcept override;
};

/// What NICs are joined by.
enum class NetKind : std::uint8_t {
  in_process,  ///< those of this process, to each other
  shared,      ///< those of all processes of this host that give the same name
  udp,         ///< RoCE v2 on UDP port 4791
};

struct NetOptions {
  NetKind kind = NetKind::in_process;
  std::string fabric = "default";  ///< of `shared`: its name
  /// Of `shared` and `udp`: what the ports of the NICs have, in turn, as 10.0.0.1 or fe80::1. Of `shared`, others may
  /// have the same. Empty: of `shared` the process's own, of `udp` those of the interfaces.
  std::vector<std::string> addresses;
  std::size_t ports = 1;  ///< that want addresses
  engine::fabric::Impairments impairments;
  std::uint64_t seed = 1;  ///< of what the impairments draw
};

/// What the emulated NICs of one process share: a net, a lock and a clock.
class Host {
public:
  /// An error is a sentence: a net that can't be joined, or impairments that it doesn't have: `shared` and `udp` lose,
  /// double and corrupt, and neither delay nor reorder.
  static tl::expected<std::unique_ptr<Host>, std::string> on(const NetOptions& options);
  ~Host();
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  /// Held by whoever touches a NIC: no call of the engine may run beside another.
  HostMutex mutex;

  engine::transport::Clock& clock() noexcept { return clock_; }

  /// Nothing is sent or received any more, and nothing may be posted: end() was called, or this is a child of fork()
  /// and the net reaches others.
  bool inert() const noexcept { return ended_.load(std::memory_order_relaxed) || !mutex.here(); }
  /// The NICs leave a net that reaches others, and are inert. Without the lock.
  void end();

  // With the mutex held.
  std::unique_ptr<engine::fabric::Port> port();
  /// Of all regions of its NICs.
  LockedMemory locked;
  /// Where the NICs are inert there is none.
  Net* net() noexcept { return inert() ? nullptr : net_.get(); }
  void add(engine::transport::Adapter& adapter) {
    if (net() != nullptr) net_->add(adapter);
  }
  void remove(engine::transport::Adapter& adapter) noexcept {
    if (net() != nullptr) net_->remove(adapter);
  }
  void add(engine::transport::Served& served) {
    if (net() != nullptr) net_->add(served);
  }
  void remove(engine::transport::Served& served) noexcept {
    if (net() != nullptr) net_->remove(served);
  }
  /// Does all that is due, and sees to it that somebody does what will be.
  void progress() {
    if (net() != nullptr) net_->progress();
  }
  /// Something was posted: as progress(), and whoever posts may not call again soon.
  void posted() {
    if (net() == nullptr) return;
    net_->progress();
    net_->settle();
  }
  /// A poll found something, or nothing. True where it has been nothing for long: whoever polls gives its processor to
  /// others once it has let go of the mutex. Who is waited for may have none.
  bool impatient(bool found) noexcept {
    empty_polls_ = found ? 0 : empty_polls_ + 1;
    return empty_polls_ > kPatience && net() != nullptr && net_->reaches_others();
  }
  /// The program is about to sleep.
  void doze() {
    if (net() != nullptr) net_->doze();
  }

private:
  class Wire;

  Host() = default;
  std::uint32_t copies() noexcept;

  MonotonicClock clock_;
  std::vector<Wire*> wires_;
  engine::fabric::Impairments impairments_;  ///< of a net that has none of its own
  std::mt19937_64 random_;
  static constexpr std::uint32_t kPatience = 512;  ///< polls, some 20 us
  std::uint32_t empty_polls_ = 0;  ///< since the last that found something
  std::atomic<bool> ended_{false};
  std::unique_ptr<Net> net_;
};

}  // namespace verbena::emulator
