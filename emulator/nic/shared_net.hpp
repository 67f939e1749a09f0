// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>
#include <string>

#include <tl/expected.hpp>

#include "engine/fabric/shared.hpp"
#include "nic/host_mutex.hpp"
#include "nic/net.hpp"

namespace verbena::emulator {

/// NICs of several processes of this host (engine/fabric/shared.hpp), whose own thread serves timers and sleepers.
class SharedNet final : public Net {
public:
  /// Without the lock. `mutex` and `clock` live longer. An error is a sentence.
  static tl::expected<std::unique_ptr<Net>, std::string> join(const std::string& name, HostMutex& mutex,
                                                              engine::transport::Clock& clock);

  explicit SharedNet(std::unique_ptr<engine::fabric::Shared> fabric) : fabric_(std::move(fabric)) {}

  std::unique_ptr<engine::fabric::Port> port() override;
  std::vector<engine::wire::Gid> addresses(std::uint32_t nic, std::uint8_t port) override {
    return own_addresses(fabric_->slot(), nic, port);
  }
  // The fabric knows its adapters by their ports.
  void add(engine::transport::Adapter& /*adapter*/) override {}
  void remove(engine::transport::Adapter& /*adapter*/) noexcept override {}
  void add(engine::transport::Served& served) override { fabric_->add(served); }
  void remove(engine::transport::Served& served) noexcept override { fabric_->remove(served); }
  void progress() override { fabric_->progress(); }
  void settle() override { fabric_->settle(); }
  void doze() override {
    fabric_->doze();
    fabric_->progress();
  }
  std::uint32_t queue_pair_number(std::uint32_t low) const noexcept override { return fabric_->number(low); }
  std::uint32_t host_number() const noexcept override { return fabric_->slot(); }

private:
  std::unique_ptr<engine::fabric::Shared> fabric_;
};

}  // namespace verbena::emulator
