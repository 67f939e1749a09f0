// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "engine/fabric/changeable.hpp"
#include "engine/fabric/impairments.hpp"
#include "engine/transport/time.hpp"
#include "nic/host_mutex.hpp"
#include "nic/net.hpp"

namespace verbena::emulator {

/// NICs of one process. Its thread serves timers while nobody posts or polls, and starts when the first one runs.
class InProcessNet final : public Net {
public:
  /// Impairments that are all zero make a fabric that hands over at once. `mutex` and `clock` live longer.
  InProcessNet(const engine::fabric::Impairments& impairments, std::uint64_t seed, HostMutex& mutex,
               engine::transport::Clock& clock);
  ~InProcessNet() override;

  std::unique_ptr<engine::fabric::Port> port() override { return fabric_.port(); }
  std::vector<engine::wire::Gid> addresses(std::uint32_t nic, std::uint8_t port) override {
    return own_addresses(0, nic, port);
  }
  void add(engine::transport::Adapter& adapter) override { adapters_.push_back(&adapter); }
  void remove(engine::transport::Adapter& adapter) noexcept override { std::erase(adapters_, &adapter); }
  void add(engine::transport::Served& served) override { served_.push_back(&served); }
  void remove(engine::transport::Served& served) noexcept override { std::erase(served_, &served); }
  void progress() override;
  bool impair(const engine::fabric::Impairments& impairments) override {
    fabric_.impair(impairments);
    return true;
  }
  bool reaches_others() const noexcept override { return false; }

private:
  void serve(const std::stop_token& stop);
  std::optional<engine::transport::Time> do_what_is_due();

  HostMutex& mutex_;
  engine::transport::Clock& clock_;
  engine::fabric::Changeable fabric_;
  std::vector<engine::transport::Adapter*> adapters_;
  std::vector<engine::transport::Served*> served_;
  std::optional<engine::transport::Time> serving_at_;  ///< what the thread waits for
  std::condition_variable_any earlier_;
  std::jthread thread_;
};

}  // namespace verbena::emulator
