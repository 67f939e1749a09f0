// SPDX-License-Identifier: Apache-2.0 OR MIT
#pragma once

#include <memory>
#include <string>

#include <tl/expected.hpp>

#include "engine/fabric/shared.hpp"
#include "nic/given_addresses.hpp"
#include "nic/host_mutex.hpp"
#include "nic/net.hpp"

namespace verbena::emulator {

/// NICs of several processes of this host (engine/fabric/shared.hpp), whose own thread serves timers and sleepers.
class SharedNet final : public Net {
public:
  /// `addresses`: what the ports of the NICs have, in turn, a list each; others may have the same. Empty: addresses of
  /// this process's own. Without the lock. `mutex` and `clock` live longer. An error is a sentence.
  static tl::expected<std::unique_ptr<Net>, std::string> join(const std::string& name, GivenAddresses addresses,
                                                              HostMutex& mutex, engine::transport::Clock& clock);

  SharedNet(std::unique_ptr<engine::fabric::Shared> fabric, GivenAddresses addresses)
      : fabric_(std::move(fabric)), addresses_(std::move(addresses)) {}

  std::unique_ptr<engine::fabric::Port> port() override;
  std::vector<engine::wire::Gid> addresses(std::uint32_t nic, std::uint8_t port) override {
    return addresses_.empty() ? own_addresses(fabric_->slot(), nic, port) : addresses_.of(nic, port);
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
  /// All that own_addresses() gives.
  bool neighbours(const engine::wire::Gid& own, const engine::wire::Gid& other) const override {
    return same_network(own, other, 3);
  }
  std::optional<std::uint64_t> who(const engine::wire::Gid& address, std::uint32_t qpn) override {
    return fabric_->who(address, qpn);
  }
  bool shares_addresses() const noexcept override { return !addresses_.empty(); }

private:
  std::unique_ptr<engine::fabric::Shared> fabric_;
  GivenAddresses addresses_;
};

}  // namespace verbena::emulator
